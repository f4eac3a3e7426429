//! Nodes with local clocks: which behavior depends on them, and which does not.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;
use headway_engine::Ties;

use headway_record::FlowSummary;
use headway_scenario::{ClockOptions, Scenario, Spread};
use headway_sim::{LinkEvent, Packet, Record, SendQueueEvaluation};
use headway_units::{Drift, Duration, Instant, Offset, Skew};

/// A flow from `a` to `b` with these clocks.
struct Case<'a> {
    head: &'a str,
    clocks: [&'a str; 2],
    rate: &'a str,
    transport: &'a str,
    flow: &'a str,
}

const AHEAD: Option<ClockOptions> = offset(108_000_000_000_000);
const BEHIND: Option<ClockOptions> = offset(-7_200_000_000_000);

/// Returns a clock with this offset, in ns.
const fn offset(nanos: i64) -> Option<ClockOptions> {
    Some(ClockOptions {
        skew: Spread::Same(Skew::new(0)),
        offset: Spread::Same(Offset::new(nanos)),
        drift: Drift::new(0),
        granularity: Duration::from_nanos(1),
    })
}

const FTP: &str = "source = { kind = \"ftp\" }";

impl Case<'_> {
    fn text(&self) -> String {
        let Self { head, clocks, rate, transport, flow } = self;
        let nodes = ["a", "b"].iter().zip(clocks).filter(|(_, clock)| !clock.is_empty());
        let nodes: String =
            nodes.map(|(name, clock)| format!("[[node]]\nname = \"{name}\"\nclock = {{ {clock} }}\n")).collect();
        format!(
            r#"{head}
record = {{ series = false }}
{nodes}
[[link]]
between = ["a", "b"]
rate = "{rate}"
delay = "20ms"
queue = {{ kind = "droptail", limit = "25packets" }}
[[flow]]
name = "media"
from = "a"
to = "b"
transport = {{ {transport} }}
{flow}
"#
        )
    }

    fn record(&self) -> Record {
        common::run(&common::scenario(&self.text()), ())
    }

    fn flow(&self) -> FlowSummary {
        self.record().summary.flows.remove(0)
    }
}

#[derive(Default)]
struct Sent(Vec<Instant>);

impl common::Watcher for Sent {
    fn link_event(&mut self, _: Instant, event: LinkEvent, _: usize, packet: &Packet) {
        if event == LinkEvent::Enqueue {
            self.0.push(packet.sent);
        }
    }
}

/// 100 packets per second, the first at once. A clock 500 ppm slow shows 999.5 s after 1000 s: 99,950 packets.
#[test]
fn a_slow_source_sends_fewer_packets() {
    for (clock, packets) in [
        ("", 100_000),
        ("skew = \"-500ppm\"", 99_950),
        ("skew = \"1000ppm\", offset = \"-12h\"", 100_100),
        ("skew = \"1ppb\", granularity = \"1ns\"", 100_001),
        // 1000 s are 0.2778 h, in which 18 ppm/h become 5 ppm, 2.5 ppm on average: 2.5 ms too little.
        ("drift = \"-18ppm/h\"", 100_000),
        ("drift = \"-18ppm/h\", skew = \"-7.5ppm\"", 99_999),
    ] {
        // Without a clock, ns-2's sum of this many waits is a few ns too short.
        for dialect in ["rfc", "ns2"].into_iter().take(if clock.is_empty() { 1 } else { 2 }) {
            let case = Case {
                head: &format!("duration = \"1000s\"\ndialect = \"{dialect}\""),
                clocks: [clock, "skew = \"100ppm\""],
                rate: "10Mbps",
                transport: "kind = \"udp\"",
                flow: "source = { kind = \"cbr\", interval = \"10ms\", payload = \"100B\" }",
            };
            assert_eq!(case.flow().sent_packets, packets, "{clock}, {dialect}");
        }
    }
}

