//! Loss filters over a wireless link: throughput, fairness, operation over DCCP, and clocks.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use headway_record::{FlowSummary, jain_index};
use headway_scenario::NoFiles;
use headway_units::DropCause;

/// Flows through 100 Mb/s and a wireless link of 10 Mb/s, with a round trip of 40 ms. The first flow is measured.
struct Path<'a> {
    dialect: &'a str,
    seed: u64,
    loss: f64,
    queue: u32,
    /// Clock of the receiver.
    clock: &'a str,
    transport: &'a str,
    others: &'a str,
}

/// Three constant rates of 2 Mb/s with random gaps, from the router.
const CONSTANT: &str = "[[flow]]\nname = \"constant\"\ncount = 3\nfrom = \"router\"\nto = \"receiver\"\nstart = { uniform = [\"0s\", \"100ms\"] }\n\
    transport = { kind = \"udp\" }\nsource = { kind = \"cbr\", rate = \"2Mbps\", size = \"1000B\", dither = true }\n";
const RENO: &str = "[[flow]]\nname = \"reno\"\nfrom = \"sender\"\nto = \"receiver\"\nstart = { uniform = [\"0s\", \"1s\"] }\n\
    transport = { kind = \"tcp-reno\", segment = \"1000B\", window = \"1000packets\" }\nsource = { kind = \"ftp\" }\n";
const TFRC: &str = "kind = \"tfrc\", datagram = \"1000B\", header = \"0B\"";

const WIRELESS: Path<'static> =
    Path { dialect: "rfc", seed: 1, loss: 0.0, queue: 50, clock: "", transport: TFRC, others: CONSTANT };

impl Path<'_> {
    fn text(&self) -> String {
        let Self { dialect, seed, loss, queue, clock, transport, others } = self;
        format!(
            r#"duration = "120s"
measure_from = "20s"
dialect = "{dialect}"
seed = {seed}
record = {{ series = false }}
[[node]]
name = "receiver"
{clock}
[[link]]
between = ["sender", "router"]
rate = "100Mbps"
delay = "10ms"
queue = {{ kind = "droptail", limit = "1000packets" }}
[[link]]
between = ["router", "receiver"]
one_way = true
rate = "10Mbps"
delay = "10ms"
queue = {{ kind = "droptail", limit = "{queue}packets" }}
loss = {{ kind = "bernoulli", probability = {loss:?}, place = "after-transmission" }}
[[link]]
between = ["receiver", "router"]
one_way = true
rate = "10Mbps"
delay = "10ms"
[[flow]]
name = "main"
from = "sender"
to = "receiver"
start = {{ uniform = ["0s", "1s"] }}
transport = {{ {transport} }}
source = {{ kind = "ftp" }}
{others}"#
        )
    }

    fn flows(&self) -> Vec<FlowSummary> {
        common::run(&common::scenario(&self.text()), ()).summary.flows
    }

    fn run(&self) -> FlowSummary {
        self.flows().remove(0)
    }

    fn mbps(&self) -> f64 {
        self.run().throughput_bps / 1e6
    }

    fn refused(&self) -> String {
        headway_scenario::load("test.toml", &self.text(), &[], &NoFiles).unwrap_err().to_string()
    }
}

fn filtered(filter: &str) -> String {
    format!("{TFRC}, controller = {{ {filter} }}")
}

/// Returns the transport over DCCP; an MTU of 1000 B gives packets of the same size.
fn over_dccp(filter: &str) -> String {
    format!("kind = \"dccp\", ccid = 250, connection = {{ mtu = \"1000B\" }}, controller = {{ {filter} }}")
}

const GUARDED: &str = "loss_filter = \"guarded\"";
const ZIGZAG: &str = "loss_filter = \"zigzag\"";
const SPIKE: &str = "loss_filter = \"spike\"";
const ORACLE: &str = "loss_filter = \"oracle\"";
const UDDJ: &str = "loss_filter = \"uddj\", uddj = { action = \"filter\" }";

#[derive(Debug)]
struct Lost {
    channel: u64,
    queue_full: u64,
}

impl Lost {
    fn of(flow: &FlowSummary) -> Self {
        let [channel, queue_full] = [DropCause::Channel, DropCause::QueueFull].map(|cause| flow.lost_packets.of(cause));
        Self { channel, queue_full }
    }
}

/// Asserts that `a` and `b` differ by at most this ratio.
fn near(a: f64, b: f64, within: f64, what: &str) {
    assert!(a <= b * (1.0 + within) && b <= a * (1.0 + within), "{what}: {a} and {b}");
}

