//! Tests of each rule by hand, and of connections over the simulator's links in virtual time.

use super::*;
use crate::Options;
use headway_dccp::{ConnectionHandle, Endpoint, MediaOutbox, Path};
use headway_emulator::{Direction, Emulator, Packet};
use headway_scenario::{NoFiles, links};
use headway_units::Random;
use proptest::prelude::*;

const RTT: Duration = Duration::from_millis(100);

/// Scripted counters of a connection.
#[derive(Default)]
struct Script {
    breaker: Option<Breaker>,
    now: Instant,
    seen: Observed,
    asked: usize,
}

impl Script {
    fn run(&mut self, seconds: u64, sent: u64, lost: u64, acknowledged: bool) -> Option<(u64, BreakerReason)> {
        let breaker = self.breaker.get_or_insert_with(|| Breaker::new(Instant::ZERO));
        for second in 1..=seconds {
            self.now += Duration::from_secs(1);
            let seen = &mut self.seen;
            (seen.data, seen.sent, seen.lost) = (seen.data + sent, seen.sent + sent, seen.lost + lost);
            seen.bytes += 1250 * sent;
            if acknowledged {
                (seen.acknowledged, seen.received) = (seen.sent, seen.received + 1);
            }
            match breaker.update(self.now, *seen) {
                Step::Trip(why) => return Some((second, why)),
                Step::Ask => self.asked += 1,
                Step::Nothing => {}
            }
        }
        None
    }
}

/// Returns a connection that has run well for a minute.
fn script(rtt: Duration) -> Script {
    let mut script = Script { seen: Observed { rtt: Some(rtt), ..Observed::default() }, ..Script::default() };
    assert_eq!(script.run(60, 100, 0, true), None);
    assert_eq!(script.asked, 0);
    script
}

/// RFC 8083 section 4.1: three times 5 s. The peer is asked before.
#[test]
fn silence_trips_after_15_s() {
    let mut script = script(RTT);
    assert_eq!(script.run(60, 100, 0, false), Some((15, BreakerReason::NoReports(Duration::from_secs(15)))));
    assert_eq!(script.asked, 14);
}

/// With a round trip of one second the limit is 60 round trips, so that a controller can react.
#[test]
fn silence_trips_after_60_round_trips() {
    let mut script = script(Duration::from_secs(1));
    // The periods are 4 s long.
    assert_eq!(script.run(99, 100, 0, false), Some((60, BreakerReason::NoReports(Duration::from_secs(60)))));
}

/// RFC 8083 section 4.2.
#[test]
fn packets_without_acknowledgements_trip() {
    let mut script = script(RTT);
    for second in 1..15 {
        script.seen.received += 1;
        assert_eq!(script.run(1, 100, 0, false), None, "{second}");
    }
    assert_eq!(script.run(1, 100, 0, false), Some((1, BreakerReason::NotArriving(Duration::from_secs(15)))));
}

/// A controller counts bytes: small packets are still sent when it allows a hundredth of the earlier rate.
#[test]
fn a_controller_that_allows_a_tenth_has_backed_off() {
    for (after, trips) in [(1_000_000, true), (100_000, true), (99_000, false)] {
        let mut script = Script::default();
        script.seen.allowed = Some(Rate::from_bits_per_second(1_000_000));
        assert_eq!(script.run(60, 10, 0, true), None);
        script.seen.allowed = Some(Rate::from_bits_per_second(after));
        assert_eq!(script.run(40, 10, 0, false).is_some(), trips, "{after}");
    }
}

/// With a round trip of 4 s, caused by its own queue, the sender would have four minutes.
#[test]
fn more_packets_in_flight_than_a_window_trip() {
    let mut script = script(Duration::from_secs(4));
    assert_eq!(script.run(5, 200_000, 0, false), None);
    assert_eq!(script.run(9, 200_000, 0, false), Some((1, BreakerReason::Unacknowledged(1_200_000))));
    // The same number between two updates is harmless if the peer acknowledges it.
    let mut fast = Script::default();
    assert_eq!(fast.run(60, 2_000_000, 0, true), None);
}

/// A sender of seven packets per second that probes a silent path with five (RFC 8085 section 3.1.3) has backed off;
/// one that sends on has not.
#[test]
fn a_sender_that_probes_has_backed_off() {
    for (probes, trips) in [(5, false), (7, true)] {
        let mut script = Script::default();
        assert_eq!(script.run(60, 7, 0, true), None);
        assert_eq!(script.run(30, probes, 0, false).is_some(), trips, "{probes}");
    }
}

