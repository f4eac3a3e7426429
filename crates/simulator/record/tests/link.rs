//! What a link's meter says of a told story.

use headway_record::{ByFlow, LinkFlowSummary, LinkLabel, LinkMeter, LinkSummary, Measured};
use headway_units::{DropCause, FlowId, Instant};
use proptest::prelude::*;

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn summary(meter: &LinkMeter, measured: &Measured, end: Instant) -> LinkSummary {
    meter.summary(measured, LinkLabel { name: "r1-r2".into(), from: "r1".into(), to: "r2".into() }, end)
}

/// Three packets of 1000 B come together at 0 to a link that takes 4 ms for each: they wait 0, 4 and 8 ms.
#[test]
fn three_packets_at_once() {
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

/// A run cut at 6 ms: the second packet has transmitted half, the third waits since 0.
#[test]
fn a_run_cut_short_takes_back_what_lay_ahead() {
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
    // The one after the end is no part of the run.
    assert_eq!(meter.total_arrived_packets(), 1);
    meter.arrived(&measured, at(10));
    assert_eq!((summary(&meter, &measured, at(20)).arrived_packets, meter.total_arrived_packets()), (1, 2));
}

/// Starts at 10, 12 and 16 ms are gaps of 2 and 4 ms; one of 9 ms was before the measured time.
#[test]
fn gaps_of_a_flow() {
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

/// Of seven that come the fourth is dropped, when the second and the third still wait: the gap between the third and the fifth is broken. That the first is lost
/// on its way behind the link breaks none.
#[test]
fn gaps_that_a_drop_has_broken() {
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

/// Measured from 10 to 20 ms. Flow 2 comes at 5, 10 and 15 ms; the second packet is marked, the third dropped. Flow 0 comes at 15 and its
/// transmission is told to begin at 18 ms; flow 1 never comes. What begins at the end itself, or after a cut, does not count.
#[test]
fn flows_are_counted_apart() {
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
    let told = |flows: &ByFlow| {
        let summary = flows.summary(|flow| format!("f{}", flow.0));
        let row = |f: &LinkFlowSummary| {
            let dropped = (f.dropped_packets.of(DropCause::QueueFull), f.dropped_packets.total());
            (f.name.clone(), f.arrived_packets, dropped, f.marked_packets, f.sent_packets, f.sent_bytes)
        };
        summary.iter().map(row).collect::<Vec<_>>()
    };
    let of_two = ("f2".to_owned(), 2, (1, 1), 1, 1, 1000);
    assert_eq!(told(flows), [("f0".to_owned(), 1, (0, 0), 0, 1, 1000), of_two.clone()]);
    for (start, flow) in [(10, two), (18, zero), (20, zero)] {
        flows.cut(&measured, at(17), at(start), flow, 1000);
    }
    assert_eq!(told(flows), [("f0".to_owned(), 1, (0, 0), 0, 0, 0), of_two]);
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
    /// The means are those of counting who waits at every millisecond; the order of telling does not matter; and a run
    /// cut at any instant says what one planned to end there says.
    #[test]
    fn means_are_those_of_looking_every_millisecond(
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
        let looks = cut.saturating_sub(from) as f64;
        if looks > 0.0 {
            prop_assert!((s.mean_queue_packets - packets as f64 / looks).abs() < 1e-9);
            prop_assert!((s.mean_queue_bytes - bytes as f64 / looks).abs() < 1e-6);
        }
    }
}