/// Wireless-TFRC of the UDDJ paper "can distinguish all channel loss": at a rate that does not fill the queue, and
/// without channel losses. Losses declared after the run or sent before the measured interval are in only one of the
/// counts.
#[test]
fn the_oracle_is_never_wrong() {
    let transport = filtered("loss_filter = \"oracle\", expert = { max_rate = \"3Mbps\" }");
    let flow = Path { loss: 0.03, transport: &transport, ..WIRELESS }.run();
    let (lost, judged) = (Lost::of(&flow), flow.losses_judged.unwrap());
    assert_eq!((lost.queue_full, judged.channel_counted, judged.queue_counted, judged.queue_filtered), (0, 0, 0, 0));
    assert!(lost.channel > 800 && lost.channel - judged.channel_filtered <= 3, "{lost:?} {judged:?}");

    let flow = Path { transport: &filtered(ORACLE), ..WIRELESS }.run();
    let (lost, judged) = (Lost::of(&flow), flow.losses_judged.unwrap());
    assert_eq!((lost.channel, judged.queue_filtered, judged.channel_counted, judged.channel_filtered), (0, 0, 0, 0));
    assert!(lost.queue_full > 50 && lost.queue_full - judged.queue_counted <= 3, "{lost:?} {judged:?}");
}

/// With both kinds of losses, it filters no queue loss, and counts channel losses only in a row with a queue loss:
/// the row is one loss event in any case (RFC 5348 section 5.2).
#[test]
fn the_oracle_counts_rows_that_contain_queue_losses() {
    let flow = Path { loss: 0.03, transport: &filtered(ORACLE), ..WIRELESS }.run();
    let (lost, judged) = (Lost::of(&flow), flow.losses_judged.unwrap());
    assert_eq!(judged.queue_filtered, 0);
    assert!(lost.queue_full - judged.queue_counted <= 3, "{lost:?} {judged:?}");
    assert!(lost.channel - judged.channel_filtered - judged.channel_counted <= 3, "{lost:?} {judged:?}");
    // A channel loss is adjacent to a queue loss with probability 2 p.
    assert!(judged.channel_counted as f64 <= 2.0 * 0.03 * 2.0 * judged.queue_counted as f64, "{judged:?}");
}

/// Constant rates leave 4 of 10 Mb/s, of which 3 % are lost. If each loss counted, the equation would allow 1.2 Mb/s.
#[test]
fn guarded_fills_a_lossy_link_and_tfrc_does_not() {
    let residual = 4.0 * 0.97;
    let guarded = Path { loss: 0.03, transport: &filtered(GUARDED), ..WIRELESS }.mbps();
    let tfrc = Path { loss: 0.03, ..WIRELESS }.mbps();
    assert!(guarded >= 0.95 * residual, "{guarded}");
    assert!(tfrc < 0.95 * residual, "{tfrc}");
}

/// Without other traffic no queue of the flow's own evenly spaced packets shows that the channel loses them. One packet of
/// each pair waits for the other.
#[test]
fn pairs_fill_an_idle_lossy_link() {
    let rate = |transport: &str| Path { loss: 0.03, transport, others: "", ..WIRELESS }.mbps();
    let oracle = rate(&filtered(ORACLE));
    let pairs = format!("{GUARDED}, expert = {{ pacing = \"pairs\" }}");
    for (pairs, even) in [filtered, over_dccp].map(|carrier| (rate(&carrier(&pairs)), rate(&carrier(GUARDED)))) {
        assert!(pairs > 0.9 * oracle && even < 0.3 * oracle, "{pairs}, without pairs {even}; oracle {oracle}");
    }
}

/// In each dialect and at the largest loss ratio of the paper. In dialect linux, the open interval was once ignored
/// until a second loss, which never occurred with the first of these seeds.
#[test]
fn guarded_fills_a_lossy_link_in_every_dialect() {
    for dialect in ["rfc", "ns2", "linux"] {
        for seed in [1, 2] {
            let share =
                Path { loss: 0.07, dialect, seed, transport: &filtered(GUARDED), ..WIRELESS }.mbps() / (4.0 * 0.93);
            assert!(share > 0.95, "{dialect} {seed}: {share}");
        }
    }
}

/// With losses in a short queue only, which shows the least delay, the filter ignores few losses.
#[test]
fn guarded_leaves_reno_its_share() {
    let others = Path { queue: 5, others: RENO, ..WIRELESS };
    let guarded = Path { transport: &filtered(GUARDED), ..others }.mbps();
    assert!(guarded <= 1.5 * others.mbps(), "{guarded} {}", others.mbps());
}

