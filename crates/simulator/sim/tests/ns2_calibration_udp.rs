//! Packet-by-packet agreement with ns-2.35: the CBR and RED cases. Data and source: `data/ns2-calibration/README.md`.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::{bottleneck, calibration, fields, run, summary_of};
use headway_record::Summary;
use headway_sim::{Body, LinkEvent, Packet};
use headway_units::Instant;

/// Packets at the bottleneck and at the last link, as in ns-2's trace.
#[derive(Debug, Default)]
struct Recorder {
    bottleneck: usize,
    last: usize,
    sent: Vec<(u32, Instant)>,
    started: Vec<Option<Instant>>,
    received: Vec<Option<Instant>>,
    averages: Vec<(Instant, f64)>,
}

impl common::Watcher for Recorder {
    fn link_event(&mut self, now: Instant, event: LinkEvent, link: usize, packet: &Packet) {
        assert!(matches!(packet.body, Body::Datagram(_)));
        // Only data are sent, so a packet's number in the run is ns-2's sequence number.
        let number = packet.uid as usize;
        if number == self.sent.len() {
            self.sent.push((packet.size, packet.sent));
            self.started.push(None);
            self.received.push(None);
        }
        if event == LinkEvent::Dequeue && link == self.bottleneck {
            self.started[number] = Some(now);
        }
        if event == LinkEvent::Receive && link == self.last {
            self.received[number] = Some(now);
        }
    }

    fn average(&mut self, now: Instant, link: usize, average: f64) {
        if link == self.bottleneck && self.averages.last().is_none_or(|(_, last)| *last != average) {
            self.averages.push((now, average));
        }
    }
}

/// Asserts that times agree within 2 us; ns-2 prints them to 1 us.
fn same_time(what: &str, number: usize, ours: Option<Instant>, text: &str) {
    let theirs: Option<u64> = (text != "-").then(|| text.parse().unwrap());
    match (ours, theirs) {
        (None, None) => {}
        (Some(ours), Some(theirs)) => {
            let difference = (ours.as_nanos() as f64 / 1e3 - theirs as f64).abs();
            assert!(difference <= 2.0, "packet {number} {what}: {ours}, ns-2 {theirs} us");
        }
        _ => panic!("packet {number} {what}: {ours:?}, ns-2 {text}"),
    }
}

fn check(case: &str) -> Recorder {
    let scenario = calibration(case);
    let recorder =
        Recorder { bottleneck: bottleneck(&scenario), last: common::link(&scenario, "n2->n3"), ..Recorder::default() };
    let record = common::watch(&scenario, recorder);
    let text = common::data(&format!("ns2-calibration/{case}.packets.csv"));
    let mut rows = 0;
    for (number, row) in fields(&text).enumerate() {
        let (size, sent) = record.observer.sent[number];
        assert_eq!(size.to_string(), row[1], "packet {number}");
        same_time("sent", number, Some(sent), row[2]);
        same_time("starts", number, record.observer.started[number], row[3]);
        same_time("is received", number, record.observer.received[number], row[4]);
        rows += 1;
    }
    assert_eq!(rows, record.observer.sent.len());
    same_summary(case, &record.summary);
    // Without an observer, with one event per packet, the summary is the same.
    assert_eq!(run(&scenario, ()).summary, record.summary);
    record.observer
}

/// Asserts that counts, and the mean delay to a microsecond, are those of ns-2.
fn same_summary(case: &str, ours: &Summary) {
    let theirs = summary_of(case);
    let sum = |pick: fn(&headway_record::FlowSummary) -> u64| ours.flows.iter().map(pick).sum::<u64>();
    assert_eq!(sum(|flow| flow.sent_packets), theirs.count("sent"));
    assert_eq!(sum(|flow| flow.received_packets), theirs.count("received"));
    assert_eq!(sum(|flow| flow.lost_packets.total()), theirs.count("dropped"));
    let delays: f64 =
        ours.flows.iter().map(|flow| flow.one_way_delay_s.unwrap().mean * flow.received_packets as f64).sum::<f64>()
            / theirs.count("received") as f64;
    assert!((delays * 1e3 - theirs.number("delay_mean_ms")).abs() < 1e-3, "{delays}");
}

#[test]
fn cbr_without_loss() {
    check("cbr-noloss");
}

#[test]
fn cbr_over_a_full_droptail() {
    check("cbr-overload20");
}

#[test]
fn cbr_over_a_full_red() {
    check("cbr-overload20-red");
}

#[test]
fn large_writes_are_cut_into_datagrams() {
    check("cbr-fragment");
}

/// Asserts that RED's averages agree to ns-2's six digits. `unit`: unit of ns-2's average per packet.
fn check_average(case: &str, unit: f64) {
    let recorder = check(case);
    let text = common::data(&format!("ns2-calibration/{case}.average.csv"));
    let theirs: Vec<(f64, f64)> = fields(&text).map(|row| (row[0].parse().unwrap(), row[1].parse().unwrap())).collect();
    assert_eq!(recorder.averages.iter().filter(|(_, average)| *average != 0.0).count(), theirs.len());
    let ours = recorder.averages.iter().filter(|(_, average)| *average != 0.0);
    let mut worst: f64 = 0.0;
    for ((now, average), (time, expected)) in ours.zip(&theirs) {
        assert!((now.as_secs_f64() - time).abs() <= 1e-5 * time, "{now}, ns-2 {time}");
        worst = worst.max((average * unit - expected).abs() / expected);
    }
    assert!(worst <= 5e-6, "{worst}");
}

#[test]
fn red_average_in_packets() {
    check_average("red-ave-pkts", 1.0);
}

#[test]
fn red_average_in_bytes() {
    check_average("red-ave-bytes", 500.0);
}

#[test]
fn red_average_with_automatic_weight() {
    check_average("red-ave-autoqw", 500.0);
}

#[test]
fn red_that_always_drops_above_its_threshold() {
    check_average("red-hard-drop", 1.0);
}
