//! Media over a connection: which datagrams are sent, resent, or returned to the program.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it panics")]

use headway_dccp::{
    Connection, ConnectionOptions, Decoded, Delivery, GivenUp, Listener, MediaOutbox, Network, NoData, Outbox, Outcome,
    Packet, Path, Ports, ServiceCode, State,
};
use headway_media::{Inserted, Media, MediaHeader, QueueMethod, Reassembly, ReassemblyOptions, SendQueueOptions};
use headway_units::{Dialect, Duration, Ecn, Instant, MediaKind, Options, QueueSize, Random, Registry, SendDrop};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

const SERVICE: ServiceCode = ServiceCode(0x5254_5056);
const CLIENT: Path = Path::Ipv4 { local: Ipv4Addr::new(192, 0, 2, 2), remote: Ipv4Addr::new(192, 0, 2, 1) };
const WIRE: Network = Network::Ip(headway_dccp::Addresses::V4 {
    source: Ipv4Addr::new(192, 0, 2, 1),
    destination: Ipv4Addr::new(192, 0, 2, 2),
});
/// A client that sends media, a server, and a path that preserves the order and loses selected packets.
struct Call {
    now: Instant,
    client: Connection,
    outbox: MediaOutbox<Vec<u8>>,
    listener: Listener,
    server: Option<Box<Connection>>,
    delay: Duration,
    /// Whether the packet is for the server, and its bytes.
    path: BTreeMap<(Instant, u64), (bool, Vec<u8>)>,
    sent: u64,
    /// Whether the path loses the n-th data packet of the client.
    loses: fn(u64) -> bool,
    sent_data: u64,
    delivered: Vec<Vec<u8>>,
}

impl Call {
    fn new(ccid: u8, kind: &str, change: impl FnOnce(&mut SendQueueOptions), loses: fn(u64) -> bool) -> Self {
        let mut send_queue = SendQueueOptions::preset(kind, Dialect::Rfc).unwrap();
        change(&mut send_queue);
        Self::with(&ConnectionOptions::preset(Dialect::Rfc), ccid, &send_queue, loses)
    }

    fn with(preset: &ConnectionOptions, ccid: u8, send_queue: &SendQueueOptions, loses: fn(u64) -> bool) -> Self {
        let options = ConnectionOptions { send_ccids: vec![ccid], receive_ccids: vec![ccid], ..preset.clone() };
        let (now, ports) = (Instant::from_secs(1), Ports { local: 50000, remote: 5004 });
        let mut call = Self {
            now,
            client: Connection::connect(now, &options, ports, SERVICE, Random::new(1, "client")),
            outbox: MediaOutbox::new(send_queue),
            listener: Listener::new(now, &options, &[SERVICE], Random::new(2, "server")),
            server: None,
            delay: Duration::from_millis(10),
            path: BTreeMap::new(),
            sent: 0,
            loses,
            sent_data: 0,
            delivered: Vec::new(),
        };
        call.run(Duration::from_secs(1));
        assert_eq!(call.client.state(), State::Open);
        call
    }

    fn send(&mut self, to_server: bool, packet: &[u8]) {
        self.sent += 1;
        self.path.insert((self.now + self.delay, self.sent), (to_server, packet.to_vec()));
    }

    fn drain(&mut self) {
        let mut bytes = vec![0; 2000];
        while let Some(out) = self.client.poll_transmit(self.now, &mut self.outbox) {
            let (number, data) = (out.packet.seq, !out.packet.data.is_empty());
            let len = out.packet.encode(&mut bytes, WIRE).unwrap();
            self.outbox.sent(number);
            self.sent_data += u64::from(data);
            if !data || !(self.loses)(self.sent_data) {
                self.send(true, &bytes[..len]);
            }
        }
        while let Some(server) = &mut self.server {
            let mut nothing = NoData;
            let Some(out) = server.poll_transmit(self.now, &mut nothing) else { break };
            let len = out.packet.encode(&mut bytes, WIRE).unwrap();
            self.send(false, &bytes[..len]);
        }
    }

    fn arrive(&mut self, to_server: bool, bytes: &[u8]) {
        let packet = Packet::decode(bytes, WIRE).unwrap();
        if !to_server {
            self.client.handle(self.now, Ecn::NotEct, &packet);
            self.outbox.packet_handled(self.now, &mut self.client);
            return;
        }
        let delivery = match &mut self.server {
            Some(server) => server.handle(self.now, Ecn::NotEct, &packet),
            None => match self.listener.handle(self.now, CLIENT, Ecn::NotEct, &packet) {
                Outcome::Accepted(server, delivery) => {
                    self.server = Some(server);
                    delivery
                }
                other => panic!("{other:?}"),
            },
        };
        if let (Delivery::Data, Decoded::Long(packet)) = (delivery, packet) {
            self.delivered.push(packet.data.to_vec());
        }
    }

