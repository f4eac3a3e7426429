//! Queues with decisions at departure in whole runs: delays, throughput, and consistent records.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::columns::Table;
use common::{run, scenario};
use headway_rate::{
    AnyReceiverHalf, AnySenderHalf, ControllerOptions, ExternalController, ExternalOptions, Feedback, Need, Next,
    Permit, Receiver, ReceiverContext, Sender, SenderContext, SenderHalf, Sending, Stamp, Status,
};
use headway_record::Summary;
use headway_sim::{EventTrace, Ns2Trace, PacketTrace};
use headway_units::{DropCause, Ecn, Instant};

fn text(name: &str) -> String {
    std::fs::read_to_string(common::root().join("scenarios").join(name)).unwrap()
}

fn summary(text: &str) -> Summary {
    run(&scenario(text), ()).summary
}

/// Returns the 95th percentile of the telephone's one-way delay, in ms.
fn telephone_p95(summary: &Summary) -> f64 {
    summary.flows.last().unwrap().one_way_delay_s.as_ref().unwrap().p95 * 1e3
}

/// Asserts that the queue `kind` keeps the telephone's delay below `max_ms` at full utilization. The path delay is 20
/// ms and the queue can hold almost a second; DropTail fills it.
fn is_short(name: &str, kind: &str, max_ms: f64) {
    let [managed, tail] = [kind, "droptail"].map(|other| {
        let text = text(name);
        // DropTail has none of the other keys.
        let from = text.find("queue = {").unwrap();
        let line = &text[from..from + text[from..].find('\n').unwrap()];
        let queue = format!("queue = {{ kind = \"{other}\", limit = \"400packets\" }}");
        summary(&if other == kind { text.clone() } else { text.replace(line, &queue) })
    });
    assert!(telephone_p95(&tail) > 200.0, "{}", telephone_p95(&tail));
    assert!(telephone_p95(&managed) < max_ms, "{name}: {}", telephone_p95(&managed));
    assert!(managed.links[0].utilisation > 0.9, "{name}: {}", managed.links[0].utilisation);
    assert!(managed.links[0].mean_queue_packets < tail.links[0].mean_queue_packets / 4.0);
}

#[test]
fn codel_keeps_the_queue_short() {
    is_short("codel.toml", "codel", 60.0);
}

/// A drop at a departure is recorded for the link, the flow, the flow at the link, as an event, as a row, and in
/// ns-2's trace before the packet that leaves instead.
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
    // The link is busy whenever CoDel drops: the next packet of the link leaves at the same time.
    let mut led = 0;
    for drop in drops {
        let next = all[drop + 1..].iter().find(|line| line[0] == "-" && line[2..4] == all[drop][2..4]).unwrap();
        led += u64::from(next[1] == all[drop][1]);
    }
    assert!(led >= early, "{led} of {early}");
    let rows = common::hops::rows(&Table::read(&packets.take().unwrap()));
    assert_eq!(rows.iter().filter(|row| row.fate == "early").count() as u64, early);
    // The wait of these packets is at least the target.
    assert!(rows.iter().filter(|row| row.fate == "early").all(|row| row.end - row.offered >= 4_990_000));
    common::hops::agree(&one, &lines, &rows, one.duration.as_nanos() as i64);
}