/// Start and stop are in true time. In between, a clock that is a tenth slow ticks nine times instead of ten.
#[test]
fn start_and_stop_are_in_true_time() {
    for transport in ["kind = \"udp\"", "kind = \"tfrc\"", "kind = \"tcp-newreno\""] {
        let case = Case {
            head: "duration = \"10s\"",
            clocks: ["skew = \"-100000ppm\", offset = \"1h\"", ""],
            rate: "10Mbps",
            transport,
            flow: "start = \"1s\"\nstop = \"2s\"\nsource = { kind = \"cbr\", interval = \"100ms\", payload = \"100B\" }",
        };
        let sent = common::watch(&common::scenario(&case.text()), Sent::default()).observer.0;
        assert_eq!(sent[0], Instant::from_secs(1), "{transport}");
        if transport.contains("udp") {
            assert_eq!(sent.len(), 9, "{transport}");
            assert_eq!(sent[8], Instant::from_nanos(1_000_000_000 + 888_888_889), "{transport}");
        }
    }
}

/// With a clock of 1 ms granularity, 0.4 ms ahead, writes every 0.3 ms are sent at 0.6 ms, 1.6 ms and so on.
#[test]
fn a_coarse_clock_wakes_its_node_at_its_ticks() {
    let case = Case {
        head: "duration = \"1s\"",
        clocks: ["offset = \"0.4ms\", granularity = \"1ms\"", ""],
        rate: "100Mbps",
        transport: "kind = \"udp\"",
        flow: "source = { kind = \"cbr\", interval = \"0.3ms\", payload = \"100B\" }",
    };
    let sent = common::watch(&common::scenario(&case.text()), Sent::default()).observer.0;
    assert!(sent.iter().all(|sent| sent.as_nanos() % 1_000_000 == 600_000));
    let in_tick = |tick: u64| sent.iter().filter(|sent| sent.as_nanos() / 1_000_000 == tick).count();
    // Writes are due at 0, 0.3, 0.6 ms; 0.9, 1.2, 1.5 ms; 1.8, 2.1, 2.4 ms; 2.7, 3.0, 3.3 and 3.6 ms.
    assert_eq!([0, 1, 2, 3].map(in_tick), [3, 3, 3, 4]);
}

const TRANSPORTS: [&str; 14] = [
    "kind = \"tcp-newreno\"",
    "kind = \"tcp-sack\", dialect = \"linux\"",
    "kind = \"tcp-cubic\"",
    "kind = \"tcp-westwood\"",
    "kind = \"tcp-vegas\"",
    "kind = \"tcp-vegas\", dialect = \"ns2\"",
    "kind = \"tcp-jtcp\"",
    "kind = \"tfrc\"",
    "kind = \"tcp-like\"",
    "kind = \"udpm\"",
    "kind = \"dccp\", ccid = 2",
    "kind = \"dccp\", ccid = 3",
    "kind = \"dccp\", ccid = 4",
    "kind = \"dccp\", ccid = 248",
];

fn ftp(transport: &str, clocks: [&str; 2]) -> FlowSummary {
    Case { head: "duration = \"120s\"\nmeasure_from = \"20s\"", clocks, rate: "2Mbps", transport, flow: FTP }.flow()
}

/// No sender compares its clock with the receiver's: each measures differences of its timestamps, which are echoed.
/// Offsets therefore change nothing, and skews of this size little: only phases change, on which losses depend.
#[test]
fn unsynchronized_clocks_cost_no_throughput() {
    for transport in TRANSPORTS {
        let exact = ftp(transport, [""; 2]);
        assert!(exact.goodput_bps > 1e6, "{transport}: {}", exact.goodput_bps);
        for clocks in [
            ["skew = \"100ppm\"", "skew = \"-100ppm\""],
            ["skew = \"-500ppm\", offset = \"-2h\"", "skew = \"500ppm\", offset = \"30h\""],
            ["offset = \"5h\", drift = \"50ppm/h\"", ""],
            ["", "offset = \"-3ms\", granularity = \"1us\""],
        ] {
            let flow = ftp(transport, clocks);
            let ratio = flow.goodput_bps / exact.goodput_bps;
            assert!((ratio - 1.0).abs() < 0.03, "{transport}, {clocks:?}: {ratio} of {}", exact.goodput_bps);
            let rtts = [&flow, &exact].map(|flow| flow.rtt_s.as_ref().unwrap().mean);
            assert!((rtts[0] / rtts[1] - 1.0).abs() < 0.05, "{transport}, {clocks:?}: {rtts:?}");
        }
    }
}

/// The offset is a whole number of ticks of every timestamp, so that all differences are identical to the nanosecond.
#[test]
fn offsets_alone_change_no_event() {
    for transport in TRANSPORTS {
        let exact = ftp(transport, [""; 2]);
        let shifted = ftp(transport, ["offset = \"-2h\"", "offset = \"30h\""]);
        assert_eq!(shifted, exact, "{transport}");
    }
}

