//! Invariants of a DCCP connection and its listener with any datagrams from the network. Shared by the fuzz target
//! and the test that replays `fuzz/corpus`.

use headway_dccp::{
    Arrivals, Body, CcVal, Connection, ConnectionOptions, CsCov, DropCode, InitCookies, Listener, Network, OptionArea,
    Outbox, Outcome, Packet, Path, Ports, Reset, ResetCode, ServiceCode,
};
use headway_units::{Dialect, Duration, Ecn, Instant, Options, Random, Seq48};
use std::collections::VecDeque;
use std::net::Ipv4Addr;

const SERVICE: ServiceCode = ServiceCode(0x5254_5056);
/// Path of the server's packets.
const PATH: Path = Path::Ipv4 { local: Ipv4Addr::new(192, 0, 2, 2), remote: Ipv4Addr::new(192, 0, 2, 1) };
/// Maximum number of packets in flight in a direction, and of queued datagrams. Further ones are lost.
const MAX_IN_FLIGHT: usize = 64;
/// Maximum number of packets an endpoint sends without an arrival: its window and its replies to earlier packets.
const MAX_BURST: usize = 4096;
/// Maximum length of the debug output of an endpoint, which has its complete state.
const MAX_STATE_BYTES: usize = 8 << 20;

#[derive(Debug, Default)]
struct Datagrams {
    waiting: VecDeque<Vec<u8>>,
    taken: Vec<u8>,
    /// Whether the next call discards all queued datagrams.
    discards: bool,
}

impl Outbox for Datagrams {
    fn next_len(&mut self, _: Instant) -> Option<usize> {
        self.waiting.front().map(Vec::len)
    }
    fn take(&mut self, _: Instant) -> Option<&[u8]> {
        if std::mem::take(&mut self.discards) {
            self.waiting.clear();
        }
        self.taken = self.waiting.pop_front()?;
        Some(&self.taken)
    }
}

/// An endpoint, and the packets in flight to it.
#[derive(Default)]
struct End {
    connection: Option<Connection>,
    outbox: Datagrams,
    in_flight: VecDeque<Vec<u8>>,
    /// Greatest sequence number that it sent.
    newest: Seq48,
}

/// Interprets the bytes as events at a client and a server. The first two select their options.
pub(crate) fn check(bytes: &[u8]) {
    let Some((&[choice, more], steps)) = bytes.split_first_chunk::<2>() else { return };
    let options = options(choice, more);
    let mut now = Instant::from_secs(1);
    let ports = Ports { local: 50_000, remote: 5004 };
    let client = Connection::connect(now, &options, ports, SERVICE, Random::new(1, "client"));
    let mut listener = Listener::new(now, &options, &[SERVICE], Random::new(2, "listener"));
    let mut ends = [End { connection: Some(client), ..End::default() }, End::default()];
    drain(&mut ends, now);

    let mut steps = steps.iter().copied();
    while let Some(step) = steps.next() {
        let mut byte = || steps.next().unwrap_or_default();
        // Receiver of the event: client or server.
        let to = usize::from(step >> 4 & 1);
        let ecn = if step & 32 == 0 { Ecn::Ect0 } else { Ecn::Ce };
        now += Duration::from_millis(u64::from(step >> 6) * 10);
        match step & 15 {
            0..5 => {
                // Unchanged; two packets may have one sequence number.
                if let Some(packet) = ends[to].in_flight.pop_front() {
                    arrive(&mut ends[to], &mut listener, now, ecn, &packet);
                    if step & 15 == 4 {
                        arrive(&mut ends[to], &mut listener, now, ecn, &packet);
                    }
                }
            }
            5 => drop(ends[to].in_flight.pop_front()),
            6 => ends[to].in_flight.rotate_left(1.min(ends[to].in_flight.len())),
            7 => {
                // With changed bytes.
                if let Some(mut packet) = ends[to].in_flight.pop_front() {
                    for _ in 0..=byte() & 3 {
                        let (at, value) = (usize::from(byte()) % packet.len(), byte());
                        packet[at] = value;
                    }
                    arrive(&mut ends[to], &mut listener, now, ecn, &packet);
                }
            }
            8 => {
                let packet: Vec<_> = (0..byte()).map(|_| byte()).collect();
                arrive(&mut ends[to], &mut listener, now, ecn, &packet);
            }
            9..12 => {
                let near = |number: Seq48, by: u8| Seq48::new(number.value().wrapping_add_signed((by as i8).into()));
                let (kind, seq, ack) = (byte(), near(ends[1 - to].newest, byte()), near(ends[to].newest, byte()));
                let words: Vec<_> = (0..byte() & 31).map(|_| [byte(), byte(), byte(), byte()]).collect();
                let packet = composed(kind, seq, ack, words.as_flattened(), [byte(), byte()]);
                arrive(&mut ends[to], &mut listener, now, ecn, &packet);
            }
            12 => now += Duration::from_millis(1 << (byte() & 31)),
            13 => {
                let data = vec![7; usize::from(byte()) * 8];
                let outbox = &mut ends[to].outbox;
                if outbox.waiting.len() < MAX_IN_FLIGHT {
                    outbox.waiting.push_back(data);
                }
                outbox.discards = step & 32 != 0;
            }
            14 => {
                let (what, newest) = (byte(), ends[1 - to].newest);
                if let Some(connection) = &mut ends[to].connection {
                    match what & 15 {
                        0 => connection.close(now),
                        1 => connection.abort(now),
                        2 => connection.stop_receiving(),
                        3..6 => connection.set_slow_receiver(what & 16 == 0),
                        6..9 => connection.handle_too_big(newest, usize::from(what) * 8),
                        _ => {
                            let code = DropCode::new(what >> 4 & 7).unwrap_or(DropCode::CORRUPT);
                            connection.report_dropped(now, newest - u64::from(what & 3), code);
                        }
                    }
                }
            }
            _ => {
                let timeouts = ends.iter().filter_map(|end| end.connection.as_ref()?.poll_timeout());
                now = timeouts.min().map_or(now, |at| at.max(now));
            }
        }
        for end in &mut ends {
            if let Some(connection) = &mut end.connection
                && connection.poll_timeout().is_some_and(|at| at <= now)
            {
                connection.handle_timeout(now);
                assert!(connection.poll_timeout().is_none_or(|at| at > now), "an expired timer has a later time");
            }
        }
        drain(&mut ends, now);
    }
    assert!(listener.half_open() <= 4);
    for end in &ends {
        assert!(format!("{:?}", end.connection).len() < MAX_STATE_BYTES);
    }
}

