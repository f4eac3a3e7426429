//! Comparisons of two curves point by point, with all runs of a point taken together.

use headway_record::Estimate;
use serde::Deserialize;

/// Share of the points of two curves at which a condition holds, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Condition that is tested at each point.
    pub of: ShareOf,
    /// Factor by which the second curve's values are multiplied.
    #[serde(default = "once")]
    pub times: f64,
    /// Only points at which the second curve's mean, before `times` is applied, is below this value are counted. `None`
    /// counts all points.
    pub where_second_below: Option<f64>,
}

fn once() -> f64 {
    1.0
}

/// Condition that is tested at each point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShareOf {
    /// The first curve is above the second (times `times`): the whole 95 % interval of their difference, paired by run,
    /// is above 0.
    Above,
    /// The first curve is below the second (times `times`): the whole 95 % interval of their difference, paired by run,
    /// is below 0.
    Below,
    /// The whole 95 % interval of the first curve's mean is above the whole interval of the second curve's mean.
    ClearlyAbove,
    /// The 95 % intervals of the means of both curves do not overlap.
    Apart,
}

/// A point of two curves: the values of both, paired by run.
pub(crate) type Point = Vec<(f64, f64)>;

impl Share {
    /// Returns the share of these points; none if no point counts, or one has too few runs for an interval.
    pub(crate) fn of(self, points: &[Point]) -> Option<f64> {
        let (mut counted, mut holds) = (0u32, 0u32);
        for point in points {
            let first: Vec<f64> = point.iter().map(|(first, _)| *first).collect();
            let second: Vec<f64> = point.iter().map(|(_, second)| second * self.times).collect();
            if self.where_second_below.is_some_and(|bound| mean(point) >= bound) {
                continue;
            }
            counted += 1;
            holds += u32::from(self.holds(&first, &second)?);
        }
        (counted > 0).then(|| f64::from(holds) / f64::from(counted))
    }

    fn holds(self, first: &[f64], second: &[f64]) -> Option<bool> {
        let interval = |samples: &[f64]| Estimate::of(samples)?.range();
        let pairs: Vec<(f64, f64)> = first.iter().copied().zip(second.iter().copied()).collect();
        let difference = || Estimate::of_differences(&pairs)?.range();
        Some(match self.of {
            ShareOf::Above => difference()?.0 > 0.0,
            ShareOf::Below => difference()?.1 < 0.0,
            ShareOf::ClearlyAbove => interval(first)?.0 > interval(second)?.1,
            ShareOf::Apart => {
                let (first, second) = (interval(first)?, interval(second)?);
                first.0 > second.1 || second.0 > first.1
            }
        })
    }

    pub(crate) fn words(self) -> String {
        let what = match self.of {
            ShareOf::Above => "above",
            ShareOf::Below => "below",
            ShareOf::ClearlyAbove => "clearly above",
            ShareOf::Apart => "apart from",
        };
        let times = if self.times == 1.0 { String::new() } else { format!(" {} times", self.times) };
        format!("{what}{times}")
    }
}

fn mean(point: &[(f64, f64)]) -> f64 {
    point.iter().map(|(_, second)| second).sum::<f64>() / point.len() as f64
}

/// Returns the spread of the first curve's runs relative to the second's: the geometric mean over points of the ratios
/// of the standard deviations, and half the width of its 95 % interval (Student on the logarithms of the ratios; the
/// longer half). There is no interval if all ratios are equal, and no result if fewer than two points have a ratio.
pub(crate) fn spread_ratio(points: &[Point]) -> Option<(f64, Option<f64>)> {
    let ratio = |point: &Point| {
        let deviation = |values: Vec<f64>| deviation(&values);
        let first = deviation(point.iter().map(|(first, _)| *first).collect())?;
        let second = deviation(point.iter().map(|(_, second)| *second).collect())?;
        Some(libm::log(first / second))
    };
    let ratios: Vec<f64> = points.iter().filter_map(ratio).collect();
    let estimate = Estimate::of(&ratios)?;
    let (_, high) = estimate.range()?;
    let half = libm::exp(high) - libm::exp(estimate.mean);
    Some((libm::exp(estimate.mean), estimate.ci95.map(|_| half)))
}

