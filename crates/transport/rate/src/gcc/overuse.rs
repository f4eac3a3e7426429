//! Over-use detector with an adaptive threshold (sections 4.4 and 4.5 of the draft; `trendline_estimator.cc`).

use super::ms_between;
use super::options::GccVersion;
use headway_units::Instant;

/// Time above the threshold after which a path is over-used, in ms.
const OVERUSE_MS: f64 = 10.0;
const FIRST_THRESHOLD_MS: f64 = 12.5;
const MIN_THRESHOLD_MS: f64 = 6.0;
const MAX_THRESHOLD_MS: f64 = 600.0;
/// Distance above the threshold from which it does not adapt, in ms.
const MAX_ADAPTED_MS: f64 = 15.0;
/// Maximum time for which one sample adapts the threshold, in ms.
const MAX_ADAPT_TIME_MS: f64 = 100.0;

/// Signal of the detector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Signal {
    #[default]
    Normal,
    /// The queue grows.
    OverUse,
    /// The queue shrinks.
    UnderUse,
}

/// Comparison of an estimate of the growth of the queue with the threshold.
#[derive(Clone, Debug)]
pub(super) struct OveruseDetector {
    version: GccVersion,
    threshold_ms: f64,
    /// Time and number of samples above the threshold.
    above: Option<(f64, u32)>,
    last_growth: f64,
    signal: Signal,
    adapted: Option<Instant>,
}

impl OveruseDetector {
    pub(super) const fn new(version: GccVersion) -> Self {
        Self {
            version,
            threshold_ms: FIRST_THRESHOLD_MS,
            above: None,
            last_growth: 0.0,
            signal: Signal::Normal,
            adapted: None,
        }
    }

    pub(super) const fn signal(&self) -> Signal {
        self.signal
    }

    #[cfg(test)]
    pub(super) const fn threshold_ms(&self) -> f64 {
        self.threshold_ms
    }

    /// Handles an estimate: `modified_ms` is compared with the threshold, `growth` with that of the last call. `sent_ms`
    /// is the time between the sending times of both groups.
    pub(super) fn detect(&mut self, modified_ms: f64, growth: f64, sent_ms: f64, arrived: Instant) {
        if modified_ms > self.threshold_ms {
            let (time_ms, samples) =
                self.above.map_or((sent_ms / 2.0, 1), |(time, samples)| (time + sent_ms, samples + 1));
            self.above = Some((time_ms, samples));
            let is_overuse = time_ms > OVERUSE_MS && samples > 1 && growth >= self.last_growth;
            self.signal = match (self.version, is_overuse) {
                (_, true) => Signal::OverUse,
                (GccVersion::Gcc2026, false) => self.signal,
                (GccVersion::Draft02, false) => Signal::Normal,
            };
            if is_overuse && self.version == GccVersion::Gcc2026 {
                self.above = Some((0.0, 0));
            }
        } else {
            self.above = None;
            self.signal = if modified_ms < -self.threshold_ms { Signal::UnderUse } else { Signal::Normal };
        }
        self.last_growth = growth;
        self.adapt(modified_ms, arrived);
    }

    fn adapt(&mut self, modified_ms: f64, arrived: Instant) {
        let time_ms = self.adapted.map_or(0.0, |last| ms_between(last, arrived)).clamp(0.0, MAX_ADAPT_TIME_MS);
        self.adapted = Some(arrived);
        let distance_ms = modified_ms.abs() - self.threshold_ms;
        if distance_ms > MAX_ADAPTED_MS {
            return;
        }
        // The names of the constants in the draft are K_d and K_u. Those of libwebrtc are per ms, too.
        let (down, up) = match self.version {
            GccVersion::Gcc2026 => (0.039, 0.0087),
            GccVersion::Draft02 => (0.00018, 0.01),
        };
        let gain = if distance_ms < 0.0 { down } else { up };
        self.threshold_ms =
            (self.threshold_ms + gain * distance_ms * time_ms).clamp(MIN_THRESHOLD_MS, MAX_THRESHOLD_MS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples above the threshold, 8 ms apart: the time above it is 4, 12 ms, and in version 2026 counts again.
    #[test]
    fn overuse_needs_time_and_growth() {
        for (version, expected) in [
            (GccVersion::Gcc2026, [Signal::Normal, Signal::OverUse, Signal::OverUse, Signal::Normal]),
            // The third sample is lower than the second one.
            (GccVersion::Draft02, [Signal::Normal, Signal::OverUse, Signal::Normal, Signal::Normal]),
        ] {
            let mut detector = OveruseDetector::new(version);
            let mut signal = |(at, modified)| {
                detector.detect(modified, modified, 8.0, Instant::from_millis(at));
                detector.signal()
            };
            assert_eq!([(0, 13.0), (8, 14.0), (16, 13.5), (24, 1.0)].map(&mut signal), expected, "{version:?}");
        }
    }

    /// The draft's K_u and K_d, by hand: 10 ms at 3 ms above 12.5 and at 2.8 below 12.8; nothing from 15 ms above.
    #[test]
    fn the_threshold_of_the_draft() {
        let mut detector = OveruseDetector::new(GccVersion::Draft02);
        for (at, modified, expected) in
            [(0, 0.0, 12.5), (10, 15.5, 12.8), (20, 10.0, 12.794_96), (30, -28.0, 12.794_96)]
        {
            detector.detect(modified, modified, 10.0, Instant::from_millis(at));
            assert!((detector.threshold_ms() - expected).abs() < 1e-9, "{at} {}", detector.threshold_ms());
        }
    }
}
