//! Means over runs and their confidence intervals.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Returns the two-sided 95 % quantile of Student's t with `degrees` degrees of freedom (Student 1908).
fn t95(degrees: f64) -> Option<f64> {
    StudentsT::new(0.0, 1.0, degrees).ok().map(|t| t.inverse_cdf(0.975))
}

/// Relative difference up to which samples are equal: the rounding error of sums of doubles.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

/// Minimum number of runs for a conclusion from their mean. With fewer runs, equal samples do not prove a constant
/// value, and claims of papers are neither confirmed nor refuted.
pub const MIN_RUNS: usize = 10;

/// A mean over runs with its 95 % confidence interval.
///
/// Equal samples have no interval: a sample deviation of 0 is no estimate of the deviation over more runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Mean of the samples.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval of the mean (Student's t); `None` for a single run or equal
    /// samples.
    pub ci95: Option<f64>,
    /// Number of runs, each with one sample.
    pub runs: usize,
}

impl Estimate {
    /// Estimates the mean from one sample per run: `mean +- t s / sqrt(n)`, with n - 1 in the denominator of s. Returns
    /// `None` without samples.
    #[must_use]
    pub fn of(samples: &[f64]) -> Option<Self> {
        Self::with_rounding(samples, largest(samples.iter()))
    }

    /// Estimates the mean difference of pairs, first minus second, with one pair per run. Returns `None` without pairs.
    #[must_use]
    pub fn of_differences(pairs: &[(f64, f64)]) -> Option<Self> {
        let differences: Vec<f64> = pairs.iter().map(|(first, second)| first - second).collect();
        Self::with_rounding(&differences, largest(pairs.iter().flat_map(|(first, second)| [first, second])))
    }

    /// `scale` is the largest magnitude of the inputs; rounding errors of the samples are proportional to it.
    fn with_rounding(samples: &[f64], scale: f64) -> Option<Self> {
        let runs = samples.len();
        let first = *samples.first()?;
        if samples.iter().all(|sample| (sample - first).abs() <= ROUNDING * scale) {
            // An empty sum is -0.0, which a table would print as such.
            return Some(Self { mean: first + 0.0, ci95: None, runs });
        }
        let n = runs as f64;
        let mean = first + samples.iter().map(|sample| sample - first).sum::<f64>() / n;
        let variance = samples.iter().map(|sample| (sample - mean) * (sample - mean)).sum::<f64>() / (n - 1.0);
        Some(Self { mean, ci95: t95(n - 1.0).map(|t| t * (variance / n).sqrt()), runs })
    }

    /// Returns whether there are several runs and all samples are equal.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.runs > 1 && self.ci95.is_none()
    }

    /// Returns whether half the width of the 95 % interval is at most `relative` times the magnitude of the mean. Equal
    /// samples meet any precision from [`MIN_RUNS`] runs on, and none before, because a rare event may not have
    /// occurred yet.
    #[must_use]
    pub fn is_within(&self, relative: f64) -> bool {
        self.ci95.map_or(self.runs >= MIN_RUNS, |half| half <= relative * self.mean.abs())
    }

    /// Returns the ends of the 95 % interval. Equal samples give the value twice; a single run gives `None`.
    #[must_use]
    pub fn range(&self) -> Option<(f64, f64)> {
        let half = if self.is_constant() { 0.0 } else { self.ci95? };
        Some((self.mean - half, self.mean + half))
    }

    /// Returns half the width of Welch's 95 % interval of the difference of two means (Welch 1947). An estimate of
    /// equal samples contributes no variance. Returns `None` if both have equal samples or either has a single run.
    #[must_use]
    pub fn welch(&self, other: &Self) -> Option<f64> {
        // The squared standard error of each mean, computed from its interval.
        let squared_error = |estimate: &Self| {
            if estimate.is_constant() {
                return Some(0.0);
            }
            let (half, t) = (estimate.ci95?, t95(estimate.runs as f64 - 1.0)?);
            Some((half / t) * (half / t))
        };
        let (a, b) = (squared_error(self)?, squared_error(other)?);
        if a + b == 0.0 {
            return None;
        }
        let degrees = |error: f64, runs: usize| error * error / (runs as f64 - 1.0);
        let degrees = (a + b) * (a + b) / (degrees(a, self.runs) + degrees(b, other.runs));
        t95(degrees).map(|t| t * (a + b).sqrt())
    }
}

