//! Packets that overtake one another behind their transmission.

pub mod held_back;
pub mod let_ahead;

use crate::correlated::{self, Correlated};
use crate::jitter::JitterOptions;
use headway_units::{Duration, OptionError, Probability, Random, registry};

registry! {
    /// Which packets overtake others.
    options ReorderOptions;
    /// A running rule.
    machine Rule;
    what "reorder"; dispatch each;
    "held-back" => HeldBack(held_back::Options, held_back::HeldBack),
    "let-ahead" => LetAhead(let_ahead::Options, let_ahead::LetAhead),
}

/// Whether packets of a link with these may overtake one another on their way.
#[must_use]
pub fn overtakes(jitter: Option<&JitterOptions>, reorder: Option<&ReorderOptions>) -> bool {
    reorder.is_some() || jitter.is_some_and(|jitter| !jitter.keeps_order())
}

fn check(by: Duration, gap: u64, correlation: Probability) -> Result<(), OptionError> {
    if by.is_zero() {
        let message = "packets of which none takes longer stay in order: write one";
        return Err(OptionError::new("by", message).such_as("\"10ms\""));
    }
    if by > Duration::from_secs(1_000_000) {
        return Err(OptionError::new(
            "by",
            format!("{by} is out of range: at most {}", Duration::from_secs(1_000_000)),
        ));
    }
    if gap == 0 {
        return Err(OptionError::new("gap", "of 0 packets in a row none can be one: write 1 at least"));
    }
    correlated::check(correlation)
}

/// Some of the packets: each with a probability, but one of `gap` in a row at most, as netem has it: `gap` - 1 others at least come before each, the first
/// too.
#[derive(Debug)]
struct Chosen {
    probability: Probability,
    gap: u64,
    /// How many were not chosen since one was.
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

/// A running rule with its draws.
#[derive(Debug)]
pub(crate) struct Reorder {
    rule: Rule,
    draws: Correlated,
}

impl Reorder {
    pub(crate) fn new(options: &ReorderOptions, random: Random) -> Self {
        let (rule, correlation) = match options {
            ReorderOptions::HeldBack(options) => {
                (Rule::HeldBack(held_back::HeldBack::new(options)), options.correlation)
            }
            ReorderOptions::LetAhead(options) => {
                (Rule::LetAhead(let_ahead::LetAhead::new(options)), options.correlation)
            }
        };
        Self { rule, draws: Correlated::new(correlation, random) }
    }

    /// How much longer the next packet takes.
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
        ReorderOptions::HeldBack(held_back::Options {
            probability: Some(probability),
            by,
            gap,
            ..held_back::Options::preset(Dialect::Rfc)
        })
    }

    fn let_ahead(probability: f64, gap: u64) -> ReorderOptions {
        let (probability, by) = (Probability::new(probability).unwrap(), Duration::from_millis(5));
        ReorderOptions::LetAhead(let_ahead::Options {
            probability,
            by,
            gap,
            ..let_ahead::Options::preset(Dialect::Rfc)
        })
    }

    /// tc-netem(8): `reorder 100% gap 5` sends the 5th, 10th, 15th .. packet at once and delays all others.
    #[test]
    fn of_a_gap_of_five_each_fifth_is_chosen() {
        let fifth: Vec<bool> = (1..=20).map(|number| number % 5 == 0).collect();
        assert_eq!(longer(&held_back(1.0, 5), 20), fifth);
        assert_eq!(longer(&let_ahead(1.0, 5), 20), fifth.iter().map(|fifth| !fifth).collect::<Vec<_>>());
    }

    /// A quarter of 100000 packets, within five standard deviations (685); with a gap of 3 there are two others and then 1/p - 1 = 3 in the mean: one of six.
    #[test]
    fn as_many_are_chosen_as_told() {
        let count = |options: &ReorderOptions| longer(options, 100_000).iter().filter(|longer| **longer).count();
        assert!(count(&held_back(0.25, 1)).abs_diff(25_000) < 685);
        assert!(count(&let_ahead(0.25, 1)).abs_diff(75_000) < 685);
        assert!(count(&held_back(0.25, 3)).abs_diff(100_000 / 6) < 685);
    }

    /// `docs/src/links.md`: a probability of 0 is allowed, for sweeps, and switches the effect off.
    #[test]
    fn with_a_probability_of_0_no_packet_is_chosen() {
        held_back(0.0, 1).check().unwrap();
        let_ahead(0.0, 1).check().unwrap();
        assert_eq!(longer(&held_back(0.0, 1), 100), [false; 100]);
        assert_eq!(longer(&let_ahead(0.0, 1), 100), [true; 100]);
    }

    #[test]
    fn what_reorders_nothing_is_told() {
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
