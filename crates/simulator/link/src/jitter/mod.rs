//! Jitter: an extra delay for each packet behind its transmission, by one law or another.

pub mod exponential;
pub mod normal;
pub mod pareto;
mod range;
pub mod uniform;

use crate::correlated::Correlated;
use headway_units::{Duration, Probability, Random, registry};
use range::{MOST, check_positive, nanos};

registry! {
    /// How much longer than its delay a link takes.
    options JitterOptions;
    /// A running law.
    machine Law;
    what "jitter"; dispatch each;
    "exponential" => Exponential(exponential::Options, exponential::Exponential),
    "normal" => Normal(normal::Options, normal::Normal),
    "pareto" => Pareto(pareto::Options, pareto::Pareto),
    "uniform" => Uniform(uniform::Options, uniform::Uniform),
}

impl Law {
    fn new(options: &JitterOptions) -> Self {
        match options {
            JitterOptions::Exponential(options) => Self::Exponential(exponential::Exponential::new(options)),
            JitterOptions::Normal(options) => Self::Normal(normal::Normal::new(options)),
            JitterOptions::Pareto(options) => Self::Pareto(pareto::Pareto::new(options)),
            JitterOptions::Uniform(options) => Self::Uniform(uniform::Uniform::new(options)),
        }
    }

    fn options(&self) -> (Probability, bool) {
        each!(self, law => law.options())
    }
}

impl JitterOptions {
    /// Whether a packet that would overtake another arrives with it.
    #[must_use]
    pub fn keeps_order(&self) -> bool {
        Law::new(self).options().1
    }
}

/// A running jitter.
#[derive(Debug)]
pub(crate) struct Jitter {
    law: Law,
    draws: Correlated,
}

impl Jitter {
    pub(crate) fn new(options: &JitterOptions, random: Random) -> Self {
        let law = Law::new(options);
        let draws = Correlated::new(law.options().0, random);
        Self { law, draws }
    }

    /// The extra delay of the next packet, to a nanosecond; never less than none.
    pub(crate) fn draw(&mut self) -> Duration {
        let Self { law, draws } = self;
        let nanos = each!(law, law => law.draw(draws));
        // `as` saturates.
        Duration::from_nanos(libm::round(nanos) as u64).min(MOST)
    }
}

#[cfg(test)]
mod tests;
