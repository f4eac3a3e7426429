//! Tables of a summary: their columns, units and last lines, computed by hand.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use headway_record::{
    AttackerSummary, CompletionBySize, CompletionOfSize, DelaySummary, FlowLabel, FlowMeter, FlowSummary, HostDrops,
    HostSummary, Interval, LinkLabel, LinkMeter, LinkSummary, Measured, SessionsSummary, Summary, attacker_table,
    flow_table, host_table, link_table, number_table, session_table,
};
use headway_units::{DropCause, Duration, Instant, MediaKind, SendDrop};

fn label(name: &str) -> FlowLabel {
    FlowLabel { name: name.into(), from: "a".into(), to: "b".into(), kind: "udp".into() }
}

/// A flow that has sent nothing.
fn flow(name: &str) -> FlowSummary {
    FlowMeter::new(&Measured::between(Instant::ZERO, Instant::from_secs(1))).summary(label(name), Instant::from_secs(1))
}

fn delay(seconds: f64) -> Option<DelaySummary> {
    Some(DelaySummary { mean: seconds, p50: seconds, p95: seconds, p99: seconds, max: seconds })
}

fn link(name: &str) -> LinkSummary {
    let measured = Measured::between(Instant::ZERO, Instant::from_secs(1));
    let label = LinkLabel { name: name.into(), from: "a".into(), to: "b".into() };
    let summary = LinkMeter::default().summary(&measured, label, Instant::from_secs(1));
    LinkSummary { arrived_packets: 8, ..summary }
}

fn host(name: &str) -> HostSummary {
    HostSummary {
        name: name.into(),
        arrived_packets: 4,
        delivered_packets: 3,
        dropped_packets: HostDrops { ring: 1, queue: 0 },
        mean_wait_s: Some(0.001),
        utilisation: 0.25,
    }
}

fn summary(flows: Vec<FlowSummary>, links: Vec<LinkSummary>, hosts: Vec<HostSummary>) -> Summary {
    Summary {
        version: "0.1.0".into(),
        name: "n".into(),
        seed: 1,
        complete: true,
        interval: Interval { from: 0.0, to: 1.0 },
        flows,
        links,
        hosts,
        attackers: vec![],
        jain_index: None,
        packet_hops: 0,
        fingerprint: String::new(),
    }
}

/// The words of each line, without spaces between columns.
fn words(table: &str) -> Vec<Vec<&str>> {
    table.lines().map(|line| line.split_whitespace().collect()).collect()
}

fn flow_words(flows: Vec<FlowSummary>) -> Vec<String> {
    flow_table(&summary(flows, vec![], vec![])).lines().map(str::to_owned).collect()
}

/// The rates of all flows have the unit of the largest: kb/s below 1 Mb/s, Gb/s from 1 Gb/s on.
#[test]
fn rates_have_the_unit_of_the_largest() {
    for (fastest, unit, of_fastest, of_other) in [
        (999_999.0, "kb/s", "999.999", "0.500"),
        (1e6, "Mb/s", "1.000", "0.001"),
        (999_999_999.0, "Mb/s", "1000.000", "0.001"),
        (1e9, "Gb/s", "1.000", "0.000"),
    ] {
        let of = |throughput_bps: f64| FlowSummary { throughput_bps, ..flow("f") };
        let table = flow_table(&summary(vec![of(fastest), of(500.0)], vec![], vec![]));
        let found = words(&table);
        assert!(found[1].contains(&unit), "{table}");
        // flow, from, >, to, kind, sent, lost, loss, rate.
        assert_eq!((found[2][8], found[3][8]), (of_fastest, of_other), "{table}");
    }
}

/// Times are in us if all of them are below 1 ms, and in ms otherwise.
#[test]
fn times_have_the_unit_of_the_largest() {
    for (slowest, unit, expected) in [(0.000_999, "us", "999.00"), (0.001, "ms", "1.00"), (0.5, "ms", "500.00")] {
        let slow = FlowSummary { one_way_delay_s: delay(slowest), received_packets: 1, ..flow("f") };
        let table = flow_table(&summary(vec![slow, flow("g")], vec![], vec![]));
        let found = words(&table);
        assert_eq!(found[1].iter().filter(|word| **word == unit).count(), 3, "{table}");
        assert_eq!(found[2][9..11], [expected, expected], "{table}");
        assert_eq!(found[3][9..11], ["-", "-"], "{table}");
    }
    assert!(flow_words(vec![flow("f")])[1].contains("ms"));
}

