//! Bursts and silences of exponential lengths (ns-2 `Application/Traffic/Exponential`); see `on_off`.

use super::Context;
use super::draw::Distribution;
use super::on_off::{OnOff, on_off_options};
use headway_units::{Dialect, OptionError};

on_off_options! {
    /// Options of the source `exponential`, bursts and silences of exponential lengths: `rate`, and one of `size` and
    /// `payload`.
    ExponentialOptions {}
}

impl ExponentialOptions {
    pub(super) fn start(&self, context: Context) -> Result<OnOff, OptionError> {
        let common = self.common();
        let burst = Distribution::Exponential { mean: common.mean_packets() };
        let idle = Distribution::Exponential { mean: common.idle_time.as_secs_f64() };
        OnOff::new(&common, WHAT, burst, idle, context)
    }
}

const WHAT: &str = "an exponential";

impl headway_units::Options for ExponentialOptions {
    fn preset(_: Dialect) -> Self {
        Self::defaults()
    }

    fn check(&self) -> Result<(), OptionError> {
        self.common().check(WHAT)
    }
}
