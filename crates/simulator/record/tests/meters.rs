//! Results of meters, computed by hand from the definitions in `docs/src/records.md`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use headway_record::{
    Distribution, FlowDistributions, FlowLabel, FlowMeter, FlowPacket, FlowSummary, HostMeter, Interval, LinkLabel,
    LinkMeter, LossClassificationSummary, Measured, PagesSummary, SessionsSummary, Summary, WrittenFrame,
};
use headway_units::{Bytes, DropCause, Duration, FlowId, HostDrop, Instant, MediaKind};
use std::sync::Arc;

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// Measured from 1 s to 5 s: 4 s.
fn one_to_five() -> Arc<Measured> {
    Measured::between(at(1000), at(5000))
}

fn flow_summary(meter: &FlowMeter, end: Instant) -> FlowSummary {
    meter.summary(FlowLabel::default(), end)
}

fn packet(sent_millis: u64) -> FlowPacket {
    FlowPacket { sent_at: at(sent_millis), wire_bytes: 1000, kind: MediaKind::Data, deadline: None }
}

/// A percentile has an error of at most 1/128.
fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() <= expected / 128.0, "{found} is not {expected}");
}

/// Sessions as (arrival in ms, size in B, completion in ms).
fn sessions(all: &[(u64, u64, Option<u64>)]) -> FlowMeter {
    let mut meter = FlowMeter::new(&one_to_five());
    for (arrived, size, completed) in all {
        let size = Bytes::new(*size);
        meter.session_arrived(at(*arrived), size, false);
        if let Some(completed) = completed {
            meter.session_completed(at(*arrived), at(*completed), size);
        }
    }
    meter
}

fn sessions_of(meter: &FlowMeter) -> SessionsSummary {
    flow_summary(meter, at(5000)).sessions.unwrap()
}

/// Nine sessions arrive, of which one before `measure_from`. Of the eight that count two are complete, two are refused, and four are open.
#[test]
fn sessions_that_arrived_are_complete_or_open_or_refused() {
    let mut meter = sessions(&[
        (999, 1_000_000, Some(1500)),
        (1000, 2000, Some(1250)),
        (1500, 3000, Some(2250)),
        (1600, 4000, None),
        (1700, 4000, None),
        (1800, 4000, None),
        (4999, 4000, None),
    ]);
    meter.session_arrived(at(2000), Bytes::new(5000), true);
    meter.session_arrived(at(2100), Bytes::new(6000), true);
    let found = sessions_of(&meter);
    assert_eq!((found.arrived, found.completed, found.open, found.refused), (8, 2, 4, 2));
    // 2000 + 3000 + 4 x 4000 + 5000 + 6000 = 32 000 B in 4 s, whatever their fate.
    assert_eq!(found.offered_bps, 64_000.0);
    let took = found.completion_s.unwrap();
    assert_eq!((took.mean, took.max), (0.5, 0.75));
    assert_near(took.p50, 0.25);
    assert_near(took.p99, 0.75);
}

/// Each class contains its limit: 10 000 B belong to the first class, 10 001 B to the second.
#[test]
fn sessions_are_classified_by_size() {
    let mut meter = sessions(&[]);
    let limits = [10_000, 100_000, 1_000_000, 10_000_000];
    let sizes = [1].into_iter().chain(limits.iter().flat_map(|limit| [*limit, limit + 1])).chain([u64::MAX]);
    for (size, millis) in sizes.zip((100..).step_by(100)) {
        let size = Bytes::new(size);
        meter.session_arrived(at(1000), size, false);
        meter.session_completed(at(1000), at(1000 + millis), size);
    }
    let found = sessions_of(&meter);
    assert_eq!((found.completed, found.completion_s.unwrap().max), (10, 1.0));
    let classes = found.completion_s_by_size.classes().map(|(name, of)| {
        let of = of.unwrap();
        (name, of.completed, of.times.mean, of.times.max)
    });
    // Two sessions in each class: 0.1 s and 0.2 s, 0.3 s and 0.4 s, and so on.
    let expected = [
        ("up to 10 kB", 2, 0.15, 0.2),
        ("up to 100 kB", 2, 0.35, 0.4),
        ("up to 1 MB", 2, 0.55, 0.6),
        ("up to 10 MB", 2, 0.75, 0.8),
        ("above 10 MB", 2, 0.95, 1.0),
    ];
    assert_eq!(classes, expected);
    // The sum of the sizes exceeds 64 bits: 2^64 - 1 + 22 220 005 B.
    let bits = (18_446_744_073_709_551_615.0 + 22_220_005.0) * 8.0;
    assert!((found.offered_bps / (bits / 4.0) - 1.0).abs() < 1e-12, "{}", found.offered_bps);
}

