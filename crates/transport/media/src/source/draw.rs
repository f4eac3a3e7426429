//! Random distributions of sources, from the project's uniform generator and libm; identical on every machine.

use headway_units::{Duration, Random};

/// Bound of the absolute value of [`normal`]: u is at least 2^-53 and sqrt(2 * 53 * ln 2) = 8.57.
pub(super) const LARGEST_NORMAL: f64 = 8.6;

/// Draws a standard normal value from two uniforms (Box and Muller 1958, cosine only).
pub(super) fn normal(random: &mut Random) -> f64 {
    let u = 1.0 - random.uniform();
    let v = random.uniform();
    (-2.0 * libm::log(u)).sqrt() * libm::cos(core::f64::consts::TAU * v)
}

/// Bound of the absolute value of [`laplace`]: a logarithm of at least 2^-52, and 52 ln 2 = 36.04.
pub(super) const LARGEST_LAPLACE: f64 = 36.1;

/// Draws a Laplace value with mean 0 and scale 1, by inversion of one uniform.
pub(super) fn laplace(random: &mut Random) -> f64 {
    let u = random.uniform();
    if u < 0.5 { libm::log(1.0 - 2.0 * u) } else { -libm::log(2.0 - 2.0 * u) }
}

pub(super) fn exponential(random: &mut Random, mean: Duration) -> Duration {
    Duration::from_nanos(Distribution::Exponential { mean: mean.as_nanos() as f64 }.draw(random) as u64)
}

/// Distribution of non-negative values.
#[derive(Clone, Copy, Debug)]
pub(super) enum Distribution {
    /// Exponential distribution; the median is 0.69 of the mean.
    Exponential { mean: f64 },
    /// Pareto distribution: P(X > x) = (least/x)^shape above the least (ns-2.35 `tools/rng.h`). The mean exists for
    /// shapes above 1.
    Pareto { least: f64, shape: f64 },
    /// Lognormal distribution within limits.
    Lognormal(LognormalWithin),
}

/// Lognormal distribution; draws outside the limits are repeated.
#[derive(Clone, Copy, Debug)]
pub(super) struct LognormalWithin {
    /// Mean and standard deviation of the logarithm.
    mu: f64,
    sigma: f64,
    least: f64,
    most: f64,
}

impl LognormalWithin {
    /// Creates a distribution with mean m and standard deviation d before the limits: sigma^2 = ln(1 + d^2/m^2), mu =
    /// ln m - sigma^2/2.
    pub(super) fn new(mean: f64, deviation: f64, least: f64, most: f64) -> Self {
        let variance = libm::log1p((deviation / mean) * (deviation / mean));
        Self { mu: libm::log(mean) - variance / 2.0, sigma: libm::sqrt(variance), least, most }
    }

    /// Returns the probability of a draw within the limits.
    pub(super) fn share_within(&self) -> f64 {
        let below = |size: f64| {
            let deviations = (libm::log(size) - self.mu) / self.sigma;
            libm::erfc(-deviations / core::f64::consts::SQRT_2) / 2.0
        };
        below(self.most) - below(self.least)
    }

    fn draw(&self, random: &mut Random) -> f64 {
        loop {
            let size = libm::exp(self.mu + self.sigma * normal(random));
            if size >= self.least && size <= self.most {
                return size;
            }
        }
    }
}

impl Distribution {
    /// Creates a Pareto distribution with this mean: least = mean (shape - 1)/shape.
    pub(super) const fn pareto(mean: f64, shape: f64) -> Self {
        Self::Pareto { least: mean * (shape - 1.0) / shape, shape }
    }

    /// Draws a value, by inversion of one uniform if possible.
    pub(super) fn draw(self, random: &mut Random) -> f64 {
        let mut u = || 1.0 - random.uniform();
        match self {
            Self::Exponential { mean } => mean * -libm::log(u()),
            Self::Pareto { least, shape } => least / libm::pow(u(), 1.0 / shape),
            Self::Lognormal(distribution) => distribution.draw(random),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u32 = 200_000;

    /// Probabilities of the normal distribution beyond 0, 1, 2 and 3 standard deviations, from tables.
    #[test]
    fn normal_draws_have_tabulated_probabilities() {
        let mut random = Random::new(1, "normal");
        let draws: Vec<f64> = (0..DRAWS).map(|_| normal(&mut random)).collect();
        for (beyond, share) in [(0.0, 0.5), (1.0, 0.158_655), (2.0, 0.022_750), (3.0, 0.001_350)] {
            for side in [1.0, -1.0] {
                let seen = draws.iter().filter(|draw| side * **draw > beyond).count() as f64 / f64::from(DRAWS);
                let error = (share * (1.0 - share) / f64::from(DRAWS)).sqrt();
                assert!((seen - share).abs() < 4.0 * error, "{seen} beyond {beyond}");
            }
        }
        assert!(draws.iter().all(|draw| draw.abs() < LARGEST_NORMAL));
    }

    /// exp(-k)/2 of the draws are more than k scales above, and below, the mean.
    #[test]
    fn laplace_draws_have_exact_probabilities() {
        let mut random = Random::new(1, "laplace");
        let draws: Vec<f64> = (0..DRAWS).map(|_| laplace(&mut random)).collect();
        for (beyond, share) in [(0.0, 0.5), (1.0, 0.183_940), (2.0, 0.067_668), (4.0, 0.009_158)] {
            for side in [1.0, -1.0] {
                let seen = draws.iter().filter(|draw| side * **draw > beyond).count() as f64 / f64::from(DRAWS);
                let error = (share * (1.0 - share) / f64::from(DRAWS)).sqrt();
                assert!((seen - share).abs() < 4.0 * error, "{seen} beyond {beyond}");
            }
        }
        assert!(draws.iter().all(|draw| draw.abs() < LARGEST_LAPLACE));
    }

    /// 1/e of the draws exceed the mean, 1/e^3 three times the mean.
    #[test]
    fn exponential_draws_have_exact_probabilities() {
        let mut random = Random::new(1, "exponential");
        let mean = Duration::from_millis(1_004);
        let draws: Vec<Duration> = (0..DRAWS).map(|_| exponential(&mut random, mean)).collect();
        for (times, share) in [(1, 0.367_879), (3, 0.049_787)] {
            let seen = draws.iter().filter(|draw| **draw > mean * times).count() as f64 / f64::from(DRAWS);
            let error = (share * (1.0 - share) / f64::from(DRAWS)).sqrt();
            assert!((seen - share).abs() < 4.0 * error, "{seen} beyond {times}");
        }
    }

    /// With shape 1.5 and mean 3 the least is 1, 1/8 of the draws exceed 4 and 1/64 exceed 16.
    #[test]
    fn pareto_draws_have_exact_probabilities() {
        let mut random = Random::new(1, "pareto");
        let distribution = Distribution::pareto(3.0, 1.5);
        let draws: Vec<f64> = (0..DRAWS).map(|_| distribution.draw(&mut random)).collect();
        assert!(draws.iter().all(|draw| *draw >= 1.0));
        for (beyond, share) in [(4.0, 0.125), (16.0, 0.015_625)] {
            let seen = draws.iter().filter(|draw| **draw > beyond).count() as f64 / f64::from(DRAWS);
            let error = (share * (1.0 - share) / f64::from(DRAWS)).sqrt();
            assert!((seen - share).abs() < 4.0 * error, "{seen} beyond {beyond}");
        }
    }
}
