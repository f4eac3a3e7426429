//! TCP throughput equation (RFC 5348 section 3.1) and its inverse (section 6.3.1).
//!
//! ```text
//!                                  s
//! X_Bps = --------------------------------------------------------
//!          R sqrt(2p/3) + t_RTO (3 sqrt(3p/8)) p (1 + 32 p^2)
//! ```
//! s in bytes, R and t_RTO in seconds, X_Bps in bytes per second, p the loss event rate from 0 to 1; one
//! acknowledgement per packet (b = 1).

use super::options::TfrcOptions;

/// Throughput equation with its optional variants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Equation {
    /// Whether `3 sqrt(3p/8)` is limited to 1.
    bounded: bool,
    tabled: bool,
    /// Maximum result, in bytes/s.
    max: f64,
}

impl Equation {
    pub(crate) fn new(options: &TfrcOptions) -> Self {
        Self {
            bounded: options.expert.bounded_timeout_term,
            tabled: options.expert.tabled_equation,
            max: options.expert.max_rate.map_or(f64::INFINITY, |rate| rate.bits_per_second() as f64 / 8.0),
        }
    }

    /// Returns `X_Bps`.
    pub(crate) fn rate(&self, s: f64, r: f64, t_rto: f64, p: f64) -> f64 {
        self.exact(s, r, t_rto, if self.tabled { in_table(p, f64::floor) } else { p })
    }

    fn exact(&self, s: f64, r: f64, t_rto: f64, p: f64) -> f64 {
        let mut timeouts = 3.0 * (3.0 * p / 8.0).sqrt();
        if self.bounded {
            timeouts = timeouts.min(1.0);
        }
        let per_packet = r * (2.0 * p / 3.0).sqrt() + t_rto * timeouts * p * (1.0 + 32.0 * p * p);
        if per_packet > 0.0 { (s / per_packet).min(self.max) } else { self.max }
    }

    /// Returns the p for which the equation yields `x`, from 1e-12 to 1.
    pub(crate) fn inverse(&self, x: f64, s: f64, r: f64, t_rto: f64) -> f64 {
        let (mut low, mut high) = (1e-12, 1.0);
        if self.exact(s, r, t_rto, high) >= x {
            return high;
        }
        // Each step halves the logarithm of the ratio, initially 28: 64 steps reach the precision of a double.
        for _ in 0..64 {
            let middle = f64::sqrt(low * high);
            if self.exact(s, r, t_rto, middle) > x {
                low = middle;
            } else {
                high = middle;
            }
        }
        let p = f64::sqrt(low * high);
        if self.tabled { in_table(p, f64::ceil) } else { p }
    }

    /// Returns the inverse within 5 %, by ns-2's `b_to_p`, a bisection from 0.5.
    pub(crate) fn coarse_inverse(&self, x: f64, s: f64, r: f64, t_rto: f64) -> f64 {
        let (mut p, mut step) = (0.5, 0.25);
        for _ in 0..31 {
            let rate = self.rate(s, r, t_rto, p);
            if rate > 0.95 * x && rate < 1.05 * x {
                break;
            }
            p += if rate > x { step } else { -step };
            step /= 2.0;
        }
        p
    }
}

/// Rounds p to an entry of a table with 500 entries up to 5 % and 500 up to 1 (Linux,
/// net/dccp/ccids/lib/tfrc_equation.c).
fn in_table(p: f64, round: fn(f64) -> f64) -> f64 {
    let entries = if p <= 0.05 { 10_000.0 } else { 500.0 };
    // The rounding error of the product must not move an exact entry to the next.
    let entry = p * entries;
    let nearest = entry.round();
    (if (entry - nearest).abs() < 1e-9 { nearest } else { round(entry) }).max(1.0) / entries
}
