//! Normal jitter; negative values become zero.

use super::{check_positive, nanos};
use crate::correlated::{self, Correlated};
use headway_units::{Dialect, Duration, OptionError, Probability};
use serde::{Deserialize, Serialize};

/// Options of a jitter of `kind = "normal"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Mean additional delay, before negative values become zero.
    pub mean: Duration,
    /// Standard deviation of the additional delay, before negative values become zero.
    pub deviation: Duration,
    /// Correlation between the draws of consecutive packets; below 1.
    pub correlation: Probability,
    /// Whether a packet that would overtake an earlier one arrives at the same time as that one instead; if not, it
    /// overtakes.
    pub keeps_order: bool,
}

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        Self { mean: Duration::ZERO, deviation: Duration::ZERO, correlation: Probability::ZERO, keeps_order: true }
    }

    fn check(&self) -> Result<(), OptionError> {
        if self.mean > super::MAX_DELAY {
            check_positive("mean", self.mean)?;
        }
        check_positive("deviation", self.deviation)?;
        correlated::check(self.correlation)
    }
}

/// Normal jitter.
#[derive(Debug)]
pub struct Normal(Options);

impl Normal {
    pub(super) fn new(options: &Options) -> Self {
        Self(options.clone())
    }

    pub(super) fn options(&self) -> (Probability, bool) {
        (self.0.correlation, self.0.keeps_order)
    }

    pub(super) fn draw(&self, draws: &mut Correlated) -> f64 {
        nanos(self.0.mean) + nanos(self.0.deviation) * draws.normal()
    }
}
