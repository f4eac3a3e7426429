//! Where bits come from that an attacker must not guess.

use crate::Random;
use crate::random::below;
use std::fmt;

/// A source of random bits for keys, first sequence numbers and ports.
///
/// [`Random`] is one, for simulations and tests: whoever has seen some of its bits knows the others. Where a network can be
/// attacked, the source is the operating system's or a generator that is made for it, and an implementation is a line a method:
/// `bits` asks it, `stream` is another handle to it.
pub trait Entropy: fmt::Debug + Send + Sync {
    /// 64 random bits.
    fn bits(&mut self) -> u64;

    /// A source for the part called `name`. How much that draws changes nothing for others: a stream of its own where draws must
    /// be the same in each run, and the same source where nobody can tell.
    fn stream(&mut self, name: &str) -> Box<dyn Entropy>;

    /// Uniform among 0, 1, .. `below - 1`; 0 if `below` is 0.
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

    /// A part's draws are its own: those of the source go on the same, however much the part has drawn.
    #[test]
    fn streams_are_apart() {
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

    /// Behind the trait a stream draws what it draws without.
    #[test]
    fn below_is_the_same() {
        let (mut plain, mut source) = (Random::new(3, "below"), Random::new(3, "below"));
        let source: &mut dyn Entropy = &mut source;
        for below in [0, 1, 6, 1000, u64::MAX] {
            assert_eq!(source.below(below), plain.below(below));
        }
    }
}
