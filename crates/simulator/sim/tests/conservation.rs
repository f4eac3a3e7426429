//! Invariants of any network and load: packets are conserved, and the results do not depend on the number of events
//! per hop, on concurrent runs, or on observers.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::columns::Table;
use common::hops::{agree, rows};
use common::{run, scenario, shipped};
use headway_record::{LinkFlowSummary, LinkSummary};
use headway_scenario::Scenario;
use headway_sim::{EventTrace, LinkEvent, Ns2Trace, Packet, PacketTrace, Record};
use headway_units::{DropCause, Instant};
use proptest::prelude::*;

const QUEUES: [&str; 20] = [
    r#"{ kind = "droptail", limit = "5packets" }"#,
    r#"{ kind = "droptail", limit = "4kB" }"#,
    r#"{ kind = "droptail", limit = "3packets", drop = "front" }"#,
    r#"{ kind = "red", limit = "12packets", min_threshold = "2packets", max_threshold = "6packets", queue_weight = 0.1, ecn = true }"#,
    r#"{ kind = "red", dialect = "ns2", limit = "10packets" }"#,
    r#"{ kind = "red", limit = "6packets", min_threshold = "1packets", max_threshold = "3packets", queue_weight = 0.3, drop = "random" }"#,
    r#"{ kind = "red", limit = "9packets", min_threshold = "1packets", max_threshold = "6packets", queue_weight = 0.3, drop = "random", classes = [{ dscp = ["cs0"], on_congestion = "mark-head" }] }"#,
    r#"{ kind = "early-random-drop", limit = "6packets", drop_level = "2packets", drop_probability = 0.3 }"#,
    r#"{ kind = "codel", limit = "9packets", target = "4ms", interval = "20ms", maxpacket = "500B" }"#,
    r#"{ kind = "codel", dialect = "linux", limit = "20kB", target = "2ms", interval = "30ms", ecn = true, ce_threshold = "5ms" }"#,
    r#"{ kind = "pie", limit = "15packets", qdelay_ref = "6ms", max_burst = "20ms", mean_pktsize = "300B" }"#,
    r#"{ kind = "pie", dialect = "linux", limit = "30kB", qdelay_ref = "5ms", t_update = "3ms", max_burst = "0s", alpha = 2, beta = 20, ecn = true, delay = "dequeue-rate", dq_threshold = "2kB" }"#,
    r#"{ kind = "fq-codel", limit = "12packets", target = "4ms", interval = "20ms", maxpacket = "500B", flows = 4, ecn = false }"#,
    r#"{ kind = "fq-codel", dialect = "linux", limit = "30packets", target = "2ms", interval = "30ms", quantum = "300B", ce_threshold = "5ms" }"#,
    r#"{ kind = "dualpi2", limit = "20packets", target = "4ms", t_update = "4ms", rtt_max = "20ms" }"#,
    r#"{ kind = "dualpi2", dialect = "linux", limit = "30kB", scheduler = "ts-fifo", alpha = 2, beta = 20 }"#,
    r#"{ kind = "drr", limit = "6packets", quantum = "300B", classes = [{ dscp = ["ef"], quantum = "900B", limit = "2kB" }] }"#,
    r#"{ kind = "priority", limit = "8kB", classes = [{ dscp = ["ef", "af41"], limit = "3packets" }] }"#,
    r#"{ kind = "cake", limit = "9packets", target = "2ms", interval = "10ms", tins = "diffserv4" }"#,
    r#"{ kind = "cake", dialect = "linux", limit = "20kB", target = "1ms", interval = "30ms", bandwidth = "1Mbps", tins = "diffserv8", isolation = "dual-srchost" }"#,
];
const LOSSES: [&str; 3] = [
    "",
    r#"loss = { kind = "bernoulli", probability = 0.05 }"#,
    r#"loss = { kind = "bernoulli", probability = 0.05, place = "after-transmission" }"#,
];
/// Additional options of a link.
const EXTRAS: [&str; 11] = [
    "",
    "",
    r#"ecn = "bleach""#,
    r#"ecn = "ect0-to-ect1"
       reverse = { ecn = "ce-to-ect0", duplicate = { probability = 0.05 } }"#,
    r#"policer = { rate = "700kbps", burst = "3kB" }"#,
    r#"changes = [{ at = "400ms", rate = "300kbps" }, { at = "900ms", rate = "0bps" }, { at = "1200ms", rate = "5Mbps", delay = "41ms" }, { at = "2s", delay = "1ms" }]"#,
    r#"shaper = { rate = "900kbps", burst = "4kB" }"#,
    r#"jitter = { kind = "pareto", mean = "9ms", shape = 1.7, correlation = 0.3 }"#,
    r#"jitter = { kind = "normal", mean = "3ms", deviation = "7ms", keeps_order = false }
       changes = [{ at = "700ms", rate = "0bps", delay = "3ms" }, { at = "1s", rate = "2Mbps" }]"#,
    r#"reorder = { kind = "held-back", probability = 0.1, by = "13ms" }
       duplicate = { probability = 0.1 }"#,
    r#"reorder = { kind = "let-ahead", probability = 0.3, gap = 3, by = "9ms", correlation = 0.5 }
       shaper = { rate = "1200kbps", burst = "2kB" }
       reverse = { reorder = false, duplicate = { probability = 0.05, correlation = 0.2 } }"#,
];
const TRANSPORTS: [&str; 11] = [
    r#"transport = { kind = "udp" }
       source = { kind = "cbr", rate = "1Mbps", size = "1000B" }"#,
    r#"transport = { kind = "udp", datagram = "700B" }
       source = { kind = "cbr", rate = "2Mbps", payload = "3000B", dither = true, random_start = true, lifetime = "50ms" }"#,
    r#"transport = { kind = "tcp-tahoe", dialect = "ns2" }
       source = { kind = "ftp" }"#,
    r#"transport = { kind = "tcp-reno", window = "40packets", overhead = "1ms" }
       source = { kind = "ftp", segments = 100 }"#,
    r#"transport = { kind = "tcp-newreno", dialect = "ns2", delayed_ack = "100ms" }
       source = { kind = "ftp" }"#,
    r#"transport = { kind = "tcp-sack", ecn = true }
       source = { kind = "ftp" }"#,
    r#"transport = { kind = "tcp-cubic", dialect = "linux" }
       source = { kind = "ftp" }"#,
    r#"transport = { kind = "tcp-sack", dialect = "linux" }
       source = { kind = "ftp" }"#,
    r#"transport = { kind = "tcp-prague" }
       source = { kind = "ftp" }"#,
    r#"transport = { kind = "tcp-dctcp", dialect = "linux", expert = { ecn_echo = "accurate" } }
       source = { kind = "ftp" }"#,
    r#"transport = { kind = "tcp-cubic" }
       source = { kind = "cbr", rate = "500kbps", payload = "900B" }"#,
];

