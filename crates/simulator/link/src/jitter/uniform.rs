//! Uniform jitter: as likely any extra delay from the least to the most.

use super::{MOST, check_positive, nanos};
use crate::correlated::{self, Correlated};
use headway_units::{Dialect, Duration, OptionError, Probability};
use serde::{Deserialize, Serialize};

/// Options of `kind = "uniform"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// The least extra delay.
    pub least: Duration,
    /// The most; more than the least.
    pub most: Duration,
    /// How much of a packet's draw comes from that of the packet before; below 1.
    pub correlation: Probability,
    /// Whether a packet that would overtake another arrives with it. If not, it overtakes.
    pub keeps_order: bool,
}

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        Self { least: Duration::ZERO, most: Duration::ZERO, correlation: Probability::ZERO, keeps_order: true }
    }

    fn check(&self) -> Result<(), OptionError> {
        if self.least >= MOST {
            return Err(OptionError::new("least", format!("{} is out of range: below {MOST}", self.least)));
        }
        if !self.least.is_zero() && self.most <= self.least {
            let more = MOST.min(self.least + Duration::from_millis(10));
            let message = format!("{} is not more than the least, {}: write one", self.most, self.least);
            return Err(OptionError::new("most", message).such_as(format!("\"{more}\"")));
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

    /// In ns.
    pub(super) fn draw(&self, draws: &mut Correlated) -> f64 {
        let (least, most) = (nanos(self.0.least), nanos(self.0.most));
        least + (1.0 - draws.uniform()) * (most - least)
    }
}
