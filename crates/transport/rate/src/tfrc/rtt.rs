//! Sender's round-trip time R, the mean of its square root, and `t_RTO` (RFC 5348 sections 4.3 and 4.5; ns-2
//! `update_rtt`). All in s.

use super::options::{RtoRule, TfrcOptions};
use headway_units::{Duration, TickedRoundTripEstimate};

/// Minimum sample, since a carrier's clock may yield zero.
const MIN_SAMPLE: f64 = 1e-6;
/// Maximum growth of the round-trip time over a silence: ten times the delay, and a queue.
const MAX_GROWTH: f64 = 16.0;

#[derive(Clone, Debug)]
pub(crate) struct RoundTrip {
    q: f64,
    rule: RtoRule,
    min_rto: f64,
    estimator: Estimator,
    r: Option<f64>,
    r_sqmean: f64,
    fed_back: bool,
    handshake_counts: bool,
    /// Derived values, which are needed for each packet.
    relief: f64,
    stamp: [Option<Duration>; 2],
}

impl RoundTrip {
    /// Creates the estimator; `known` is a measurement before the first report.
    pub(crate) fn new(options: &TfrcOptions, known: Option<f64>) -> Self {
        let known = known.map(|known| known.max(MIN_SAMPLE));
        let mut estimator =
            Estimator { tick: options.tcp_tick.as_secs_f64(), round_trip: TickedRoundTripEstimate::default() };
        if let Some(sample) = known {
            estimator.update(sample);
        }
        let mut round_trip = Self {
            q: options.expert.rtt_filter,
            rule: options.expert.t_rto,
            min_rto: options.min_rto.as_secs_f64(),
            estimator,
            r: known,
            r_sqmean: known.unwrap_or(1.0).sqrt(),
            fed_back: false,
            handshake_counts: options.expert.handshake_rtt_counts,
            relief: 1.0,
            stamp: [None; 2],
        };
        round_trip.update_stamp();
        round_trip
    }

    fn update_stamp(&mut self) {
        self.stamp = [self.r, self.t_rto()].map(|seconds| seconds.map(Duration::from_secs_f64));
    }

    pub(crate) fn on_sample(&mut self, r_sample: f64) {
        let r_sample = r_sample.max(MIN_SAMPLE);
        let root = r_sample.sqrt();
        match self.r.filter(|_| self.fed_back || self.handshake_counts) {
            Some(r) => {
                self.r = Some(self.q * r + (1.0 - self.q) * r_sample);
                self.r_sqmean = self.q * self.r_sqmean + (1.0 - self.q) * root;
            }
            None => {
                self.r = Some(r_sample);
                self.r_sqmean = root;
            }
        }
        self.relief = self.r_sqmean / root;
        self.fed_back = true;
        self.estimator.update(r_sample);
        self.update_stamp();
    }

    /// Adds the first sample after a silence. Since the path may have changed, a longer sample replaces R, like the
    /// first of a flow. A sample of more than [`MAX_GROWTH`] R includes a second silence and is averaged.
    pub(crate) fn on_first_sample(&mut self, r_sample: f64) {
        self.fed_back &= self.r.is_some_and(|r| r_sample <= r || r_sample > MAX_GROWTH * r);
        self.on_sample(r_sample);
    }

    pub(crate) fn r(&self) -> Option<f64> {
        self.r
    }

    /// Returns `R_sqmean / sqrt(R_sample)`.
    pub(crate) fn relief(&self) -> f64 {
        self.relief
    }

    /// Returns R and `t_RTO` for data packets.
    pub(crate) fn stamp(&self) -> [Option<Duration>; 2] {
        self.stamp
    }

    /// Returns `t_RTO` in s.
    pub(crate) fn t_rto(&self) -> Option<f64> {
        let rto = match self.rule {
            RtoRule::FourRtt => 4.0 * self.r?,
            RtoRule::Tcp => self.r.map(|_| self.estimator.rto())?,
        };
        Some(rto.max(self.min_rto))
    }
}

/// TCP's estimator on a coarse clock.
#[derive(Clone, Debug)]
struct Estimator {
    tick: f64,
    round_trip: TickedRoundTripEstimate,
}

impl Estimator {
    fn update(&mut self, sample: f64) {
        // ns-2 counts in an int; limit the sample to its range.
        self.round_trip.sample(((sample / self.tick + 0.5) as i64).min(i64::from(i32::MAX >> 6)));
    }

