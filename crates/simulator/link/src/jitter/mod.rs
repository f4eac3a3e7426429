//! Jitter: an additional random delay for each packet after its transmission.

pub mod exponential;
pub mod normal;
pub mod pareto;
mod range;
pub mod uniform;

use crate::correlated::Correlated;
use headway_units::{Duration, Probability, Random, registry};
use range::{MAX_DELAY, check_positive, nanos};

registry! {
    /// The distribution of the additional delay of packets, and its options.
    options JitterOptions;
    /// A running distribution of jitter.
    machine Distribution;
    what "jitter"; dispatch each;
    "exponential" => Exponential(exponential::Options, exponential::Exponential),
    "normal" => Normal(normal::Options, normal::Normal),
    "pareto" => Pareto(pareto::Options, pareto::Pareto),
    "uniform" => Uniform(uniform::Options, uniform::Uniform),
}

impl Distribution {
    fn new(options: &JitterOptions) -> Self {
        match options {
            JitterOptions::Exponential(options) => Self::Exponential(exponential::Exponential::new(options)),
            JitterOptions::Normal(options) => Self::Normal(normal::Normal::new(options)),
            JitterOptions::Pareto(options) => Self::Pareto(pareto::Pareto::new(options)),
            JitterOptions::Uniform(options) => Self::Uniform(uniform::Uniform::new(options)),
        }
    }

    fn options(&self) -> (Probability, bool) {
        each!(self, distribution => distribution.options())
    }
}

impl JitterOptions {
    /// Returns whether a packet that would overtake an earlier one arrives at the same time as that one instead
    /// (`keeps_order`).
    #[must_use]
    pub fn keeps_order(&self) -> bool {
        Distribution::new(self).options().1
    }
}

#[derive(Debug)]
pub(crate) struct Jitter {
    distribution: Distribution,
    draws: Correlated,
}

impl Jitter {
    pub(crate) fn new(options: &JitterOptions, random: Random) -> Self {
        let distribution = Distribution::new(options);
        let draws = Correlated::new(distribution.options().0, random);
        Self { distribution, draws }
    }

    /// Returns the additional delay of the next packet, to a nanosecond; 0 or more.
    pub(crate) fn draw(&mut self) -> Duration {
        let Self { distribution, draws } = self;
        let nanos = each!(distribution, distribution => distribution.draw(draws));
        // `as` saturates.
        Duration::from_nanos(libm::round(nanos) as u64).min(MAX_DELAY)
    }
}

#[cfg(test)]
mod tests;
