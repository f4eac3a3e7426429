//! Duplication: some packets are offered to a link twice.
//!
//! The copy follows its packet at the same time. MTU, loss, policer and queue apply to both independently. The copy
//! uses queue space and link time, as in netem, which enqueues it at the root of the queueing disciplines. It is not
//! duplicated again.

use crate::correlated::{self, Correlated};
use headway_units::{OptionError, Probability, Random};
use serde::{Deserialize, Serialize};

/// The duplication of packets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DuplicateOptions {
    /// Probability that the link duplicates an arriving packet.
    pub probability: Probability,
    /// Correlation between the draws of consecutive packets; below 1.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub correlation: Probability,
}

fn is_zero(correlation: &Probability) -> bool {
    *correlation == Probability::ZERO
}

impl DuplicateOptions {
    /// Checks that all options are in range.
    ///
    /// # Errors
    /// Returns the first key that is out of range.
    pub fn check(&self) -> Result<(), OptionError> {
        correlated::check(self.correlation)
    }
}

#[derive(Debug)]
pub(crate) struct Duplicate {
    probability: Probability,
    draws: Correlated,
}

impl Duplicate {
    pub(crate) fn new(options: &DuplicateOptions, random: Random) -> Self {
        Self { probability: options.probability, draws: Correlated::new(options.correlation, random) }
    }

    pub(crate) fn copies(&mut self) -> bool {
        self.draws.happens(self.probability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three percent of 100000 packets, within five standard deviations (270).
    #[test]
    fn packets_are_duplicated_with_the_configured_probability() {
        let options = DuplicateOptions { probability: Probability::new(0.03).unwrap(), correlation: Probability::ZERO };
        options.check().unwrap();
        let mut duplicate = Duplicate::new(&options, Random::new(5, "duplicate"));
        let copies = (0..100_000).filter(|_| duplicate.copies()).count();
        assert!(copies.abs_diff(3000) < 270, "{copies}");
        let none = DuplicateOptions { probability: Probability::ZERO, ..options };
        none.check().unwrap();
        let mut none = Duplicate::new(&none, Random::new(5, "duplicate"));
        assert!((0..1000).all(|_| !none.copies()), "a sweep may begin at 0");
    }
}