/// Returns the root of the sum of squared deviations; none if all values are equal. The divisor of a standard deviation
/// cancels in the ratio because both curves have the same number of runs.
fn deviation(values: &[f64]) -> Option<f64> {
    let mean = Estimate::of(values)?.mean;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    Some(squares.sqrt()).filter(|deviation| *deviation > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten runs: the first curve's mean is `first`, the second's 10, the standard deviations about 1. `together` makes
    /// the runs vary in step.
    fn point(first: f64, together: bool) -> Point {
        let swing = |run: i32| f64::from(2 * run - 9) / 6.0;
        (0..10).map(|run| (first + swing(run), 10.0 + swing(if together { run } else { 9 - run }))).collect()
    }

    fn share(of: ShareOf, times: f64, where_second_below: Option<f64>, points: &[Point]) -> f64 {
        Share { of, times, where_second_below }.of(points).unwrap()
    }

    /// The interval of each mean is +- 0.72: those of means 11 and 10 overlap, but paired runs differ by exactly 1.
    #[test]
    fn runs_are_paired_unless_intervals_are_compared() {
        for (of, together, apart) in [
            (ShareOf::Above, 1.0, 0.0),
            (ShareOf::Below, 0.0, 0.0),
            (ShareOf::ClearlyAbove, 0.0, 0.0),
            (ShareOf::Apart, 0.0, 0.0),
        ] {
            assert_eq!(share(of, 1.0, None, &[point(11.0, true)]), together, "{of:?}");
            assert_eq!(share(of, 1.0, None, &[point(11.0, false)]), apart, "{of:?}");
        }
        assert_eq!(share(ShareOf::ClearlyAbove, 1.0, None, &[point(12.0, true), point(8.0, true)]), 0.5);
        assert_eq!(share(ShareOf::Apart, 1.0, None, &[point(12.0, true), point(8.0, true)]), 1.0);
        assert_eq!(share(ShareOf::Below, 1.0, None, &[point(12.0, true), point(8.0, true)]), 0.5);
    }

    #[test]
    fn points_at_or_above_the_bound_are_not_counted() {
        let low: Point = point(15.0, true).into_iter().map(|(first, second)| (first, second - 5.0)).collect();
        let points = [point(10.0, true), low];
        assert_eq!(share(ShareOf::Above, 1.0, None, &points), 0.5);
        assert_eq!(share(ShareOf::Above, 1.0, Some(7.0), &points), 1.0);
        let none_left = Share { of: ShareOf::Above, times: 1.0, where_second_below: Some(5.0) };
        assert_eq!(none_left.of(&points), None, "5 is not below 5: no point is counted");
        // 12 is more than 1.1 times 10, and not more than 1.2 times.
        assert_eq!(share(ShareOf::Above, 1.1, None, &[point(12.0, true)]), 1.0);
        assert_eq!(share(ShareOf::Above, 1.2, None, &[point(12.0, true)]), 0.0);
    }

    #[test]
    fn one_run_has_no_interval() {
        assert_eq!(Share { of: ShareOf::Above, times: 1.0, where_second_below: None }.of(&[vec![(2.0, 1.0)]]), None);
    }

    /// The ratios 1, 2 and 4 have the geometric mean 2. Their logarithms have the standard error ln 2 / sqrt 3, and t
    /// of 2 degrees of freedom is 4.3027: 2 exp(1.7219) - 2 = 9.19.
    #[test]
    fn spread_ratio_has_a_logarithmic_interval() {
        let wide = |times: f64| -> Point {
            point(10.0, true).into_iter().map(|(first, second)| (10.0 + (first - 10.0) * times, second)).collect()
        };
        let (ratio, half) = spread_ratio(&[wide(1.0), wide(2.0), wide(4.0)]).unwrap();
        let half = half.unwrap();
        assert!((ratio - 2.0).abs() < 1e-12 && (half - 9.19).abs() < 0.01, "{ratio} {half}");
        assert_eq!(spread_ratio(&[wide(0.0), wide(2.0)]), None, "a point without variation has no ratio");
    }
}
