//! Retransmission timeout (RFC 6298). With a sample R' and the clock granularity G:
//!
//! ```text
//! first:  SRTT = R', RTTVAR = R'/2
//! next:   RTTVAR += (|SRTT - R'| - RTTVAR)/4,  SRTT += (R' - SRTT)/8
//! RTO     = SRTT + max(G, 4 RTTVAR), with a minimum of the sum or of the second term, and a maximum
//! ```
//!
//! Packets are not retransmitted, so every sample ends the back-off (Karn's algorithm is not needed).

use headway_units::{Duration, RoundTripEstimate, RtoFloor};

/// Parameters of the retransmission timeout of RFC 6298.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoRules {
    /// Timeout before the first round-trip sample.
    pub initial: Duration,
    /// Minimum of the quantity that `floor` selects.
    pub least: Duration,
    /// Quantity that `least` bounds from below: the timeout or its variance term.
    pub floor: RtoFloor,
    /// Maximum timeout, including back-off.
    pub most: Duration,
    /// Granularity G of the sender's clock.
    pub granularity: Duration,
}

/// Retransmission timeout of RFC 6298, with its back-off.
#[derive(Clone, Debug)]
pub struct Rto {
    rules: RtoRules,
    round_trip: RoundTripEstimate,
    rto: Duration,
    newest: Option<Duration>,
}

impl Rto {
    /// Creates a retransmission timeout without round-trip samples.
    #[must_use]
    pub fn new(rules: RtoRules) -> Self {
        Self { rules, round_trip: RoundTripEstimate::default(), rto: rules.initial, newest: None }
    }

    /// Adds a round-trip sample.
    pub fn sample(&mut self, r: Duration) {
        let RtoRules { least, floor, most, granularity, .. } = self.rules;
        self.newest = Some(r);
        self.round_trip.sample(r);
        let srtt = self.round_trip.mean().unwrap_or(r);
        let variance = (self.round_trip.deviation() * 4).max(granularity);
        let rto = match floor {
            RtoFloor::Rto => (srtt + variance).max(least),
            RtoFloor::Variance => srtt + variance.max(least),
        };
        self.rto = rto.min(most);
    }

    /// Doubles the timeout after it has expired (RFC 6298 step 5.5).
    pub fn back_off(&mut self) {
        self.rto = (self.rto * 2).min(self.rules.most);
    }

    /// Returns the current timeout.
    #[must_use]
    pub const fn timeout(&self) -> Duration {
        self.rto
    }

    /// Returns the smoothed round-trip time (SRTT); `None` before the first sample.
    #[must_use]
    pub const fn srtt(&self) -> Option<Duration> {
        self.round_trip.mean()
    }

    /// Returns SRTT, or the newest sample if that is longer: SRTT lags while the queue grows. `None` before the first
    /// sample.
    #[must_use]
    pub fn current_rtt(&self) -> Option<Duration> {
        self.newest.max(self.round_trip.mean())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TcpLikeOptions;
    use headway_units::{Dialect, Options};

    fn after(dialect: Dialect, samples: &[u64]) -> Rto {
        let options = TcpLikeOptions::preset(dialect);
        let mut rto = Rto::new(options.expert.rto());
        for &millis in samples {
            rto.sample(Duration::from_millis(millis));
        }
        rto
    }

    /// RFC 6298 section 2 by hand: 400 ms, then 800 ms gives RTTVAR 200 - 50 + 100 = 250 ms, SRTT 350 + 100 = 450 ms.
    #[test]
    fn rfc_6298_equations() {
        let rto = after(Dialect::Rfc, &[400]);
        assert_eq!(
            (rto.round_trip.mean(), rto.round_trip.deviation()),
            (Some(Duration::from_millis(400)), Duration::from_millis(200))
        );
        assert_eq!(rto.timeout(), Duration::from_millis(1200));
        let rto = after(Dialect::Rfc, &[400, 800]);
        assert_eq!(
            (rto.round_trip.mean(), rto.round_trip.deviation()),
            (Some(Duration::from_millis(450)), Duration::from_millis(250))
        );
        assert_eq!(rto.timeout(), Duration::from_millis(1450));
    }

    /// The minimum applies to the sum in ns-2 (`min_rto_` 1.0) and to the variance term in Linux (200 ms).
    #[test]
    fn floors() {
        assert_eq!(after(Dialect::Ns2, &[40; 100]).timeout(), Duration::from_secs(1));
        assert_eq!(after(Dialect::Linux, &[40; 100]).timeout(), Duration::from_millis(240));
        assert_eq!(after(Dialect::Rfc, &[40; 100]).timeout(), Duration::from_millis(340));
    }

    /// RFC 6298 step 5.5 and section 5: the next sample ends the back-off.
    #[test]
    fn back_off() {
        let mut rto = after(Dialect::Rfc, &[]);
        let seconds: Vec<_> = (0..8)
            .map(|_| {
                let now = rto.timeout().as_nanos() / 1_000_000_000;
                rto.back_off();
                now
            })
            .collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
        rto.sample(Duration::from_millis(400));
        assert_eq!(rto.timeout(), Duration::from_millis(1200));
    }

    /// Extreme samples do not overflow.
    #[test]
    fn extreme_samples_do_not_overflow() {
        let options = TcpLikeOptions::preset(Dialect::Ns2);
        let mut rto = Rto::new(options.expert.rto());
        for r in [Duration::MAX, Duration::ZERO, Duration::MAX, Duration::MAX] {
            rto.sample(r);
            rto.back_off();
            assert!(rto.timeout() >= options.expert.min_rto && rto.timeout() <= options.expert.max_rto);
        }
    }
}
