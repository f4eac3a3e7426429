//! Pareto jitter: rare large values. P(X > x) = (m / x)^shape for x >= m = mean (shape - 1) / shape.

use super::{check_positive, nanos};
use crate::correlated::{self, Correlated};
use headway_units::{Dialect, Duration, OptionError, Probability};
use serde::{Deserialize, Serialize};

/// Options of a jitter of `kind = "pareto"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Mean additional delay.
    pub mean: Duration,
    /// Shape of the distribution, above 1: the larger, the rarer large values. Up to 2 the variance is infinite.
    pub shape: f64,
    /// Correlation between the draws of consecutive packets; below 1.
    pub correlation: Probability,
    /// Whether a packet that would overtake an earlier one arrives at the same time as that one instead; if not, it
    /// overtakes.
    pub keeps_order: bool,
}

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        Self { mean: Duration::ZERO, shape: 3.0, correlation: Probability::ZERO, keeps_order: true }
    }

    fn check(&self) -> Result<(), OptionError> {
        check_positive("mean", self.mean)?;
        if !self.shape.is_finite() || self.shape <= 1.0 {
            let message =
                format!("{} is out of range; expected a shape above 1, with which the mean is finite", self.shape);
            return Err(OptionError::new("shape", message));
        }
        correlated::check(self.correlation)
    }
}

/// Pareto jitter.
#[derive(Debug)]
pub struct Pareto(Options);

impl Pareto {
    pub(super) fn new(options: &Options) -> Self {
        Self(options.clone())
    }

    pub(super) fn options(&self) -> (Probability, bool) {
        (self.0.correlation, self.0.keeps_order)
    }

    pub(super) fn draw(&self, draws: &mut Correlated) -> f64 {
        let Options { mean, shape, .. } = self.0;
        nanos(mean) * (shape - 1.0) / shape / libm::pow(draws.uniform(), 1.0 / shape)
    }
}
