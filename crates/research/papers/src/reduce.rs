//! Reduction of the cells of a check to one number per run.

use crate::points::Share;
use crate::statistics::kendall_tau;
use serde::Deserialize;

/// Reduction of the values of several cells (experiments) to one number. The runs of one seed give a number; its mean
/// and 95 % interval are computed over the seeds. `Share` and `SpreadRatio` instead use all runs together. Two curves
/// are listed as the cells of the first, then as many of the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reduce {
    /// Value of the metric in the only cell (experiment).
    #[default]
    Value,
    /// Value of the first cell (experiment) minus that of the second.
    Difference,
    /// Excess of the first cell's value over the second's, in % of the second's.
    ExcessPct,
    /// Kendall's tau of the cells' values with their positions in the list: 1 if each value exceeds all earlier ones,
    /// -1 if each is below them.
    Tau,
    /// Largest relative increase from one cell's value to the next cell's, as a fraction of the former; negative if all
    /// decrease.
    LargestRise,
    /// Position in the list of the cell with the largest value, from 1; the first one of equal values.
    Peak,
    /// Mean over the values of the cells (experiments).
    Mean,
    /// Two curves: mean over the points of the first curve's value minus the second's.
    MeanDifference,
    /// Four curves: mean over the points of the first curve's value minus the second's, minus the mean of the third's
    /// minus the fourth's.
    MeanGain,
    /// Two curves: share of the points at which a condition holds. The condition at a point is tested with all its
    /// runs.
    Share(Share),
    /// Two curves: standard deviation over runs of the first divided by that of the second, as the geometric mean over
    /// points.
    SpreadRatio,
}

impl Reduce {
    /// Returns whether the reduction is defined for `cells` cells.
    #[must_use]
    pub fn accepts(self, cells: usize) -> bool {
        match self {
            Self::Value => cells == 1,
            Self::Difference | Self::ExcessPct => cells == 2,
            Self::Tau | Self::LargestRise | Self::Peak | Self::Mean => cells > 1,
            Self::MeanDifference | Self::Share(_) | Self::SpreadRatio => cells > 0 && cells.is_multiple_of(2),
            Self::MeanGain => cells > 0 && cells.is_multiple_of(4),
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Difference => "difference",
            Self::ExcessPct => "excess_pct",
            Self::Tau => "tau",
            Self::LargestRise => "largest_rise",
            Self::Peak => "peak",
            Self::Mean => "mean",
            Self::MeanDifference => "mean_difference",
            Self::MeanGain => "mean_gain",
            Self::Share(_) => "share",
            Self::SpreadRatio => "spread_ratio",
        }
    }

