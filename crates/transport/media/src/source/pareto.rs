//! Bursts and silences of Pareto lengths, some of them very long (ns-2 `Application/Traffic/Pareto`).
//!
//! Many of these together are self-similar traffic. What a burst and a silence are is in `on_off`.

use super::Context;
use super::draw::Law;
use super::on_off::{OnOff, on_off_options};
use headway_units::{Dialect, OptionError};

on_off_options! {
    /// Options of `kind = "pareto"`: `rate`, and one of `size` and `payload`.
    ParetoOptions {
        /// The exponent of both laws: above 1, so that there is a mean; up to 2 the variance is infinite (ns-2 `shape_`).
        shape: f64 = 1.5,
    }
}

impl ParetoOptions {
    pub(super) fn start(&self, context: Context) -> Result<OnOff, OptionError> {
        let (told, shape) = (self.told(), self.shape);
        let burst = Law::pareto(told.mean_packets(), shape);
        let idle = Law::pareto(told.idle_time.as_secs_f64(), shape);
        OnOff::new(&told, WHAT, burst, idle, context)
    }
}

const WHAT: &str = "a pareto";

impl headway_units::Options for ParetoOptions {
    fn preset(_: Dialect) -> Self {
        Self::usual()
    }

    fn check(&self) -> Result<(), OptionError> {
        if !(self.shape > 1.0 && self.shape <= 100.0) {
            let message = format!("{} is out of range: above 1, so that there is a mean, and at most 100", self.shape);
            return Err(OptionError::new("shape", message));
        }
        self.told().check(WHAT)
    }
}
