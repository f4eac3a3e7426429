//! Bursty losses: a channel with a good and a bad state (E. N. Gilbert, "Capacity of a burst-noise channel", BSTJ 39,
//! 1960; E. O. Elliott, "Estimates of error rates for codes on burst-noise channels", BSTJ 42, 1963).
//!
//! A packet is lost with the loss probability of the current state. After each packet the state may change:
//!
//! ```text
//! good -> bad  with to_bad      a fraction to_bad / (to_bad + to_good) of packets is in the bad state
//! bad -> good  with to_good     mean loss = loss_good + (loss_bad - loss_good) to_bad / (to_bad + to_good)
//! ```
//!
//! If all packets are lost in the bad state and none in the good one, the mean length of a run of losses is 1 /
//! `to_good` packets, and `mean` and `run` are equivalent to the two transitions:
//!
//! ```text
//! to_good = 1 / run      to_bad = mean / (run (1 - mean))
//! ```
//!
//! The initial state is bad with this fraction as its probability, so that the process is stationary.

use super::Place;
use headway_units::{Dialect, OptionError, Probability, Random};
use serde::{Deserialize, Serialize};

/// Options of a loss model of `kind = "gilbert-elliott"`: `mean` and `run`, or `to_bad` and `to_good` with the loss
/// probability of each state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Fraction of all packets that is lost; below 1. Requires `run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<Probability>,
    /// Mean length of a run of losses, in packets; 1 or more. Requires `mean`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<f64>,
    /// Probability of a transition from good to bad after a packet (netem's `p`). Requires `to_good`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_bad: Option<Probability>,
    /// Probability of a transition from bad to good after a packet (netem's `r`). Requires `to_bad`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_good: Option<Probability>,
    /// Loss probability of a packet in the good state (netem's `1-k`); 0 if absent. Requires `to_bad` and `to_good`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_good: Option<Probability>,
    /// Loss probability of a packet in the bad state (netem's `1-h`); 1 if absent. Requires `to_bad` and `to_good`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_bad: Option<Probability>,
    /// Where on the link packets are lost: before the queue or after the transmission.
    pub place: Place,
}

/// Tolerance for a probability above 1: for a mean of 0.9 and runs of 9, rounding yields slightly more than 1.
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
                "{key} conflicts with mean and run; expected mean and run alone, or to_bad and to_good without them"
            );
            return Err(OptionError::new(key, message));
        }
        match (mean, run, to_bad, to_good) {
            (Some(mean), Some(run), ..) => check_run(mean.value(), *run),
            (Some(_), None, ..) => Err(OptionError::new(
                "run",
                "mean needs a run, the mean number of packets that are lost in a row, such as run = 4",
            )),
            (None, Some(_), ..) => Err(OptionError::new(
                "mean",
                "run needs a mean, the fraction of packets that is lost, such as mean = \"2%\"",
            )),
            (None, None, Some(to_bad), Some(to_good)) => {
                if *to_bad == Probability::ZERO && *to_good == Probability::ZERO {
                    let message = "with to_bad and to_good 0 the state of the channel is undefined; \
                                   expected one above 0, or a bernoulli loss";
                    return Err(OptionError::new("to_bad", message));
                }
                Ok(())
            }
            (None, None, Some(_), None) => Err(OptionError::new("to_good", "to_bad needs a to_good, such as 0.25")),
            (None, None, None, Some(_)) => Err(OptionError::new("to_bad", "to_good needs a to_bad, such as 0.005")),
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
        return Err(OptionError::new("mean", "1 is out of range; expected a mean below 1"));
    }
    if !run.is_finite() || run < 1.0 {
        return Err(OptionError::new("run", format!("{run} is out of range; expected 1 or more packets")));
    }
    if to_bad(mean, run) > 1.0 + ROUNDING {
        let least = mean / (1.0 - mean);
        let message = format!(
            "{run} is too short for a mean of {mean}, as a packet passes between two runs; expected {least:.3} or more"
        );
        return Err(OptionError::new("run", message));
    }
    Ok(())
}

fn to_bad(mean: f64, run: f64) -> f64 {
    mean / (run * (1.0 - mean))
}

/// A running Gilbert-Elliott loss model.
#[derive(Debug)]
pub struct GilbertElliott {
    place: Place,
    to_bad: f64,
    to_good: f64,
    loss_good: f64,
    loss_bad: f64,
    /// Whether the channel is in the bad state; `None` before the first packet.
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