/// With ECN, packets of ECN-capable flows are not dropped early, and the queue is as short.
#[test]
fn marks_replace_drops() {
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

/// The telephone has its own queue: it waits for a packet of each download and the one in transmission, 2.4 ms each.
#[test]
fn fq_codel_isolates_flows() {
    is_short("fq-codel.toml", "fq-codel", 30.0);
    let summary = summary(&text("fq-codel.toml"));
    assert_eq!(summary.flows.last().unwrap().lost_packets.total(), 0);
    let rates: Vec<_> = summary.flows[..2].iter().map(|flow| flow.throughput_bps).collect();
    assert!((rates[0] / rates[1] - 1.0).abs() < 0.02, "{rates:?}");
}

/// A flood affects no other flow, even with a full queue.
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

/// CAKE is fair to hosts: a host with one download gets as much as a host with eight, and the telephone goes first.
/// With isolation by flow, it gets a ninth.
#[test]
fn cake_is_fair_to_hosts() {
    let text = text("cake.toml").replace("\"60s\"", "\"30s\"");
    for (isolation, least, most) in [("dual-dsthost", 0.4, 0.55), ("flows", 0.1, 0.12), ("triple-isolate", 0.1, 0.12)] {
        let summary = summary(&text.replace("dual-dsthost", isolation));
        let [tablet, telephone] = &summary.flows[8..] else { panic!("{:?}", summary.flows.len()) };
        let share = tablet.throughput_bps / 20e6;
        assert!((least..most).contains(&share), "{isolation}: {share}");
        assert_eq!(telephone.lost_packets.total(), 0);
        assert!(telephone_p95(&summary) < 22.5, "{isolation}: {}", telephone_p95(&summary));
        assert!(summary.links[0].utilisation > 0.98, "{}", summary.links[0].utilisation);
    }
}

#[test]
fn dualpi2_keeps_the_classic_queue_short() {
    is_short("dualpi2.toml", "dualpi2", 80.0);
    let summary = summary(&text("dualpi2.toml"));
    let [download, marked] = [0, 1].map(|flow| &summary.links[0].flows[flow]);
    assert!(download.marked_packets == 0 && download.dropped_packets.of(DropCause::Early) > 0, "{download:?}");
    assert!(marked.marked_packets > 0 && marked.dropped_packets.of(DropCause::Early) == 0, "{marked:?}");
}

/// TCP-like as an L4S sender with ECT(1) packets. It treats each mark as a loss, more than RFC 9331 requires.
#[derive(Debug)]
struct L4s(ControllerOptions);

#[derive(Debug)]
struct L4sSender(Box<dyn AnySenderHalf>);

impl SenderHalf for L4sSender {
    fn poll_send(&mut self, now: Instant, next: &Next) -> Permit {
        self.0.poll_send(now, next)
    }
    fn on_send(&mut self, now: Instant, sending: &Sending) -> Stamp {
        let mut stamp = self.0.on_send(now, sending);
        stamp.ecn = Ecn::Ect1;
        stamp
    }
    fn on_application_limited(&mut self, now: Instant) {
        self.0.on_application_limited(now);
    }
    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        self.0.on_feedback(now, feedback);
    }
    fn handle_timeout(&mut self, now: Instant) {
        self.0.handle_timeout(now);
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.0.poll_timeout()
    }
    fn status(&self) -> Status {
        self.0.status()
    }
}

impl ExternalController for L4s {
    fn sender(&self, context: SenderContext) -> Box<dyn AnySenderHalf> {
        Box::new(L4sSender(Box::new(Sender::new(&self.0, context))))
    }
    fn receiver(&self, context: ReceiverContext) -> Box<dyn AnyReceiverHalf> {
        Box::new(Receiver::new(&self.0, context))
    }
}

/// RFC 9332 section 2.1: L4S packets wait 1 ms while those of a download wait 15, and are marked instead of dropped.
#[test]
fn dualpi2_serves_l4s_with_little_delay() {
    let flow = "[[flow]]\nname = \"l4s\"\nfrom = \"west\"\nto = \"east\"\ntransport = { kind = \"tcp-like\", ecn = true }\nsource = { kind = \"ftp\" }\n";
    let mut one = scenario(&format!("{}\n{flow}", text("dualpi2.toml")).replace("\"5Mbps\"", "\"40Mbps\""));
    let transport = std::sync::Arc::clone(&one.flows[3].transport);
    let controller = transport.controller().cloned().unwrap();
    let (reports, needs) = (controller.reports(), vec![Need::Ect1]);
    let external = ExternalOptions { reports, needs, controller: std::sync::Arc::new(L4s(controller)) };
    one.flows[3].transport =
        std::sync::Arc::new(transport.with_controller(ControllerOptions::External(external)).unwrap());
    let summary = run(&one, ()).summary;
    let mean = |flow: usize| summary.flows[flow].one_way_delay_s.as_ref().unwrap().mean * 1e3 - 20.0;
    let at_link = summary.links[0].flows.iter().find(|flow| flow.name == "l4s").unwrap();
    assert!(mean(3) < 2.0 && mean(0) > 8.0, "{} {}", mean(3), mean(0));
    assert!(at_link.marked_packets > 100 && at_link.dropped_packets.total() == 0, "{at_link:?}");
    assert!(summary.flows[3].throughput_bps > 1e6, "{}", summary.flows[3].throughput_bps);
}

/// The telephone waits for the packet in transmission, 2.4 ms, or for one of each class.
#[test]
fn classes_are_served_by_priority_or_round_robin() {
    is_short_for_its_class("priority", 23.6);
    is_short_for_its_class("drr", 26.5);
}

fn is_short_for_its_class(kind: &str, max_ms: f64) {
    let summary = summary(&text("classes.toml").replace("\"priority\"", &format!("\"{kind}\"")));
    assert!(telephone_p95(&summary) < max_ms, "{kind}: {}", telephone_p95(&summary));
    assert_eq!(summary.flows.last().unwrap().lost_packets.total(), 0);
    // The other flows wait as long as with DropTail.
    assert!(summary.flows[0].one_way_delay_s.as_ref().unwrap().p95 > 0.2);
}
