//! Means of runs, and how far they can be trusted.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Student's t that 95 % of draws stay within, for so many degrees of freedom (Student 1908).
fn t95(degrees: f64) -> Option<f64> {
    StudentsT::new(0.0, 1.0, degrees).ok().map(|t| t.inverse_cdf(0.975))
}

/// A mean over runs with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of the 95 % interval; none of a single run.
    pub ci95: Option<f64>,
    /// How many runs there are.
    pub runs: usize,
}

impl Estimate {
    /// Of these samples, one a run: `mean +- t s / sqrt(n)`, s with n - 1 in its denominator. None of no samples.
    #[must_use]
    pub fn of(samples: &[f64]) -> Option<Self> {
        let runs = samples.len();
        if runs == 0 {
            return None;
        }
        let n = runs as f64;
        let first = samples[0];
        // Around the first sample: equal samples have exactly their value as mean, and an interval of no width.
        let mean = first + samples.iter().map(|sample| sample - first).sum::<f64>() / n;
        let variance = samples.iter().map(|sample| (sample - mean) * (sample - mean)).sum::<f64>() / (n - 1.0);
        let ci95 = (runs > 1).then(|| t95(n - 1.0).map(|t| t * (variance / n).sqrt())).flatten();
        Some(Self { mean, ci95, runs })
    }

    /// Of a cell in which nothing is drawn: one run says all.
    #[must_use]
    pub fn exact(value: f64) -> Self {
        Self { mean: value, ci95: Some(0.0), runs: 1 }
    }

    /// The 95 % interval.
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.ci95.map(|half| (self.mean - half, self.mean + half))
    }

    /// Half the width of Welch's 95 % interval of the difference of two means (Welch 1947); none if either is of one
    /// run.
    #[must_use]
    pub fn welch(&self, other: &Self) -> Option<f64> {
        // The squared standard error of each mean, back from its interval.
        let squared_error = |of: &Self| {
            let t = t95(of.runs as f64 - 1.0).filter(|_| of.runs > 1)?;
            of.ci95.map(|half| (half / t) * (half / t))
        };
        let (a, b) = (squared_error(self)?, squared_error(other)?);
        if a + b == 0.0 {
            return Some(0.0);
        }
        let degrees = |error: f64, runs: usize| error * error / (runs as f64 - 1.0);
        let degrees = (a + b) * (a + b) / (degrees(a, self.runs) + degrees(b, other.runs));
        t95(degrees).map(|t| t * (a + b).sqrt())
    }
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
    fn an_interval_by_hand() {
        let estimate = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        close(estimate.mean, 3.0, 1e-15);
        close(estimate.ci95.unwrap(), 1.963_243_2, 1e-7);
        assert_eq!(Estimate::of(&[4.0]).unwrap(), Estimate { mean: 4.0, ci95: None, runs: 1 });
        assert_eq!(Estimate::of(&[]), None);
    }

    #[test]
    fn equal_samples_have_no_width() {
        let estimate = Estimate::of(&[0.1; 10]).unwrap();
        assert_eq!((estimate.mean, estimate.ci95), (0.1, Some(0.0)));
    }

    /// n 10 and 20, s 3.4 and 4.7.
    #[test]
    fn welch_by_hand() {
        let of = |mean, s: f64, runs: usize| {
            let ci95 = t95(runs as f64 - 1.0).map(|t| t * s / (runs as f64).sqrt());
            Estimate { mean, ci95, runs }
        };
        // (1.156 + 1.1045)^2 / (1.156^2/9 + 1.1045^2/19) = 24.025; t(24.025) = 2.06379; sqrt(2.2605) = 1.503496.
        close(of(20.0, 3.4, 10).welch(&of(22.0, 4.7, 20)).unwrap(), 3.102_90, 2e-5);
        assert_eq!(Estimate::of(&[1.0]).unwrap().welch(&of(1.0, 1.0, 10)), None);
        let same = Estimate::of(&[2.0; 10]).unwrap();
        assert_eq!(same.welch(&same), Some(0.0));
    }
}
