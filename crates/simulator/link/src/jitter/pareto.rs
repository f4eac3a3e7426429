//! Pareto jitter: mostly little, now and then much. P(X > x) = (least / x)^shape from least = mean (shape - 1) / shape on.

use super::{check_positive, nanos};
use crate::correlated::{self, Correlated};
use headway_units::{Dialect, Duration, OptionError, Probability};
use serde::{Deserialize, Serialize};

/// Options of `kind = "pareto"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// The mean.
    pub mean: Duration,
    /// How fast large ones become rare, more than 1: from 2 down the variance is infinite.
    pub shape: f64,
    /// How much of a packet's draw comes from that of the packet before; below 1.
    pub correlation: Probability,
    /// Whether a packet that would overtake another arrives with it. If not, it overtakes.
    pub keeps_order: bool,
}

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        Self { mean: Duration::ZERO, shape: 3.0, correlation: Probability::ZERO, keeps_order: true }
    }

    fn check(&self) -> Result<(), OptionError> {
        check_positive("mean", self.mean)?;
        if !self.shape.is_finite() || self.shape <= 1.0 {
            let message = format!("{} is out of range: a Pareto law has a mean if its shape is above 1", self.shape);
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

    /// In ns.
    pub(super) fn draw(&self, draws: &mut Correlated) -> f64 {
        let Options { mean, shape, .. } = self.0;
        nanos(mean) * (shape - 1.0) / shape / libm::pow(draws.uniform(), 1.0 / shape)
    }
}