/// Losses count during a standing queue, and flows that share a queue observe the same delays: eight flows share the
/// capacity left by constant rates, with and without channel losses. (With separate counts only, Jain's index was 0.3
/// to 0.9.)
#[test]
fn guarded_flows_are_fair() {
    for loss in [0.0, 0.01] {
        let others = format!(
            "[[flow]]\nname = \"others\"\ncount = 7\nfrom = \"sender\"\nto = \"receiver\"\nstart = {{ uniform = [\"0s\", \"1s\"] }}\n\
             transport = {{ {} }}\nsource = {{ kind = \"ftp\" }}\n{CONSTANT}",
            filtered(GUARDED)
        );
        let flows = Path { loss, transport: &filtered(GUARDED), others: &others, ..WIRELESS }.flows();
        let shares: Vec<f64> = flows[..8].iter().map(|flow| flow.throughput_bps).collect();
        let index = jain_index(&shares).unwrap();
        assert!(index >= 0.95, "{loss}: {index} of {shares:?}");
        assert!(shares.iter().sum::<f64>() >= 0.95 * 4e6 * (1.0 - loss), "{loss}: {shares:?}");
    }
}

/// With a competing Reno that loses 3 % of its packets, queues are short and rare, but sufficient for the filter.
#[test]
fn guarded_uses_the_capacity_that_reno_leaves_on_a_lossy_link() {
    let others = Path { loss: 0.03, others: RENO, ..WIRELESS };
    let guarded = Path { transport: &filtered(GUARDED), ..others }.mbps();
    assert!(guarded >= 5.0 * others.mbps(), "{guarded} {}", others.mbps());
}

/// Data packets carry the inputs of a filter: a Timestamp (RFC 4340 section 13.1) and the sender's round trip. The
/// receiver judges the losses of the path. UDDJ is excluded: it depends on delays below the resolution of Timestamps,
/// 10 us.
#[test]
fn a_filter_over_dccp_gives_the_same_rate() {
    for (dialect, filters) in [("rfc", [GUARDED, ZIGZAG]), ("ns2", [GUARDED, ZIGZAG]), ("linux", [GUARDED, ZIGZAG])] {
        for filter in filters {
            let path = Path { dialect, loss: 0.01, ..WIRELESS };
            let bare = Path { transport: &filtered(filter), ..path }.mbps();
            let flow = Path { transport: &over_dccp(filter), ..path }.run();
            near(flow.throughput_bps / 1e6, bare, 0.05, &format!("{dialect} {filter}"));
            let (lost, judged) = (Lost::of(&flow), flow.losses_judged.unwrap());
            let judged_losses =
                [judged.channel_counted + judged.channel_filtered, judged.queue_counted + judged.queue_filtered];
            for (lost, judged) in [lost.channel, lost.queue_full].into_iter().zip(judged_losses) {
                assert!(lost.abs_diff(judged) <= 5 + lost / 100, "{dialect} {filter}: {lost} {judged}");
            }
        }
    }
}

/// RFC 4342 section 8.6: a receiver of CCID 3 reports every loss. No DCCP packet reports the cause of other losses.
#[test]
fn filters_that_dccp_cannot_support_are_refused() {
    let ccid3 = format!("kind = \"dccp\", ccid = 3, controller = {{ {GUARDED} }}");
    let error = Path { transport: &ccid3, ..WIRELESS }.refused();
    assert!(
        error.contains(
            "CCID 3 reports every loss to its sender (RFC 4342 section 8.6): use ccid = 250 for a loss filter"
        ),
        "{error}"
    );
    let error = Path { transport: &over_dccp(ORACLE), ..WIRELESS }.refused();
    assert!(
        error.contains(
            "the controller needs to know which packets the channel lost, and no packet of a connection reports that"
        ),
        "{error}"
    );
}

/// Errors contain the full path of a nested key.
#[test]
fn an_error_contains_the_full_path_of_the_option() {
    let error = Path { transport: &filtered("loss_filter = \"uddj\", uddj = { margin = 2.0 }"), ..WIRELESS }.refused();
    assert!(error.contains("transport.controller.uddj.margin: 2 is out of range: from 0 to below 1"), "{error}");
}

fn with_clock<'a>(filter: &'a str, clock: &'a str) -> Path<'a> {
    Path { loss: 0.01, clock, transport: filter, ..WIRELESS }
}

