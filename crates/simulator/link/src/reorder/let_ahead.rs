//! Reordering by lower delay: some packets are not delayed and overtake others (netem's `reorder` and `gap`; `by` is
//! its delay).

use super::{Chosen, check};
use crate::correlated::Correlated;
use headway_units::{Dialect, Duration, OptionError, Probability};
use serde::{Deserialize, Serialize};

/// Options of a reordering of `kind = "let-ahead"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Probability that a packet is not delayed, if `gap` permits it; with 0 all packets are delayed.
    pub probability: Probability,
    /// Additional delay of the packets that are delayed; above 0s.
    pub by: Duration,
    /// Minimum distance between packets that are not delayed, in packets; 1 or more. With 2, at least one delayed
    /// packet is between them.
    pub gap: u64,
    /// Correlation between the draws of consecutive packets; below 1.
    pub correlation: Probability,
}

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        Self { probability: Probability::ONE, by: Duration::ZERO, gap: 1, correlation: Probability::ZERO }
    }

    fn check(&self) -> Result<(), OptionError> {
        check(self.by, self.gap, self.correlation)
    }
}

/// A running rule that delays all packets except some.
#[derive(Debug)]
pub struct NotDelayed {
    chosen: Chosen,
    by: Duration,
}

impl NotDelayed {
    pub(super) fn new(options: &Options) -> Self {
        Self { chosen: Chosen::new(options.probability, options.gap), by: options.by }
    }

    pub(super) fn draw(&mut self, draws: &mut Correlated) -> Duration {
        if !self.chosen.next(draws) { self.by } else { Duration::ZERO }
    }
}
