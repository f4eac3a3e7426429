//! Mean, quantiles and the largest of what takes time.

use super::histogram::Histogram;
use serde::{Deserialize, Serialize};

/// How long something took, in s: of a packet from sending to arrival, of a session from arrival to its last acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DelaySummary {
    /// The mean, exact.
    pub mean: f64,
    /// The median (nearest rank), at most 1/128 off.
    pub p50: f64,
    /// Not exceeded by 95 % (nearest rank), at most 1/128 off.
    pub p95: f64,
    /// Not exceeded by 99 % (nearest rank), at most 1/128 off.
    pub p99: f64,
    /// The largest, exact.
    pub max: f64,
}

impl Histogram {
    /// Of nanoseconds, in s; none of nothing.
    #[must_use]
    pub fn summary(&self) -> Option<DelaySummary> {
        let percentile = |percent| self.percentile(percent).map(seconds_of);
        Some(DelaySummary {
            mean: self.mean()? / 1e9,
            p50: percentile(50)?,
            p95: percentile(95)?,
            p99: percentile(99)?,
            max: seconds_of(self.max()),
        })
    }
}

pub(crate) fn seconds_of(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}
