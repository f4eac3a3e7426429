//! Duplication: some packets come to a link twice.
//!
//! The copy comes right behind its packet, at the same instant, and meets what that met: MTU, loss, policer and queue, each for itself. So it takes the
//! queue's room and the link's time, as netem's does, which enters the queue from the front; and it is not copied again by this link.

use crate::correlated::{self, Correlated};
use headway_units::{OptionError, Probability, Random};
use serde::{Deserialize, Serialize};

/// Which packets come twice.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DuplicateOptions {
    /// Probability that a packet does.
    pub probability: Probability,
    /// How much of a packet's draw comes from that of the packet before; below 1.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub correlation: Probability,
}

fn is_zero(correlation: &Probability) -> bool {
    *correlation == Probability::ZERO
}

impl DuplicateOptions {
    /// Ranges that the types do not already keep.
    ///
    /// # Errors
    /// Names the key, what is wrong with it and what would be right.
    pub fn check(&self) -> Result<(), OptionError> {
        correlated::check(self.correlation)
    }
}

/// A running duplication.
#[derive(Debug)]
pub(crate) struct Duplicate {
    probability: Probability,
    draws: Correlated,
}

impl Duplicate {
    pub(crate) fn new(options: &DuplicateOptions, random: Random) -> Self {
        Self { probability: options.probability, draws: Correlated::new(options.correlation, random) }
    }

    /// Whether the next packet comes twice.
    pub(crate) fn copies(&mut self) -> bool {
        self.draws.happens(self.probability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three of a hundred of 100000 packets, within five standard deviations (270).
    #[test]
    fn as_many_come_twice_as_told() {
        let options = DuplicateOptions { probability: Probability::new(0.03).unwrap(), correlation: Probability::ZERO };
        options.check().unwrap();
        let mut duplicate = Duplicate::new(&options, Random::new(5, "duplicate"));
        let copies = (0..100_000).filter(|_| duplicate.copies()).count();
        assert!(copies.abs_diff(3000) < 270, "{copies}");
        let none = DuplicateOptions { probability: Probability::ZERO, ..options };
        none.check().unwrap();
        let mut none = Duplicate::new(&none, Random::new(5, "duplicate"));
        assert!((0..1000).all(|_| !none.copies()), "a sweep may begin at none");
    }
}
