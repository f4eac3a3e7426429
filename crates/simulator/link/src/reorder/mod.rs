//! Reordering: packets that overtake others after their transmission.

pub mod held_back;
pub mod let_ahead;

use crate::correlated::{self, Correlated};
use crate::jitter::JitterOptions;
use headway_units::{Duration, OptionError, Probability, Random, registry};

registry! {
    /// The reordering of packets and its options.
    options ReorderOptions;
    /// A running reordering rule.
    machine Rule;
    what "reorder"; dispatch each;
    "held-back" => Delayed(held_back::Options, held_back::Delayed),
    "let-ahead" => NotDelayed(let_ahead::Options, let_ahead::NotDelayed),
}

/// Returns whether packets of a link with these options may overtake one another.
#[must_use]
pub fn overtakes(jitter: Option<&JitterOptions>, reorder: Option<&ReorderOptions>) -> bool {
    reorder.is_some() || jitter.is_some_and(|jitter| !jitter.keeps_order())
}

fn check(by: Duration, gap: u64, correlation: Probability) -> Result<(), OptionError> {
    if by.is_zero() {
        let message = "a delay of 0s reorders nothing; expected a value";
        return Err(OptionError::new("by", message).with_example("\"10ms\""));
    }
    if by > Duration::from_secs(1_000_000) {
        return Err(OptionError::new(
            "by",
            format!("{by} is out of range; expected at most {}", Duration::from_secs(1_000_000)),
        ));
    }
    if gap == 0 {
        return Err(OptionError::new("gap", "0 is out of range; expected 1 or more"));
    }
    correlated::check(correlation)
}

/// A choice of packets: each is chosen with a probability, but only if at least `gap` - 1 others are before it since
/// the last chosen one or the start, as in netem.
#[derive(Debug)]
struct Chosen {
    probability: Probability,
    gap: u64,
    /// Number of packets since the last chosen one.
    others: u64,
}

impl Chosen {
    fn new(probability: Probability, gap: u64) -> Self {
        Self { probability, gap, others: 0 }
    }

    fn next(&mut self, draws: &mut Correlated) -> bool {
        let chosen = self.others >= self.gap - 1 && draws.happens(self.probability);
        self.others = if chosen { 0 } else { self.others + 1 };
        chosen
    }
}

#[derive(Debug)]
pub(crate) struct Reorder {
    rule: Rule,
    draws: Correlated,
}

impl Reorder {
    pub(crate) fn new(options: &ReorderOptions, random: Random) -> Self {
        let (rule, correlation) = match options {
            ReorderOptions::Delayed(options) => (Rule::Delayed(held_back::Delayed::new(options)), options.correlation),
            ReorderOptions::NotDelayed(options) => {
                (Rule::NotDelayed(let_ahead::NotDelayed::new(options)), options.correlation)
            }
        };
        Self { rule, draws: Correlated::new(correlation, random) }
    }

    pub(crate) fn draw(&mut self) -> Duration {
        let Self { rule, draws } = self;
        each!(rule, rule => rule.draw(draws))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::{Dialect, Options as _, Registry};

    fn longer(options: &ReorderOptions, packets: usize) -> Vec<bool> {
        let mut reorder = Reorder::new(options, Random::new(4, "reorder"));
        (0..packets).map(|_| !reorder.draw().is_zero()).collect()
    }

    fn held_back(probability: f64, gap: u64) -> ReorderOptions {
        let (probability, by) = (Probability::new(probability).unwrap(), Duration::from_millis(5));
        ReorderOptions::Delayed(held_back::Options {
            probability: Some(probability),
            by,
            gap,
            ..held_back::Options::preset(Dialect::Rfc)
        })
    }

    fn let_ahead(probability: f64, gap: u64) -> ReorderOptions {
        let (probability, by) = (Probability::new(probability).unwrap(), Duration::from_millis(5));
        ReorderOptions::NotDelayed(let_ahead::Options {
            probability,
            by,
            gap,
            ..let_ahead::Options::preset(Dialect::Rfc)
        })
    }

    /// tc-netem(8): `reorder 100% gap 5` sends the 5th, 10th, 15th .. packet at once and delays all others.
    #[test]
    fn a_gap_of_five_chooses_every_fifth_packet() {
        let fifth: Vec<bool> = (1..=20).map(|number| number % 5 == 0).collect();
        assert_eq!(longer(&held_back(1.0, 5), 20), fifth);
        assert_eq!(longer(&let_ahead(1.0, 5), 20), fifth.iter().map(|fifth| !fifth).collect::<Vec<_>>());
    }

    /// A quarter of 100000 packets, within five standard deviations (685). With a gap of 3 there are two others and
    /// then 1/p - 1 = 3 on average: one in six.
    #[test]
    fn packets_are_chosen_with_the_configured_probability() {
        let count = |options: &ReorderOptions| longer(options, 100_000).iter().filter(|longer| **longer).count();
        assert!(count(&held_back(0.25, 1)).abs_diff(25_000) < 685);
        assert!(count(&let_ahead(0.25, 1)).abs_diff(75_000) < 685);
        assert!(count(&held_back(0.25, 3)).abs_diff(100_000 / 6) < 685);
    }

    /// `docs/src/links.md`: a probability of 0 is allowed, for sweeps, and turns the effect off.
    #[test]
    fn with_a_probability_of_0_no_packet_is_chosen() {
        held_back(0.0, 1).check().unwrap();
        let_ahead(0.0, 1).check().unwrap();
        assert_eq!(longer(&held_back(0.0, 1), 100), [false; 100]);
        assert_eq!(longer(&let_ahead(0.0, 1), 100), [true; 100]);
    }

    #[test]
    fn options_without_effect_are_rejected() {
        for (options, key) in [
            (ReorderOptions::preset("held-back", Dialect::Rfc).unwrap(), "probability"),
            (held_back(0.1, 0), "gap"),
            (ReorderOptions::preset("let-ahead", Dialect::Rfc).unwrap(), "by"),
        ] {
            assert_eq!(options.check().unwrap_err().key, key);
        }
        let far = let_ahead::Options { by: Duration::from_secs(2_000_000), ..let_ahead::Options::preset(Dialect::Rfc) };
        assert!(far.check().unwrap_err().message.contains("out of range"));
    }
}
