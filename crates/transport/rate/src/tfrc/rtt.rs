//! The sender's round trip: R, the mean of its square root, and `t_RTO` (RFC 5348 sections 4.3 and 4.5; ns-2
//! `update_rtt`). All in s.

use super::options::{RtoRule, TfrcOptions};
use headway_units::{Duration, TickedRoundTripEstimate};

/// The least sample believed: a carrier's clock may say zero.
const LEAST: f64 = 1e-6;
/// By how much the round trip of a path grows over a silence: that of a path with a tenth of the rate or ten times the delay,
/// and its queue.
const MOST_GROWTH: f64 = 16.0;

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
    /// What follows from these, asked for with each packet.
    relief: f64,
    stamp: [Option<Duration>; 2],
}

impl RoundTrip {
    /// `known` is what something measured before the first report.
    pub(crate) fn new(options: &TfrcOptions, known: Option<f64>) -> Self {
        let known = known.map(|known| known.max(LEAST));
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
        round_trip.note();
        round_trip
    }

    fn note(&mut self) {
        self.stamp = [self.r, self.t_rto()].map(|seconds| seconds.map(Duration::from_secs_f64));
    }

    pub(crate) fn on_sample(&mut self, r_sample: f64) {
        let r_sample = r_sample.max(LEAST);
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
        self.note();
    }

    /// A silence is over: the path may be another. As the first sample of a flow does, a longer one replaces R. A sample of more
    /// than [`MOST_GROWTH`] R spans a second silence and counts as any other.
    pub(crate) fn on_first_sample(&mut self, r_sample: f64) {
        self.fed_back &= self.r.is_some_and(|r| r_sample <= r || r_sample > MOST_GROWTH * r);
        self.on_sample(r_sample);
    }

    pub(crate) fn r(&self) -> Option<f64> {
        self.r
    }

    /// `R_sqmean / sqrt(R_sample)`.
    pub(crate) fn relief(&self) -> f64 {
        self.relief
    }

    /// R and `t_RTO` as data packets carry them.
    pub(crate) fn stamp(&self) -> [Option<Duration>; 2] {
        self.stamp
    }

    /// `t_RTO`.
    pub(crate) fn t_rto(&self) -> Option<f64> {
        let rto = match self.rule {
            RtoRule::FourRtt => 4.0 * self.r?,
            RtoRule::Tcp => self.r.map(|_| self.estimator.rto())?,
        };
        Some(rto.max(self.min_rto))
    }
}

/// TCP's estimator on its coarse clock.
#[derive(Clone, Debug)]
struct Estimator {
    tick: f64,
    round_trip: TickedRoundTripEstimate,
}

impl Estimator {
    fn update(&mut self, sample: f64) {
        // ns-2 counts in an int; a round trip of more ticks than that is none.
        self.round_trip.sample(((sample / self.tick + 0.5) as i64).min(i64::from(i32::MAX >> 6)));
    }

    /// `SRTT + 4 RTTVAR`.
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

    /// RFC 5348 section 4.3 steps 1 and 2: R = q R + (1 - q) R_sample with q = 0.9; t_RTO = 4 R. Section 4.5: R_sqmean is that
    /// of roots.
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

    /// The handshake's round trip: the first sample takes its place, or is averaged with it (Linux).
    #[test]
    fn a_round_trip_known_before() {
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

    /// TCP's estimator in ticks (Jacobson 1988): SRTT takes an eighth of the difference, RTTVAR a quarter of what it differs
    /// from that; the first sample is SRTT, half of it RTTVAR. In ticks of 10 ms: 10, then 18, then 2.
    #[test]
    fn ticks() {
        let options = TfrcOptions { tcp_tick: Duration::from_millis(10), ..TfrcOptions::preset(Dialect::Ns2) };
        let mut rtt = RoundTrip::new(&options, None);
        rtt.on_sample(0.1);
        // SRTT 10, RTTVAR 5.
        close(rtt.t_rto(), 0.3);
        rtt.on_sample(0.18);
        // SRTT 10 + 8/8 = 11; RTTVAR 5 + (8 - 5)/4 = 5.75: 11 + 23.
        close(rtt.t_rto(), 0.34);
        rtt.on_sample(0.02);
        // A difference of 9: SRTT 79/8, RTTVAR 27/4 (23 + 9 - 5 quarters): (216 + 79)/8, rounded down.
        close(rtt.t_rto(), 0.36);
        let mut short = RoundTrip::new(&TfrcOptions { min_rto: Duration::from_secs(1), ..options }, None);
        short.on_sample(0.001);
        close(short.t_rto(), 1.0);
    }

    /// RFC 6298 section 3, Karn: the first sample after a silence replaces a shorter R. One that spans a second silence of 10 s
    /// does not; RFC 5348 section 4.3 averages it.
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
