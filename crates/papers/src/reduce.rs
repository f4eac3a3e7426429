//! From the cells that a check names to the one number that it judges, run by run.

use crate::statistics::kendall_tau;
use serde::Deserialize;

/// How the values of several cells become one. Cells are paired by seed: each run gives a number, and the interval is
/// that of these numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reduce {
    /// The value of the only cell.
    #[default]
    Value,
    /// The first less the second.
    Difference,
    /// By how many percent the first exceeds the second.
    ExcessPct,
    /// Kendall's tau of the values with their places: 1 if each exceeds those before it.
    Tau,
    /// The largest relative step up from one to the next, as a part of the former; negative if all fall.
    LargestRise,
    /// The place of the largest, from 1; the first of equals.
    Peak,
}

impl Reduce {
    /// How many cells it takes: exactly so many, or `None` for two or more.
    #[must_use]
    pub fn cells(self) -> Option<usize> {
        match self {
            Self::Value => Some(1),
            Self::Difference | Self::ExcessPct => Some(2),
            Self::Tau | Self::LargestRise | Self::Peak => None,
        }
    }

    /// The number; none if there are not as many values as it takes, or it divides by zero.
    #[must_use]
    pub fn of(self, values: &[f64]) -> Option<f64> {
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
            _ => return None,
        };
        number.is_finite().then_some(number)
    }

    /// What it says of these cells, in words.
    #[must_use]
    pub fn words(self, cells: &[String]) -> String {
        match (self, cells) {
            (Self::Value, [only]) => format!("of {only}"),
            (Self::Difference, [a, b]) => format!("of {a} less that of {b}"),
            (Self::ExcessPct, [a, b]) => format!("of {a} above that of {b}, in %"),
            (_, [first, .., last]) => {
                let what = match self {
                    Self::Tau => "Kendall's tau",
                    Self::LargestRise => "largest rise",
                    _ => "place of the peak",
                };
                format!("from {first} to {last}, {what}")
            }
            _ => String::new(),
        }
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
        ] {
            assert_eq!(reduce.of(values), expected, "{reduce:?} {values:?}");
            assert!(expected.is_none() || reduce.cells().is_none_or(|cells| cells == values.len()), "{reduce:?}");
        }
    }
}
