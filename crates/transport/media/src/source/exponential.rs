//! Bursts and silences of exponential lengths (ns-2 `Application/Traffic/Exponential`).
//!
//! What they have in common with other laws, and what a burst and a silence are, is in `on_off`.

use super::Context;
use super::draw::Law;
use super::on_off::{OnOff, on_off_options};
use headway_units::{Dialect, OptionError};

on_off_options! {
    /// Options of `kind = "exponential"`: `rate`, and one of `size` and `payload`.
    ExponentialOptions {}
}

impl ExponentialOptions {
    pub(super) fn start(&self, context: Context) -> Result<OnOff, OptionError> {
        let told = self.told();
        let burst = Law::Exponential { mean: told.mean_packets() };
        let idle = Law::Exponential { mean: told.idle_time.as_secs_f64() };
        OnOff::new(&told, WHAT, burst, idle, context)
    }
}

const WHAT: &str = "an exponential";

impl headway_units::Options for ExponentialOptions {
    fn preset(_: Dialect) -> Self {
        Self::usual()
    }

    fn check(&self) -> Result<(), OptionError> {
        self.told().check(WHAT)
    }
}