    pub(crate) const fn needs(self) -> &'static str {
        match self {
            Self::Value => "one cell",
            Self::Difference | Self::ExcessPct => "two cells",
            Self::Tau | Self::LargestRise | Self::Peak | Self::Mean => "two cells or more",
            Self::MeanDifference | Self::Share(_) | Self::SpreadRatio => "an even number of cells",
            Self::MeanGain => "a multiple of four cells",
        }
    }

    /// Returns the smallest and the largest possible result for this many cells.
    pub(crate) const fn range(self, cells: usize) -> (f64, f64) {
        match self {
            Self::Tau => (-1.0, 1.0),
            Self::Peak => (1.0, cells as f64),
            Self::Share(_) => (0.0, 1.0),
            Self::SpreadRatio => (0.0, f64::INFINITY),
            _ => (f64::NEG_INFINITY, f64::INFINITY),
        }
    }

    /// Returns the reduction of the cells' values in one run (seed). Returns `None` for a wrong number of values, a
    /// division by 0, or a reduction that needs all runs.
    #[must_use]
    pub fn of(self, values: &[f64]) -> Option<f64> {
        if !self.accepts(values.len()) {
            return None;
        }
        let (first, second) = values.split_at(values.len() / 2);
        let number = match (self, values) {
            (Self::Value, [only]) => *only,
            (Self::Difference, [a, b]) => a - b,
            (Self::ExcessPct, [a, b]) => 100.0 * (a - b) / b,
            (Self::Tau, [_, _, ..]) => kendall_tau(values),
            (Self::LargestRise, [_, _, ..]) => {
                values.windows(2).map(|pair| (pair[1] - pair[0]) / pair[0]).fold(f64::NEG_INFINITY, f64::max)
            }
            (Self::Peak, [_, _, ..]) => {
                let best =
                    (1..values.len()).fold(0, |best, next| if values[next] > values[best] { next } else { best });
                (best + 1) as f64
            }
            (Self::Mean, _) => mean(values),
            (Self::MeanDifference, _) => mean(first) - mean(second),
            (Self::MeanGain, _) => Self::MeanDifference.of(first)? - Self::MeanDifference.of(second)?,
            _ => return None,
        };
        number.is_finite().then_some(number)
    }

    /// Describes the reduced number of these cells in words.
    #[must_use]
    pub fn words(self, cells: &[String]) -> String {
        match (self, cells) {
            (Self::Value, [only]) => format!("of {only}"),
            (Self::Difference, [a, b]) => format!("of {a} minus that of {b}"),
            (Self::ExcessPct, [a, b]) => format!("of {a} above that of {b}, in %"),
            (Self::MeanDifference | Self::Share(_) | Self::SpreadRatio, [_, _, ..]) => {
                let (first, second) = cells.split_at(cells.len() / 2);
                let (first, second) = (span(first), span(second));
                match self {
                    Self::Share(share) => {
                        let only = share.where_second_below.map(|bound| format!(", where that is below {bound}"));
                        let what = share.words();
                        format!("share of points where {first} is {what} {second}{}", only.unwrap_or_default())
                    }
                    Self::SpreadRatio => format!("spread over runs of {first}, divided by that of {second}"),
                    _ => format!("mean of {first} minus that of {second}"),
                }
            }
            (Self::MeanGain, [_, _, _, _, ..]) => {
                let quarters: Vec<String> = cells.chunks(cells.len() / 4).map(span).collect();
                let [a, b, c, d] = &quarters[..] else { return String::new() };
                format!("mean of {a} minus {b}, above that of {c} minus {d}")
            }
            (_, [first, .., last]) => {
                let what = match self {
                    Self::Tau => "Kendall's tau",
                    Self::LargestRise => "largest rise",
                    Self::Mean => "mean",
                    _ => "place of the peak",
                };
                format!("from {first} to {last}, {what}")
            }
            _ => String::new(),
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn span(cells: &[String]) -> String {
    match cells {
        [only] => only.clone(),
        [first, .., last] => format!("{first} to {last}"),
        [] => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reduction() {
        for (reduce, values, expected) in [
            (Reduce::Value, &[3.0][..], Some(3.0)),
            (Reduce::Value, &[3.0, 4.0], None),
            (Reduce::Difference, &[3.0, 4.0], Some(-1.0)),
            (Reduce::ExcessPct, &[1.1, 1.0], Some(10.000_000_000_000_009)),
            (Reduce::ExcessPct, &[1.0, 0.0], None),
            (Reduce::Tau, &[1.0, 2.0, 3.0], Some(1.0)),
            (Reduce::Tau, &[1.0], None),
            (Reduce::LargestRise, &[8.0, 4.0, 5.0], Some(0.25)),
            (Reduce::LargestRise, &[8.0, 4.0, 2.0], Some(-0.5)),
            (Reduce::Peak, &[8.0, 9.0, 9.0, 2.0], Some(2.0)),
            (Reduce::Mean, &[8.0, 9.0, 10.0], Some(9.0)),
            (Reduce::MeanDifference, &[8.0, 10.0, 4.0, 2.0], Some(6.0)),
            (Reduce::MeanDifference, &[8.0, 10.0, 4.0], None),
            (Reduce::MeanGain, &[8.0, 5.0, 6.0, 5.0], Some(2.0)),
            (Reduce::MeanGain, &[8.0, 5.0], None),
            (Reduce::SpreadRatio, &[8.0, 5.0], None),
        ] {
            assert_eq!(reduce.of(values), expected, "{reduce:?} {values:?}");
            assert!(expected.is_none() || reduce.accepts(values.len()), "{reduce:?}");
        }
    }

    /// Two curves have an even number of cells, four curves a multiple of four.
    #[test]
    fn each_reduction_accepts_its_number_of_cells() {
        for (reduce, expected) in [
            (Reduce::Value, &[1][..]),
            (Reduce::Difference, &[2]),
            (Reduce::Mean, &[2, 3, 4, 5, 6, 7, 8, 9]),
            (Reduce::MeanDifference, &[2, 4, 6, 8]),
            (Reduce::SpreadRatio, &[2, 4, 6, 8]),
            (Reduce::MeanGain, &[4, 8]),
        ] {
            let found: Vec<usize> = (0..10).filter(|cells| reduce.accepts(*cells)).collect();
            assert_eq!(found, expected, "{reduce:?}");
        }
    }

    /// Names are those of `claims.toml`.
    #[test]
    fn reductions_have_the_names_of_claims() {
        #[derive(Deserialize)]
        struct Written {
            reduce: Reduce,
        }
        for name in [
            "value",
            "difference",
            "excess_pct",
            "tau",
            "largest_rise",
            "peak",
            "mean",
            "mean_difference",
            "mean_gain",
            "spread_ratio",
        ] {
            let Written { reduce } = toml::from_str(&format!("reduce = '{name}'")).unwrap();
            assert_eq!(reduce.name(), name);
        }
        let Written { reduce } = toml::from_str("reduce = { share = { of = 'above' } }").unwrap();
        assert_eq!(reduce.name(), "share");
    }

    /// Numbers of cells that each reduction accepts, as messages describe them.
    #[test]
    fn needs_describe_the_accepted_numbers_of_cells() {
        for (needs, accepted) in [
            ("one cell", &[1][..]),
            ("two cells", &[2]),
            ("two cells or more", &[2, 3, 4, 5, 6, 7, 8]),
            ("an even number of cells", &[2, 4, 6, 8]),
            ("a multiple of four cells", &[4, 8]),
        ] {
            let all = [
                Reduce::Value,
                Reduce::Difference,
                Reduce::ExcessPct,
                Reduce::Tau,
                Reduce::LargestRise,
                Reduce::Peak,
                Reduce::Mean,
                Reduce::MeanDifference,
                Reduce::MeanGain,
                Reduce::SpreadRatio,
            ];
            let of_words: Vec<Reduce> = all.into_iter().filter(|reduce| reduce.needs() == needs).collect();
            assert!(!of_words.is_empty(), "{needs}");
            for reduce in of_words {
                assert_eq!((0..9).filter(|cells| reduce.accepts(*cells)).collect::<Vec<_>>(), accepted, "{reduce:?}");
            }
        }
    }

    /// No result is outside of the range, and the limits of a bounded range are reached.
    #[test]
    fn results_are_in_the_range_of_their_reduction() {
        for (reduce, values, limit) in [
            (Reduce::Tau, &[1.0, 2.0, 3.0][..], 1),
            (Reduce::Tau, &[3.0, 2.0, 1.0], 0),
            (Reduce::Peak, &[1.0, 2.0, 3.0], 1),
            (Reduce::Peak, &[3.0, 2.0, 1.0], 0),
        ] {
            let (from, to) = reduce.range(values.len());
            assert_eq!(reduce.of(values), Some([from, to][limit]), "{reduce:?}");
        }
        assert_eq!(Reduce::SpreadRatio.range(2), (0.0, f64::INFINITY));
        assert_eq!(Reduce::Difference.range(2), (f64::NEG_INFINITY, f64::INFINITY));
    }

    #[test]
    fn single_cells_and_pairs_are_described_by_their_names() {
        let cells = ["a", "b", "c"].map(str::to_owned);
        for (reduce, cells, words) in [
            (Reduce::Value, &cells[..1], "of a"),
            (Reduce::Difference, &cells[..2], "of a minus that of b"),
            (Reduce::ExcessPct, &cells[..2], "of a above that of b, in %"),
            (Reduce::MeanDifference, &cells[..2], "mean of a minus that of b"),
            (Reduce::SpreadRatio, &cells[..2], "spread over runs of a, divided by that of b"),
            (Reduce::Tau, &cells, "from a to c, Kendall's tau"),
            (Reduce::LargestRise, &cells, "from a to c, largest rise"),
            (Reduce::Peak, &cells, "from a to c, place of the peak"),
            (Reduce::Mean, &cells, "from a to c, mean"),
            (Reduce::Value, &[], ""),
        ] {
            assert_eq!(reduce.words(cells), words);
        }
    }

    #[test]
    fn curves_are_described_by_their_ends() {
        let cells = ["a.1", "a.2", "a.3", "b.1", "b.2", "b.3"].map(str::to_owned);
        let share = |text: &str| toml::from_str::<Share>(text).map(Reduce::Share).unwrap().words(&cells);
        assert_eq!(share("of = 'above'"), "share of points where a.1 to a.3 is above b.1 to b.3");
        assert_eq!(
            share("of = 'above'\ntimes = 1.1\nwhere_second_below = 90"),
            "share of points where a.1 to a.3 is above 1.1 times b.1 to b.3, where that is below 90"
        );
        assert_eq!(Reduce::MeanDifference.words(&cells), "mean of a.1 to a.3 minus that of b.1 to b.3");
        assert_eq!(Reduce::MeanGain.words(&cells[..4]), "mean of a.1 minus a.2, above that of a.3 minus b.1");
    }
}