/// Without a complete session there is no completion time; in an interval of no length there is no rate.
#[test]
fn sessions_that_are_open_have_no_completion_time() {
    let meter = sessions(&[(1000, 4000, None)]);
    let found = sessions_of(&meter);
    assert_eq!((found.arrived, found.completed, found.open, found.refused), (1, 0, 1, 0));
    assert_eq!(found.completion_s, None);
    assert!(found.completion_s_by_size.classes().iter().all(|(_, of)| of.is_none()));
    assert_eq!(flow_summary(&meter, at(1000)).sessions.unwrap().offered_bps, 0.0);
    assert_eq!(flow_summary(&sessions(&[(999, 4000, Some(1100))]), at(5000)).sessions, None);
}

/// `refused` is absent from the file if no session was refused; it is read as 0.
#[test]
fn a_count_of_zero_refused_sessions_is_not_written() {
    let mut meter = sessions(&[(1000, 4000, None)]);
    let text = serde_json::to_string(&sessions_of(&meter)).unwrap();
    assert!(!text.contains("refused"), "{text}");
    assert_eq!(serde_json::from_str::<SessionsSummary>(&text).unwrap(), sessions_of(&meter));
    meter.session_arrived(at(1000), Bytes::new(1), true);
    assert!(serde_json::to_string(&sessions_of(&meter)).unwrap().contains("\"refused\":1"));
}

/// Eight pages are requested, of which one before `measure_from`. Of the seven that count two are complete, three are refused, and two are open.
#[test]
fn pages_that_arrived_are_complete_or_open_or_refused() {
    let mut meter = FlowMeter::new(&one_to_five());
    for requested in [999, 1000, 1100, 1200, 1300, 1400, 1500, 1600] {
        meter.page_arrived(at(requested));
    }
    for requested in [999, 1300, 1400, 1500] {
        meter.page_refused(at(requested));
    }
    for (requested, completed) in [(999, 1100), (1000, 1500), (1100, 2600)] {
        meter.page_completed(at(requested), at(completed));
    }
    let found = flow_summary(&meter, at(5000)).pages.unwrap();
    assert_eq!((found.arrived, found.completed, found.open, found.refused), (7, 2, 2, 3));
    let took = found.completion_s.unwrap();
    assert_eq!((took.mean, took.max), (1.0, 1.5));
    assert_near(took.p50, 0.5);
    assert_near(took.p95, 1.5);
}

