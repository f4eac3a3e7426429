//! Normal jitter, cut at zero: what would be less than no extra delay is none.

use super::{check_positive, nanos};
use crate::correlated::{self, Correlated};
use headway_units::{Dialect, Duration, OptionError, Probability};
use serde::{Deserialize, Serialize};

/// Options of `kind = "normal"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// The mean, before the cut.
    pub mean: Duration,
    /// The standard deviation, before the cut.
    pub deviation: Duration,
    /// How much of a packet's draw comes from that of the packet before; below 1.
    pub correlation: Probability,
    /// Whether a packet that would overtake another arrives with it. If not, it overtakes.
    pub keeps_order: bool,
}

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        Self { mean: Duration::ZERO, deviation: Duration::ZERO, correlation: Probability::ZERO, keeps_order: true }
    }

    fn check(&self) -> Result<(), OptionError> {
        if self.mean > super::MOST {
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

    /// In ns.
    pub(super) fn draw(&self, draws: &mut Correlated) -> f64 {
        nanos(self.0.mean) + nanos(self.0.deviation) * draws.normal()
    }
}
