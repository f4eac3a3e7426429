//! Tests of the link meter.

use headway_record::{ByFlow, LinkFlowSummary, LinkLabel, LinkMeter, LinkSummary, Measured};
use headway_units::{DropCause, FlowId, Instant};
use proptest::prelude::*;

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn summary(meter: &LinkMeter, measured: &Measured, end: Instant) -> LinkSummary {
    meter.summary(measured, LinkLabel { name: "r1-r2".into(), from: "r1".into(), to: "r2".into() }, end)
}

/// Three packets of 1000 B arrive at 0 at a link with a transmission time of 4 ms: they wait 0, 4 and 8 ms.
#[test]
fn queue_and_utilization_are_time_averages() {
    let (mut meter, measured) = (LinkMeter::default(), Measured::between(at(0), at(24)));
    for index in 0..3u64 {
        meter.arrived(&measured, at(0));
        meter.queue_seen(&measured, at(0), index as u32);
        meter.waited(&measured, at(0), at(4 * index), 1000);
        meter.transmitted(&measured, at(4 * index), at(4 * index + 4), 1000);
    }
    meter.arrived(&measured, at(1));
    meter.dropped(&measured, at(1), DropCause::QueueFull);
    meter.marked(&measured, at(0));
    let s = summary(&meter, &measured, at(24));
    assert_eq!((s.arrived_packets, s.marked_packets, s.dropped_packets.of(DropCause::QueueFull)), (4, 1, 1));
    // 12 packet-milliseconds in 24 ms.
    assert_eq!((s.mean_queue_packets, s.mean_queue_bytes, s.peak_queue_packets), (0.5, 500.0, 2));
    assert_eq!((s.utilisation, s.mean_red_average), (0.5, None));
}

/// A run stopped at 6 ms: half of the second packet is transmitted, the third waits since 0.
#[test]
fn a_stopped_run_reverts_future_intervals() {
    let (mut meter, measured) = (LinkMeter::default(), Measured::between(at(0), at(24)));
    for index in 0..3 {
        meter.waited(&measured, at(0), at(4 * index), 1000);
        meter.transmitted(&measured, at(4 * index), at(4 * index + 4), 1000);
    }
    for index in 0..3 {
        meter.cut_waiting(&measured, at(6), at(0), at(4 * index), 1000);
        meter.cut_transmission(&measured, at(6), at(4 * index), at(4 * index + 4));
    }
    let s = summary(&meter, &measured, at(6));
    assert_eq!((s.mean_queue_packets, s.utilisation), (10.0 / 6.0, 1.0));
}

/// RED's average steps to 2 at 10 ms and to 6 at 20 ms; before the first step it is 0.
#[test]
fn the_red_average_is_a_mean_over_time() {
    let (mut meter, measured) = (LinkMeter::default(), Measured::between(at(5), at(40)));
    meter.red_average(&measured, at(10), 2.0);
    meter.red_average(&measured, at(20), 6.0);
    // (5 x 0 + 10 x 2 + 5 x 6) / 20, and 20 ms more of 6.
    assert_eq!(summary(&meter, &measured, at(25)).mean_red_average, Some(2.5));
    assert_eq!(summary(&meter, &measured, at(45)).mean_red_average, Some((20.0 + 120.0) / 35.0));
}

#[test]
fn events_outside_the_interval_are_only_in_the_totals() {
    let (mut meter, measured) = (LinkMeter::default(), Measured::between(at(10), at(20)));
    for now in [9, 21] {
        meter.arrived(&measured, at(now));
        meter.dropped(&measured, at(now), DropCause::Early);
        meter.marked(&measured, at(now));
        meter.queue_seen(&measured, at(now), 50);
    }
    meter.transmitted(&measured, at(0), at(15), 1000);
    let s = summary(&meter, &measured, at(20));
    assert_eq!((s.arrived_packets, s.dropped_packets.total(), s.marked_packets, s.peak_queue_packets), (0, 0, 0, 0));
    assert_eq!((s.utilisation, meter.total_dropped_packets(), meter.total_sent_bytes()), (0.5, 2, 1000));
    // The arrival after the end is not part of the run.
    assert_eq!(meter.total_arrived_packets(), 1);
    meter.arrived(&measured, at(10));
    assert_eq!((summary(&meter, &measured, at(20)).arrived_packets, meter.total_arrived_packets()), (1, 2));
}

/// Starts at 10, 12 and 16 ms are gaps of 2 and 4 ms; a gap of 9 ms is before the measured interval.
#[test]
fn gaps_count_in_the_measured_interval() {
    let (mut meter, measured) = (LinkMeter::counting_by_flow(), Measured::between(at(10), at(20)));
    let flows = meter.by_flow_mut().unwrap();
    let gap = |flows: &ByFlow| flows.summary(|_| String::new()).first().and_then(|flow| flow.gap_s);
    flows.arrived(&measured, at(1), FlowId(0));
    for start in [1, 10, 12] {
        flows.sent(&measured, at(start), FlowId(0), 1000);
        assert_eq!(gap(flows), None);
    }
    flows.sent(&measured, at(16), FlowId(0), 1000);
    let found = gap(flows).unwrap();
    assert!((found.mean - 0.003).abs() < 1e-12 && (found.std - 0.001).abs() < 1e-12, "{found:?}");
    flows.cut(&measured, at(15), at(16), FlowId(0), 1000);
    assert_eq!(gap(flows), None);
}