/// Dialect headway-1 recovers from an outage of 20 s, which the breaker permits.
#[test]
fn an_outage_of_twenty_seconds_is_survived() {
    let path = |loss: &str| format!("rate = \"1229kbps\"\ndelay = \"40ms\"\n{loss}");
    for controller in ["tfrc", "tcp-like", "tfrc-sp"] {
        for rate in [5, 7, 11, 25, 50, 100] {
            let dark = "loss = { kind = \"bernoulli\", probability = 1.0 }";
            let links = [(0, ""), (5, dark), (25, "")];
            let links = links.map(|(at, loss)| (Instant::from_secs(at), emulator(&path(loss), at)));
            assert_eq!(World::new(controller, links.into()).run(rate, 35), None, "{controller} {rate}");
        }
    }
}

/// A sender that sends a tenth has backed off; one that sends less than a packet per period is harmless; an
/// acknowledgement ends the silence.
#[test]
fn a_sender_that_has_backed_off_does_not_trip() {
    let mut backs_off = script(RTT);
    for rate in [100, 50, 25, 12, 6, 3, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1] {
        assert_eq!(backs_off.run(1, rate, 0, false), None);
    }
    let mut rare = script(RTT);
    for _ in 0..100 {
        assert_eq!(rare.run(1, 1, 0, false), None);
        assert_eq!(rare.run(1, 0, 0, false), None);
    }
    let mut paused = script(RTT);
    assert_eq!(paused.run(14, 100, 0, false), None);
    assert_eq!(paused.run(1, 100, 0, true), None);
    assert_eq!(paused.run(14, 100, 0, false), None);
    // The breaker is not updated while nothing is sent.
    paused.now += Duration::from_secs(3600);
    assert_eq!(paused.run(1, 0, 0, false), None);
    assert_eq!(paused.run(14, 100, 0, false), None);
}

/// Worked: p = 0.06 and R = 0.1 s give 1 / (0.1 sqrt(0.04)) = 50 packets per second, ten times that is 500.
#[test]
fn ten_times_the_rate_of_tcp_trips() {
    let mut under = script(RTT);
    assert_eq!(under.run(600, 499, 29, true), None);
    let mut over = script(RTT);
    let Some((seconds, BreakerReason::Congestion { rate, tcp, lost, over: time })) = over.run(600, 600, 36, true)
    else {
        panic!()
    };
    assert_eq!((seconds, time), (5, Duration::from_secs(5)));
    assert_eq!((rate, lost), (Rate::from_bits_per_second(6_000_000), 60));
    assert!(tcp.bits_per_second().abs_diff(500_000) < 10, "{tcp}");
}

/// RFC 8084 section 4, requirements 6 and 9: neither light nor intermittent congestion.
#[test]
fn intermittent_congestion_does_not_trip() {
    let mut script = script(RTT);
    for _ in 0..20 {
        assert_eq!(script.run(2, 10_000, 9_000, true), None);
        assert_eq!(script.run(4, 100, 0, true), None);
    }
}

/// RFC 8083 section 4.3: "at least one RTP packet every max(Tdr, Tr) seconds".
#[test]
fn less_than_a_packet_per_round_trip_does_not_trip() {
    let mut rare =
        Script { seen: Observed { rtt: Some(Duration::from_secs(10)), ..Observed::default() }, ..Script::default() };
    for _ in 0..1000 {
        assert_eq!(rare.run(1, 1, 1, true), None);
        assert_eq!(rare.run(1, 0, 0, true), None);
    }
}

/// With a short round trip, ten times TCP's rate without timeouts is many packets; with nine of ten lost, TCP mostly
/// waits for timeouts.
#[test]
fn an_unusable_path_trips() {
    let mut short = script(Duration::from_millis(20));
    let Some((20, BreakerReason::Unusable { lost: 900, over })) = short.run(600, 100, 90, true) else { panic!() };
    assert_eq!(over, Duration::from_secs(20));
    let mut half = script(Duration::from_millis(20));
    assert_eq!(half.run(600, 100, 49, true), None);
}

