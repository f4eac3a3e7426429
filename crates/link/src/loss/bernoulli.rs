//! Bernoulli loss: each packet is lost with one probability, independently.

use super::Place;
use headway_units::{Dialect, Instant, Probability, Random};
use serde::{Deserialize, Serialize};

/// Options of `kind = "bernoulli"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Probability that a packet is lost.
    pub probability: Probability,
    /// Where it is lost.
    pub place: Place,
}

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        Self { probability: Probability::ZERO, place: Place::BeforeQueue }
    }
}

/// A running Bernoulli loss model.
#[derive(Debug)]
pub struct Bernoulli {
    probability: f64,
    place: Place,
}

impl Bernoulli {
    pub(super) fn new(options: &Options) -> Self {
        Self { probability: options.probability.value(), place: options.place }
    }

    pub(super) fn place(&self) -> Place {
        self.place
    }

    pub(super) fn loses(&mut self, _: Instant, random: &mut Random) -> bool {
        random.uniform() < self.probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Losses of 100000 packets at 1 % are binomial: within five standard deviations (157) of 1000, and their runs
    /// are independent: pairs of losses within five (50) of 10.
    #[test]
    fn losses_are_independent_and_as_frequent_as_told() {
        let mut loss = Bernoulli { probability: 0.01, place: Place::BeforeQueue };
        let mut random = Random::new(5, "loss");
        let lost: Vec<bool> = (0..100_000).map(|_| loss.loses(Instant::ZERO, &mut random)).collect();
        let count = lost.iter().filter(|&&l| l).count();
        assert!((843..=1157).contains(&count), "{count}");
        let pairs = lost.windows(2).filter(|w| w[0] && w[1]).count();
        assert!(pairs <= 30, "{pairs}");
    }

    #[test]
    fn zero_never_and_one_always() {
        let mut random = Random::new(5, "loss");
        let mut never = Bernoulli { probability: 0.0, place: Place::BeforeQueue };
        let mut always = Bernoulli { probability: 1.0, place: Place::BeforeQueue };
        assert!((0..1000).all(|_| !never.loses(Instant::ZERO, &mut random)));
        assert!((0..1000).all(|_| always.loses(Instant::ZERO, &mut random)));
    }
}
