use super::super::options::Scream2Version;
use super::*;
use serde_json::Value;

/// Section 4.1: `qdelay_avg` and the virtual `l4s_alpha` of queue delays, with a target of 60 ms.
#[test]
fn averages_of_queue_delay() {
    let all: Value = serde_json::from_str(include_str!("../../../tests/data/scream2.json")).unwrap();
    let (mut average, rows) = (0.0, all["qdelay_avg"].as_array().unwrap());
    assert_eq!(rows.len(), 7);
    for (qdelay, expected) in [0.02, 0.06, 0.06, 0.06, 0.06, 0.01, 0.05].into_iter().zip(rows) {
        average = averaged_qdelay(average, qdelay);
        let virtual_alpha = ((average - 0.03) / 0.03_f64).clamp(0.0, 1.0);
        for (value, expected) in [(average, &expected[0]), (virtual_alpha, &expected[1])] {
            assert!((value - expected.as_f64().unwrap()).abs() < 1e-12, "{value} in place of {expected}");
        }
    }
}

fn report(queue: &mut QueueDelay, ms: u64, delays_ms: [f64; 3]) {
    let [newest_s, shortest_s, longest_s] = delays_ms.map(|delay| delay / 1000.0);
    queue.on_report(Instant::from_millis(ms), 0.05, Some(Delays { newest_s, shortest_s, longest_s }));
}

/// Reports each 30 ms with delays of 0 and 20 ms: a sample of 20 ms is limited to 20 ms and averaged with 1/32, so that
/// the scale falls below 1/2 after 10 reports (1 - (31/32)^k > 1/4 for k > 9). The maximum falls by 1/16 a report if the
/// delays are equal.
#[test]
fn jitter_reduces_growth_and_overhead() {
    let mut queue = QueueDelay::new(&Rules::of(Scream2Version::Ericsson202607), 0.06, Instant::ZERO);
    assert_eq!([queue.growth_scale(), queue.back_off_scale(), queue.overhead_scale()], [1.0; 3]);
    let mut rest = 1.0;
    for k in 1..=10 {
        report(&mut queue, 30 * k, [0.0, 0.0, 20.0]);
        rest *= 31.0 / 32.0;
        let expected = 1.0 - 2.0 * (1.0 - rest);
        assert!((queue.overhead_scale() - expected).abs() < 1e-12, "{k}: {}", queue.overhead_scale());
    }
    for k in 11..=200 {
        report(&mut queue, 30 * k, [0.0, 0.0, 20.0]);
    }
    assert!((queue.growth_scale() - 0.1).abs() < 1e-12 && (queue.back_off_scale() - 0.25).abs() < 1e-12);
    for k in 201..=400 {
        report(&mut queue, 30 * k, [5.0, 5.0, 5.0]);
    }
    assert!(queue.overhead_scale() > 0.9, "a constant delay is no jitter");
}

/// libwebrtc: the scale is 1 up to 2.5 ms, 0.7 at 5 ms and 0.1 at 10 ms. It applies to the mean of the shortest delays,
/// and to the mean difference within a report.
#[test]
fn shortest_delays_and_differences() {
    for (delays, overhead, growth) in [
        ([2.0, 2.0, 2.0], 1.0, 1.0),
        ([5.0, 5.0, 5.0], 0.7, 0.7),
        ([9.0, 5.0, 10.0], 0.7, 0.49),
        ([30.0, 30.0, 90.0], 0.0, 0.01),
    ] {
        let mut queue = QueueDelay::new(&Rules::of(Scream2Version::Libwebrtc202607), 0.06, Instant::ZERO);
        (1..=400).for_each(|k| report(&mut queue, 30 * k, delays));
        assert!((queue.overhead_scale() - overhead).abs() < 1e-4, "{delays:?}: {}", queue.overhead_scale());
        assert!((queue.growth_scale() - growth).abs() < 1e-4, "{delays:?}: {}", queue.growth_scale());
        assert!((queue.average_s() - delays[1] / 1000.0).abs() < 1e-6, "{delays:?}: {}", queue.average_s());
    }
}

/// A queue of 40 ms for a minute: the average falls as the slow minimum of 100 round trips of 50 ms rises by 1/8 of the
/// difference each 5 s. Without the slow minimum, the average is 40 ms.
#[test]
fn a_standing_queue_becomes_the_base() {
    let mut queue = QueueDelay::new(&Rules::of(Scream2Version::Ericsson202607), 0.06, Instant::ZERO);
    let mut averages = vec![];
    for k in 1..=1200 {
        report(&mut queue, 50 * k, [40.0; 3]);
        if k % 200 == 199 {
            averages.push(queue.average_s());
        }
    }
    assert_eq!(averages.len(), 6);
    let mut expected = 0.04 * 0.875;
    for average in averages {
        assert!((average - expected).abs() < 1e-5, "{average} in place of {expected}");
        expected *= 0.875 * 0.875;
    }
}