const DSCPS: [&str; 3] = ["cs0", "ef", "af11"];

/// Generates a connected network of links with their own queues, and flows between any nodes, some with host delays.
fn network() -> impl Strategy<Value = String> {
    let node = 0usize..7;
    let link = (
        node.clone(),
        prop_oneof![Just("1Mbps"), Just("2Mbps"), Just("3Mbps"), Just("10Mbps")],
        0u32..30,
        0usize..QUEUES.len(),
        0usize..3,
    );
    let flow = (node.clone(), node, 0..TRANSPORTS.len(), prop_oneof![Just("0s"), Just("10ms"), Just("300ms")]);
    (
        prop::collection::vec(link, 6..9),
        prop::collection::vec(flow, 1..7),
        1u64..1000,
        prop_oneof![Just("0s"), Just("700ms")],
        prop_oneof![Just("drawn"), Just("scheduled")],
        prop::collection::btree_set(0usize..7, 0..4),
        prop::collection::vec(0..EXTRAS.len(), 9),
    )
        .prop_map(|(links, flows, seed, measure_from, ties, hosts, extras)| {
            let mut text = format!(
                "duration = \"3s\"\nseed = {seed}\nmeasure_from = \"{measure_from}\"\nties = \"{ties}\"\n"
            );
            for node in hosts {
                text += &format!(
                    "[[node]]\nname = \"n{node}\"\nhost = {{ arrival = \"300us\", delivery = \"4ms\", queue = \"3packets\", ring = \"2packets\" }}\n"
                );
            }
            let mut there = std::collections::BTreeSet::new();
            for (number, (other, rate, delay, queue, loss)) in links.iter().enumerate() {
                // The first six links form a tree: each new node is connected to an earlier one.
                let (a, b) = if number < 6 { (number + 1, other % (number + 1)) } else { (*other, (other + number) % 7) };
                if a == b || !there.insert((a.min(b), a.max(b))) {
                    continue;
                }
                text += &format!(
                    "[[link]]\nbetween = [\"n{a}\", \"n{b}\"]\nrate = \"{rate}\"\ndelay = \"{delay}ms\"\nby_flow = true\nqueue = {}\n{}\n{}\n",
                    QUEUES[*queue], LOSSES[*loss], EXTRAS[extras[number]]
                );
            }
            for (number, (from, to, transport, start)) in flows.iter().enumerate() {
                let to = if from == to { (to + 1) % 7 } else { *to };
                text += &format!(
                    "[[flow]]\nname = \"f{number}\"\nfrom = \"n{from}\"\nto = \"n{to}\"\nstart = \"{start}\"\ndscp = \"{}\"\n{}\n",
                    DSCPS[number % 3],
                    TRANSPORTS[*transport]
                );
            }
            text
        })
}

