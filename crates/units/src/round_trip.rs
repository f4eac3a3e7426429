//! The mean and the mean deviation of round trips.

use crate::Duration;

/// SRTT and RTTVAR of RFC 6298 section 2: the mean moves by an eighth of each sample, the deviation by a quarter of how far the
/// sample is from the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTripEstimate {
    mean: Option<Duration>,
    deviation: Duration,
}

impl RoundTripEstimate {
    /// A round trip was measured. After the first one the mean is that, and the deviation half of it.
    pub fn sample(&mut self, r: Duration) {
        let mean = match self.mean {
            None => {
                self.deviation = r / 2;
                r
            }
            Some(mean) => {
                let off = if r > mean { r - mean } else { mean - r };
                self.deviation = self.deviation - self.deviation / 4 + off / 4;
                mean - mean / 8 + r / 8
            }
        };
        self.mean = Some(mean);
    }

    /// SRTT; none before the first sample.
    #[must_use]
    pub const fn mean(&self) -> Option<Duration> {
        self.mean
    }

    /// RTTVAR; nothing before the first sample.
    #[must_use]
    pub const fn deviation(&self) -> Duration {
        self.deviation
    }
}