/// Without a round-trip time there is no rate of TCP.
#[test]
fn without_a_round_trip_only_silence_trips() {
    let mut script = Script::default();
    assert_eq!(script.run(600, 1000, 900, true), None);
    assert!(matches!(script.run(600, 1000, 0, false), Some((15, BreakerReason::NoReports(_)))));
}

#[test]
fn the_reason_is_a_sentence() {
    let rate = Rate::from_bits_per_second;
    let congestion =
        BreakerReason::Congestion { rate: rate(2_000_000), tcp: rate(30_000), lost: 625, over: Duration::from_secs(5) };
    assert_eq!(
        congestion.to_string(),
        "the sender sent 2Mbps over 5s; TCP would send 30kbps, with 62.5 % of the packets lost"
    );
}

/// A sender and its peer in virtual time, over one link after another. Packets stay on the link that they entered.
struct World {
    now: Instant,
    ends: [Endpoint<Option<MediaOutbox<Vec<u8>>>>; 2],
    links: Vec<(Instant, Emulator<Vec<u8>>)>,
    handle: ConnectionHandle,
    breaker: Breaker,
}

fn emulator(keys: &str, seed: u64) -> Emulator<Vec<u8>> {
    let text = format!("seed = 3\n[[link]]\nbetween = [\"a\", \"b\"]\n{keys}");
    let links = links("link.toml", &text, &[], &NoFiles).unwrap();
    let [there, back] = links.duplex(None).unwrap();
    Emulator::new(links.ties, [("a->b", &there.config), ("b->a", &back.config)], seed)
}

fn paths() -> [Path; 2] {
    let [a, b] = [1, 2].map(|n| std::net::SocketAddr::from(([10, 0, 0, n], 5004)));
    [Path::Udp { local: a, remote: b }, Path::Udp { local: b, remote: a }]
}

impl World {
    fn new(controller: &str, links: Vec<(Instant, Emulator<Vec<u8>>)>) -> Self {
        let options = Options::insecure().with_controller(controller).unwrap();
        let mut ends = ["client", "server"].map(|name| Endpoint::new(options.endpoint, Random::new(7, name)));
        let [client, server] = &mut ends;
        let outbox = Some(MediaOutbox::new(&options.queue));
        let common = options.common().unwrap();
        server.listen(Instant::ZERO, common.port, &common.connection, &[common.service]).unwrap();
        let handle =
            client.connect(Instant::ZERO, paths()[0], common.port, common.service, &common.connection, outbox).unwrap();
        Self { now: Instant::ZERO, ends, links, handle, breaker: Breaker::new(Instant::ZERO) }
    }

    /// Sends packets of 1000 bytes at this rate per second. Returns when and why the breaker trips.
    fn run(&mut self, rate: u64, seconds: u64) -> Option<(u64, BreakerReason)> {
        self.run_sizes(rate, seconds, &[1000])
    }

    /// Sends packets of these sizes in turn.
    fn run_sizes(&mut self, rate: u64, seconds: u64, sizes: &[usize]) -> Option<(u64, BreakerReason)> {
        let mut sizes = sizes.iter().cycle();
        let (gap, end) = (Duration::from_secs(1) / rate, self.now + Duration::from_secs(seconds));
        let (mut due, mut update_at, mut buffer) = (self.now, self.now, Vec::new());
        while self.now < end {
            if self.now >= due {
                if let Some(Some(outbox)) = self.ends[0].outbox_mut(self.handle) {
                    let size = *sizes.next().unwrap();
                    outbox.push(self.now, headway_media::Media::new(self.now, vec![0; size]));
                }
                due += gap;
            }
            if self.now >= update_at {
                update_at = self.now + Duration::from_secs(1);
                let connection = self.ends[0].connection_mut(self.handle)?;
                match self.breaker.update(self.now, Observed::from(&connection.status())) {
                    Step::Trip(why) => return Some((self.now.since(Instant::ZERO).as_nanos() / 1_000_000_000, why)),
                    Step::Ask => drop(connection.probe()),
                    Step::Nothing => {}
                }
            }
            self.turn(&mut buffer);
            let next = self.ends.iter().filter_map(Endpoint::poll_timeout);
            let arrivals = self.links.iter().filter_map(|(_, link)| link.poll_timeout());
            let next = next.chain(arrivals).chain([due, update_at]).min().unwrap();
            self.now = self.now.max(next);
        }
        None
    }