    fn run(&mut self, time: Duration) {
        let until = self.now + time;
        loop {
            self.drain();
            let timeouts = [self.client.poll_timeout(), self.server.as_ref().and_then(|server| server.poll_timeout())];
            let arrival = self.path.keys().next().map(|(at, _)| *at);
            let Some(next) = timeouts.into_iter().chain([arrival]).flatten().min().filter(|at| *at <= until) else {
                break;
            };
            self.now = self.now.max(next);
            if arrival == Some(next)
                && let Some((_, (to_server, bytes))) = self.path.pop_first()
            {
                self.arrive(to_server, &bytes);
            }
            for end in [Some(&mut self.client), self.server.as_deref_mut()].into_iter().flatten() {
                if end.poll_timeout().is_some_and(|at| at <= self.now) {
                    end.handle_timeout(self.now);
                }
            }
        }
        self.now = until;
    }

    /// Queues a datagram of this size that starts with its name and expires after `lifetime` ms.
    fn push(&mut self, name: u16, kind: MediaKind, size: usize, lifetime: u64) {
        let mut payload = vec![0; size];
        payload[..2].copy_from_slice(&name.to_be_bytes());
        let expires = Some(self.now + Duration::from_millis(lifetime));
        let priority = u8::from(kind != MediaKind::Audio);
        self.outbox.push(self.now, Media { kind, priority, expires, ..Media::new(self.now, payload) });
    }

    fn given_up(&mut self) -> Vec<GivenUp<Vec<u8>>> {
        std::iter::from_fn(|| self.outbox.poll_given_up()).collect()
    }
}

fn name(payload: &[u8]) -> u16 {
    u16::from_be_bytes([payload[0], payload[1]])
}

fn names(payloads: &[Vec<u8>]) -> Vec<u16> {
    payloads.iter().map(|payload| name(payload)).collect()
}

/// SFDPS section 4.3: expiry, priority and method belong to each message. In a fifo queue, audio
/// with method SFDPS1 is sent before queued video, and audio without a method after it. Of two late
/// messages, that of SFDPS1 is dropped and that of unmodified DCCP is sent.
#[test]
fn sfdps_4_3_messages_with_their_own_method() {
    let mut call = Call::new(3, "fifo", |_| {}, |_| false);
    let method = QueueMethod::named("sfdps1").ok();
    let push = |call: &mut Call, name: u16, priority, lifetime, method| {
        let expires = Some(call.now + Duration::from_millis(lifetime));
        let media = Media::new(call.now, [&name.to_be_bytes()[..], &[0; 998]].concat());
        call.outbox.push(call.now, Media { priority, expires, method, ..media });
    };
    (1..=10).for_each(|name| push(&mut call, name, 1, 60_000, None));
    push(&mut call, 12, 0, 60_000, method);
    push(&mut call, 11, 0, 60_000, None);
    push(&mut call, 13, 2, 1, method);
    push(&mut call, 14, 2, 1, None);
    call.run(Duration::from_secs(20));
    let delivered = names(&call.delivered);
    let others: Vec<u16> = delivered.iter().copied().filter(|name| *name != 12).collect();
    assert_eq!(others, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14]);
    let place = delivered.iter().position(|name| *name == 12).unwrap();
    assert!(place < 9, "{delivered:?}");
    let [GivenUp::Unsent(unsent)] = &call.given_up()[..] else { panic!() };
    assert_eq!((name(&unsent.media.payload), unsent.cause), (13, SendDrop::Expired));
}

/// Under each controller, audio queued after ten video frames is sent before those still queued.
#[test]
fn audio_is_sent_before_video() {
    for ccid in [2, 3] {
        let mut call = Call::new(ccid, "sfdps2", |_| {}, |_| false);
        (1..=10).for_each(|name| call.push(name, MediaKind::Video, 1000, 60_000));
        call.drain();
        call.push(0, MediaKind::Audio, 160, 60_000);
        call.run(Duration::from_secs(20));
        let delivered = names(&call.delivered);
        let before = delivered.iter().position(|name| *name == 0).unwrap();
        assert!((1..10).contains(&before), "CCID {ccid}: {delivered:?}");
        let wanted: Vec<u16> = (1..=before as u16).chain([0]).chain(before as u16 + 1..=10).collect();
        assert_eq!(delivered, wanted, "CCID {ccid}");
        assert_eq!(call.given_up(), [], "CCID {ccid}");
    }
}

