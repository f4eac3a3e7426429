//! Link capacity: the mean and the deviation of the acknowledged rates at over-uses (`link_capacity_estimator.cc`).

const GAIN: f64 = 0.05;
const MIN_DEVIATION: f64 = 0.4;
const MAX_DEVIATION: f64 = 2.5;

/// Estimate in kb/s. The variance is `deviation` times the estimate.
#[derive(Clone, Debug)]
pub(super) struct LinkCapacity {
    kbps: Option<f64>,
    deviation: f64,
}

impl LinkCapacity {
    pub(super) const fn new() -> Self {
        Self { kbps: None, deviation: MIN_DEVIATION }
    }

    pub(super) fn bps(&self) -> Option<f64> {
        self.kbps.map(|kbps| 1000.0 * kbps)
    }

    /// Removes the estimate, because the rate is outside of its bounds. The deviation is kept.
    pub(super) const fn reset(&mut self) {
        self.kbps = None;
    }

    pub(super) fn on_overuse(&mut self, acknowledged_bps: f64) {
        let sample = acknowledged_bps / 1000.0;
        let kbps = self.kbps.map_or(sample, |kbps| (1.0 - GAIN) * kbps + GAIN * sample);
        let error = kbps - sample;
        let deviation = (1.0 - GAIN) * self.deviation + GAIN * error * error / kbps.max(1.0);
        self.deviation = deviation.clamp(MIN_DEVIATION, MAX_DEVIATION);
        self.kbps = Some(kbps);
    }

    /// Returns whether a rate is more than three standard deviations below the estimate.
    pub(super) fn is_above(&self, bps: f64) -> bool {
        self.kbps.is_some_and(|kbps| bps / 1000.0 < kbps - self.bound_kbps(kbps))
    }

    /// Returns whether a rate is more than three standard deviations above the estimate.
    pub(super) fn is_below(&self, bps: f64) -> bool {
        self.kbps.is_some_and(|kbps| bps / 1000.0 > kbps + self.bound_kbps(kbps))
    }

    fn bound_kbps(&self, kbps: f64) -> f64 {
        3.0 * (self.deviation * kbps).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::super::vectors::{near, numbers, rows};
    use super::*;

    #[test]
    fn estimates_at_overuses() {
        let mut capacity = LinkCapacity::new();
        let rows = rows("link_capacity");
        assert_eq!(rows.len(), 4);
        for (sample, row) in [1e6, 950e3, 1050e3, 700e3].into_iter().zip(rows) {
            capacity.on_overuse(sample);
            let (kbps, expected) = (capacity.kbps.unwrap(), numbers(&row));
            near(kbps, expected[0], 6e-7);
            near(capacity.deviation, expected[1], 6e-7);
            near(kbps - capacity.bound_kbps(kbps), expected[2], 6e-7);
            near(kbps + capacity.bound_kbps(kbps), expected[3], 6e-7);
        }
    }
}