/// Without synchronized clocks, UDPm's receiver uses the sender's round-trip time (docs/src/rate/udpm.md).
#[test]
fn udpm_ignores_one_way_delays_of_unsynchronized_clocks() {
    let run = |round_trip: &str, offset: &str| {
        let transport =
            format!("kind = \"udpm\", controller = {{ decide = \"round-trip\", round_trip = \"{round_trip}\" }}");
        ftp(&transport, ["", offset])
    };
    assert_ne!(run("one-way", ""), run("measured", ""), "agreeing clocks are used");
    for offset in ["offset = \"3h\"", "offset = \"-3h\""] {
        for round_trip in ["one-way", "least-one-way"] {
            assert_eq!(run(round_trip, offset), run("measured", offset), "{round_trip}, {offset}");
        }
    }
}

/// Runs a conference over a link that its large frames fill: some frames are late.
fn call(transport: &str, clocks: [&str; 2]) -> Record {
    Case {
        head: "duration = \"60s\"",
        clocks,
        rate: "1Mbps",
        transport,
        flow: "source = { kind = \"conference\", lifetime = \"40ms\" }",
    }
    .record()
}

/// Over UDP only the source uses a clock: with an offset the record is identical, including the order of events.
#[test]
fn a_udp_record_is_the_same_with_any_offset() {
    let exact = call("kind = \"udp\"", [""; 2]);
    for clocks in [
        ["offset = \"3ms\"", ""],
        ["offset = \"-7h\"", "offset = \"100000s\""],
        ["", "skew = \"-100000ppm\", drift = \"9ppm/h\""],
    ] {
        let record = call("kind = \"udp\"", clocks);
        assert_eq!(record.fingerprint, exact.fingerprint, "{clocks:?}");
        assert_eq!(record.summary, exact.summary, "{clocks:?}");
    }
}

/// Records are in true time: a source 100 ppm slow changes frame delays and on-time ratios by at most 100 ppm.
#[test]
fn delays_and_deadlines_are_recorded_in_true_time() {
    for transport in ["kind = \"udp\"", "kind = \"tfrc\"", "kind = \"tcp-newreno\"", "kind = \"dccp\", ccid = 2"] {
        let exact = call(transport, [""; 2]).summary.flows.remove(0);
        let skewed =
            call(transport, ["skew = \"-100ppm\", offset = \"-2h\"", "skew = \"100ppm\""]).summary.flows.remove(0);
        // Paced and windowed flows have losses in another phase.
        let most = if transport.contains("udp") { 2e-4 } else { 0.1 };
        let near = |a: f64, b: f64, what: &str| {
            assert!((a - b).abs() <= most * b.abs(), "{transport}, {what}: {a} and {b}");
        };
        assert_eq!(exact.frames.len(), 2, "{transport}: sound and video");
        for (kind, b) in &exact.frames {
            let a = &skewed.frames[kind];
            near(a.on_time_ratio.unwrap(), b.on_time_ratio.unwrap(), "on time");
            near(a.delay_s.as_ref().unwrap().mean, b.delay_s.as_ref().unwrap().mean, "mean delay of frames");
        }
        near(skewed.one_way_delay_s.as_ref().unwrap().mean, exact.one_way_delay_s.as_ref().unwrap().mean, "mean delay");
        for (kind, share) in &exact.on_time_ratio {
            near(skewed.on_time_ratio[kind], *share, "packets on time");
        }
    }
}