    fn turn(&mut self, buffer: &mut Vec<u8>) {
        for (_, link) in &mut self.links {
            while let Some(departure) = link.poll_transmit(self.now) {
                let to = usize::from(departure.direction == Direction::ToServer);
                let Packet { ecn, payload, .. } = departure.packet;
                let _ = self.ends[to].handle_datagram(self.now, paths()[to], ecn, &payload);
            }
        }
        let (_, link) = self.links.iter_mut().rfind(|(begins, _)| *begins <= self.now).unwrap();
        for (end, way) in self.ends.iter_mut().zip(Direction::BOTH) {
            end.handle_timeout(self.now);
            while let Some(out) = end.poll_transmit(self.now, buffer) {
                for payload in buffer[..out.len].chunks(out.segment_size) {
                    let packet = Packet {
                        size: payload.len() as u32 + 28,
                        ecn: out.ecn,
                        payload: payload.to_vec(),
                        ..Packet::default()
                    };
                    link.handle(self.now, way, packet);
                }
            }
            while end.poll_event().is_some() {}
        }
    }
}

fn link(kbps: u64, delay_ms: u64, queue: u64, loss: &str) -> String {
    format!(
        "rate = \"{kbps}kbps\"\ndelay = \"{delay_ms}ms\"\nqueue = {{ kind = \"droptail\", limit = \"{queue}packets\" }}\n{loss}"
    )
}

fn lost(percent: f64) -> String {
    format!("loss = {{ kind = \"bernoulli\", probability = {} }}", percent / 100.0)
}

/// A sender of 4 Mb/s on a path that narrows to 500 kb/s.
#[test]
fn none_trips_on_a_narrow_path() {
    let wide = emulator(&link(10_000, 20, 50, ""), 1);
    let narrow = emulator(&link(500, 20, 50, ""), 1);
    let mut world = World::new("none", vec![(Instant::ZERO, wide), (Instant::from_secs(30), narrow)]);
    assert_eq!(world.run(500, 30), None);
    let (second, why) = world.run(500, 60).unwrap();
    assert!(matches!(why, BreakerReason::Congestion { lost: 500.., .. }), "{why}");
    // The queue of 50 packets is 0.8 s long, and a period has four round trips.
    assert!((34..55).contains(&second), "{second}: {why}");
}

/// The peer reports losses by Ack Vectors when asked. At this rate 5 % are no congestion.
#[test]
fn none_does_not_trip_at_low_loss() {
    let mut world = World::new("none", vec![(Instant::ZERO, emulator(&link(10_000, 20, 50, &lost(5.0)), 1))]);
    assert_eq!(world.run(100, 120), None);
    let status = world.ends[0].connection(world.handle).unwrap().status();
    let share = status.counters.lost_packets as f64 / status.counters.sent_packets as f64;
    assert!((0.04..0.06).contains(&share), "{share}");
    assert!(
        status.rtt.is_some_and(|rtt| rtt > Duration::from_millis(39) && rtt < Duration::from_millis(60)),
        "{:?}",
        status.rtt
    );
}

/// The path fails; a sender without control continues and is stopped.
#[test]
fn none_trips_on_a_path_that_fails() {
    let paths = vec![
        (Instant::ZERO, emulator(&link(10_000, 20, 50, ""), 1)),
        (Instant::from_secs(30), emulator(&link(10_000, 20, 50, &lost(100.0)), 1)),
    ];
    let mut world = World::new("none", paths);
    let (second, why) = world.run(100, 90).unwrap();
    assert!(matches!(why, BreakerReason::NoReports(_)) && (45..48).contains(&second), "{second}: {why}");
}

/// An outage of twenty seconds with small datagrams among a few large ones: the bytes that TFRC allows permit all of
/// them.
#[test]
fn small_packets_outlive_an_outage() {
    for controller in ["tfrc", "tfrc-sp"] {
        for rate in [2, 10, 50] {
            let paths = vec![
                (Instant::ZERO, emulator(&link(10_000, 1, 50, ""), 1)),
                (Instant::from_secs(10), emulator(&link(10_000, 1, 50, &lost(100.0)), 1)),
                (Instant::from_secs(30), emulator(&link(10_000, 1, 50, ""), 1)),
            ];
            let mut world = World::new(controller, paths);
            assert_eq!(world.run_sizes(rate, 5, &[1000]), None);
            assert_eq!(world.run_sizes(rate, 45, &[4]), None, "{controller}, {rate} a second");
            let status = world.ends[0].connection(world.handle).unwrap().status();
            assert!(
                status.counters.acknowledged_packets + 100 > status.counters.sent_packets,
                "{controller}: {status:?}"
            );
        }
    }
}

