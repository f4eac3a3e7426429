//! Reordering by additional delay: some packets take longer, so that later packets overtake them.

use super::{Chosen, check};
use crate::correlated::Correlated;
use headway_units::{Dialect, Duration, OptionError, Probability};
use serde::{Deserialize, Serialize};

/// Options of a reordering of `kind = "held-back"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Probability that a packet is delayed, if `gap` permits it; 0 for none. Required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<Probability>,
    /// Additional delay of a delayed packet; above 0s.
    pub by: Duration,
    /// Minimum distance between delayed packets, in packets; 1 or more. With 2, at least one other packet is between
    /// them.
    pub gap: u64,
    /// Correlation between the draws of consecutive packets; below 1.
    pub correlation: Probability,
}

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        Self { probability: None, by: Duration::ZERO, gap: 1, correlation: Probability::ZERO }
    }

    fn check(&self) -> Result<(), OptionError> {
        if self.probability.is_none() {
            let message = "a held-back reorder needs the probability that a packet is held back; expected a value";
            return Err(OptionError::new("probability", message).with_example("\"1%\""));
        }
        check(self.by, self.gap, self.correlation)
    }
}

/// A running rule that delays some packets.
#[derive(Debug)]
pub struct Delayed {
    chosen: Chosen,
    by: Duration,
}

impl Delayed {
    pub(super) fn new(options: &Options) -> Self {
        Self { chosen: Chosen::new(options.probability.unwrap_or(Probability::ZERO), options.gap), by: options.by }
    }

    pub(super) fn draw(&mut self, draws: &mut Correlated) -> Duration {
        if self.chosen.next(draws) { self.by } else { Duration::ZERO }
    }
}
