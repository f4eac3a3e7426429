//! Named random streams, one per component, identical on every machine.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Random stream: xoshiro256++ (Blackman and Vigna 2018), seeded from a hash of the scenario's seed and the component's
/// name. Adding a component does not change the draws of others.
#[derive(Clone, Debug)]
pub struct Random {
    stream: Xoshiro256PlusPlus,
    /// Predetermined first draws, in reverse order.
    first_draws: Vec<u64>,
}

impl Random {
    /// Creates the stream of the component called `name` in a scenario seeded with `seed`.
    #[must_use]
    pub fn new(seed: u64, name: &str) -> Self {
        let seed = xxhash_rust::xxh3::xxh3_64_with_seed(name.as_bytes(), seed);
        Self { stream: Xoshiro256PlusPlus::seed_from_u64(seed), first_draws: Vec::new() }
    }

    /// Creates a stream whose first draws are `bits`, to replay the decisions of another generator. After them the
    /// draws are those of a constant seed.
    #[must_use]
    pub fn scripted(bits: &[u64]) -> Self {
        Self { first_draws: bits.iter().rev().copied().collect(), ..Self::new(0, "behind what was given") }
    }

    /// Returns 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        match self.first_draws.pop() {
            Some(bits) => bits,
            None => self.stream.next_u64(),
        }
    }

    /// Returns a uniform number in [0, 1), in steps of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns a uniform number of 0, 1, .. `below - 1`; 0 if `below` is 0. Unbiased (Lemire 2019, with rejection).
    pub fn below(&mut self, below: u64) -> u64 {
        self::below(below, || self.bits())
    }
}

/// Returns a uniform number of 0, 1, .. `below - 1`, from 64 random bits and more after each rejection.
pub(crate) fn below(below: u64, mut bits: impl FnMut() -> u64) -> u64 {
    if below == 0 {
        return 0;
    }
    let threshold = below.wrapping_neg() % below;
    loop {
        let product = u128::from(bits()) * u128::from(below);
        if product as u64 >= threshold {
            return (product >> 64) as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The generator and its seeding define every published record, so these draws must not change.
    #[test]
    fn streams_are_pinned() {
        let mut random = Random::new(1, "link n1->n2");
        let first: Vec<u64> = (0..3).map(|_| random.bits()).collect();
        assert_eq!(first, PINNED);
    }
    const PINNED: [u64; 3] = [11_433_583_059_640_526_338, 5_370_337_445_826_704_386, 5_555_887_030_792_245_914];

    #[test]
    fn the_first_draws_may_be_given() {
        let first_draws = [0, 1, 1 << 63, PINNED[0], u64::MAX];
        let mut random = Random::scripted(&first_draws);
        assert_eq!(first_draws.map(|_| random.bits()), first_draws);
        assert_ne!(random.bits(), random.bits());
    }

    #[test]
    fn names_and_seeds_separate_streams() {
        let draw = |seed, name| Random::new(seed, name).bits();
        assert_ne!(draw(1, "a"), draw(1, "b"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
        assert_eq!(draw(7, "a"), draw(7, "a"));
    }

    #[test]
    fn uniform_has_the_right_mean_and_range() {
        let mut random = Random::new(3, "uniform");
        let n = 100_000;
        let sum: f64 = (0..n)
            .map(|_| {
                let u = random.uniform();
                assert!((0.0..1.0).contains(&u));
                u
            })
            .sum();
        // Five standard errors of a mean of n uniforms: 5 * 0.2887 / sqrt(n).
        assert!((sum / f64::from(n) - 0.5).abs() < 0.0046);
    }

    #[test]
    fn below_is_uniform() {
        let mut random = Random::new(3, "below");
        let mut counts = [0u32; 6];
        for _ in 0..60_000 {
            counts[random.below(6) as usize] += 1;
        }
        // Chi-square with 5 degrees of freedom: 20.5 is the 0.1 % point.
        let chi: f64 = counts.iter().map(|&c| (f64::from(c) - 10_000.0) * (f64::from(c) - 10_000.0) / 10_000.0).sum();
        assert!(chi < 20.5, "{counts:?}");
        assert_eq!(random.below(0), 0);
        assert_eq!(random.below(1), 0);
    }
}
