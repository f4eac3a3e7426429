//! Comparison of the emulator with the simulator: with equal arrivals, both have equal departure times to the
//! nanosecond, equal marks, and equal drops with equal causes.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_emulator::{Direction, Emulator, MAX_HELD_BYTES, Packet};
use headway_record::{LinkLabel, LinkSummary, Measured, Summary};
use headway_scenario::{Files, Scenario, links, load};
use headway_sim::{LinkEvent, Observer, Simulation};
use headway_units::{DropCause, Dscp, Duration, Ecn, Instant};
use proptest::prelude::*;

/// Files that all are the same capacity trace: three times 1504 B in 17 ms and twice in the next 17 ms, 2.2 Mb/s.
struct Capacity;

impl Files for Capacity {
    fn read(&self, _: &str, _: u64) -> std::io::Result<Vec<u8>> {
        Ok(b"3\n3\n17\n25\n34\n".to_vec())
    }
}

/// Departure time, packet and ECN field.
type Left = (Instant, u64, Ecn);

/// Arrivals and departures of the links of the simulation.
#[derive(Default)]
struct Seen {
    offered: Vec<(Instant, Direction, u64, u32, Ecn)>,
    received: [Vec<Left>; 2],
}

impl Observer for Seen {
    const WATCHES: bool = true;

    fn link_event(&mut self, now: Instant, event: LinkEvent, link: usize, packet: &headway_sim::Packet) {
        match event {
            // The emulator makes copies itself. A copy follows its packet and has its number.
            LinkEvent::Enqueue | LinkEvent::Lost if self.offered.last().is_some_and(|last| last.2 == packet.uid) => {}
            LinkEvent::Enqueue | LinkEvent::Lost => {
                self.offered.push((now, Direction::BOTH[link], packet.uid, packet.size, packet.ecn));
            }
            LinkEvent::Receive => self.received[link].push((now, packet.uid, packet.ecn)),
            LinkEvent::Dequeue | LinkEvent::Drop => {}
        }
    }
}

/// Returns a scenario with a link of 2 Mb/s and the keys `link`, bursts that fill it in both directions, and a TFRC
/// flow with ECN.
///
/// A byte takes 4000 ns, so that rounding to nanoseconds does not change the end of a transmission. Sources and round
/// trips are not synchronized with transmissions: the simulator orders events within a nanosecond and the emulator
/// cannot.
fn text(link: &str, ties: &str, seed: u64) -> String {
    let rate = if link.contains("capacity") { "" } else { "rate = \"2Mbps\"" };
    format!(
        r#"
        duration = "20s"
        seed = {seed}
        ties = "{ties}"
        [[link]]
        between = ["a", "b"]
        {rate}
        {link}
        [[flow]]
        name = "bursts"
        from = "a"
        to = "b"
        transport = {{ kind = "udp" }}
        source = {{ kind = "exponential", rate = "4100009bps", size = "700B", burst_time = "100ms", idle_time = "200ms" }}
        [[flow]]
        name = "back"
        from = "b"
        to = "a"
        transport = {{ kind = "udp" }}
        source = {{ kind = "pareto", rate = "5300017bps", size = "1200B" }}
        [[flow]]
        name = "tfrc"
        from = "b"
        to = "a"
        transport = {{ kind = "tfrc", ecn = true }}
        source = {{ kind = "ftp" }}
        "#
    )
}

fn simulated(scenario: &Scenario) -> (Summary, Seen) {
    let mut simulation = Simulation::new(scenario, Seen::default()).unwrap();
    while !simulation.run(u64::MAX).unwrap() {}
    let record = simulation.finish();
    (record.summary, record.observer)
}

/// Passes the packets through the emulator, which is polled whenever a packet is due, or with `lazily` only on
/// arrivals.
fn emulated(text: &str, seen: &Seen, end: Instant, lazily: bool) -> (Emulator<u64>, [Vec<Left>; 2]) {
    let links = links("x.toml", text, &[], &Capacity).unwrap();
    let named = links.duplex(None).unwrap().map(|link| (link.name.as_str(), &link.config));
    let mut link = Emulator::new(links.ties, named, links.seed);
    link.measure(&Measured::between(Instant::ZERO, end));
    let mut out: [Vec<_>; 2] = Default::default();
    let mut fetch = |link: &mut Emulator<u64>, now| {
        while let Some(departure) = link.poll_transmit(now) {
            assert!(departure.at <= now, "early");
            out[departure.direction as usize].push((departure.at, departure.packet.payload, departure.packet.ecn));
        }
    };
    for (now, direction, uid, size, ecn) in &seen.offered {
        while let Some(due) = link.poll_timeout()
            && due < *now
            && !lazily
        {
            fetch(&mut link, due);
        }
        link.handle(*now, *direction, Packet { size: *size, ecn: *ecn, dscp: Dscp::CS0, flow: 0, payload: *uid });
    }
    // Events at the end are not part of a run.
    fetch(&mut link, end.checked_sub(Duration::from_nanos(1)).unwrap());
    (link, out)
}

