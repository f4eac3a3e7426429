//! The random laws that sources draw from: functions of the house's uniform stream and of libm, equal on every machine.

use headway_units::{Duration, Random};

/// No [`normal`] is further from zero: u is at least 2^-53 and sqrt(2 * 53 * ln 2) = 8.57.
pub(super) const LARGEST_NORMAL: f64 = 8.6;

/// Normal with mean 0 and standard deviation 1, of two uniforms (Box and Muller 1958, the cosine alone).
pub(super) fn normal(random: &mut Random) -> f64 {
    let u = 1.0 - random.uniform();
    let v = random.uniform();
    (-2.0 * libm::log(u)).sqrt() * libm::cos(core::f64::consts::TAU * v)
}

/// Exponential with mean `mean`.
pub(super) fn exponential(random: &mut Random, mean: Duration) -> Duration {
    Duration::from_nanos(Law::Exponential { mean: mean.as_nanos() as f64 }.draw(random) as u64)
}

/// A law of lengths that are never negative.
#[derive(Clone, Copy, Debug)]
pub(super) enum Law {
    /// Half of all are below 0.69 of the mean.
    Exponential { mean: f64 },
    /// P(X > x) = (least/x)^shape above the least (ns-2.35 `tools/rng.h`). There is a mean if the shape is above 1.
    Pareto { least: f64, shape: f64 },
    /// The logarithm is normal, and the value within limits.
    Lognormal(LognormalWithin),
}

/// exp of a normal variable, drawn again as long as it is outside of its limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct LognormalWithin {
    /// Mean and standard deviation of the logarithm.
    mu: f64,
    sigma: f64,
    least: f64,
    most: f64,
}

impl LognormalWithin {
    /// Of this mean and standard deviation m and d, before there are limits: sigma^2 = ln(1 + d^2/m^2), mu = ln m - sigma^2/2.
    pub(super) fn new(mean: f64, deviation: f64, least: f64, most: f64) -> Self {
        let variance = libm::log1p((deviation / mean) * (deviation / mean));
        Self { mu: libm::log(mean) - variance / 2.0, sigma: libm::sqrt(variance), least, most }
    }

    /// The share of draws that are within the limits.
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

impl Law {
    /// Of a Pareto law with this mean, least = mean (shape - 1)/shape.
    pub(super) const fn pareto(mean: f64, shape: f64) -> Self {
        Self::Pareto { least: mean * (shape - 1.0) / shape, shape }
    }

    /// By inversion of one uniform, where that is possible.
    pub(super) fn draw(self, random: &mut Random) -> f64 {
        let mut u = || 1.0 - random.uniform();
        match self {
            Self::Exponential { mean } => mean * -libm::log(u()),
            Self::Pareto { least, shape } => least / libm::pow(u(), 1.0 / shape),
            Self::Lognormal(law) => law.draw(random),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u32 = 200_000;

    /// Shares of the normal law beyond 0, 1, 2 and 3 standard deviations, from its tables.
    #[test]
    fn normal_has_the_tables_shares() {
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

    /// 1/e of all draws are beyond the mean, 1/e^3 beyond three times it.
    #[test]
    fn exponential_has_its_shares() {
        let mut random = Random::new(1, "exponential");
        let mean = Duration::from_millis(1_004);
        let draws: Vec<Duration> = (0..DRAWS).map(|_| exponential(&mut random, mean)).collect();
        for (times, share) in [(1, 0.367_879), (3, 0.049_787)] {
            let seen = draws.iter().filter(|draw| **draw > mean * times).count() as f64 / f64::from(DRAWS);
            let error = (share * (1.0 - share) / f64::from(DRAWS)).sqrt();
            assert!((seen - share).abs() < 4.0 * error, "{seen} beyond {times}");
        }
    }

    /// With shape 1.5 and mean 3 the least is 1, and 1/8 of all are beyond 4, 1/64 beyond 16: powers of the ratio.
    #[test]
    fn pareto_has_its_shares() {
        let mut random = Random::new(1, "pareto");
        let law = Law::pareto(3.0, 1.5);
        let draws: Vec<f64> = (0..DRAWS).map(|_| law.draw(&mut random)).collect();
        assert!(draws.iter().all(|draw| *draw >= 1.0));
        for (beyond, share) in [(4.0, 0.125), (16.0, 0.015_625)] {
            let seen = draws.iter().filter(|draw| **draw > beyond).count() as f64 / f64::from(DRAWS);
            let error = (share * (1.0 - share) / f64::from(DRAWS)).sqrt();
            assert!((seen - share).abs() < 4.0 * error, "{seen} beyond {beyond}");
        }
    }
}