/// Of seven packets, the fourth is dropped while the second and third are in the queue, which breaks the gap between
/// the third and the fifth. The first is lost after its transmission, which breaks no gap.
#[test]
fn unbroken_gaps_exclude_gaps_with_a_drop() {
    let (mut meter, measured) = (LinkMeter::counting_by_flow(), Measured::between(at(0), at(100)));
    let flows = meter.by_flow_mut().unwrap();
    let flow = FlowId(3);
    flows.arrived(&measured, at(1), flow);
    flows.sent(&measured, at(1), flow, 1000);
    (0..3).for_each(|_| flows.arrived(&measured, at(2), flow));
    flows.lost(&measured, at(2), flow, DropCause::Channel);
    flows.dropped(&measured, at(2), flow, DropCause::QueueFull);
    (0..3).for_each(|_| flows.arrived(&measured, at(3), flow));
    [3, 5, 15, 17, 19].into_iter().for_each(|start| flows.sent(&measured, at(start), flow, 1000));
    let found = &flows.summary(|_| String::new())[0];
    let [all, unbroken] = [found.gap_s.unwrap(), found.unbroken_gap_s.unwrap()];
    assert!((all.mean - 0.0036).abs() < 1e-12 && (all.std - 0.0032).abs() < 1e-12, "{all:?}");
    assert!((unbroken.mean - 0.002).abs() < 1e-12 && unbroken.std.abs() < 1e-9, "{unbroken:?}");
}

/// Measured from 10 to 20 ms. Packets of flow 2 arrive at 5, 10 and 15 ms; the second is marked, the third dropped. A
/// packet of flow 0 arrives at 15 ms and its transmission is scheduled for 18 ms. Flow 1 has no packets. Transmissions
/// that start at the end, or after a stop, do not count.
#[test]
fn flows_are_counted_separately() {
    let (mut meter, measured) = (LinkMeter::counting_by_flow(), Measured::between(at(10), at(20)));
    let (zero, two) = (FlowId(0), FlowId(2));
    let flows = meter.by_flow_mut().unwrap();
    for (now, flow) in [(5, two), (10, two), (15, two), (15, zero)] {
        flows.arrived(&measured, at(now), flow);
    }
    flows.marked(&measured, at(10), two);
    flows.marked(&measured, at(5), two);
    flows.dropped(&measured, at(15), two, DropCause::QueueFull);
    flows.dropped(&measured, at(5), two, DropCause::Early);
    for (start, flow) in [(5, two), (10, two), (18, zero), (20, zero)] {
        flows.sent(&measured, at(start), flow, 1000);
    }
    assert_eq!(flows.totals().collect::<Vec<_>>(), [(zero, 1, 0), (two, 3, 2)]);
    let counts = |flows: &ByFlow| {
        let summary = flows.summary(|flow| format!("f{}", flow.0));
        let row = |f: &LinkFlowSummary| {
            let dropped = (f.dropped_packets.of(DropCause::QueueFull), f.dropped_packets.total());
            (f.name.clone(), f.arrived_packets, dropped, f.marked_packets, f.sent_packets, f.sent_bytes)
        };
        summary.iter().map(row).collect::<Vec<_>>()
    };
    let of_two = ("f2".to_owned(), 2, (1, 1), 1, 1, 1000);
    assert_eq!(counts(flows), [("f0".to_owned(), 1, (0, 0), 0, 1, 1000), of_two.clone()]);
    for (start, flow) in [(10, two), (18, zero), (20, zero)] {
        flows.cut(&measured, at(17), at(start), flow, 1000);
    }
    assert_eq!(counts(flows), [("f0".to_owned(), 1, (0, 0), 0, 0, 0), of_two]);
    assert!(LinkMeter::default().by_flow().is_none());
}

#[test]
fn an_empty_interval_has_no_mean() {
    let (mut meter, measured) = (LinkMeter::default(), Measured::between(at(10), at(10)));
    meter.waited(&measured, at(0), at(20), 1);
    let s = summary(&meter, &measured, at(10));
    assert_eq!((s.mean_queue_packets, s.utilisation), (0.0, 0.0));
}

proptest! {
    /// Compares the means with counting the waiting packets every millisecond, independent of the order of calls. A run
    /// stopped at any time has the summary of a run planned to end then.
    #[test]
    fn means_equal_those_of_sampling_every_millisecond(
        mut intervals in prop::collection::vec((0u64..200, 0u64..100, 1u32..1500), 0..60),
        from in 0u64..150,
        planned in 150u64..400,
        cut in 151u64..400,
    ) {
        let cut = cut.min(planned);
        let (mut meter, measured) = (LinkMeter::default(), Measured::between(at(from), at(planned)));
        let (mut short, measured_short) = (LinkMeter::default(), Measured::between(at(from), at(cut)));
        for (start, length, bytes) in &intervals {
            meter.waited(&measured, at(*start), at(start + length), *bytes);
        }
        intervals.reverse();
        for (start, length, bytes) in &intervals {
            short.waited(&measured_short, at(*start), at(start + length), *bytes);
            meter.cut_waiting(&measured, at(cut), at(*start), at(start + length), *bytes);
        }
        let (mut packets, mut bytes) = (0u64, 0u64);
        for now in from..cut {
            for (start, length, size) in &intervals {
                if (*start..start + length).contains(&now) {
                    packets += 1;
                    bytes += u64::from(*size);
                }
            }
        }
        let s = summary(&meter, &measured, at(cut));
        prop_assert_eq!(&s, &summary(&short, &measured_short, at(cut)));
        let samples = cut.saturating_sub(from) as f64;
        if samples > 0.0 {
            prop_assert!((s.mean_queue_packets - packets as f64 / samples).abs() < 1e-9);
            prop_assert!((s.mean_queue_bytes - bytes as f64 / samples).abs() < 1e-6);
        }
    }
}