    /// Returns `SRTT + 4 RTTVAR` in s.
    fn rto(&self) -> f64 {
        self.round_trip.timeout() as f64 * self.tick
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::{Dialect, Options};

    fn close(found: Option<f64>, wanted: f64) {
        assert!(found.is_some_and(|found| (found - wanted).abs() < 1e-12), "found {found:?}, wanted {wanted}");
    }

    /// RFC 5348 section 4.3 steps 1 and 2: R = q R + (1 - q) R_sample, q = 0.9; t_RTO = 4 R. Section 4.5: R_sqmean.
    #[test]
    fn averages() {
        let mut rtt = RoundTrip::new(&TfrcOptions::preset(Dialect::Rfc), None);
        assert_eq!((rtt.r(), rtt.t_rto(), rtt.stamp(), rtt.relief()), (None, None, [None; 2], 1.0));
        rtt.on_sample(0.04);
        close(rtt.r(), 0.04);
        close(Some(rtt.relief()), 1.0);
        rtt.on_sample(0.09);
        close(rtt.r(), 0.045);
        close(rtt.t_rto(), 0.18);
        close(Some(rtt.relief()), (0.9 * 0.2 + 0.1 * 0.3) / 0.3);
        assert_eq!(rtt.stamp(), [Some(Duration::from_millis(45)), Some(Duration::from_millis(180))]);
        rtt.on_sample(0.0);
        close(rtt.r(), 0.9 * 0.045 + 0.1 * 1e-6);
    }

    /// The first sample replaces the handshake's round trip, or is averaged with it (Linux).
    #[test]
    fn a_round_trip_of_the_handshake() {
        for (handshake_rtt_counts, wanted) in [(false, 0.04), (true, 0.9 * 0.09 + 0.1 * 0.04)] {
            let mut options = TfrcOptions::preset(Dialect::Rfc);
            options.expert.handshake_rtt_counts = handshake_rtt_counts;
            let mut rtt = RoundTrip::new(&options, Some(0.09));
            close(rtt.r(), 0.09);
            rtt.on_sample(0.04);
            close(rtt.r(), wanted);
            let root = if handshake_rtt_counts { 0.9 * 0.3 + 0.1 * 0.2 } else { 0.2 };
            close(Some(rtt.relief()), root / 0.2);
        }
    }

    /// TCP's estimator in ticks (Jacobson 1988) with gains of 1/8 for SRTT and 1/4 for RTTVAR; the first sample sets
    /// SRTT, and RTTVAR to half of it. In ticks of 10 ms: 10, 18, 2.
    #[test]
    fn the_tcp_estimator_counts_ticks() {
        let options = TfrcOptions { tcp_tick: Duration::from_millis(10), ..TfrcOptions::preset(Dialect::Ns2) };
        let mut rtt = RoundTrip::new(&options, None);
        rtt.on_sample(0.1);
        // SRTT 10, RTTVAR 5.
        close(rtt.t_rto(), 0.3);
        rtt.on_sample(0.18);
        // SRTT 10 + 8/8 = 11; RTTVAR 5 + (8 - 5)/4 = 5.75: 11 + 23.
        close(rtt.t_rto(), 0.34);
        rtt.on_sample(0.02);
        // Error 9: SRTT 79/8, RTTVAR 27/4 (23 + 9 - 5 quarters): (216 + 79)/8, rounded down.
        close(rtt.t_rto(), 0.36);
        let mut short = RoundTrip::new(&TfrcOptions { min_rto: Duration::from_secs(1), ..options }, None);
        short.on_sample(0.001);
        close(short.t_rto(), 1.0);
    }

    /// RFC 6298 section 3, Karn: the first sample after a silence replaces a shorter R. A sample that includes a second
    /// silence of 10 s is averaged (RFC 5348 section 4.3).
    #[test]
    fn a_sample_that_spans_a_second_silence_does_not_replace_r() {
        for (first, r) in [(0.8, 0.8), (0.05, 0.095), (10.0, 1.09)] {
            let mut rtt = RoundTrip::new(&TfrcOptions::preset(Dialect::Headway1), None);
            rtt.on_sample(0.1);
            rtt.on_first_sample(first);
            assert!((rtt.r().unwrap() - r).abs() < 1e-9, "{first}: {:?}", rtt.r());
        }
    }
}
