//! Nearest-rank percentiles of one-way delays with known ranks.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use headway_record::{DelaySummary, FlowLabel, FlowMeter, FlowPacket, Measured};
use headway_units::{Instant, MediaKind};

/// Returns the summary of the delays of packets sent 1 s apart, measured from 0.
fn delays(millis: &[u64]) -> DelaySummary {
    let mut meter = FlowMeter::new(&Measured::between(Instant::ZERO, Instant::FAR_FUTURE));
    for (second, delay) in millis.iter().enumerate() {
        let sent_at = Instant::from_secs(second as u64);
        let packet = FlowPacket { sent_at, wire_bytes: 1000, kind: MediaKind::Data, deadline: None };
        meter.sent(&packet);
        meter.received(Instant::from_millis(1000 * second as u64 + delay), &packet, 960);
    }
    meter.summary(FlowLabel::default(), Instant::from_secs(1_000)).one_way_delay_s.unwrap()
}

/// Asserts a relative error of at most 1/128.
fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() <= expected / 128.0, "{found} is not {expected}");
}

/// Of 100 delays, the 50th, 95th and 99th smallest are twice the next smaller and half the next larger delay.
#[test]
fn percentiles_are_nearest_ranks() {
    let of_rank = |rank| match rank {
        ..=49 => 1,
        50 => 2,
        51..=94 => 4,
        95 => 8,
        96..=98 => 16,
        99 => 32,
        _ => 64,
    };
    // 37 and 100 have no common divisor: each rank once, shuffled.
    let shuffled: Vec<u64> = (0..100).map(|place| of_rank(place * 37 % 100 + 1)).collect();
    let found = delays(&shuffled);
    near(found.p50, 0.002);
    near(found.p95, 0.008);
    near(found.p99, 0.032);
    assert_eq!(found.max, 0.064);
    // 49 + 2 + 44 x 4 + 8 + 3 x 16 + 32 + 64 = 379.
    assert!((found.mean - 0.003_79).abs() < 1e-12, "{}", found.mean);
}

/// The 95th and 99th percentiles of 20 delays have the ranks 19 and 20 (19.8 rounded up), of 10 delays both 10.
#[test]
fn fractional_ranks_are_rounded_up() {
    let one_slow = |of: usize| -> Vec<u64> { (0..of).map(|place| if place == 3 { 50 } else { 10 }).collect() };
    for (of, p95, p99) in [(10, 0.050, 0.050), (20, 0.010, 0.050), (100, 0.010, 0.010), (101, 0.010, 0.010)] {
        let found = delays(&one_slow(of));
        near(found.p95, p95);
        near(found.p99, p99);
    }
}