/// The window reopens after a round trip of 20 ms, and the lifetime is 25 ms. Datagrams held back
/// by the window cannot arrive on time, as the path delay is half of the measured round trip. They
/// are returned to the program with their payload, 5 ms late. Each datagram has one outcome.
#[test]
fn expired_datagrams_are_returned() {
    let mut call = Call::new(2, "sfdps1", |_| {}, |_| false);
    (0..20).for_each(|name| call.push(name, MediaKind::Video, 1000, 25));
    call.run(Duration::from_secs(5));
    let (mut ends, given_up) = (names(&call.delivered), call.given_up());
    assert!((2..=10).contains(&ends.len()), "{ends:?}");
    for one in given_up {
        let GivenUp::Unsent(unsent) = one else { panic!("nothing is resent") };
        assert_eq!((unsent.cause, unsent.media.payload.len()), (SendDrop::Expired, 1000));
        assert_eq!(unsent.lateness, Duration::from_millis(5));
        ends.push(name(&unsent.media.payload));
    }
    ends.sort_unstable();
    assert_eq!(ends, (0..20).collect::<Vec<_>>());
}

/// Frames of 20 kB over a path that loses every 50th datagram: a frame is complete if all its
/// datagrams arrived, byte for byte. Each other frame lacks one lost datagram.
#[test]
fn frames_larger_than_a_packet_are_complete_or_missing() {
    let limit = |options: &mut SendQueueOptions| options.rules.limit = QueueSize::Packets(100);
    let mut call = Call::new(2, "fifo", limit, |data| data % 50 == 0);
    let frame = |number: u8| -> Vec<u8> { (0..20_000).map(|byte| (byte % 251) as u8 ^ number).collect() };
    let largest = call.client.status().maximum_packet_size;
    for number in 0..40 {
        let video = Media { kind: MediaKind::Video, ..Media::new(call.now, frame(number)) };
        call.outbox.push_frame(call.now, video, largest);
        call.run(Duration::from_secs(2));
    }
    let mut pictures = Reassembly::new(ReassemblyOptions::default());
    let (mut whole, mut touched) = (Vec::new(), std::collections::BTreeSet::new());
    for datagram in &call.delivered {
        let (header, part) = MediaHeader::decode(datagram).unwrap();
        assert_eq!(header.kind, MediaKind::Video);
        touched.insert(header.fragment.frame);
        if pictures.insert(header.fragment, part.len(), part.to_vec()) == Inserted::Complete {
            let picture: Vec<u8> = pictures.take().flatten().collect();
            assert!(picture == frame(header.fragment.frame as u8), "frame {} differs", header.fragment.frame);
            whole.push(header.fragment.frame);
        }
    }
    // 20000 B in datagrams of the maximum size.
    let datagrams = 40 * 20_000_usize.div_ceil(largest - MediaHeader::LEN);
    let lost = datagrams - call.delivered.len();
    assert_eq!(lost, datagrams / 50);
    assert_eq!((touched.len(), whole.len()), (40, 40 - lost));
    assert_eq!(pictures.open_frames(), lost);
}

/// The queue's path delay is half of the connection's smoothed round trip, also while it changes.
/// With "sure-first" it is the round trip less half of the smallest sample, 20 ms.
#[test]
fn the_queue_uses_the_round_trip_of_the_connection() {
    for (ccid, kind) in [(2, "sfdps2"), (3, "sfdps2"), (2, "sure-first"), (3, "sure-first")] {
        let mut call = Call::new(ccid, kind, |_| {}, |_| false);
        let mut seen = Vec::new();
        for name in 0..40 {
            call.delay = Duration::from_millis(if name < 10 { 10 } else { 30 });
            call.push(name, MediaKind::Audio, 160, 1_000);
            call.run(Duration::from_millis(20));
            let rtt = call.client.status().rtt.unwrap();
            let path_delay = if kind == "sfdps2" { rtt / 2 } else { rtt - Duration::from_millis(10) };
            assert_eq!(call.outbox.queue().travel(call.now), path_delay, "CCID {ccid}, {kind}");
            seen.push(rtt);
        }
        assert!(seen[0] < Duration::from_millis(25) && seen[39] > Duration::from_millis(35), "CCID {ccid}: {seen:?}");
    }
}

/// Runs audio over a path that loses every seventh datagram.
fn over_a_lossy_path(resend: bool, lifetime: u64) -> Call {
    let rules = |options: &mut SendQueueOptions| {
        options.rules.resend = resend;
        options.rules.limit = QueueSize::Packets(100);
    };
    let mut call = Call::new(2, "sfdps2", rules, |data| data % 7 == 0);
    for name in 0..300 {
        call.push(name, MediaKind::Audio, 160, lifetime);
        call.run(Duration::from_millis(20));
    }
    call.run(Duration::from_secs(5));
    call
}

