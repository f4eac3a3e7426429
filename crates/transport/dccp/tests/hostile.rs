//! The endpoints connect, deliver and close on any path, and arbitrary packets of a peer cause no failure.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::anything;
use crate::dialogue;
use crate::pipe;

use anything::{Parts, connection_in, encode, last_numbers, packets, wire};
use dialogue::Dialogue;
use headway_dccp::{
    Body, Ccid, CcidController, Closed, Connection, ConnectionOptions, Decoded, Delivery, Event, InitCookies, NoData,
    Packet, State,
};
use headway_rate::{ControllerOptions, NoneOptions};
use headway_units::{Dialect, Duration, Ecn, Instant, Options, Random, Seq48};
use pipe::{Fate, Pipe, Queue, SERVICE, addresses, options};
use proptest::prelude::*;

fn everything() -> ConnectionOptions {
    let none = |ccid, ack_vectors| CcidController {
        ccid: Ccid(ccid),
        controller: ControllerOptions::None(NoneOptions {}),
        ack_vectors,
    };
    ConnectionOptions {
        send_ccids: vec![249, 2],
        receive_ccids: vec![2, 249],
        controllers: vec![none(2, true), none(249, true)],
        sequence_window: 500,
        ndp_counts: true,
        timestamps: true,
        send_coverage: 1,
        minimum_coverage: 1,
        data_checksum: true,
        handshake_data: true,
        probe_mtu: true,
        ..options()
    }
}

fn bad_path(seed: u64, loss: f64, reordering: u64) -> impl FnMut(u64) -> Fate {
    let mut random = Random::new(seed, "path");
    move |_| Fate {
        lost: random.uniform() < loss,
        copies: 1 + u64::from(random.uniform() < 0.1),
        delay: Duration::from_millis(10 + random.below(reordering)),
    }
}

