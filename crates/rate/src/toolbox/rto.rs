//! The timeout (RFC 6298). With R' a sample and G the clock's granularity:
//!
//! ```text
//! first:  SRTT = R', RTTVAR = R'/2
//! next:   RTTVAR += (|SRTT - R'| - RTTVAR)/4,  SRTT += (R' - SRTT)/8
//! RTO     = SRTT + max(G, 4 RTTVAR), with min_rto under the whole or under the second part, at most max_rto
//! ```
//!
//! A packet is never sent twice, so that every sample is of one packet and ends the back-off (Karn's rule is void).

use super::options::{RtoFloor, TcpLikeOptions};
use headway_units::{Duration, RoundTripEstimate};

/// The timeout and its back-off.
#[derive(Debug)]
pub(super) struct Rto {
    /// SRTT and RTTVAR.
    round_trip: RoundTripEstimate,
    rto: Duration,
}

impl Rto {
    pub(super) fn new(options: &TcpLikeOptions) -> Self {
        Self { round_trip: RoundTripEstimate::default(), rto: options.initial_rto }
    }

    /// A round trip was measured.
    pub(super) fn sample(&mut self, options: &TcpLikeOptions, r: Duration) {
        self.round_trip.sample(r);
        let srtt = self.round_trip.mean().unwrap_or(r);
        let variance = (self.round_trip.deviation() * 4).max(options.granularity);
        let rto = match options.rto_floor {
            RtoFloor::Rto => (srtt + variance).max(options.min_rto),
            RtoFloor::Variance => srtt + variance.max(options.min_rto),
        };
        self.rto = rto.min(options.max_rto);
    }

    /// The timer ran out (RFC 6298 step 5.5).
    pub(super) fn back_off(&mut self, options: &TcpLikeOptions) {
        self.rto = (self.rto * 2).min(options.max_rto);
    }

    /// The timeout to set now.
    pub(super) fn timeout(&self) -> Duration {
        self.rto
    }

    /// The smoothed round trip.
    pub(super) fn srtt(&self) -> Option<Duration> {
        self.round_trip.mean()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::{Dialect, Options};

    fn after(dialect: Dialect, samples: &[u64]) -> Rto {
        let options = TcpLikeOptions::preset(dialect);
        let mut rto = Rto::new(&options);
        for &millis in samples {
            rto.sample(&options, Duration::from_millis(millis));
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

    /// Where the least timeout stands: ns-2 under the whole (`min_rto_` 1.0), Linux under the variance (200 ms).
    #[test]
    fn floors() {
        assert_eq!(after(Dialect::Ns2, &[40; 100]).timeout(), Duration::from_secs(1));
        assert_eq!(after(Dialect::Linux, &[40; 100]).timeout(), Duration::from_millis(240));
        assert_eq!(after(Dialect::Rfc, &[40; 100]).timeout(), Duration::from_millis(340));
    }

    /// RFC 6298 step 5.5, and section 5: the next sample ends the back-off.
    #[test]
    fn back_off() {
        let options = TcpLikeOptions::preset(Dialect::Rfc);
        let mut rto = after(Dialect::Rfc, &[]);
        let seconds: Vec<_> = (0..8)
            .map(|_| {
                let now = rto.timeout().as_nanos() / 1_000_000_000;
                rto.back_off(&options);
                now
            })
            .collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
        rto.sample(&options, Duration::from_millis(400));
        assert_eq!(rto.timeout(), Duration::from_millis(1200));
    }

    /// What a peer can make us measure: nothing overflows.
    #[test]
    fn absurd_samples() {
        let options = TcpLikeOptions::preset(Dialect::Ns2);
        let mut rto = Rto::new(&options);
        for r in [Duration::MAX, Duration::ZERO, Duration::MAX, Duration::MAX] {
            rto.sample(&options, r);
            rto.back_off(&options);
            assert!(rto.timeout() >= options.min_rto && rto.timeout() <= options.max_rto);
        }
    }
}