fn everything<O>(record: &mut Record<O>) -> (String, u64, Vec<u8>) {
    let mut series = Vec::new();
    record.series.take().unwrap().finish(&mut series).unwrap();
    (record.summary.to_json_pretty(), record.fingerprint.value(), series)
}

fn with_two_events(scenario: &Scenario) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.links.iter_mut().for_each(|link| link.two_events = true);
    scenario
}

/// Counts the events of all packets.
#[derive(Debug, Default)]
struct Counter {
    enqueued: u64,
    received: u64,
    dropped: u64,
    host_dropped: u64,
    last: Instant,
}

impl common::Watcher for Counter {
    fn link_event(&mut self, now: Instant, event: LinkEvent, _: usize, _: &Packet) {
        assert!(now >= self.last, "time is monotonic");
        self.last = now;
        match event {
            LinkEvent::Enqueue => self.enqueued += 1,
            LinkEvent::Receive => self.received += 1,
            LinkEvent::Drop => self.dropped += 1,
            LinkEvent::Lost => (self.enqueued, self.dropped) = (self.enqueued + 1, self.dropped + 1),
            LinkEvent::Dequeue => {}
        }
    }
    fn host_event(&mut self, now: Instant, delivered: bool, _: &Packet) {
        assert!(now >= self.last, "time is monotonic");
        self.last = now;
        self.host_dropped += u64::from(!delivered);
    }
}

