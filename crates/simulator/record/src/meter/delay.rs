//! Mean, quantiles and maximum of durations.

use super::histogram::Histogram;
use serde::{Deserialize, Serialize};

/// Statistics of durations, in s, such as one-way delays of packets or completion times of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DelaySummary {
    /// Mean of the durations, in s; exact.
    pub mean: f64,
    /// Median of the durations (nearest rank), in s, with a relative error of at most 1/128.
    pub p50: f64,
    /// 95th percentile of the durations (nearest rank), in s, with a relative error of at most 1/128.
    pub p95: f64,
    /// 99th percentile of the durations (nearest rank), in s, with a relative error of at most 1/128.
    pub p99: f64,
    /// Maximum of the durations, in s; exact.
    pub max: f64,
}

/// Number and sum of the durations recorded so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DelaySum {
    pub(crate) count: u64,
    pub(crate) nanos: u128,
}

impl DelaySum {
    /// Returns the mean in s of the durations that were added since the earlier state `before`; `None` if there are
    /// none.
    #[must_use]
    pub fn mean_since(self, before: Self) -> Option<f64> {
        let count = self.count.checked_sub(before.count).filter(|count| *count > 0)?;
        Some((self.nanos - before.nanos) as f64 / 1e9 / count as f64)
    }
}

impl Histogram {
    /// Returns the number and the sum of values, which are in ns.
    pub(crate) fn delay_sum(&self) -> DelaySum {
        DelaySum { count: self.total(), nanos: self.sum_of_values() }
    }

    /// Returns the statistics in s of values in ns; `None` without values.
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
