//! Uniform jitter: all additional delays from `least` to `most` are equally likely.

use super::{MAX_DELAY, check_positive, nanos};
use crate::correlated::{self, Correlated};
use headway_units::{Dialect, Duration, OptionError, Probability};
use serde::{Deserialize, Serialize};

/// Options of a jitter of `kind = "uniform"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Minimum additional delay.
    pub least: Duration,
    /// Maximum additional delay; above `least`.
    pub most: Duration,
    /// Correlation between the draws of consecutive packets; below 1.
    pub correlation: Probability,
    /// Whether a packet that would overtake an earlier one arrives at the same time as that one instead; if not, it
    /// overtakes.
    pub keeps_order: bool,
}

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        Self { least: Duration::ZERO, most: Duration::ZERO, correlation: Probability::ZERO, keeps_order: true }
    }

    fn check(&self) -> Result<(), OptionError> {
        if self.least >= MAX_DELAY {
            return Err(OptionError::new(
                "least",
                format!("{} is out of range; expected less than {MAX_DELAY}", self.least),
            ));
        }
        if !self.least.is_zero() && self.most <= self.least {
            let more = MAX_DELAY.min(self.least + Duration::from_millis(10));
            let message = format!("{} is not above least, {}; expected a value", self.most, self.least);
            return Err(OptionError::new("most", message).with_example(format!("\"{more}\"")));
        }
        check_positive("most", self.most)?;
        correlated::check(self.correlation)
    }
}

/// Uniform jitter.
#[derive(Debug)]
pub struct Uniform(Options);

impl Uniform {
    pub(super) fn new(options: &Options) -> Self {
        Self(options.clone())
    }

    pub(super) fn options(&self) -> (Probability, bool) {
        (self.0.correlation, self.0.keeps_order)
    }

    pub(super) fn draw(&self, draws: &mut Correlated) -> f64 {
        let (least, most) = (nanos(self.0.least), nanos(self.0.most));
        least + (1.0 - draws.uniform()) * (most - least)
    }
}
