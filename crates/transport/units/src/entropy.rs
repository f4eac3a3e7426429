//! Sources of random bits that an attacker must not be able to predict.

use crate::Random;
use crate::random::below;
use std::fmt;

/// Source of random bits for keys, initial sequence numbers and ports.
///
/// [`Random`] implements it for simulations and tests only: some of its bits are enough to predict the others. A
/// network that can be attacked needs the operating system's generator or another cryptographic one, where `bits` calls
/// the generator and `stream` returns another handle to it.
pub trait Entropy: fmt::Debug + Send + Sync {
    /// Returns 64 random bits.
    fn bits(&mut self) -> u64;

    /// Returns a source for the component called `name`. A reproducible source returns an independent stream, so that
    /// the number of draws of one component does not affect others. A cryptographic source may return another handle to
    /// itself.
    fn stream(&mut self, name: &str) -> Box<dyn Entropy>;

    /// Returns a uniform number of 0, 1, .. `below - 1`; 0 if `below` is 0.
    fn below(&mut self, below: u64) -> u64 {
        self::below(below, || self.bits())
    }
}

impl Entropy for Random {
    fn bits(&mut self) -> u64 {
        Self::bits(self)
    }
    fn stream(&mut self, name: &str) -> Box<dyn Entropy> {
        Box::new(Self::new(Self::bits(self), name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The draws of a component do not affect those of the source.
    #[test]
    fn streams_are_independent() {
        let drawn = |many: usize| {
            let mut source = Random::new(1, "source");
            let mut part = Entropy::stream(&mut source, "part");
            let first: Vec<u64> = (0..many).map(|_| part.bits()).collect();
            (source.bits(), first)
        };
        let ((few, first), (many, all)) = (drawn(1), drawn(9));
        assert_eq!((few, &first[..]), (many, &all[..1]));
        let mut source = Random::new(1, "source");
        let seed = Random::new(1, "source").bits();
        assert_eq!(Entropy::stream(&mut source, "part").bits(), Random::new(seed, "part").bits());
    }

    #[test]
    fn the_trait_draws_the_same_numbers_below_a_bound() {
        let (mut plain, mut source) = (Random::new(3, "below"), Random::new(3, "below"));
        let source: &mut dyn Entropy = &mut source;
        for below in [0, 1, 6, 1000, u64::MAX] {
            assert_eq!(source.below(below), plain.below(below));
        }
    }
}