/// Asserts that a link's counts by flow add up. In a whole run, packets not dropped in the queue are sent or waiting.
fn flows_at_a_link_are_its_packets(link: &LinkSummary, whole: bool) {
    let sum = |of: fn(&LinkFlowSummary) -> u64| link.flows.iter().map(of).sum::<u64>();
    assert_eq!(sum(|flow| flow.arrived_packets), link.arrived_packets);
    assert_eq!(sum(|flow| flow.marked_packets), link.marked_packets);
    for cause in DropCause::ALL {
        let dropped: u64 = link.flows.iter().map(|flow| flow.dropped_packets.of(cause)).sum();
        assert_eq!(dropped, link.dropped_packets.of(cause));
    }
    let finished = sum(|flow| flow.sent_packets) + link.dropped_packets.total();
    let in_queue = link.dropped_packets.total() - link.dropped_packets.of(DropCause::Channel);
    if whole {
        assert!(sum(|flow| flow.sent_packets) + in_queue <= link.arrived_packets + link.duplicated_packets);
        assert!(finished + link.peak_queue_packets >= link.arrived_packets + link.duplicated_packets);
    }
    for flow in &link.flows {
        assert!((40..=1500).contains(&(flow.sent_bytes / flow.sent_packets.max(1))) || flow.sent_packets == 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn packets_are_conserved_and_links_agree(text in network()) {
        let one = scenario(&text);
        let mut record = run(&one, ());
        let whole = everything(&mut record);
        let sum = record.conservation;
        prop_assert_eq!(sum.sent + sum.copied, sum.delivered + sum.dropped + sum.in_flight);
        // Per flow, packets neither received nor lost are in flight, at most as many as in the network.
        let mut in_flight = 0;
        for flow in &record.summary.flows {
            prop_assert_eq!(flow.sent_packets, flow.received_packets + flow.lost_packets.total() + flow.in_flight_packets);
            in_flight += flow.in_flight_packets;
            for frames in flow.frames.values() {
                prop_assert!(frames.written_frames >= frames.complete_frames);
                prop_assert!(frames.complete_frames >= frames.on_time_frames.unwrap_or(0));
            }
        }
        prop_assert!(in_flight <= sum.in_flight);
        for link in &record.summary.links {
            flows_at_a_link_are_its_packets(link, record.summary.interval.from == 0.0);
        }
        // The record is byte-identical with one or two events per hop, and with an observer.
        prop_assert_eq!(&everything(&mut run(&with_two_events(&one), ())), &whole);
        // Also with observers of hops and flow events. Reports of hops do not depend on the events of links.
        let mut observed = run(&one, (EventTrace::new(&one), PacketTrace::new(&one)));
        prop_assert_eq!(&everything(&mut observed), &whole);
        let packets = observed.observer.1.take().unwrap();
        let two = with_two_events(&one);
        let mut observed_two = run(&two, (Ns2Trace::new(&one), PacketTrace::new(&two)));
        prop_assert!(observed_two.observer.1.take().unwrap() == packets);
        let lines = String::from_utf8(observed_two.observer.0.take()).unwrap();
        if one.links.iter().all(|link| link.duplicate.is_none()) {
            agree(&one, &lines, &rows(&Table::read(&packets)), one.duration.as_nanos() as i64);
        }
        let mut watched = common::watch(&one, Counter::default());
        prop_assert_eq!(everything(&mut watched), whole);
        let seen = &watched.observer;
        let on_links = seen.enqueued - seen.received - seen.dropped;
        prop_assert!(on_links <= sum.in_flight);
        if record.summary.interval.from == 0.0 {
            let hosts = &record.summary.hosts;
            let dropped: u64 = hosts.iter().map(|host| host.dropped_packets.ring + host.dropped_packets.queue).sum();
            let finished = dropped + hosts.iter().map(|host| host.delivered_packets).sum::<u64>();
            prop_assert_eq!(on_links + hosts.iter().map(|host| host.arrived_packets).sum::<u64>() - finished, sum.in_flight);
            prop_assert_eq!((seen.dropped + dropped, seen.host_dropped), (sum.dropped, dropped));
        } else if record.summary.hosts.is_empty() {
            prop_assert_eq!(on_links, sum.in_flight);
        }
        prop_assert_eq!(seen.received, record.summary.packet_hops);
    }

    /// The same scenario gives the same record.
    #[test]
    fn a_run_is_a_function_of_its_scenario(text in network()) {
        let one = scenario(&text);
        prop_assert_eq!(everything(&mut run(&one, ())), everything(&mut run(&one, ())));
    }
}

/// With DropTail and RED, results do not depend on the events of links, even if most arrivals coincide.
#[test]
fn links_agree_with_simultaneous_arrivals() {
    let red = r#"kind = "red", limit = "20packets", min_threshold = "3packets", max_threshold = "9packets""#;
    for path in ["ties.toml", "in-phase.toml"] {
        let droptail = shipped(path);
        let text = std::fs::read_to_string(common::root().join("scenarios").join(path)).unwrap();
        let with_red = scenario(&text.replace(r#"kind = "droptail", limit = "20packets""#, red));
        assert_ne!(with_red, droptail);
        for one in [droptail, with_red] {
            let record = run(&one, ());
            assert!(record.summary.flows.iter().any(|flow| flow.lost_packets.total() > 0), "{path}: nothing was lost");
            assert_eq!(everything(&mut run(&with_two_events(&one), ())), everything(&mut run(&one, ())), "{path}");
        }
    }
}

/// A flow on other links does not change any random draw: each component has its own random stream.
#[test]
fn a_flow_on_other_links_changes_no_draw() {
    let base = r#"
        duration = "5s"
        [[link]]
        between = ["a", "b"]
        rate = "1Mbps"
        delay = "5ms"
        queue = { kind = "red", limit = "20packets" }
        loss = { kind = "bernoulli", probability = 0.02 }
        [[flow]]
        name = "one"
        from = "a"
        to = "b"
        start = { uniform = ["0s", "1s"] }
        transport = { kind = "udp" }
        source = { kind = "cbr", rate = "1100kbps", size = "500B", dither = true }
    "#;
    let more = format!(
        "{base}\n[[link]]\nbetween = [\"c\", \"d\"]\nrate = \"1Mbps\"\ndelay = \"5ms\"\n\
         [[flow]]\nname = \"two\"\nfrom = \"c\"\nto = \"d\"\ntransport = {{ kind = \"udp\" }}\n\
         source = {{ kind = \"cbr\", rate = \"900kbps\", size = \"500B\", dither = true }}\n"
    );
    let (alone, with_other) = (run(&scenario(base), ()), run(&scenario(&more), ()));
    assert_eq!(alone.summary.flows[0], with_other.summary.flows[0]);
    assert_eq!(alone.summary.links[0], with_other.summary.links[0]);
}

/// Concurrent runs do not influence each other.
#[test]
fn records_are_equal_at_any_number_of_threads() {
    let scenario = shipped("red.toml");
    let alone = everything(&mut run(&scenario, ()));
    #[expect(clippy::disallowed_methods, reason = "that threads change nothing is what is tested")]
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| everything(&mut run(&scenario, ())))).collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), alone);
        }
    });
}

