//! Bernoulli loss: each packet is lost independently with a probability.

use super::Place;
use headway_units::{Dialect, Duration, Instant, OptionError, Probability, Random};
use serde::{Deserialize, Serialize};

/// Options of a loss model of `kind = "bernoulli"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Loss probability of a packet until the first of `changes`. Required without `changes`; if absent with `changes`:
    /// 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<Probability>,
    /// Where on the link packets are lost: before the queue or after the transmission.
    pub place: Place,
    /// Changes of the probability, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// A change of the loss probability.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Time of the change, from the start of the run.
    pub at: Duration,
    /// Loss probability of a packet from the time of the change on.
    pub probability: Probability,
}

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        Self { probability: None, place: Place::BeforeQueue, changes: Vec::new() }
    }

    fn check(&self) -> Result<(), OptionError> {
        if self.probability.is_none() && self.changes.is_empty() {
            let message = "a bernoulli loss needs the probability that a packet is lost; expected a value";
            return Err(OptionError::new("probability", message).with_example("\"1%\""));
        }
        if let Some(at) = self.changes.windows(2).position(|pair| pair[0].at >= pair[1].at) {
            let (before, this) = (self.changes[at].at, self.changes[at + 1].at);
            let message = format!(
                "change {} is at {this}, but the previous one at {before}; expected a time after {before}",
                at + 1
            );
            return Err(OptionError::new("changes", message));
        }
        Ok(())
    }
}

/// A running Bernoulli loss model.
#[derive(Debug)]
pub struct Bernoulli {
    probability: f64,
    place: Place,
    /// Future changes, the next one last.
    changes: Vec<Change>,
}

impl Bernoulli {
    pub(super) fn new(options: &Options) -> Self {
        let changes = options.changes.iter().rev().copied().collect();
        Self { probability: options.probability.map_or(0.0, Probability::value), place: options.place, changes }
    }

    pub(super) fn place(&self) -> Place {
        self.place
    }

    pub(super) fn loses(&mut self, now: Instant, random: &mut Random) -> bool {
        while let Some(change) = self.changes.pop_if(|change| now >= Instant::ZERO + change.at) {
            self.probability = change.probability.value();
        }
        random.uniform() < self.probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Options as _;

    /// Losses of 100000 packets at 1 % are binomial: within five standard deviations (157) of 1000. Runs are
    /// independent: pairs of losses have mean 10 and are within a fixed bound of 30.
    #[test]
    fn losses_are_independent_with_the_configured_probability() {
        let mut loss = Bernoulli { probability: 0.01, place: Place::BeforeQueue, changes: Vec::new() };
        let mut random = Random::new(5, "loss");
        let lost: Vec<bool> = (0..100_000).map(|_| loss.loses(Instant::ZERO, &mut random)).collect();
        let count = lost.iter().filter(|&&l| l).count();
        assert!((843..=1157).contains(&count), "{count}");
        let pairs = lost.windows(2).filter(|w| w[0] && w[1]).count();
        assert!(pairs <= 30, "{pairs}");
    }

    #[test]
    fn the_probability_changes_at_the_configured_times() {
        let at = |seconds, probability| Change { at: Duration::from_secs(seconds), probability };
        let changes = vec![at(1, Probability::ONE), at(2, Probability::ZERO)];
        let options = Options { changes, ..Options::preset(Dialect::Rfc) };
        options.check().unwrap();
        let (mut loss, mut random) = (Bernoulli::new(&options), Random::new(5, "loss"));
        let lost = [0, 999, 1000, 1999, 2000].map(|millis| loss.loses(Instant::from_millis(millis), &mut random));
        assert_eq!(lost, [false, false, true, true, false]);
        let changes = vec![at(2, Probability::ONE), at(1, Probability::ZERO)];
        assert_eq!(Options { changes, ..options }.check().unwrap_err().key, "changes");
    }

    #[test]
    fn zero_never_and_one_always() {
        let mut random = Random::new(5, "loss");
        let mut never = Bernoulli { probability: 0.0, place: Place::BeforeQueue, changes: Vec::new() };
        let mut always = Bernoulli { probability: 1.0, place: Place::BeforeQueue, changes: Vec::new() };
        assert!((0..1000).all(|_| !never.loses(Instant::ZERO, &mut random)));
        assert!((0..1000).all(|_| always.loses(Instant::ZERO, &mut random)));
    }
}