/// The path becomes eighty times as long and a twenty-fifth as wide: earlier packets are not measured by its new
/// round trip.
#[test]
fn a_longer_round_trip_does_not_apply_to_earlier_packets() {
    let short = emulator(&link(6764, 1, 3, ""), 0);
    let long = emulator(&link(274, 84, 2, ""), 1);
    let mut world = World::new("tfrc", vec![(Instant::ZERO, short), (Instant::from_secs(5), long)]);
    assert_eq!(world.run(814, 10), None);
}

/// A path of 30 kb/s with a queue of two packets drops three of four in a row for more than 200 ms: loss, not an
/// outage.
#[test]
fn losses_of_a_narrow_path_do_not_trip() {
    for controller in ["tfrc", "tfrc-sp", "tcp-like"] {
        let wide = emulator(&link(564, 1, 2, ""), 0);
        let narrow = emulator(&link(30, 1, 2, ""), 1);
        let mut world = World::new(controller, vec![(Instant::ZERO, wide), (Instant::from_secs(5), narrow)]);
        assert_eq!(world.run(13, 60), None, "{controller}");
    }
}

/// Paths with any rate, delay, queue and loss for a while.
fn path() -> impl Strategy<Value = String> {
    let rate = prop_oneof![Just(30u64), 30..1000u64, 1000..20_000u64];
    let percent = prop_oneof![3 => Just(0.0), 2 => 0.0..10.0, 1 => 10.0..60.0, 1 => Just(100.0)];
    (rate, 1..400u64, 2..300u64, percent)
        .prop_map(|(rate, delay, queue, percent)| link(rate, delay, queue, &lost(percent)))
}

/// A path of 12 Mb/s narrows to 0.9 Mb/s with a queue of 1.9 s. TFRC slows down from 10 to 0.8 Mb/s, still more than
/// ten times the rate of TCP, and the mean contains 4 s of the old rate. The property below found this path: the
/// breaker ended the connection after 24 s.
#[test]
fn a_sender_that_has_halved_its_rate_has_backed_off() {
    let links = [(0, link(11_627, 212, 106, "")), (10, link(916, 12, 215, ""))];
    let links = links.map(|(begins, text)| (Instant::from_secs(begins), emulator(&text, begins / 10)));
    assert_eq!(World::new("tfrc", links.into()).run_sizes(1231, 25, &[1000]), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// A controlled sender never triggers the breaker, whatever the path does and however often it changes.
    #[test]
    fn a_controlled_sender_never_trips(
        paths in proptest::collection::vec((path(), 5..40u64), 1..5),
        rate in prop_oneof![5..50u64, 50..2000u64],
        controller in prop_oneof![3 => Just("tfrc"), 1 => Just("tcp-like"), 1 => Just("tfrc-sp")],
        sizes in prop_oneof![2 => Just(vec![1000]), 1 => proptest::collection::vec(0..1200usize, 1..20)],
    ) {
        let mut begins = 0;
        let mut links = Vec::new();
        for (n, (path, seconds)) in paths.iter().enumerate() {
            links.push((Instant::from_secs(begins), emulator(path, n as u64)));
            begins += seconds;
        }
        let mut world = World::new(controller, links);
        prop_assert_eq!(world.run_sizes(rate, begins, &sizes), None);
    }
}

/// RFC 5348 section 3.1 with t_RTO = 4 R and b = 1, by hand: R = 100 ms and p = 0.6 give 0.2305 packets per second,
/// and the rule trips above ten times that. RFC 8083 section 4.4 leaves both bounds open.
#[test]
fn rfc_8083_4_4_an_unusable_path_is_one_of_the_whole_equation() {
    let of = |data| Period { time: Duration::from_secs(1000), data, sent: 1000, bytes: 0, lost: 600, rtt: 0.1 };
    assert!(!of(2304).is_unusable());
    assert!(of(2305).is_unusable());
    assert!(!Period { lost: 500, ..of(100_000) }.is_unusable(), "more than half must be lost");
}