/// Filters use differences of delays, which do not depend on offsets.
#[test]
fn filters_ignore_an_offset() {
    for filter in [GUARDED, ZIGZAG, SPIKE, ORACLE, UDDJ, "loss_filter = \"mbiaz\""] {
        let filter = filtered(filter);
        let exact = with_clock(&filter, "").run();
        for offset in ["3ms", "-10s"] {
            let ahead = with_clock(&filter, &format!("clock = {{ offset = \"{offset}\" }}")).run();
            assert_eq!(ahead.received_packets, exact.received_packets, "{filter}, {offset}");
            assert_eq!(ahead.losses_judged, exact.losses_judged, "{filter}, {offset}");
        }
    }
}

/// [`GUARDED`] uses delays above the recent minimum; 100 ppm add 1 ms within its memory of 256 round trips.
#[test]
fn guarded_survives_skew() {
    let guarded = filtered(GUARDED);
    let exact = with_clock(&guarded, "").mbps();
    for clock in ["skew = \"100ppm\"", "skew = \"-100ppm\"", "drift = \"100ppm/h\"", "granularity = \"4ms\""] {
        let clocked = with_clock(&guarded, &format!("clock = {{ {clock} }}")).mbps();
        near(clocked, exact, 0.05, clock);
    }
}

/// UDDJ's flag is F > 1 (its equation 11): the drift of one clock within a gap suffices, and congestion counts in
/// each round trip. A slope estimated to a few ppm still leaves this much; with a floor as well, a flag requires a
/// queue.
#[test]
fn uddj_survives_skew_only_with_line_and_floor() {
    let skew = "clock = { skew = \"100ppm\" }";
    let options = ["", "remove_skew = true", "remove_skew = true, floor = \"3ms\""];
    let [plain, line, both] = options.map(|uddj| {
        let uddj = filtered(&format!("loss_filter = \"uddj\", uddj = {{ {uddj} }}"));
        [with_clock(&uddj, "").mbps(), with_clock(&uddj, skew).mbps()]
    });
    assert!(plain[0] > 2.5 && plain[1] < 0.1, "{plain:?}");
    assert!(line[0] > 2.5 && line[1] < 0.1, "{line:?}");
    assert!(both[0] > 2.5, "{both:?}");
    near(both[1], both[0], 0.05, "with a line and a floor");
}

/// Packets of 1000 B and 200 B alternate: their transmission times differ without any queue. `bottleneck` compensates
/// this if it represents all links of the path, 1/(1/10 + 1/100) Mb/s. With the rate of the slowest link only, the
/// rest has the same sign, and UDDJ detects even small jitter.
#[test]
fn alternating_packet_sizes_cause_jitter() {
    let run = |payload: &str, bottleneck: &str| {
        let filter = filtered(&format!("loss_filter = \"uddj\", uddj = {{ action = \"filter\"{bottleneck} }}"));
        let path = Path { loss: 0.03, transport: &filter, ..WIRELESS };
        let source = format!("kind = \"cbr\", rate = \"8Mbps\", payload = \"{payload}\"");
        let text = path.text().replace("kind = \"ftp\"", &source);
        common::run(&common::scenario(&text), ()).summary.flows.remove(0).throughput_bps / 1e6
    };
    let even = run("1000B", "");
    let [unknown, slowest, all] =
        ["", ", bottleneck = \"10Mbps\"", ", bottleneck = \"9090909bps\""].map(|rate| run("1200B", rate));
    assert!(unknown < 0.8 * even && slowest < 0.8 * even, "{even} {unknown} {slowest}");
    near(all, even, 0.05, "with the rate of all links");
}

/// UDPm's round is twice the one-way delay here: 10 s more are 20 s between two steps.
#[test]
fn udpm_treats_a_fast_clock_as_a_long_path() {
    let udpm = |round_trip: &str| {
        format!(
            "kind = \"udpm\", datagram = \"1000B\", controller = {{ decide = \"round-trip\", round_trip = \"{round_trip}\" }}"
        )
    };
    for (round_trip, survives) in [("measured", true), ("one-way", false), ("least-one-way", false)] {
        let udpm = udpm(round_trip);
        let [exact, ahead] = ["", "clock = { offset = \"10s\" }"].map(|clock| with_clock(&udpm, clock).mbps());
        assert_eq!(ahead > 0.95 * exact, survives, "{round_trip}: {ahead} and {exact}");
        assert_eq!(ahead < 0.5 * exact, !survives, "{round_trip}: {ahead} and {exact}");
    }
}