/// Compares the emulator with the simulator. Returns the summaries of both directions.
fn compare(link: &str, ties: &str, seed: u64) -> Vec<LinkSummary> {
    let text = text(link, ties, seed);
    let scenario = load("x.toml", &text, &[], &Capacity).unwrap().scenario;
    let (summary, seen) = simulated(&scenario);
    for lazily in [false, true] {
        let (emulator, out) = emulated(&text, &seen, Instant::ZERO + scenario.duration, lazily);
        for direction in Direction::BOTH {
            let (simulated, emulated) = (&seen.received[direction as usize], &out[direction as usize]);
            let differs = simulated.iter().zip(emulated).position(|(one, other)| one != other);
            assert_eq!(differs.map(|at| (simulated[at], emulated[at])), None, "{direction:?}, {link}, seed {seed}");
            assert_eq!(simulated.len(), emulated.len(), "{direction:?}, {link}, seed {seed}");
            let (counts, link) = (emulator.counts(direction), &summary.links[direction as usize]);
            assert_eq!(
                (counts.arrived_packets, counts.dropped_packets, counts.marked_packets),
                (link.arrived_packets, link.dropped_packets, link.marked_packets)
            );
            assert_eq!(
                (counts.duplicated_packets, counts.reordered_packets),
                (link.duplicated_packets, link.reordered_packets)
            );
            assert_eq!(
                counts.arrived_packets + counts.duplicated_packets,
                counts.delivered_packets + counts.dropped_packets.total() + counts.held_packets
            );
            let label = LinkLabel { name: link.name.clone(), from: link.from.clone(), to: link.to.clone() };
            assert_eq!(&emulator.summary(direction, label, Instant::ZERO + scenario.duration), link, "{text}");
        }
    }
    summary.links
}

