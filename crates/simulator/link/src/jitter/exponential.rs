//! Exponential jitter: the waiting time of a lightly loaded queue elsewhere on the path.

use super::{check_positive, nanos};
use crate::correlated::{self, Correlated};
use headway_units::{Dialect, Duration, OptionError, Probability};
use serde::{Deserialize, Serialize};

/// Options of a jitter of `kind = "exponential"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Mean additional delay.
    pub mean: Duration,
    /// Correlation between the draws of consecutive packets; below 1.
    pub correlation: Probability,
    /// Whether a packet that would overtake an earlier one arrives at the same time as that one instead; if not, it
    /// overtakes.
    pub keeps_order: bool,
}

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        Self { mean: Duration::ZERO, correlation: Probability::ZERO, keeps_order: true }
    }

    fn check(&self) -> Result<(), OptionError> {
        check_positive("mean", self.mean)?;
        correlated::check(self.correlation)
    }
}

/// Exponential jitter.
#[derive(Debug)]
pub struct Exponential(Options);

impl Exponential {
    pub(super) fn new(options: &Options) -> Self {
        Self(options.clone())
    }

    pub(super) fn options(&self) -> (Probability, bool) {
        (self.0.correlation, self.0.keeps_order)
    }

    pub(super) fn draw(&self, draws: &mut Correlated) -> f64 {
        nanos(self.0.mean) * -libm::log(draws.uniform())
    }
}