/// A stopped run has the summary of a shorter run, except that it is marked incomplete.
#[test]
fn a_stopped_run_equals_a_shorter_run() {
    let mut long = shipped("red.toml");
    let mut simulation = headway_sim::Simulation::new(&long, ()).unwrap();
    assert!(!simulation.run(8_000).unwrap());
    let cut = simulation.now();
    let partial = simulation.finish().summary;
    assert!(!partial.complete);
    long.duration = cut.since(Instant::ZERO);
    let short = run(&long, ()).summary;
    // The event at which the run stopped is part of it, but not of the shorter run: counts may differ by one.
    assert!(partial.packet_hops.abs_diff(short.packet_hops) <= 1);
    for (a, b) in partial.links.iter().zip(&short.links) {
        assert!((a.mean_queue_packets - b.mean_queue_packets).abs() < 1e-6, "{}", a.name);
        assert!((a.utilisation - b.utilisation).abs() < 1e-6, "{}", a.name);
    }
    assert_eq!(partial.interval, short.interval);
}

/// A packet lost after its transmission does not affect the gaps of its flow, whenever the loss is reported.
#[test]
fn gaps_by_flow_include_channel_losses() {
    let text = r#"
        duration = "3s"
        seed = 477
        [[link]]
        between = ["a", "b"]
        rate = "1Mbps"
        delay = "0ms"
        by_flow = true
        queue = { kind = "droptail", limit = "5packets" }
        loss = { kind = "bernoulli", probability = 0.05, place = "after-transmission" }
        [[flow]]
        name = "ftp"
        from = "a"
        to = "b"
        transport = { kind = "tcp-newreno", dialect = "ns2", delayed_ack = "100ms" }
        source = { kind = "ftp" }
    "#;
    let one = scenario(text);
    let mut record = run(&one, ());
    let summary = everything(&mut record);
    assert!(record.summary.flows[0].lost_packets.of(DropCause::Channel) > 0);
    assert_eq!(everything(&mut run(&with_two_events(&one), ())), summary);
}