/// Each replica draws its skew and offset by its name: other replicas or another clock change nothing.
#[test]
fn each_node_draws_its_own_clock() {
    let run = |seed: u64, count: u64, more: &str| {
        let text = format!(
            r#"duration = "100s"
seed = {seed}
[[node]]
name = "n"
count = {count}
clock = {{ skew = {{ uniform = ["-10000ppm", "10000ppm"] }}, {more} }}
[[link]]
between = ["n", "hub"]
rate = "10Mbps"
delay = "1ms"
[[flow]]
name = "cbr"
from = "n"
to = "hub"
transport = {{ kind = "udp" }}
source = {{ kind = "cbr", interval = "1ms", payload = "100B" }}
"#
        );
        let record = common::run(&common::scenario(&text), ());
        let sent: Vec<_> = record.summary.flows.iter().map(|flow| flow.sent_packets).collect();
        (record.fingerprint, sent)
    };
    let (fingerprint, sent) = run(1, 8, "");
    assert_eq!(run(1, 8, ""), (fingerprint, sent.clone()), "the same seed, the same run");
    assert_eq!(run(1, 3, "").1, sent[..3]);
    assert_eq!(run(1, 8, "offset = { uniform = [\"0s\", \"1s\"] }").1, sent);
    assert_ne!(run(2, 8, "").1, sent);
    // Of 100,000 packets within one hundredth, and not all the same.
    assert!(sent.iter().all(|sent| (99_000..101_000).contains(sent)), "{sent:?}");
    let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
    assert!(most - least > 500, "{sent:?}");
}

/// Arrivals and completions of sessions are in true time.
#[test]
fn an_offset_does_not_change_sessions() {
    // With scheduled ties, the sums of ns-2 would differ, since clocks have whole nanoseconds.
    for name in ["web.toml", "pages.toml"] {
        let exact = Scenario { ties: Ties::Drawn, ..common::shipped(name) };
        let mut shifted = exact.clone();
        shifted.clocks = [AHEAD, BEHIND].into_iter().cycle().take(exact.nodes.len()).collect();
        let [exact, shifted] = [exact, shifted].map(|scenario| common::run(&scenario, ()));
        assert_eq!(shifted.summary, exact.summary, "{name}");
    }
}

/// The bound with perfect knowledge uses true time, too.
#[test]
fn an_offset_does_not_change_a_yardstick() {
    let exact = common::shipped("conference.toml");
    let mut shifted = exact.clone();
    shifted.clocks = vec![BEHIND, AHEAD];
    let [exact, shifted] = [exact, shifted].map(|scenario| {
        let yardstick = SendQueueEvaluation::new(&scenario, 0).unwrap();
        let replayed = yardstick.replay(&scenario.flows[0].send_queue);
        format!("{} {} {:?} {replayed:?}", yardstick.offered(), yardstick.opportunities(), yardstick.bound())
    });
    assert_eq!(shifted, exact);
}

/// Attackers use true time. Their packets to endpoints with local clocks are counted as usual.
#[test]
fn an_offset_does_not_change_attacks() {
    for (at, attack) in [
        ("router", "on_path = true\nattack = { kind = \"drop\", share = 0.1 }"),
        ("mallory", "attack = { kind = \"flood\" }"),
        ("mallory", "start = \"2s\"\nattack = { kind = \"forge\", packet = \"sync\", interval = \"10ms\" }"),
    ] {
        let links = [("a", "router"), ("router", "b"), ("mallory", "a"), ("mallory", "b")];
        let link = |(a, b)| format!("[[link]]\nbetween = [\"{a}\", \"{b}\"]\nrate = \"10Mbps\"\ndelay = \"5ms\"\n");
        let exact = common::scenario(&format!(
            r#"duration = "10s"
{}
[[flow]]
name = "call"
from = "a"
to = "b"
start = "1s"
transport = {{ kind = "dccp", ccid = 3 }}
source = {{ kind = "cbr", interval = "20ms", payload = "160B" }}
[[attacker]]
name = "mallory"
at = "{at}"
target = "call"
{attack}
"#,
            links.map(link).concat()
        ));
        let mut shifted = exact.clone();
        shifted.clocks = vec![AHEAD, None, BEHIND, None];
        let [exact, shifted] = [exact, shifted].map(|scenario| common::run(&scenario, ()));
        assert!(exact.summary.attackers[0].sent_packets + exact.summary.attackers[0].seen_packets > 100, "{attack}");
        assert_eq!(shifted.summary, exact.summary, "{attack}");
    }
}

/// With a clock coarser than the gaps between packets, timers fire late, never early, and the flow continues.
#[test]
fn coarse_clocks_stop_no_flow() {
    for transport in TRANSPORTS {
        let exact = ftp(transport, [""; 2]);
        let flow = ftp(transport, ["granularity = \"4ms\"", "granularity = \"10ms\", offset = \"3ms\""]);
        assert!(
            flow.goodput_bps > exact.goodput_bps / 2.0,
            "{transport}: {} of {}",
            flow.goodput_bps,
            exact.goodput_bps
        );
    }
}