/// A flow that sent nothing has no loss, and neither have all flows together.
#[test]
fn nothing_sent_has_no_loss() {
    let table = flow_table(&summary(vec![flow("f"), flow("g")], vec![], vec![]));
    let found = words(&table);
    assert_eq!(found[2], ["f", "a", ">", "b", "udp", "0", "0", "-", "0.000", "-", "-", "-", "-"], "{table}");
    assert_eq!(found[4], ["total", "0", "0", "-", "0.000", "-"], "{table}");
    assert_eq!(flow_words(vec![flow("f")]).len(), 3, "one flow has no total");
}

/// Discarded datagrams and copies have a column if a flow has any.
#[test]
fn unsent_packets_and_copies_have_a_column_if_there_are_any() {
    let end = Instant::from_secs(1);
    let mut meter = FlowMeter::new(&Measured::between(Instant::ZERO, end));
    for (cause, packets) in [(SendDrop::Refused, 1), (SendDrop::PushedOut, 2), (SendDrop::Expired, 4)] {
        (0..packets).for_each(|_| meter.unsent(Instant::ZERO, MediaKind::Data, cause, Duration::ZERO));
    }
    let unsent = meter.summary(label("f"), end);
    assert_eq!(unsent.unsent_packets(), 7);
    let copies = FlowSummary { duplicate_packets: 5, ..flow("g") };
    let none = flow_words(vec![flow("f")]).concat();
    assert!(!none.contains("unsent") && !none.contains("copies"), "{none}");
    let table = flow_table(&summary(vec![unsent, copies], vec![], vec![]));
    let found = words(&table);
    assert_eq!(found[0][..6], ["flow", "from", ">", "to", "kind", "unsent"], "{table}");
    assert_eq!(found[0].last(), Some(&"copies"), "{table}");
    assert_eq!([found[2][5], found[3][5], found[4][1]], ["7", "0", "7"], "{table}");
    assert_eq!([2, 3, 4].map(|row| *found[row].last().unwrap()), ["0", "5", "5"], "{table}");
}

/// Names of up to 16 characters are shown, longer ones have 13 of them and three dots.
#[test]
fn long_names_are_shortened() {
    let name = |characters: usize| "\u{e4}".repeat(characters);
    for (name, expected) in [(name(2), name(2)), (name(16), name(16)), (name(17), name(13) + "...")] {
        for table in [
            flow_table(&summary(vec![flow(&name)], vec![], vec![])),
            link_table(&summary(vec![], vec![link(&name)], vec![])),
            host_table(&summary(vec![], vec![], vec![host(&name)])),
        ] {
            assert!(table.lines().nth(2).unwrap().starts_with(&format!("{expected} ")), "{table}");
        }
    }
}

/// An attacker that sent nothing has no ratio of answers to sent bytes. Of 2000 B answered with 500 B it is 0.25.
#[test]
fn answers_are_compared_with_sent_bytes() {
    let mut of = summary(vec![], vec![], vec![]);
    let attacker = |name: &str, sent_bytes| AttackerSummary {
        name: name.into(),
        target: "f".into(),
        kind: "flood".into(),
        sent_bytes,
        answer_bytes: 500,
        ..AttackerSummary::default()
    };
    of.attackers = vec![attacker("silent", 0), attacker("loud", 2000)];
    let table = attacker_table(&of);
    let found = words(&table);
    assert_eq!([found[2][10], found[3][10]], ["-", "0.25"], "{table}");
}