#[test]
fn a_flow_without_pages_has_no_summary_of_pages() {
    let mut meter = FlowMeter::new(&one_to_five());
    meter.page_arrived(at(999));
    assert_eq!(flow_summary(&meter, at(5000)).pages, None);
    meter.page_arrived(at(1000));
    let found = flow_summary(&meter, at(5000)).pages.unwrap();
    assert_eq!(found, PagesSummary { arrived: 1, completed: 0, open: 1, refused: 0, completion_s: None });
    let text = serde_json::to_string(&found).unwrap();
    assert_eq!(text, r#"{"arrived":1,"completed":0,"open":1,"completion_s":null}"#);
}

/// The delays of a flow are in `distributions.json` only if a packet arrived, and those of frames only if a frame was written.
#[test]
fn distributions_begin_with_the_first_arrival() {
    let mut meter = FlowMeter::new(&one_to_five());
    meter.sent(&packet(1000));
    meter.sent(&packet(2000));
    let nothing = FlowDistributions { name: "f".into(), ..FlowDistributions::default() };
    assert_eq!(meter.distributions("f".into()), nothing);
    meter.received(at(1125), &packet(1000), 960);
    let delays = Distribution { of: 1, bins: vec![(0.125, 1)] };
    let one = FlowDistributions { one_way_delay_s: Some(delays), ..nothing };
    assert_eq!(meter.distributions("f".into()), one);
    let frame = |created| WrittenFrame { kind: MediaKind::Audio, created: at(created), deadline: Instant::FAR_FUTURE };
    [999, 1000, 2000, 3000].iter().for_each(|created| meter.frame_written(&frame(*created)));
    meter.frame_complete(at(1050), &frame(999));
    meter.frame_complete(at(2250), &frame(2000));
    // Of three frames in the interval one was complete, after 0.25 s.
    let frames = [(MediaKind::Audio, Distribution { of: 3, bins: vec![(0.25, 1)] })].into_iter().collect();
    assert_eq!(meter.distributions("f".into()), FlowDistributions { frame_delay_s: frames, ..one });
}

/// Equal times are counted together; a sum has the values of all in rising order.
#[test]
fn distributions_are_added() {
    let first = Distribution { of: 5, bins: vec![(0.1, 1), (0.2, 2)] };
    let second = Distribution { of: 7, bins: vec![(0.1, 3), (0.15, 1), (0.3, 2)] };
    let expected = Distribution { of: 12, bins: vec![(0.1, 4), (0.15, 1), (0.2, 2), (0.3, 2)] };
    assert_eq!(Distribution::sum(&[&first, &second]), expected);
    assert_eq!(Distribution::sum(&[&first]), first);
    assert_eq!(Distribution::sum(&[]), Distribution::default());
}

/// The bytes of a copy count only in the throughput. A copy is counted where its packet was sent.
#[test]
fn copies_of_packets_are_counted_apart() {
    let mut meter = FlowMeter::new(&one_to_five());
    meter.sent(&packet(990));
    meter.sent(&packet(1000));
    meter.received(at(995), &packet(990), 960);
    meter.duplicate(at(996), &packet(990));
    meter.duplicate(at(1000), &packet(990));
    meter.received(at(1010), &packet(1000), 960);
    meter.duplicate(at(1020), &packet(1000));
    meter.duplicate(at(1030), &packet(1000));
    let found = flow_summary(&meter, at(5000));
    assert_eq!((found.sent_packets, found.received_packets, found.duplicate_packets), (1, 1, 2));
    // Four packets of 1000 B, and 960 B of payload, in 4 s.
    assert_eq!((found.throughput_bps, found.goodput_bps), (8000.0, 1920.0));
    assert_eq!((meter.total_received_bytes(), found.one_way_delay_s.unwrap().max), (6000, 0.01));
    let text = serde_json::to_string(&found).unwrap();
    assert!(text.contains("\"duplicate_packets\":2"), "{text}");
    let without = flow_summary(&FlowMeter::new(&one_to_five()), at(5000));
    assert!(!serde_json::to_string(&without).unwrap().contains("duplicate_packets"));
}

/// Copies are bytes of the bins of 0.5 s: 2000 B and 1000 B in the first two of eight bins.
#[test]
fn copies_count_in_the_variation_of_the_rate() {
    let mut meter = FlowMeter::new(&one_to_five());
    meter.received(at(1000), &packet(1000), 960);
    meter.duplicate(at(1100), &packet(1000));
    meter.duplicate(at(1500), &packet(1000));
    // Mean 3/8, mean of squares 5/8: (5/8 - 9/64) / (9/64) = 31/9.
    let found = flow_summary(&meter, at(5000)).rate_cov.unwrap();
    assert!((found - (31.0_f64 / 9.0).sqrt()).abs() < 1e-12, "{found}");
}

/// One, two, three and four losses of each kind.
#[test]
fn losses_are_judged_by_cause_and_judgment() {
    let mut judged = LossClassificationSummary::default();
    for (by_channel, counted, losses) in [(true, true, 1), (true, false, 2), (false, true, 3), (false, false, 4)] {
        (0..losses).for_each(|_| judged.add(by_channel, counted));
    }
    let expected = LossClassificationSummary {
        channel_counted: 1,
        channel_filtered: 2,
        queue_counted: 3,
        queue_filtered: 4,
        early: 0,
    };
    assert_eq!(judged, expected);
}

/// Events count from `measure_from` to the end, both inclusive.
#[test]
fn events_at_a_link_count_in_the_measured_interval() {
    let (mut meter, measured) = (LinkMeter::default(), Measured::between(at(10), at(20)));
    for (now, packets) in [(9, 90), (10, 3), (15, 7), (20, 5), (21, 80)] {
        meter.marked(&measured, at(now));
        meter.queue_seen(&measured, at(now), packets);
    }
    for now in [9, 10, 20, 21] {
        meter.duplicated(&measured, at(now));
        meter.dropped(&measured, at(now), DropCause::Channel);
    }
    [9, 12, 21].into_iter().for_each(|now| meter.reordered(&measured, at(now)));
    [9, 10, 20, 21].into_iter().for_each(|now| meter.arrived(&measured, at(now)));
    assert_eq!((meter.peak(), meter.total_arrived_packets(), meter.total_dropped_packets()), (7, 3, 4));
    let found =
        meter.summary(&measured, LinkLabel { name: "r1-r2".into(), from: "r1".into(), to: "r2".into() }, at(20));
    assert_eq!((found.marked_packets, found.duplicated_packets, found.reordered_packets), (3, 2, 1));
    assert_eq!((found.arrived_packets, found.dropped_packets.total(), found.peak_queue_packets), (2, 2, 7));
    assert_eq!((found.name.as_str(), found.from.as_str(), found.to.as_str()), ("r1-r2", "r1", "r2"));
    let text = serde_json::to_string(&found).unwrap();
    assert!(text.contains("\"duplicated_packets\":2,\"reordered_packets\":1"), "{text}");
    let without =
        serde_json::to_string(&LinkMeter::default().summary(&measured, LinkLabel::default(), at(20))).unwrap();
    assert!(!without.contains("duplicated_packets") && !without.contains("reordered_packets"), "{without}");
    assert!(!without.contains("\"flows\""), "{without}");
}

/// Packets 1 and 2 arrive, the link copies 2, packet 3 is dropped, 4 and 5 arrive. The gap between the copy and packet 4 is broken: starts
/// at 0, 1, 2, 9, 10 ms are gaps of 1, 1, 7 and 1 ms.
#[test]
fn a_copy_shifts_the_gap_that_a_drop_breaks() {
    let (mut meter, measured) = (LinkMeter::counting_by_flow(), Measured::between(at(0), at(100)));
    let flow = FlowId(0);
    let flows = meter.by_flow_mut().unwrap();
    (0..2).for_each(|_| flows.arrived(&measured, at(0), flow));
    flows.copied(flow);
    flows.arrived(&measured, at(0), flow);
    flows.dropped(&measured, at(0), flow, DropCause::QueueFull);
    (0..2).for_each(|_| flows.arrived(&measured, at(1), flow));
    [0, 1, 2, 9, 10].into_iter().for_each(|start| flows.sent(&measured, at(start), flow, 1000));
    let found = &meter.by_flow().unwrap().summary(|_| "f".into())[0];
    assert_eq!((found.arrived_packets, found.sent_packets, found.sent_bytes), (5, 5, 5000));
    let [all, unbroken] = [found.gap_s.unwrap(), found.unbroken_gap_s.unwrap()];
    assert!((all.mean - 0.0025).abs() < 1e-12, "{all:?}");
    // (3 x 1.5^2 + 4.5^2) / 4 = 6.75 ms^2.
    assert!((all.std - 0.001 * 6.75_f64.sqrt()).abs() < 1e-12, "{all:?}");
    assert!((unbroken.mean - 0.001).abs() < 1e-12 && unbroken.std.abs() < 1e-12, "{unbroken:?}");
}

/// A CPU that works from 12 ms on, and still at the end at 30 ms, works 18 of 20 ms. Drops at both ends of the interval count.
#[test]
fn a_host_that_never_finishes_is_busy_to_the_end() {
    let (mut meter, measured) = (HostMeter::default(), Measured::between(at(10), at(30)));
    meter.arrived(&measured, at(12));
    meter.arrived(&measured, at(20));
    for (now, place) in [(9, HostDrop::Ring), (10, HostDrop::Ring), (30, HostDrop::Queue), (31, HostDrop::Queue)] {
        meter.dropped(&measured, at(now), place);
    }
    meter.delivered(&measured, at(12), at(18), false);
    meter.delivered(&measured, at(20), at(30), false);
    let found = meter.summary(&measured, "h".into(), at(30));
    assert_eq!((found.arrived_packets, found.delivered_packets), (2, 2));
    assert_eq!((found.dropped_packets.ring, found.dropped_packets.queue), (1, 1));
    // 6 ms and 10 ms.
    assert_eq!((found.mean_wait_s, found.utilisation), (Some(0.008), 0.9));
}

/// (1 + 3)^2 / (2 x (1 + 9)) = 0.8.
#[test]
fn fairness_is_that_of_the_throughput() {
    let flow = |throughput_bps: f64| FlowSummary {
        throughput_bps,
        goodput_bps: 1.0,
        ..flow_summary(&FlowMeter::new(&one_to_five()), at(5000))
    };
    let index = Summary::fairness(&[flow(1e6), flow(3e6)]).unwrap();
    assert!((index - 0.8).abs() < 1e-12, "{index}");
    assert_eq!(Summary::fairness(&[flow(0.0)]), None);
    assert_eq!(Summary::fairness(&[]), None);
}

/// Round trips count from `measure_from` on, and a sample at it is one.
#[test]
fn round_trips_are_those_of_the_interval() {
    let mut meter = FlowMeter::new(&one_to_five());
    for (now, millis) in [(999, 1), (1000, 10), (2000, 40), (3000, 100)] {
        meter.rtt(at(now), Duration::from_millis(millis));
    }
    let found = flow_summary(&meter, at(5000)).rtt_s.unwrap();
    assert_eq!((found.mean, found.min, found.max), (0.05, 0.01, 0.1));
}

/// Packets of one kind wait 10 ms, 50 ms and 30 ms before they are sent.
#[test]
fn waits_in_the_send_queue_have_a_mean_and_a_maximum() {
    let mut meter = FlowMeter::new(&one_to_five());
    for (now, millis) in [(999, 70), (1000, 10), (1100, 50), (5000, 30)] {
        meter.left_send_queue(at(now), MediaKind::Audio, Duration::from_millis(millis));
    }
    let found = flow_summary(&meter, at(5000)).send_queue;
    let audio = &found[&MediaKind::Audio];
    assert_eq!((audio.written_packets, audio.sent_packets), (0, 3));
    assert_eq!((audio.mean_wait_s, audio.max_wait_s), (Some(0.03), Some(0.05)));
    assert_eq!((audio.late_packets, audio.mean_lateness_s), (0, None));
}

/// A written summary ends with a newline, has the lists that have entries, and is read as it was written.
#[test]
fn lists_without_entries_are_not_written() {
    let (mut host, measured) = (HostMeter::default(), one_to_five());
    host.arrived(&measured, at(2000));
    let mut summary = Summary {
        version: "0.1.0".into(),
        name: "n".into(),
        seed: 1,
        complete: false,
        interval: Interval { from: 1.0, to: 5.0 },
        flows: vec![flow_summary(&sessions(&[(1000, 2000, Some(1500))]), at(5000))],
        links: vec![],
        hosts: vec![],
        attackers: vec![],
        jain_index: None,
        packet_hops: 0,
        fingerprint: "0".into(),
    };
    let text = summary.to_json_pretty();
    assert!(text.ends_with("}\n") && !text.contains("\"hosts\"") && !text.contains("\"attackers\""), "{text}");
    summary.hosts.push(host.summary(&measured, "h".into(), at(5000)));
    let text = summary.to_json_pretty();
    assert!(text.contains("\"hosts\""), "{text}");
    assert_eq!(Summary::from_json(&text).unwrap(), summary);
    let mut written = Vec::new();
    summary.write_json(&mut written).unwrap();
    assert_eq!(written, text.as_bytes());
}
