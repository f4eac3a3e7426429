//! Draws that may hang together: each normal draw is `correlation` of the one before and a fresh one, as much as keeps its variance (an autoregression of
//! first order). What is uniform is made of that by the normal law, so that whatever is drawn has its own law, however correlated it is. (netem's
//! `get_crandom` mixes the uniform draws themselves, which narrows them: with a correlation of 0.5 its deviations are 0.58 of what is written.)

use headway_units::{OptionError, Probability, Random};

/// A correlation is below 1.
pub(crate) fn check(correlation: Probability) -> Result<(), OptionError> {
    if correlation == Probability::ONE {
        return Err(OptionError::new(
            "correlation",
            "with a correlation of 1 nothing would ever change: write one below 1",
        ));
    }
    Ok(())
}

/// A stream of draws.
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

    /// Normal with mean 0 and standard deviation 1.
    pub(crate) fn normal(&mut self) -> f64 {
        // Box and Muller 1958, the cosine alone.
        let (u, v) = (1.0 - self.random.uniform(), self.random.uniform());
        let fresh = (-2.0 * libm::log(u)).sqrt() * libm::cos(core::f64::consts::TAU * v);
        let rho = self.correlation;
        let next = self.last.map_or(fresh, |last| rho * last + (1.0 - rho * rho).sqrt() * fresh);
        self.last = Some(next);
        next
    }

    /// Uniform in (0, 1].
    pub(crate) fn uniform(&mut self) -> f64 {
        if self.correlation == 0.0 {
            return 1.0 - self.random.uniform();
        }
        0.5 * libm::erfc(self.normal() * core::f64::consts::FRAC_1_SQRT_2)
    }

    /// Whether something with this probability happens.
    pub(crate) fn happens(&mut self, probability: Probability) -> bool {
        self.uniform() <= probability.value() && probability != Probability::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the correlation, a tenth of the draws is in each tenth, and draws that follow each other have it. Of n draws with correlation r a mean has
    /// the variance of n (1 - r) / (1 + r) independent ones.
    #[test]
    fn the_law_stays_whatever_the_correlation() {
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
