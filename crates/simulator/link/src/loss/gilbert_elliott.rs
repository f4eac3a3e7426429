//! Losses in runs: a channel that is good or bad, and changes with the packets (E. N. Gilbert, "Capacity of a burst-noise channel", BSTJ 39, 1960;
//! E. O. Elliott, "Estimates of error rates for codes on burst-noise channels", BSTJ 42, 1963).
//!
//! A packet is lost with the probability of the state that it finds; then the state may change, once a packet:
//!
//! ```text
//! good -> bad  with to_bad      a share to_bad / (to_bad + to_good) of packets finds it bad
//! bad -> good  with to_good     mean loss = loss_good + (loss_bad - loss_good) to_bad / (to_bad + to_good)
//! ```
//!
//! Where all is lost in the bad state and nothing in the good one, losses come in runs of 1 / `to_good` packets in the mean, and `mean` and `run` say
//! the same as the two transitions:
//!
//! ```text
//! to_good = 1 / run      to_bad = mean / (run (1 - mean))
//! ```
//!
//! The first packet finds the state as any later one does: bad with that share.

use super::Place;
use headway_units::{Dialect, OptionError, Probability, Random};
use serde::{Deserialize, Serialize};

/// Options of `kind = "gilbert-elliott"`: `mean` and `run`, or `to_bad` and `to_good` with what is lost in each state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Which part of all packets is lost; below 1. With `run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<Probability>,
    /// How many packets are lost in a row, in the mean; 1 at least. With `mean`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<f64>,
    /// Probability that the state becomes bad behind a packet that found it good (netem's `p`). With `to_good`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_bad: Option<Probability>,
    /// Probability that the state becomes good behind a packet that found it bad (netem's `r`). With `to_bad`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_good: Option<Probability>,
    /// Probability that a packet is lost in the good state (netem's `1-k`); 0 if absent. With `to_bad` and `to_good`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_good: Option<Probability>,
    /// Probability that a packet is lost in the bad state (netem's `1-h`); 1 if absent. With `to_bad` and `to_good`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_bad: Option<Probability>,
    /// Where packets are lost.
    pub place: Place,
}

/// Above 1 by no more than this is 1: a mean of 0.9 in runs of 9 is, in doubles, a hair above.
const ROUNDING: f64 = 1e-9;

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        Self {
            mean: None,
            run: None,
            to_bad: None,
            to_good: None,
            loss_good: None,
            loss_bad: None,
            place: Place::BeforeQueue,
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        let Self { mean, run, to_bad, to_good, loss_good, loss_bad, place: _ } = self;
        let of_states = [("to_bad", to_bad), ("to_good", to_good), ("loss_good", loss_good), ("loss_bad", loss_bad)];
        let state = of_states.iter().find(|(_, value)| value.is_some());
        if let (Some((key, _)), true) = (state, mean.is_some() || run.is_some()) {
            let message = format!(
                "{key} says in another way what mean and run say: write mean and run alone, or to_bad and to_good without them"
            );
            return Err(OptionError::new(key, message));
        }
        match (mean, run, to_bad, to_good) {
            (Some(mean), Some(run), ..) => check_run(mean.value(), *run),
            (Some(_), None, ..) => Err(OptionError::new(
                "run",
                "mean needs a run too: how many packets are lost in a row, such as run = 4",
            )),
            (None, Some(_), ..) => {
                Err(OptionError::new("mean", "run needs a mean too: which part is lost, such as mean = \"2%\""))
            }
            (None, None, Some(to_bad), Some(to_good)) => {
                if *to_bad == Probability::ZERO && *to_good == Probability::ZERO {
                    let message = "with both transitions 0 nobody knows in which state the channel is: write one above 0, \
                                   or a bernoulli loss";
                    return Err(OptionError::new("to_bad", message));
                }
                Ok(())
            }
            (None, None, Some(_), None) => Err(OptionError::new("to_good", "to_bad needs a to_good too, such as 0.25")),
            (None, None, None, Some(_)) => Err(OptionError::new("to_bad", "to_good needs a to_bad too, such as 0.005")),
            (None, None, None, None) => {
                let message =
                    "a gilbert-elliott loss needs mean and run, such as mean = \"2%\", run = 4, or to_bad and to_good";
                Err(OptionError::new(if state.is_some() { "to_bad" } else { "mean" }, message))
            }
        }
    }
}

fn check_run(mean: f64, run: f64) -> Result<(), OptionError> {
    if mean >= 1.0 {
        return Err(OptionError::new("mean", "a mean of 1 has no end of its runs: write one below 1"));
    }
    if !run.is_finite() || run < 1.0 {
        return Err(OptionError::new("run", format!("{run} is out of range: a run of losses has 1 packet at least")));
    }
    if to_bad(mean, run) > 1.0 + ROUNDING {
        let least = mean / (1.0 - mean);
        let message = format!(
            "{run} is too short for a mean of {mean}: between two runs a packet comes through, so write {least:.3} at least"
        );
        return Err(OptionError::new("run", message));
    }
    Ok(())
}

fn to_bad(mean: f64, run: f64) -> f64 {
    mean / (run * (1.0 - mean))
}

/// A running loss in runs.
#[derive(Debug)]
pub struct GilbertElliott {
    place: Place,
    to_bad: f64,
    to_good: f64,
    loss_good: f64,
    loss_bad: f64,
    /// Whether the next packet finds the bad state; `None` before the first.
    bad: Option<bool>,
}

impl GilbertElliott {
    pub(super) fn new(options: &Options) -> Self {
        let or = |value: Option<Probability>, absent: f64| value.map_or(absent, Probability::value);
        let (to_bad, to_good) = match (options.mean, options.run) {
            (Some(mean), Some(run)) => (to_bad(mean.value(), run).min(1.0), 1.0 / run),
            _ => (or(options.to_bad, 0.0), or(options.to_good, 1.0)),
        };
        let (loss_good, loss_bad) = (or(options.loss_good, 0.0), or(options.loss_bad, 1.0));
        Self { place: options.place, to_bad, to_good, loss_good, loss_bad, bad: None }
    }

    pub(super) fn place(&self) -> Place {
        self.place
    }

    pub(super) fn loses(&mut self, random: &mut Random) -> bool {
        let bad = self.bad.unwrap_or_else(|| random.uniform() < self.to_bad / (self.to_bad + self.to_good));
        let (loss, change) = if bad { (self.loss_bad, self.to_good) } else { (self.loss_good, self.to_bad) };
        let lost = random.uniform() < loss;
        self.bad = Some(bad != (random.uniform() < change));
        lost
    }
}

#[cfg(test)]
mod tests;
