//! Line-by-line comparison with ns-2.35's traces of the same runs, in `data/ns2-trace`.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::{data, run, scenario};
use headway_sim::Ns2Trace;

/// Creates n0 - 10 Mb/s, 2 ms - n1 - 1 Mb/s, 10 ms - n2 with `first` and `second` forward, and a flow from n0 to n2.
fn path(duration: &str, first: &str, second: &str, flow: &str) -> String {
    let nodes: String = (0..3).map(|node| format!("[[node]]\nname = \"n{node}\"\n")).collect();
    let link = |from, to, rate, delay, more: &str| {
        format!(
            "[[link]]\nbetween = [\"n{from}\", \"n{to}\"]\none_way = true\nrate = \"{rate}\"\ndelay = \"{delay}\"\n{more}\n"
        )
    };
    let plain = "queue = { kind = \"droptail\", limit = \"50packets\" }";
    let links = [
        link(0, 1, "10Mbps", "2ms", first),
        link(1, 0, "10Mbps", "2ms", plain),
        link(1, 2, "1Mbps", "10ms", second),
        link(2, 1, "1Mbps", "10ms", plain),
    ]
    .concat();
    let flow = format!("[[flow]]\nname = \"f\"\nfrom = \"n0\"\nto = \"n2\"\n{flow}\n");
    format!("name = \"trace\"\nduration = \"{duration}\"\ndialect = \"ns2\"\n{nodes}{links}{flow}")
}

/// Returns RED that marks all packets above `threshold` packets.
fn red(threshold: u32, limit: u32) -> String {
    format!(
        "queue = {{ kind = \"red\", limit = \"{limit}packets\", min_threshold = \"{threshold}packets\", \
         max_threshold = \"{threshold}.000001packets\", queue_weight = 1, in_bytes = false, weigh_size = false, \
         max_probability = 1, gentle = true, mark_limit = false, ecn = true }}"
    )
}

fn droptail(lost: &str) -> String {
    format!(
        "queue = {{ kind = \"droptail\", limit = \"50packets\" }}\nloss = {{ kind = \"list\", packets = [{lost}] }}"
    )
}

/// Splits a line into its time, in us, and the rest.
fn split(line: &str) -> (f64, String) {
    let mut columns: Vec<&str> = line.split(' ').collect();
    let at = columns.remove(1).parse::<f64>().unwrap() * 1e6;
    (at, columns.join(" "))
}

fn check(name: &str, text: &str) {
    let scenario = scenario(text);
    let record = run(&scenario, Ns2Trace::new(&scenario));
    let mut observer = record.observer;
    let ours = String::from_utf8(observer.take()).unwrap();
    let theirs = data(&format!("ns2-trace/{name}.tr"));
    let mut ours = ours.lines();
    for theirs in theirs.lines().filter(|line| !line.starts_with('#')) {
        let ours = ours.next().unwrap_or_default();
        let (their_at, their_rest) = split(theirs);
        assert!(!ours.is_empty(), "nothing, ns-2 {theirs}");
        let (our_at, our_rest) = split(ours);
        // ns-2 rounds to 1 us, Headway to 1 ns and then to 1 us.
        assert!(our_rest == their_rest && (our_at - their_at).abs() < 2.0, "{ours}\nns-2 {theirs}");
    }
    assert_eq!(ours.next(), None);
}

/// A loss before the queue has a `d` and no `+`; a repeated SYN has an `A`; the sink replies with the flow id.
#[test]
fn a_lost_syn_and_a_lost_segment_are_traced() {
    let flow = "fid = 7\ntransport = { kind = \"tcp-reno\", ecn = true, initial_window = \"8packets\" }\n\
                source = { kind = \"ftp\", segments = 30 }";
    check("lost-syn", &path("3.3s", &droptail("0, 5"), &red(1, 3), flow));
}

/// RED marks first and then finds its queue full: the `d` has an `E`.
#[test]
fn a_marked_and_dropped_packet_is_traced() {
    let flow = "fid = 7\ntransport = { kind = \"tcp-reno\", ecn = true, initial_window = \"9packets\" }\n\
                source = { kind = \"ftp\", segments = 30 }";
    check("marked-and-dropped", &path("0.3s", &droptail("5"), &red(2, 4), flow));
}

/// nam lines of nodes, links and events. The lines of queues and colors are additional.
#[test]
fn nam_lines_match_ns2() {
    let links = [("n0", "n1", "10Mbps", "2ms", 50), ("n1", "n2", "1Mbps", "10ms", 4)].map(|(from, to, rate, delay, limit)| {
        let queue = |limit| format!("queue = {{ kind = \"droptail\", limit = \"{limit}packets\" }}\n");
        let way = |from, to, limit| {
            let queue = queue(limit);
            format!("[[link]]\nbetween = [\"{from}\", \"{to}\"]\none_way = true\nrate = \"{rate}\"\ndelay = \"{delay}\"\n{queue}")
        };
        way(from, to, limit) + &way(to, from, 50)
    });
    let nodes: String = (0..3).map(|node| format!("[[node]]\nname = \"n{node}\"\n")).collect();
    let flow = "[[flow]]\nname = \"f\"\nfrom = \"n0\"\nto = \"n2\"\nfid = 7\ntransport = { kind = \"tcp-reno\" }\nsource = { kind = \"ftp\" }\n";
    let text = format!("name = \"nam\"\nduration = \"0.3s\"\ndialect = \"ns2\"\n{nodes}{}{flow}", links.concat());
    let scenario = scenario(&text);
    let mut observer = run(&scenario, Ns2Trace::nam(&scenario)).observer;
    let ours = String::from_utf8(observer.take()).unwrap();
    let is_ours = |line: &&str| line.starts_with("q ") || line.starts_with("c ");
    assert_eq!(ours.lines().filter(is_ours).count(), 5);
    // Without ECN, ns-2 also marks a reduced window (`A`), which no header contains.
    let theirs = data("ns2-trace/drops.nam").replace("---A---", "-------");
    let theirs: Vec<&str> = theirs.lines().filter(|line| !line.starts_with('#')).collect();
    let ours: Vec<&str> = ours.lines().filter(|line| !is_ours(line)).collect();
    assert!(theirs.iter().any(|line| line.starts_with("d ")));
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(ours.len(), theirs.len());
}

/// TFRC's reports have the greatest number received and flow id 0. A tie in slow start ends the comparison.
#[test]
fn tfrc_reports_are_traced() {
    let flow = "fid = 9\nstart = \"100ms\"\ntransport = { kind = \"tfrc\" }\nsource = { kind = \"ftp\" }";
    let plain = "queue = { kind = \"droptail\", limit = \"50packets\" }";
    check("tfrc", &path("0.216s", plain, &droptail("4, 9"), flow));
}