/// A link at which no packet arrived is left out. Of eight packets two are dropped; the columns for copies, reordering and RED exist if a link
/// has a number there.
#[test]
fn links_have_the_columns_that_they_need() {
    let mut dropping = link("x");
    (0..2).for_each(|_| dropping.dropped_packets.add(DropCause::Early));
    (dropping.mean_queue_packets, dropping.mean_queue_bytes, dropping.peak_queue_packets) = (1.5, 2250.0, 7);
    dropping.utilisation = 0.125;
    let unused = LinkSummary { arrived_packets: 0, duplicated_packets: 3, marked_packets: 3, ..link("unused") };
    let table = link_table(&summary(vec![], vec![dropping.clone(), unused], vec![]));
    let found = words(&table);
    let head = ["link", "from", ">", "to", "arrived", "dropped", "dropped", "queue", "queue", "peak", "used"];
    assert_eq!(found[0], head, "{table}");
    assert_eq!(found[1], ["packets", "packets", "%", "packets", "kB", "packets", "%"], "{table}");
    assert_eq!(found[2], ["x", "a", ">", "b", "8", "2", "25.00", "1.50", "2.25", "7", "12.50"], "{table}");
    assert_eq!(found.len(), 3, "{table}");
    let copying = LinkSummary { duplicated_packets: 3, reordered_packets: 4, mean_red_average: Some(2.5), ..link("y") };
    let table = link_table(&summary(vec![], vec![dropping, copying], vec![]));
    let found = words(&table);
    assert_eq!(found[0][head.len()..], ["copied", "reordered", "RED", "avg"], "{table}");
    assert_eq!(found[2][head.len()..], ["0", "0", "-"], "{table}");
    assert_eq!(found[3][head.len()..], ["3", "4", "2.50"], "{table}");
}

/// Of twelve links the ten with the highest utilization are shown, in the order of the scenario.
#[test]
fn the_busiest_links_are_in_the_order_of_the_scenario() {
    let links = (0..12).map(|n| LinkSummary { utilisation: f64::from((n * 5) % 12) / 100.0, ..link(&format!("l{n}")) });
    let table = link_table(&summary(vec![], links.collect(), vec![]));
    let found = words(&table);
    let names: Vec<&str> = found[2..].iter().map(|row| row[0]).collect();
    // Utilization 0 is that of l0 and 1 % that of l5.
    assert_eq!(names, ["l1", "l2", "l3", "l4", "l6", "l7", "l8", "l9", "l10", "l11", "..."], "{table}");
    assert_eq!(found[12], ["...", "2", "more"], "{table}");
}

/// Eleven hosts are shown, and of twelve ten.
#[test]
fn more_than_eleven_hosts_are_counted() {
    let table = |many: usize| {
        let hosts = (0..many).map(|n| host(&format!("h{n}"))).collect();
        host_table(&summary(vec![], vec![], hosts))
    };
    assert_eq!(table(11).lines().count(), 13);
    let of_twelve = table(12);
    let found = words(&of_twelve);
    assert_eq!((found.len(), found[11][0], found[12].join(" ")), (13, "h9", "... 2 more".to_owned()), "{of_twelve}");
    assert_eq!(found[2], ["h0", "4", "3", "1", "0", "1.00", "25.00"], "{of_twelve}");
}

/// A flow has a row for all its sessions and one for each size; eleven rows are shown, and of twelve ten.
#[test]
fn more_than_eleven_rows_of_sessions_are_counted() {
    let table = |flows: usize, of_size: usize| {
        let sizes = |number: usize| {
            let class = Some(CompletionOfSize { completed: 1, times: delay(0.5).unwrap() });
            let sessions = SessionsSummary {
                completed: 1,
                completion_s: delay(0.5),
                completion_s_by_size: CompletionBySize {
                    up_to_10_kb: class.filter(|_| number < of_size),
                    ..CompletionBySize::default()
                }
                .into(),
                ..SessionsSummary::default()
            };
            FlowSummary { sessions: Some(sessions), ..flow(&format!("f{number}")) }
        };
        session_table(&summary((0..flows).map(sizes).collect(), vec![], vec![]))
    };
    assert_eq!(table(6, 5).lines().count(), 13);
    let of_twelve = table(6, 6);
    let found = words(&of_twelve);
    assert_eq!((found.len(), found[12].join(" ")), (13, "... 2 more".to_owned()), "{of_twelve}");
    assert_eq!(found[11][..4], ["f4", "up", "to", "10"], "{of_twelve}");
}

/// Text is at the left of its column, numbers are at the right.
#[test]
fn a_table_of_numbers_has_its_texts_at_the_left() {
    let row = |words: [&str; 3]| words.map(str::to_owned).to_vec();
    let rows = vec![row(["a", "b", "1.5"]), row(["longer", "much longer", "100"])];
    let found = number_table(2, row(["name", "kind", "rate\nMb/s"]), rows);
    let expected = "\
name    kind         rate
                     Mb/s
a       b             1.5
longer  much longer   100
";
    assert_eq!(found, expected, "\n{found}");
}
