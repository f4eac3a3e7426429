//! Round-trip time estimators.

use crate::Duration;

/// SRTT and RTTVAR of RFC 6298 section 2, with gains of 1/8 for the mean and 1/4 for the deviation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTripEstimate {
    mean: Option<Duration>,
    deviation: Duration,
}

impl RoundTripEstimate {
    /// Adds a round-trip sample. The first sample R sets SRTT to R and RTTVAR to R/2.
    #[inline]
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

    /// Returns SRTT; `None` before the first sample.
    #[must_use]
    pub const fn mean(&self) -> Option<Duration> {
        self.mean
    }

    /// Returns RTTVAR; zero before the first sample.
    #[must_use]
    pub const fn deviation(&self) -> Duration {
        self.deviation
    }
}

/// Quantity that the option `min_rto`, a minimum of the retransmission timeout, bounds from below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum RtoFloor {
    /// The minimum applies to the whole retransmission timeout (RFC 6298).
    Rto,
    /// The minimum applies to four times RTTVAR; the retransmission timeout is SRTT plus that (Linux).
    Variance,
}

/// Integer estimator in ticks of a coarse clock, as in 4.3BSD (Jacobson 1988, appendix A), which stores 8 SRTT and 4
/// RTTVAR, each at least 1. With ticks of 1 us it equals RFC 6298 to the microsecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TickedRoundTripEstimate {
    /// 8 SRTT; 0 before the first sample.
    mean8: i64,
    deviation4: i64,
}

impl TickedRoundTripEstimate {
    /// Adds a round-trip sample in ticks; values below 1 count as 1.
    #[inline]
    pub fn sample(&mut self, ticks: i64) {
        let ticks = ticks.clamp(1, i64::MAX / 64);
        if self.mean8 == 0 {
            (self.mean8, self.deviation4) = (ticks * 8, ticks * 2);
            return;
        }
        let error = ticks - (self.mean8 >> 3);
        self.mean8 = (self.mean8 + error).max(1);
        self.deviation4 = (self.deviation4 + error.abs() - (self.deviation4 >> 2)).max(1);
    }

    /// Adds a round-trip sample in ticks by the rule of Linux: a sample below SRTT by more than RTTVAR raises RTTVAR by
    /// only an eighth of the usual increase (Linux 2.6 `tcp_rtt_estimator`; ns-2.35 tcp/tcp-linux.cc, `rtt_update`).
    pub fn sample_linux(&mut self, ticks: i64) {
        let ticks = ticks.clamp(1, i64::MAX / 64);
        if self.mean8 == 0 {
            self.sample(ticks);
            return;
        }
        let error = ticks - (self.mean8 >> 3);
        self.mean8 = (self.mean8 + error).max(1);
        let rise = error.abs() - (self.deviation4 >> 2);
        self.deviation4 += if error < 0 && rise > 0 { rise >> 3 } else { rise };
    }

    /// Returns 8 SRTT in ticks; 0 before the first sample.
    #[must_use]
    pub const fn mean8(&self) -> i64 {
        self.mean8
    }

    /// Returns 4 RTTVAR in ticks; 0 before the first sample.
    #[must_use]
    pub const fn deviation4(&self) -> i64 {
        self.deviation4
    }

    /// Returns `SRTT + 4 RTTVAR` in ticks, rounded down.
    #[must_use]
    pub const fn timeout(&self) -> i64 {
        (self.deviation4 * 8 + self.mean8) >> 3
    }

    /// Discards the mean, so that the next sample counts as the first. Until then SRTT is added to 4 RTTVAR, so that
    /// the timeout does not change (ns-2.35 tcp/tcp.cc, `rtt_backoff`).
    pub const fn mark_stale(&mut self) {
        self.deviation4 += self.mean8 >> 3;
        self.mean8 = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `rtt_update` of ns-2.35 tcp/tcp-linux.cc by hand. Far below the mean, 80 - 50 and 70 - 50 count as 3 and 2.
    #[test]
    fn linux_weights_short_round_trips_by_an_eighth() {
        let mut estimate = TickedRoundTripEstimate::default();
        let after = [100, 20, 20, 81, 181].map(|ticks| {
            estimate.sample_linux(ticks);
            (estimate.mean8(), estimate.deviation4())
        });
        assert_eq!(after, [(800, 200), (720, 203), (650, 205), (650, 154), (750, 216)]);
        for ticks in [i64::MAX, i64::MIN, i64::MAX, 0] {
            estimate.sample_linux(ticks);
            assert!(estimate.timeout() > 0);
        }
    }

    /// Jacobson's estimator by hand: samples of 5, 5, 8, 5 ticks (ns-2.35 tcp/tcp.cc with a tick of 10 ms).
    #[test]
    fn ticked_estimates_follow_jacobson() {
        let mut estimate = TickedRoundTripEstimate::default();
        let mut after = |ticks| {
            estimate.sample(ticks);
            (estimate.mean8(), estimate.deviation4(), estimate.timeout())
        };
        assert_eq!([after(5), after(5), after(8), after(5)], [(40, 10, 15), (40, 8, 13), (43, 9, 14), (43, 7, 12)]);
        // No sample overflows.
        for ticks in [i64::MAX, i64::MIN, i64::MAX, 0] {
            after(ticks);
        }
        estimate.mark_stale();
        assert_eq!(estimate.mean8(), 0);
    }
}
