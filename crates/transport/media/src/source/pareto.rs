//! Bursts and silences of Pareto lengths (ns-2 `Application/Traffic/Pareto`); see `on_off`. The sum of many such
//! sources is self-similar.

use super::Context;
use super::draw::Distribution;
use super::on_off::{OnOff, on_off_options};
use headway_units::{Dialect, OptionError};

on_off_options! {
    /// Options of the source `pareto`, bursts and silences of Pareto lengths: `rate`, and one of `size` and `payload`.
    ParetoOptions {
        /// Shape parameter of the distributions of bursts and silences, above 1 and at most 100 (ns-2 `shape_`). Up to
        /// 2 the variance is infinite.
        shape: f64 = 1.5,
    }
}

impl ParetoOptions {
    pub(super) fn start(&self, context: Context) -> Result<OnOff, OptionError> {
        let (common, shape) = (self.common(), self.shape);
        let burst = Distribution::pareto(common.mean_packets(), shape);
        let idle = Distribution::pareto(common.idle_time.as_secs_f64(), shape);
        OnOff::new(&common, WHAT, burst, idle, context)
    }
}

const WHAT: &str = "a pareto";

impl headway_units::Options for ParetoOptions {
    fn preset(_: Dialect) -> Self {
        Self::defaults()
    }

    fn check(&self) -> Result<(), OptionError> {
        if !(self.shape > 1.0 && self.shape <= 100.0) {
            let message = format!("{} is out of range: above 1 and at most 100", self.shape);
            return Err(OptionError::new("shape", message));
        }
        self.common().check(WHAT)
    }
}
