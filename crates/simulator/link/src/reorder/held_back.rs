//! Packets that are held back: some take longer, so that those behind overtake them.

use super::{Chosen, check};
use crate::correlated::Correlated;
use headway_units::{Dialect, Duration, OptionError, Probability};
use serde::{Deserialize, Serialize};

/// Options of `kind = "held-back"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Probability that a packet is held back; 0 holds back none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<Probability>,
    /// How much longer it takes; more than 0s.
    pub by: Duration,
    /// At most one packet of so many in a row is held back; 1 at least.
    pub gap: u64,
    /// How much of a packet's draw comes from that of the packet before; below 1.
    pub correlation: Probability,
}

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        Self { probability: None, by: Duration::ZERO, gap: 1, correlation: Probability::ZERO }
    }

    fn check(&self) -> Result<(), OptionError> {
        if self.probability.is_none() {
            let message = "held-back needs the probability that a packet is held back: write one";
            return Err(OptionError::new("probability", message).such_as("\"1%\""));
        }
        check(self.by, self.gap, self.correlation)
    }
}

/// Holds packets back.
#[derive(Debug)]
pub struct HeldBack {
    chosen: Chosen,
    by: Duration,
}

impl HeldBack {
    pub(super) fn new(options: &Options) -> Self {
        Self { chosen: Chosen::new(options.probability.unwrap_or(Probability::ZERO), options.gap), by: options.by }
    }

    /// How much longer the next packet takes.
    pub(super) fn draw(&mut self, draws: &mut Correlated) -> Duration {
        if self.chosen.next(draws) { self.by } else { Duration::ZERO }
    }
}
