//! Packets that are let ahead: all take longer but some, which overtake (netem's `reorder` and `gap`, with `by` for its delay).

use super::{Chosen, check};
use crate::correlated::Correlated;
use headway_units::{Dialect, Duration, OptionError, Probability};
use serde::{Deserialize, Serialize};

/// Options of `kind = "let-ahead"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Probability that a packet is let ahead; with 0 all packets take longer.
    pub probability: Probability,
    /// How much longer the others take; more than 0s.
    pub by: Duration,
    /// At most one packet of so many in a row is let ahead; 1 at least.
    pub gap: u64,
    /// How much of a packet's draw comes from that of the packet before; below 1.
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

/// Lets packets ahead.
#[derive(Debug)]
pub struct LetAhead {
    chosen: Chosen,
    by: Duration,
}

impl LetAhead {
    pub(super) fn new(options: &Options) -> Self {
        Self { chosen: Chosen::new(options.probability, options.gap), by: options.by }
    }

    /// How much longer the next packet takes.
    pub(super) fn draw(&mut self, draws: &mut Correlated) -> Duration {
        if !self.chosen.next(draws) { self.by } else { Duration::ZERO }
    }
}
