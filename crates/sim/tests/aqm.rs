//! Queues that decide at departure, in whole runs: what they are for, and that the record tells all of it.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::columns::Table;
use common::{run, scenario};
use headway_record::Summary;
use headway_sim::{EventTrace, Ns2Trace, PacketTrace};
use headway_units::DropCause;

fn text(name: &str) -> String {
    std::fs::read_to_string(common::root().join("scenarios").join(name)).unwrap()
}

fn summary(text: &str) -> Summary {
    run(&scenario(text), ()).summary
}

/// The greatest part of the telephone's packets took at most so long, in ms.
fn telephone_p95(summary: &Summary) -> f64 {
    summary.flows.last().unwrap().one_way_delay_s.as_ref().unwrap().p95 * 1e3
}

/// The way takes 20 ms, and the bottleneck's queue may hold almost a second. Behind DropTail it does; behind the others the telephone waits a few ms more, and the link is
/// busy all the same.
fn is_short(name: &str, kind: &str, most_ms: f64) {
    let [managed, tail] = [kind, "droptail"].map(|other| {
        let text = text(name);
        // A DropTail has none of the other keys.
        let from = text.find("queue = {").unwrap();
        let line = &text[from..from + text[from..].find('\n').unwrap()];
        let queue = format!("queue = {{ kind = \"{other}\", limit = \"400packets\" }}");
        summary(&if other == kind { text.clone() } else { text.replace(line, &queue) })
    });
    assert!(telephone_p95(&tail) > 200.0, "{}", telephone_p95(&tail));
    assert!(telephone_p95(&managed) < most_ms, "{name}: {}", telephone_p95(&managed));
    assert!(managed.links[0].utilisation > 0.9, "{name}: {}", managed.links[0].utilisation);
    assert!(managed.links[0].mean_queue_packets < tail.links[0].mean_queue_packets / 4.0);
}

#[test]
fn codel_keeps_the_queue_short() {
    is_short("codel.toml", "codel", 60.0);
}

/// A drop at a departure is told as any other: of the link, of the flow, of the flow at the link, as an event, as a row, and as a line before that of the packet that leaves
/// instead.
#[test]
fn drops_at_departure_are_in_every_record() {
    let text = text("codel.toml").replace("measure_from = \"10s\"\n", "").replace("\"60s\"", "\"20s\"");
    let one = scenario(&text);
    let mut record = run(&one, (Ns2Trace::new(&one), (EventTrace::new(&one), PacketTrace::new(&one))));
    let link = &record.summary.links[0];
    let early = link.dropped_packets.of(DropCause::Early);
    assert!(early > 20, "{early}");
    assert_eq!(link.flows.iter().map(|flow| flow.dropped_packets.of(DropCause::Early)).sum::<u64>(), early);
    assert_eq!(record.summary.flows.iter().map(|flow| flow.lost_packets.of(DropCause::Early)).sum::<u64>(), early);
    let (lines, (_, packets)) = &mut record.observer;
    let lines = String::from_utf8(lines.take()).unwrap();
    let all: Vec<Vec<&str>> = lines.lines().map(|line| line.split(' ').collect()).collect();
    let drops: Vec<_> = (0..all.len()).filter(|line| all[*line][0] == "d").collect();
    assert_eq!(drops.len() as u64, link.dropped_packets.total());
    // 5 Mb/s are always busy when CoDel drops: at the same instant, the next packet on the same link leaves.
    let mut led = 0;
    for drop in drops {
        let next = all[drop + 1..].iter().find(|line| line[0] == "-" && line[2..4] == all[drop][2..4]).unwrap();
        led += u64::from(next[1] == all[drop][1]);
    }
    assert!(led >= early, "{led} of {early}");
    let rows = common::hops::rows(&Table::read(&packets.take().unwrap()));
    assert_eq!(rows.iter().filter(|row| row.fate == "early").count() as u64, early);
    // They have waited as long as the target at least.
    assert!(rows.iter().filter(|row| row.fate == "early").all(|row| row.end - row.offered >= 4_990_000));
    common::hops::agree(&one, &lines, &rows, one.duration.as_nanos() as i64);
}

/// With ECN nothing of what heeds marks is dropped early, and the queue is as short.
#[test]
fn marks_stand_for_drops() {
    let text = text("codel.toml").replace("limit = \"400packets\"", "limit = \"400packets\", ecn = true");
    let marked = summary(&text.replace("window = \"1000packets\"", "window = \"1000packets\", ecn = true"));
    let link = &marked.links[0];
    assert!(link.marked_packets > 20);
    for flow in &link.flows {
        let (early, marks) = (flow.dropped_packets.of(DropCause::Early), flow.marked_packets);
        if flow.name.starts_with("download") {
            assert!(early == 0 && marks > 0, "{flow:?}");
        } else {
            assert!(marks == 0, "{flow:?}");
        }
    }
    assert!(telephone_p95(&marked) < 60.0);
}

#[test]
fn pie_keeps_the_queue_short() {
    is_short("pie.toml", "pie", 80.0);
}

/// The telephone's queue is its own: it waits for a packet of each download and the one in transmission, which take 2.4 ms each.
#[test]
fn fq_codel_sets_flows_apart() {
    is_short("fq-codel.toml", "fq-codel", 30.0);
    let summary = summary(&text("fq-codel.toml"));
    assert_eq!(summary.flows.last().unwrap().lost_packets.total(), 0);
    let rates: Vec<_> = summary.flows[..2].iter().map(|flow| flow.throughput_bps).collect();
    // A TCP whose queue CoDel keeps short has nothing to send now and then.
    assert!((rates[0] / rates[1] - 1.0).abs() < 0.1, "{rates:?}");
}

/// A flow that floods harms nobody but itself, also when there is no more room.
#[test]
fn fq_codel_drops_the_flood() {
    let text = text("fq-codel.toml").replace("\"400packets\"", "\"40packets\"");
    let flood = "[[flow]]\nname = \"flood\"\nfrom = \"west\"\nto = \"east\"\ntransport = { kind = \"udp\" }\n\
                 source = { kind = \"cbr\", rate = \"20Mbps\", size = \"1000B\" }\n";
    let at = text.find("[[flow]]\nname = \"telephone\"").unwrap();
    let summary = summary(&format!("{}{flood}{}", &text[..at], &text[at..]));
    let lost = |name: &str| summary.flows.iter().find(|flow| flow.name == name).unwrap().lost_packets;
    assert_eq!(lost("telephone").total(), 0);
    assert!(lost("flood").of(DropCause::QueueFull) > 1000);
    let rates: Vec<_> = summary.flows[..2].iter().map(|flow| flow.throughput_bps / 1e6).collect();
    assert!(rates.iter().all(|rate| *rate > 1.0), "{rates:?}");
}