/// RFC 4340 section 11.4, RFC 4341 section 5: losses reported by Ack Vectors are resent while there
/// is time. Losses of the last packets are not detected, as no packets follow.
#[test]
fn lost_datagrams_are_resent() {
    let without = over_a_lossy_path(false, 2_000);
    assert!(without.delivered.len() < 265, "{}", without.delivered.len());
    let mut with = over_a_lossy_path(true, 2_000);
    let mut delivered = names(&with.delivered);
    let all = delivered.len();
    delivered.sort_unstable();
    delivered.dedup();
    assert_eq!(delivered.len(), all, "no datagram arrives twice");
    assert_eq!(delivered[..290], (0..290).collect::<Vec<_>>());
    assert!(with.delivered.iter().all(|payload| payload.len() == 160 && payload[2..].iter().all(|byte| *byte == 0)));
    assert_eq!(with.given_up(), []);
    assert!(with.outbox.queue().is_empty());
}

/// A loss is detected after three later packets, 60 ms, and their report, 20 ms. With a lifetime of
/// 50 ms no lost datagram can arrive on time, and all are returned to the program.
#[test]
fn datagrams_lost_too_late_are_returned() {
    let mut call = over_a_lossy_path(true, 50);
    let lost: Vec<u16> = call
        .given_up()
        .iter()
        .map(|one| match one {
            GivenUp::Lost(media) => name(&media.payload),
            GivenUp::Unsent(unsent) => panic!("{unsent:?}"),
        })
        .collect();
    let mut ends = [names(&call.delivered), lost.clone()].concat();
    ends.sort_unstable();
    assert!(lost.len() > 35, "{lost:?}");
    assert_eq!(ends[..290], (0..290).collect::<Vec<_>>());
}

/// Linux 6.1 `dccp_write_xmit`: the CCID has advanced its nominal send time when the late packet is found, so that the
/// next packet waits for one more `t_ipi`. If discards are free, it is sent at the first time.
#[test]
fn a_discard_spends_the_permission_of_ccid_3() {
    let wait_tenths_ms = |spends| {
        let mut call = Call::new(3, "sfdps1", |queue| queue.rules.discard_spends = spends, |_| false);
        call.push(1, MediaKind::Audio, 1000, 1000);
        call.drain();
        assert_eq!(call.sent_data, 1);
        call.push(2, MediaKind::Audio, 1000, 1);
        call.push(3, MediaKind::Audio, 1000, 1000);
        let waited = (1..200_i32).find(|_| {
            call.run(Duration::from_micros(100));
            call.sent_data == 2
        });
        let GivenUp::Unsent(unsent) = call.outbox.poll_given_up().unwrap() else { panic!() };
        assert_eq!((unsent.media.payload[1], unsent.cause), (2, SendDrop::Expired));
        waited.unwrap()
    };
    let (free, spends) = (wait_tenths_ms(false), wait_tenths_ms(true));
    assert!(free > 20 && (2 * free - spends).abs() <= 2, "{free} {spends}");
}

/// RFC 8985 section 7: no later packets show the loss of the last ones, so probes ask for it. All datagrams arrive, whichever
/// of the last four of ten are lost, and also if the first one that is sent again is lost. The probes then end.
#[test]
fn tail_probes_find_the_loss_of_the_last_datagrams() {
    let mut send_queue = SendQueueOptions::preset("sure-first", Dialect::Rfc).unwrap();
    send_queue.rules.resend = true;
    let cases: [fn(u64) -> bool; 5] =
        [|_| false, |n| n == 10, |n| n == 9, |n| matches!(n, 7..=10), |n| matches!(n, 10 | 11)];
    let preset = ConnectionOptions { keep_alive: None, ..ConnectionOptions::real() };
    for ccid in [2, 3, 250] {
        for (case, loses) in cases.into_iter().enumerate() {
            let mut call = Call::with(&preset, ccid, &send_queue, loses);
            for name in 1..=10 {
                call.push(name, MediaKind::Data, 1000, 60_000);
            }
            call.run(Duration::from_secs(10));
            let mut names: Vec<u16> =
                call.delivered.iter().map(|data| u16::from_be_bytes([data[0], data[1]])).collect();
            names.sort_unstable();
            assert_eq!(names, (1..=10).collect::<Vec<u16>>(), "CCID {ccid}, case {case}");
            assert!(call.given_up().is_empty() && !call.outbox.has_outstanding(), "CCID {ccid}, case {case}");
            let sent = call.sent;
            call.run(Duration::from_secs(10));
            assert_eq!(call.sent, sent, "CCID {ccid}, case {case}: no probes without outstanding datagrams");
        }
    }
}