fn largest<'a>(numbers: impl Iterator<Item = &'a f64>) -> f64 {
    numbers.fold(0.0, |largest: f64, number| largest.max(number.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found} is not {expected}");
    }

    /// By numerical integration of Student's density and bisection; tables have 12.706, 2.262, 2.045, 1.984.
    #[test]
    fn quantiles_of_students_t() {
        for (degrees, expected) in [
            (1.0, 12.706_204_736),
            (9.0, 2.262_157_163),
            (18.5, 2.096_859_341),
            (29.0, 2.045_229_642),
            (100.0, 1.983_971_519),
        ] {
            close(t95(degrees).unwrap(), expected, 1e-8);
        }
    }

    /// Mean 3, s^2 = 2.5, 4 degrees: 2.776445 * sqrt(2.5 / 5) = 1.963243.
    #[test]
    fn the_interval_follows_students_t() {
        let estimate = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        close(estimate.mean, 3.0, 1e-15);
        close(estimate.ci95.unwrap(), 1.963_243_2, 1e-7);
        assert_eq!(Estimate::of(&[4.0]).unwrap(), Estimate { mean: 4.0, ci95: None, runs: 1 });
        assert_eq!(Estimate::of(&[]), None);
    }

    /// Regression: `headway sweep` printed `1.213 ± 0.000`.
    #[test]
    fn equal_samples_have_no_interval() {
        let nothing = Estimate::of(&[-0.0, -0.0]).unwrap();
        assert!(nothing.mean.is_sign_positive(), "{nothing:?}");
        let estimate = Estimate::of(&[0.1; 10]).unwrap();
        assert_eq!((estimate.mean, estimate.ci95, estimate.range()), (0.1, None, Some((0.1, 0.1))));
        assert!(estimate.is_constant() && !Estimate::of(&[0.1]).unwrap().is_constant());
        assert_eq!(Estimate::of(&[0.1]).unwrap().range(), None);
    }

    /// Regression: two equal runs met `--precision 1%`.
    #[test]
    fn equal_samples_are_precise_after_ten_runs() {
        let is_within = |samples: &[f64]| Estimate::of(samples).unwrap().is_within(0.01);
        assert_eq!([1, 2, 9, 10].map(|runs| is_within(&vec![5.0; runs])), [false, false, false, true]);
        // 12.7062 times 0.0005 is 0.64 % of 1.
        assert!(is_within(&[0.9995, 1.0005]) && !is_within(&[0.999, 1.001]));
    }

    /// 0.1 + 0.2 is not 0.3 in doubles; the differences of all pairs are 0.3 within rounding.
    #[test]
    fn differences_equal_within_rounding_have_no_interval() {
        let pairs: Vec<(f64, f64)> = (1..=10).map(|n| (f64::from(n) * 0.1 + 0.3, f64::from(n) * 0.1)).collect();
        assert!(pairs.iter().any(|(first, second)| first - second != pairs[0].0 - pairs[0].1));
        let estimate = Estimate::of_differences(&pairs).unwrap();
        assert!(estimate.is_constant(), "{estimate:?}");
        close(estimate.mean, 0.3, 1e-15);
        // 1e-9 is far above the rounding error.
        assert!(Estimate::of(&[1.0, 1.000_000_001]).unwrap().ci95.is_some());
    }

    /// n 10 and 20, s 3.4 and 4.7.
    #[test]
    fn the_interval_of_a_difference_follows_welch() {
        let of = |mean, s: f64, runs: usize| {
            let ci95 = t95(runs as f64 - 1.0).map(|t| t * s / (runs as f64).sqrt());
            Estimate { mean, ci95, runs }
        };
        // (1.156 + 1.1045)^2 / (1.156^2/9 + 1.1045^2/19) = 24.025; t(24.025) = 2.06379; sqrt(2.2605) = 1.503496.
        close(of(20.0, 3.4, 10).welch(&of(22.0, 4.7, 20)).unwrap(), 3.102_90, 2e-5);
        assert_eq!(Estimate::of(&[1.0]).unwrap().welch(&of(1.0, 1.0, 10)), None);
        // Equal samples on both sides give no interval; on one side they contribute nothing: t(9) 3.4 / sqrt(10).
        let same = Estimate::of(&[2.0; 10]).unwrap();
        assert_eq!(same.welch(&same), None);
        close(same.welch(&of(20.0, 3.4, 10)).unwrap(), 2.432_213, 1e-6);
    }
}