fn talk(
    seed: u64,
    loss: f64,
    reordering: u64,
    client: &ConnectionOptions,
    server: &ConnectionOptions,
    by_server: bool,
) {
    let mut pipe = Pipe::new(client, server, bad_path(seed, loss, reordering));
    for n in 0..40u8 {
        pipe.client.outbox.push(&[n; 50]);
        pipe.run(Duration::from_millis(20));
        if pipe.server.state() == State::Open {
            pipe.server.outbox.push(&[n; 60]);
        }
    }
    pipe.run(Duration::from_secs(500));
    let log = |pipe: &Pipe<_>| pipe.log.join("\n");
    if matches!(pipe.client.events.last(), Some(Event::Closed(Closed::NoAnswer(_)))) {
        return; // Every Request or Response was lost.
    }
    assert_eq!(pipe.server.state(), State::Open, "{}", log(&pipe));
    assert!(matches!(pipe.client.state(), State::PartOpen | State::Open), "{}", log(&pipe));
    for (end, len) in [(&pipe.client, 60), (&pipe.server, 50)] {
        let mut delivered = end.delivered.clone();
        assert!(delivered.iter().all(|data| data.len() == len && data.iter().all(|byte| *byte == data[0])));
        delivered.sort();
        delivered.dedup();
        assert_eq!(delivered.len(), end.delivered.len(), "delivered twice\n{}", log(&pipe));
        if loss == 0.0 && len == 50 {
            assert_eq!(delivered.len(), 40, "{}", log(&pipe));
        }
    }
    let now = pipe.now;
    let end = if by_server { &mut pipe.server } else { &mut pipe.client };
    end.connection.as_mut().unwrap().close(now);
    // Long enough for unanswered endpoints to give up.
    pipe.run(Duration::from_secs(490));
    for end in [&pipe.client, &pipe.server] {
        assert!(matches!(end.state(), State::Closed | State::TimeWait), "{} {}", end.state(), log(&pipe));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_path(seed: u64, loss in 0.0..0.3, reordering in 1u64..60, by_server: bool, all: (bool, bool), cookies: bool) {
        let mut ends = [all.0, all.1].map(|all| if all { everything() } else { ConnectionOptions {
            send_ccids: vec![248, 249], receive_ccids: vec![249, 248, 2],
            controllers: [options().controllers, everything().controllers].concat(), ..options() } });
        // The size of a Response with a cookie is limited by its Request.
        if cookies && all.0 {
            ends[1].init_cookies = InitCookies::Always;
        }
        talk(seed, loss, reordering, &ends[0], &ends[1], by_server);
    }

    /// Section 8.3: Close and CloseReq may cross at any time, even before the handshake has ended.
    /// Both endpoints close and become silent.
    #[test]
    fn both_may_close(
        seed: u64, loss in 0.0..0.3, closes in (0u64..300, 0u64..300), time_wait: bool, cookies: bool, probe_mtu: bool,
    ) {
        let init_cookies = if cookies { InitCookies::Always } else { InitCookies::WhenBusy };
        let rules = ConnectionOptions { server_time_wait: time_wait, init_cookies, probe_mtu, ..options() };
        let mut pipe = Pipe::new(&rules, &rules, bad_path(seed, loss, 30));
        for ms in 0..300 {
            let (now, ends) = (pipe.now, [&mut pipe.client, &mut pipe.server]);
            for (end, at) in ends.into_iter().zip([closes.0, closes.1]) {
                end.outbox.push(&[7; 50]);
                if let Some(connection) = end.connection.as_mut().filter(|_| ms >= at) {
                    connection.close(now);
                }
            }
            pipe.run(Duration::from_millis(1));
        }
        // Covers a client without a Response, eight minutes of an unanswered Close, and TIMEWAIT.
        pipe.run(Duration::from_secs(2000));
        let log = pipe.log.join("\n");
        for end in [&pipe.client, &pipe.server] {
            prop_assert!(matches!(end.state(), State::Closed | State::Listen), "{}\n{}", end.state(), log);
            prop_assert!(end.events.iter().filter(|event| matches!(event, Event::Closed(_))).count() <= 1, "{}", log);
            if let Some(connection) = &end.connection {
                prop_assert_eq!(connection.poll_timeout(), None);
            }
        }
    }

    #[test]
    fn a_path_that_only_reorders(seed: u64, reordering in 1u64..60, by_server: bool) {
        talk(seed, 0.0, reordering, &options(), &options(), by_server);
    }
}

fn feed(connection: &mut Connection, now: &mut Instant, seqs: (Seq48, Seq48), parts: &[Parts]) {
    let (mut peer, mut own) = seqs;
    let mut outbox = Queue::default();
    let mut drained = 0;
    for parts in parts {
        let step = parts.6;
        let bytes = wire(parts, (peer, own));
        let decoded = Packet::decode(&bytes, headway_dccp::Network::Udp).unwrap();
        connection.handle(*now, if step.is_multiple_of(2) { Ecn::Ce } else { Ecn::Ect0 }, &decoded);
        if step.is_multiple_of(4) {
            outbox.push(&[7; 30]);
        }
        if let Decoded::Long(packet) = decoded {
            peer = if packet.seq.is_after(peer) && packet.seq.distance_from(peer) < 50 { packet.seq } else { peer };
        }
        while let Some(out) = connection.poll_transmit(*now, &mut outbox) {
            own = out.packet.seq;
            let mut bytes = [0; 10_000];
            out.packet.encode(&mut bytes, addresses()).unwrap();
            drained += 1;
            assert!(drained < 2000, "endless packets: {}", out.packet);
        }
        while connection.poll_event().is_some() {}
        *now += Duration::from_millis(u64::from(step) * 10);
        if connection.poll_timeout().is_some_and(|at| at <= *now) {
            connection.handle_timeout(*now);
        }
        let _ = connection.status();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Any packets, in any state, in any order, at any time.
    #[test]
    fn no_packets_break_a_connection(
        state in prop::sample::select(State::ALL.to_vec()), all: bool, client: bool,
        parts in prop::collection::vec(packets(), 1..40),
    ) {
        let mut pipe = connection_in(state, &if all { everything() } else { options() });
        let seqs = last_numbers(&pipe, client);
        let mut now = pipe.now;
        let end = if client { &mut pipe.client } else { &mut pipe.server };
        if let Some(connection) = &mut end.connection {
            feed(connection, &mut now, seqs, &parts);
        }
    }

    /// A listener keeps no more state than allowed, for any packets.
    #[test]
    fn no_packets_break_a_listener(
        cookies in prop::sample::select(vec![InitCookies::Never, InitCookies::WhenBusy, InitCookies::Always]),
        parts in prop::collection::vec(packets(), 1..40),
    ) {
        let options = ConnectionOptions { init_cookies: cookies, backlog: 4, ..everything() };
        let mut listener = headway_dccp::Listener::new(Instant::ZERO, &options, &[SERVICE], Random::new(1, "listener"));
        let mut kept = Vec::new();
        for (kind, seq, ack, word, options, data, _) in &parts {
            let (seq, ack) = (Seq48::new(*seq as u64), Seq48::new(*ack as u64));
            let body = match kind {
                0..=5 => Body::Request { service: SERVICE },
                6 => Body::Ack { ack },
                7 => Body::Data,
                8 => Body::DataAck { ack },
                9 => Body::Response { ack, service: SERVICE },
                _ => Body::Sync { ack },
            };
            let mut options = options.clone();
            options.resize(options.len().next_multiple_of(4), 0);
            let mut bytes = [0; 2000];
            let len = encode(body, seq, word[3], data, &options, &mut bytes);
            let decoded = Packet::decode(&bytes[..len], headway_dccp::Network::Udp).unwrap();
            match listener.handle(Instant::ZERO, pipe::peer((*kind).into()), Ecn::NotEct, &decoded) {
                headway_dccp::Outcome::Accepted(mut connection, _) => {
                    while connection.poll_transmit(Instant::ZERO, &mut NoData).is_some() {}
                    kept.push(connection);
                }
                headway_dccp::Outcome::Reply(out) => {
                    let mut reply = [0; 2000];
                    let reply = out.packet.encode(&mut reply, addresses()).unwrap();
                    prop_assert!(reply <= 3 * len, "{reply} bytes for {len}: {}", out.packet);
                }
                headway_dccp::Outcome::Ignored(_) => {}
            }
            prop_assert!(listener.half_open() <= 4);
        }
    }
}

/// Section 7.5.2: with a Sequence Window of nearly 2^46 a peer's numbers may jump by three quarters of it. The 64-bit
/// count is exhausted after 350,000 packets: later ones are rejected without a failure.
#[test]
fn a_peer_may_exhaust_all_numbers() {
    for ccid in [248, 2, 3, 4] {
        let preset = ConnectionOptions::preset(Dialect::Rfc);
        let controllers = [options().controllers, preset.controllers.clone()].concat();
        let rules = ConnectionOptions { send_ccids: vec![ccid], receive_ccids: vec![ccid], controllers, ..preset };
        let mut client = Dialogue::open_client(&rules);
        client.send(30, "Ack 1002 (1)", &[32, 9, 3, 0x3f, 255, 255, 255, 255, 255], b"");
        let (mut seq, mut delivered) = (Seq48::new(1002), 0);
        for n in 0..360_000 {
            seq += 3 << 44;
            seq -= 10;
            delivered += u32::from(client.send(40 + n / 1000, &format!("Data {seq}"), &[], b"x") == Delivery::Data);
        }
        // 2^64 / (3 * 2^44) = 349,525.
        assert!((349_000..350_000).contains(&delivered), "CCID {ccid}: {delivered}");
        assert_eq!(client.state(), State::Open);
        client.drain_output(100_000);
    }
}

struct Cookies(headway_dccp::Listener);

/// Result of a packet: a Response with its number and cookie, another packet, a connection, or nothing.
enum Reply {
    Cookie(Seq48, Vec<u8>),
    Other(String),
    Connection(Box<Connection>, Delivery),
    Nothing,
}

impl Cookies {
    fn new() -> Self {
        let rules = ConnectionOptions { init_cookies: InitCookies::Always, backlog: 4, ..options() };
        Self(headway_dccp::Listener::new(Instant::ZERO, &rules, &[SERVICE], Random::new(1, "listener")))
    }

    fn receive(&mut self, peer: u8, body: Body, seq: u64, cookie: &[u8]) -> Reply {
        let mut bytes = [0; 2000];
        let len = encode(body, Seq48::new(seq), 0, &[0; 100], cookie, &mut bytes);
        let packet = Packet::decode(&bytes[..len], headway_dccp::Network::Udp).unwrap();
        match self.0.handle(Instant::ZERO, pipe::peer(peer.into()), Ecn::NotEct, &packet) {
            headway_dccp::Outcome::Accepted(connection, delivery) => Reply::Connection(connection, delivery),
            headway_dccp::Outcome::Ignored(_) => Reply::Nothing,
            headway_dccp::Outcome::Reply(out) => {
                let cookie = out.packet.options.iter().flatten().find_map(|option| match option {
                    headway_dccp::DccpOption::InitCookie(cookie) => {
                        let mut option = [&[36, cookie.len() as u8 + 2], cookie].concat();
                        option.resize(option.len().next_multiple_of(4), 0);
                        Some(option)
                    }
                    _ => None,
                });
                let output = out.packet.to_string();
                cookie.map_or(Reply::Other(output), |cookie| Reply::Cookie(out.packet.seq, cookie))
            }
        }
    }

    fn request(&mut self, peer: u8, seq: u64) -> (Seq48, Vec<u8>) {
        let mut changes = dialogue::changes(&options());
        changes.resize(changes.len().next_multiple_of(4), 0);
        match self.receive(peer, Body::Request { service: SERVICE }, seq, &changes) {
            Reply::Cookie(ack, cookie) => (ack, cookie),
            _ => panic!("no cookie"),
        }
    }
}

/// Sections 8.1.4 and 8.5 step 7: a CloseReq with a valid cookie creates a connection in RESPOND
/// that it does not open. Such connections count towards the backlog.
#[test]
fn cookies_make_no_more_half_open_connections_than_the_backlog_holds() {
    let (mut listener, mut kept) = (Cookies::new(), Vec::new());
    for peer in 0..10 {
        let (ack, cookie) = listener.request(peer, 1000);
        if let Reply::Connection(connection, _) = listener.receive(peer, Body::CloseReq { ack }, 1001, &cookie) {
            kept.push(connection);
        }
        let bound = usize::from(peer + 1).min(4);
        assert_eq!((kept.len(), listener.0.half_open()), (bound, bound));
        if peer == 9 {
            let answer = listener.receive(peer, Body::Ack { ack }, 1002, &cookie);
            assert!(
                matches!(answer, Reply::Connection(opened, _) if opened.state() == State::Open),
                "a complete handshake is accepted"
            );
            assert_eq!(listener.0.half_open(), 4);
        }
    }
    assert!(kept.iter().all(|connection| connection.state() == State::Respond));
}

/// Section 8.1.4 does not state whether a cookie may be used twice. If the final Reset is lost, or
/// packets are replayed, the connection and its first data would be repeated. A used cookie is
/// rejected, but another Request of the same client is accepted.
#[test]
fn a_cookie_opens_one_connection() {
    let mut listener = Cookies::new();
    let (ack, cookie) = listener.request(1, 1000);
    let first = listener.receive(1, Body::DataAck { ack }, 1001, &cookie);
    assert!(matches!(first, Reply::Connection(opened, Delivery::Data) if opened.state() == State::Open));
    for (body, seq) in [(Body::DataAck { ack }, 1001), (Body::DataAck { ack }, 1002), (Body::Close { ack }, 1003)] {
        let again = listener.receive(1, body, seq, &cookie);
        assert!(matches!(&again, Reply::Other(output) if output.contains("No Connection")));
    }
    let (ack, cookie) = listener.request(1, 1004);
    let next = listener.receive(1, Body::DataAck { ack }, 1005, &cookie);
    assert!(matches!(next, Reply::Connection(opened, Delivery::Data) if opened.state() == State::Open));
}
