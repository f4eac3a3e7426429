//! Acknowledged rate (`bitrate_estimator.cc` of libwebrtc): a Bayesian mean of the rates of short windows, by the
//! receiver's clock. A sample far from the estimate has a large variance.

use super::ms_between;
use headway_units::Instant;

const FIRST_WINDOW_MS: f64 = 500.0;
const WINDOW_MS: f64 = 150.0;
const UNCERTAINTY: f64 = 10.0;
/// Uncertainty of a sample of less than [`SMALL_BYTES`] that is below the estimate.
const SMALL_UNCERTAINTY: f64 = 25.0;
const SMALL_BYTES: f64 = 2000.0;
const FIRST_VARIANCE: f64 = 50.0;
/// Growth of the variance per sample, and at the end of an application-limited period.
const VARIANCE_GROWTH: f64 = 5.0;
const VARIANCE_GROWTH_AFTER_ALR: f64 = 200.0;
const MIN_KBPS: f64 = 40.0;

/// Estimator of the rate at which packets arrive. The variance is in (kb/s)².
#[derive(Clone, Debug)]
pub(super) struct AcknowledgedRate {
    bytes: f64,
    window_ms: f64,
    last: Option<Instant>,
    kbps: Option<f64>,
    variance: f64,
    /// End of an application-limited period, if no packet sent after it has arrived.
    limited_until: Option<Instant>,
}

impl AcknowledgedRate {
    pub(super) const fn new() -> Self {
        Self { bytes: 0.0, window_ms: 0.0, last: None, kbps: None, variance: FIRST_VARIANCE, limited_until: None }
    }

    pub(super) fn bps(&self) -> Option<f64> {
        self.kbps.map(|kbps| 1000.0 * kbps)
    }

    /// Handles the end of an application-limited period: the rate may change quickly.
    pub(super) const fn on_alr_end(&mut self, now: Instant) {
        self.limited_until = Some(now);
    }

    /// Adds a packet of `bytes`, in the order of arrival.
    pub(super) fn add(&mut self, sent: Instant, arrived: Instant, bytes: f64) {
        if self.limited_until.take_if(|until| sent > *until).is_some() {
            self.variance += VARIANCE_GROWTH_AFTER_ALR;
        }
        if let Some((kbps, is_small)) = self.sample(arrived, bytes) {
            self.update(kbps, is_small);
        }
    }

    /// Returns the rate of the window that ends, if one ends, and whether it had few bytes.
    fn sample(&mut self, arrived: Instant, bytes: f64) -> Option<(f64, bool)> {
        let window_ms = if self.kbps.is_none() { FIRST_WINDOW_MS } else { WINDOW_MS };
        if let Some(last) = self.last {
            let gap_ms = ms_between(last, arrived);
            if gap_ms < 0.0 {
                (self.bytes, self.window_ms) = (0.0, 0.0);
            } else {
                self.window_ms += gap_ms;
                if gap_ms > window_ms {
                    self.bytes = 0.0;
                    self.window_ms %= window_ms;
                }
            }
        }
        self.last = Some(arrived);
        let sample = (self.window_ms >= window_ms).then(|| {
            self.window_ms -= window_ms;
            let bytes = std::mem::take(&mut self.bytes);
            (8.0 * bytes / window_ms, bytes < SMALL_BYTES)
        });
        self.bytes += bytes;
        sample
    }

    fn update(&mut self, sample: f64, is_small: bool) {
        let Some(kbps) = self.kbps else {
            self.kbps = Some(sample.max(MIN_KBPS));
            return;
        };
        let uncertainty = if is_small && sample < kbps { SMALL_UNCERTAINTY } else { UNCERTAINTY };
        let deviation = uncertainty * (kbps - sample).abs() / kbps;
        let (sample_variance, variance) = (deviation * deviation, self.variance + VARIANCE_GROWTH);
        let total = sample_variance + variance;
        self.kbps = Some(((sample_variance * kbps + variance * sample) / total).max(MIN_KBPS));
        self.variance = sample_variance * variance / total;
    }
}

#[cfg(test)]
mod tests {
    use super::super::vectors::{near, numbers, rows};
    use super::*;

    #[test]
    fn means_of_samples() {
        let mut rate = AcknowledgedRate::new();
        let rows = rows("acknowledged_rate");
        assert_eq!(rows.len(), 5);
        let samples = [(500.0, false), (520.0, false), (100.0, true), (510.0, false), (900.0, false)];
        for ((sample, is_small), row) in samples.into_iter().zip(rows) {
            rate.update(sample, is_small);
            let expected = numbers(&row);
            near(rate.kbps.unwrap(), expected[0], 6e-7);
            near(rate.variance, expected[1], 6e-7);
        }
    }

    /// Packets of 1250 B every 10 ms, 1 Mb/s: the first window has 500 ms, the others 150 ms.
    #[test]
    fn windows() {
        let mut rate = AcknowledgedRate::new();
        let mut add = |packet: u64| {
            let at = Instant::from_millis(10 * packet);
            rate.add(at, at, 1250.0);
            rate.bps()
        };
        assert!((0..50).all(|packet| add(packet).is_none()));
        assert_eq!((50..200).map(add).min_by(|a, b| a.partial_cmp(b).unwrap()), Some(Some(1e6)));
    }
}
