//! The sender's round trip: R, the mean of its square root, and `t_RTO` (RFC 5348 sections 4.3 and 4.5; ns-2
//! `update_rtt`). All in s.

use super::options::{RtoRule, TfrcOptions};
use headway_units::Duration;

/// The least sample believed: a carrier's clock may say zero.
const LEAST: f64 = 1e-6;

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
        let mut estimator = Estimator { tick: options.tcp_tick.as_secs_f64(), srtt: 0, rttvar: 0 };
        if let Some(sample) = known {
            estimator.update(sample);
        }
        let mut round_trip = Self {
            q: options.rtt_filter,
            rule: options.t_rto,
            min_rto: options.min_rto.as_secs_f64(),
            estimator,
            r: known,
            r_sqmean: known.unwrap_or(1.0).sqrt(),
            fed_back: false,
            handshake_counts: options.handshake_rtt_counts,
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

/// SRTT and RTTVAR in ticks, times 8 and 4, as old TCPs kept them.
#[derive(Clone, Debug)]
struct Estimator {
    tick: f64,
    srtt: i64,
    rttvar: i64,
}

impl Estimator {
    fn update(&mut self, sample: f64) {
        // ns-2 counts in an int; a round trip of more ticks than that is none.
        let ticks = ((sample / self.tick + 0.5) as i64).clamp(1, i64::from(i32::MAX >> 6));
        if self.srtt == 0 {
            self.srtt = ticks << 3;
            self.rttvar = ticks << 1;
            return;
        }
        let delta = ticks - (self.srtt >> 3);
        self.srtt = (self.srtt + delta).max(1);
        self.rttvar = (self.rttvar + delta.abs() - (self.rttvar >> 2)).max(1);
    }

    /// `SRTT + 4 RTTVAR`.
    fn rto(&self) -> f64 {
        (((self.rttvar << 3) + self.srtt) >> 3) as f64 * self.tick
    }
}
