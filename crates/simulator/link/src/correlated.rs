//! Correlated random numbers. Each normal number is the sum of `correlation` times the previous one and a new one,
//! scaled so that the variance is constant (a first-order autoregression). Uniform numbers are computed from it with
//! the normal distribution function. Every number therefore has the intended distribution, regardless of correlation.
//! (netem's `get_crandom` mixes uniform numbers, which narrows them: with a correlation of 0.5, the standard deviation
//! is 0.58 of the configured one.)

use headway_units::{OptionError, Probability, Random};

pub(crate) fn check(correlation: Probability) -> Result<(), OptionError> {
    if correlation == Probability::ONE {
        return Err(OptionError::new("correlation", "1 is out of range; expected a value below 1"));
    }
    Ok(())
}

#[derive(Debug)]
pub(crate) struct Correlated {
    random: Random,
    correlation: f64,
    last: Option<f64>,
}

impl Correlated {
    pub(crate) fn new(correlation: Probability, random: Random) -> Self {
        Self { random, correlation: correlation.value(), last: None }
    }

    /// Returns a normal number with mean 0 and standard deviation 1.
    pub(crate) fn normal(&mut self) -> f64 {
        // Box and Muller 1958, only the cosine.
        let (u, v) = (1.0 - self.random.uniform(), self.random.uniform());
        let fresh = (-2.0 * libm::log(u)).sqrt() * libm::cos(core::f64::consts::TAU * v);
        let rho = self.correlation;
        let next = self.last.map_or(fresh, |last| rho * last + (1.0 - rho * rho).sqrt() * fresh);
        self.last = Some(next);
        next
    }

    /// Returns a uniform number in (0, 1].
    pub(crate) fn uniform(&mut self) -> f64 {
        if self.correlation == 0.0 {
            return 1.0 - self.random.uniform();
        }
        0.5 * libm::erfc(self.normal() * core::f64::consts::FRAC_1_SQRT_2)
    }

    pub(crate) fn happens(&mut self, probability: Probability) -> bool {
        self.uniform() <= probability.value() && probability != Probability::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For each correlation, a tenth of the numbers is in each tenth, and consecutive numbers have that correlation. A
    /// mean of n numbers with correlation r has the variance of n (1 - r) / (1 + r) independent ones.
    #[test]
    fn correlation_keeps_the_distribution() {
        const N: usize = 200_000;
        for correlation in [0.0, 0.5, 0.9] {
            let mut draws = Correlated::new(Probability::new(correlation).unwrap(), Random::new(5, "correlated"));
            let uniform: Vec<f64> = (0..N).map(|_| draws.uniform()).collect();
            let worth = N as f64 * (1.0 - correlation) / (1.0 + correlation);
            for tenth in 0..10 {
                let (low, high) = (f64::from(tenth) / 10.0, f64::from(tenth + 1) / 10.0);
                let share = uniform.iter().filter(|u| low < **u && **u <= high).count() as f64 / N as f64;
                assert!((share - 0.1).abs() < 5.0 * (0.09 / worth).sqrt(), "{correlation}: {share} in {tenth}");
            }
            let mut draws = Correlated::new(Probability::new(correlation).unwrap(), Random::new(6, "correlated"));
            let normal: Vec<f64> = (0..N).map(|_| draws.normal()).collect();
            let product = normal.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / N as f64;
            assert!((product - correlation).abs() < 5.0 * 2.0 / worth.sqrt(), "{correlation}: {product}");
        }
    }

    #[test]
    fn zero_never_and_one_always() {
        for correlation in [0.0, 0.9] {
            let mut draws = Correlated::new(Probability::new(correlation).unwrap(), Random::new(5, "correlated"));
            assert!((0..1000).all(|_| !draws.happens(Probability::ZERO)));
            assert!((0..1000).all(|_| draws.happens(Probability::ONE)));
        }
        assert_eq!(check(Probability::ONE).unwrap_err().key, "correlation");
    }
}
