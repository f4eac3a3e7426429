//! Scalable TCP (Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks", ACM CCR 33(2), 2003).
//!
//! ```text
//! cwnd <= legacy_window:  as Reno
//! above it:               cwnd += 0.01 per acknowledged segment
//! loss:                   cwnd -= cwnd / 8
//! ```

use crate::growth::{Acked, Growth, Window};
use crate::keys::options;
use crate::kinds::aimd::Aimd;
use crate::options::Rules;
use crate::state::Cut;
use headway_units::OptionError;

/// Segments that each acknowledged segment adds.
const A: f64 = 0.01;
/// The part of the window that a loss removes.
const B: f64 = 0.125;

options! {
    /// Options of `tcp-scalable`.
    ScalableOptions {
        /// Up to this window, in segments, the growth is Reno's.
        Usual legacy_window: u32 = 16;
    }
}

/// Scalable TCP's window growth.
#[derive(Clone, Debug)]
pub(crate) struct Scalable {
    reno: Aimd,
    legacy_window: f64,
}

impl Growth for Scalable {
    type Options = ScalableOptions;

    fn check(_rules: &Rules, options: &ScalableOptions) -> Result<(), OptionError> {
        headway_units::check_range("legacy_window", options.legacy_window, 2..=1 << 20)
    }

    fn new(rules: &Rules, options: &ScalableOptions) -> Self {
        Self { reno: Aimd::new(rules, &()), legacy_window: f64::from(options.legacy_window) }
    }

    fn grow(&mut self, window: &mut Window, acked: Acked) {
        if window.in_slow_start() || window.cwnd <= self.legacy_window {
            self.reno.grow(window, acked);
        } else {
            window.cwnd += A * acked.segments as f64;
        }
    }

    fn decrease(&mut self, cut: Cut, cwnd: f64, base: f64) -> f64 {
        let halved = self.reno.decrease(cut, cwnd, base);
        if base <= self.legacy_window { halved } else { base * (1.0 - B) }
    }

    fn timed_out(&mut self) {
        self.reno.timed_out();
    }
}