#[test]
fn every_kind_of_queue_and_loss_equals_the_simulator() {
    let dropped = |cause| move |link: &LinkSummary| link.dropped_packets.of(cause) > 10;
    let lossy = |loss: &str| format!("delay = \"30000457ns\"\nloss = {{ kind = {loss} }}");
    compare("delay = \"457ns\"", "drawn", 1).iter().for_each(|link| assert!(dropped(DropCause::QueueFull)(link)));
    let of = |text: &str, what: fn(&LinkSummary) -> bool| {
        for ties in ["drawn", "scheduled"] {
            let links = compare(text, ties, 5);
            assert!(links.iter().any(what), "{text}: {links:?}");
        }
    };
    of("delay = \"7000457ns\"\nqueue = { kind = \"droptail\", limit = \"9000B\", drop = \"front\" }", |link| {
        link.dropped_packets.of(DropCause::QueueFull) > 10
    });
    of("delay = \"7000457ns\"\nqueue = { kind = \"red\" }", |link| link.dropped_packets.of(DropCause::Early) > 10);
    of("delay = \"7000457ns\"\nqueue = { kind = \"red\", ecn = true }", |link| link.marked_packets > 10);
    of("delay = \"7000457ns\"\npolicer = { rate = \"1Mbps\", burst = \"20kB\" }", |link| {
        link.dropped_packets.of(DropCause::Policer) > 10
    });
    let full = |link: &LinkSummary| link.dropped_packets.of(DropCause::QueueFull) > 10;
    of("delay = \"7000457ns\"\ncapacity = \"trace\"", full);
    of("delay = \"7000457ns\"\ncapacity = \"trace\"\nqueue = { kind = \"droptail\", drop = \"front\" }", full);
    let line = |keys: &str| format!("delay = \"7000457ns\"\n{keys}");
    of(&line("queue = { kind = \"droptail\", limit = \"12packets\", counts = \"in-flight\" }"), full);
    of(
        &line(
            r#"shaper = { rate = "1Mbps", burst = "20kB", changes = [{ at = "3s", rate = "300kbps" }, { at = "7s", rate = "1500kbps" }] }"#,
        ),
        full,
    );
    let changes = r#"changes = [{ at = "3s", rate = "1Mbps", delay = "31ms" }, { at = "9s", rate = "2Mbps", delay = "5000457ns" }]"#;
    for rate in ["", changes, "capacity = \"trace\""] {
        of(&line(&format!("{rate}\nshaper = {{ rate = \"1Mbps\", burst = \"20kB\" }}")), full);
        of(&line(&format!("{rate}\njitter = {{ kind = \"exponential\", mean = \"9ms\" }}")), |link| {
            link.reordered_packets == 0
        });
        let free = "jitter = { kind = \"normal\", mean = \"9ms\", deviation = \"8ms\", keeps_order = false }";
        let held = "reorder = { kind = \"held-back\", probability = 0.05, by = \"23ms\" }";
        of(&line(&format!("{rate}\n{free}")), |link| link.reordered_packets > 100);
        of(&line(&format!("{rate}\n{held}\nqueue = {{ kind = \"codel\" }}")), |link| link.reordered_packets > 100);
        of(&line(&format!("{rate}\n{held}\nduplicate = {{ probability = 0.05 }}")), |link| {
            link.duplicated_packets > 100
        });
    }
    let channel = |link: &LinkSummary| link.dropped_packets.of(DropCause::Channel) > 10;
    of(&lossy("\"bernoulli\", probability = 0.05"), channel);
    of(&lossy("\"bernoulli\", probability = 0.05, place = \"after-transmission\""), channel);
    of(&lossy("\"gilbert-elliott\", mean = 0.05, run = 4"), channel);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn any_link_equals_the_simulator(
        seed in 0u64..1000,
        delay in 0u32..200,
        limit in 1u32..60,
        kind in prop_oneof![Just("droptail"), Just("red"), Just("codel"), Just("pie")],
        probability in 0f64..0.3,
        place in prop_oneof![Just("before-queue"), Just("after-transmission")],
        ties in prop_oneof![Just("drawn"), Just("scheduled")],
    ) {
        let link = format!(
            "delay = \"{delay}.000457ms\"\nqueue = {{ kind = \"{kind}\", limit = \"{limit}packets\" }}\n\
             loss = {{ kind = \"bernoulli\", probability = {probability}, place = \"{place}\" }}"
        );
        compare(&link, ties, seed);
    }

    /// Packets of any size at any time: none leaves early, all are counted, and each departs at the time that
    /// `poll_timeout` returned.
    #[test]
    fn no_packet_leaves_early_and_all_are_counted(
        packets in prop::collection::vec((0u64..20_000_000, 1u32..70_000, any::<bool>()), 1..200),
        delay in 0u64..50,
    ) {
        let text = format!("[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"20Mbps\"\ndelay = \"{delay}ms\"");
        let links = links("x.toml", &text, &[], &Capacity).unwrap();
        let config = &links.links[0].config;
        let mut link = Emulator::new(links.ties, [("a->b", config), ("b->a", config)], 1);
        let mut now = Instant::ZERO;
        let mut out = Vec::new();
        for (number, (wait, size, back)) in packets.iter().enumerate() {
            now += Duration::from_nanos(*wait);
            while let Some(due) = link.poll_timeout() && due <= now {
                let departure = link.poll_transmit(due).unwrap();
                prop_assert_eq!(departure.at, due);
                out.push(departure);
            }
            let packet = Packet { size: *size, ecn: Ecn::NotEct, dscp: Dscp::CS0, flow: number as u64 % 3, payload: (number, now) };
            link.handle(now, Direction::BOTH[usize::from(*back)], packet);
        }
        while let Some(due) = link.poll_timeout() {
            out.extend(link.poll_transmit(due));
        }
        prop_assert!(out.is_sorted_by_key(|departure| departure.at));
        for departure in &out {
            let (_, arrived_at) = departure.packet.payload;
            // 8 bits at 20 Mb/s are 400 ns.
            let least = Duration::from_millis(delay) + Duration::from_nanos(400 * u64::from(departure.packet.size));
            prop_assert!(departure.at >= arrived_at + least);
        }
        for direction in Direction::BOTH {
            let numbers = out.iter().filter(|departure| departure.direction == direction).map(|departure| departure.packet.payload.0);
            prop_assert!(numbers.is_sorted());
        }
        let counts = Direction::BOTH.map(|direction| link.counts(direction));
        let ended = |counts: &headway_emulator::DirectionCounts| counts.delivered_packets + counts.dropped_packets.total();
        prop_assert_eq!(counts.iter().map(ended).sum::<u64>(), packets.len() as u64);
        prop_assert!(counts.iter().all(|counts| counts.no_room_packets == 0 && counts.held_packets == 0));
        prop_assert!(MAX_HELD_BYTES > 70_000 * 200);
    }
}