fn options(choice: u8, more: u8) -> ConnectionOptions {
    let dialect = [Dialect::Rfc, Dialect::Ns2, Dialect::Linux][usize::from(choice % 3)];
    let ccids = [&[2][..], &[3], &[4], &[4, 3, 2]][usize::from(choice >> 4 & 3)].to_vec();
    ConnectionOptions {
        receive_ccids: ccids.clone(),
        send_ccids: ccids,
        init_cookies: if choice & 64 == 0 { InitCookies::WhenBusy } else { InitCookies::Always },
        server_time_wait: choice & 128 != 0,
        ndp_counts: more & 1 != 0,
        timestamps: more & 2 != 0,
        data_checksum: more & 4 != 0,
        handshake_data: more & 8 != 0,
        probe_mtu: more & 16 != 0,
        loss_event_rate: more & 32 != 0,
        send_coverage: more >> 6 & 1,
        minimum_coverage: more >> 6 & 1,
        backlog: 4,
        ..ConnectionOptions::preset(dialect)
    }
}

/// Transmits all packets that both endpoints can send now.
fn drain(ends: &mut [End; 2], now: Instant) {
    for from in [0, 1] {
        for sent in 0.. {
            assert!(sent < MAX_BURST, "it talks without end");
            let End { connection: Some(connection), outbox, newest, .. } = &mut ends[from] else { break };
            while connection.poll_event().is_some() {}
            let _ = connection.status();
            let Some(out) = connection.poll_transmit(now, outbox) else { break };
            *newest = out.packet.seq;
            let bytes = encoded(&out.packet);
            if ends[1 - from].in_flight.len() < MAX_IN_FLIGHT {
                ends[1 - from].in_flight.push_back(bytes);
            }
        }
    }
}

fn arrive(end: &mut End, listener: &mut Listener, now: Instant, ecn: Ecn, bytes: &[u8]) {
    let Ok(packet) = Packet::decode(bytes, Network::Udp) else { return };
    if let Some(connection) = &mut end.connection {
        connection.handle(now, ecn, &packet);
        if let Some(Arrivals { newest, runs, .. }) = connection.take_arrivals() {
            assert!(!newest.is_after(end.newest), "acknowledged numbers were sent");
            assert!(runs.iter().all(|run| run.packets > 0));
        }
        return;
    }
    match listener.handle(now, PATH, ecn, &packet) {
        Outcome::Accepted(connection, _) => end.connection = Some(*connection),
        Outcome::Reply(out) => drop(encoded(&out.packet)),
        Outcome::Ignored(_) => {}
    }
}

fn encoded(packet: &Packet<'_>) -> Vec<u8> {
    let mut bytes = vec![0; packet.encoded_len()];
    let len = packet.encode(&mut bytes, Network::Udp);
    assert_eq!(len, Ok(bytes.len()), "sent packets can be encoded");
    bytes
}

/// Composes a packet of any type with any options.
fn composed(kind: u8, seq: Seq48, ack: Seq48, options: &[u8], [code, data]: [u8; 2]) -> Vec<u8> {
    let body = match kind & 15 {
        0 => Body::Request { service: SERVICE },
        1 => Body::Response { ack, service: SERVICE },
        2 => Body::Data,
        3..6 => Body::Ack { ack },
        6..9 => Body::DataAck { ack },
        9 => Body::CloseReq { ack },
        10 => Body::Close { ack },
        11 => Body::Reset { ack, reset: Reset { code: ResetCode(code), data: [data; 3] } },
        12 | 13 => Body::Sync { ack },
        14 => Body::SyncAck { ack },
        _ => Body::Listen { service: SERVICE },
    };
    encoded(&Packet {
        source_port: 50_000,
        destination_port: 5004,
        ccval: CcVal::new(kind >> 4).unwrap_or(CcVal::ZERO),
        cscov: CsCov::ALL,
        seq,
        body,
        options: OptionArea::new(options).unwrap_or(OptionArea::EMPTY),
        data: &[7; 255][..usize::from(data)],
    })
}
