//! Trendline filter (`trendline_estimator.cc` of libwebrtc): the slope of the smoothed delay over the last 20 groups.

use super::arrival_groups::Deltas;
use super::ms_between;
use headway_units::Instant;
use std::collections::VecDeque;

const WINDOW: usize = 20;
const SMOOTHING: f64 = 0.9;
const GAIN: f64 = 4.0;
/// Maximum number of groups by which the slope is multiplied.
const MAX_GROUPS: u32 = 60;

/// Delay variation of the last groups.
#[derive(Clone, Debug, Default)]
pub(super) struct Trendline {
    groups: u32,
    accumulated_ms: f64,
    smoothed_ms: f64,
    /// Arrival time since the first group and smoothed delay, in ms.
    points: VecDeque<(f64, f64)>,
    first: Option<Instant>,
    slope: f64,
}

impl Trendline {
    /// Adds a group that arrived at `arrived`. Returns the slope and the modified slope, which is compared with the
    /// threshold; `None` for the first group.
    pub(super) fn add(&mut self, deltas: &Deltas, arrived: Instant) -> Option<(f64, f64)> {
        self.groups = (self.groups + 1).min(1000);
        let first = *self.first.get_or_insert(arrived);
        self.accumulated_ms += deltas.arrival_ms - deltas.sent_ms;
        self.smoothed_ms = SMOOTHING * self.smoothed_ms + (1.0 - SMOOTHING) * self.accumulated_ms;
        if self.points.len() == WINDOW {
            self.points.pop_front();
        }
        self.points.push_back((ms_between(first, arrived), self.smoothed_ms));
        if self.points.len() == WINDOW {
            self.slope = slope(&self.points).unwrap_or(self.slope);
        }
        let modified = f64::from(self.groups.min(MAX_GROUPS)) * self.slope * GAIN;
        (self.groups > 1).then_some((self.slope, modified))
    }
}

/// Returns the least-squares slope; `None` if all points have the same time.
fn slope(points: &VecDeque<(f64, f64)>) -> Option<f64> {
    let count = points.len() as f64;
    let mean = |coordinate: fn(&(f64, f64)) -> f64| points.iter().map(coordinate).sum::<f64>() / count;
    let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
    let (mut numerator, mut denominator) = (0.0, 0.0);
    for (x, y) in points {
        numerator += (x - mean_x) * (y - mean_y);
        denominator += (x - mean_x) * (x - mean_x);
    }
    (denominator != 0.0).then(|| numerator / denominator)
}

#[cfg(test)]
mod tests {
    use super::super::options::GccVersion;
    use super::super::overuse::{OveruseDetector, Signal};
    use super::super::vectors::{near, rows};
    use super::*;

    /// Groups every 10 ms, with growth of the delay of 0 (20 groups), 3 (12) and -4 ms (8).
    #[test]
    fn slopes_and_signals() {
        let (mut trendline, mut detector) = (Trendline::default(), OveruseDetector::new(GccVersion::Gcc2026));
        let rows = rows("trendline");
        let mut compared = 0;
        for group in 1..=40_u64 {
            let growth = if group <= 20 {
                0.0
            } else if group <= 32 {
                3.0
            } else {
                -4.0
            };
            let (deltas, arrived) =
                (Deltas { sent_ms: 10.0, arrival_ms: 10.0 + growth }, Instant::from_millis(10 * group));
            let threshold = detector.threshold_ms();
            let (slope, modified) = trendline.add(&deltas, arrived).unwrap_or_default();
            if group > 1 {
                detector.detect(modified, slope, deltas.sent_ms, arrived);
            }
            let Some(row) = rows.iter().find(|row| row[0] == group) else { continue };
            for (value, expected) in [slope, modified, threshold].into_iter().zip(&row.as_array().unwrap()[1..]) {
                near(value, expected.as_f64().unwrap(), 6e-10);
            }
            let signal = match detector.signal() {
                Signal::Normal => "normal",
                Signal::OverUse => "overuse",
                Signal::UnderUse => "underuse",
            };
            assert_eq!(signal, row[4], "group {group}");
            compared += 1;
        }
        assert_eq!(compared, 13);
    }
}
