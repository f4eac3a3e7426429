//! A check: a number of the runs, and where it must lie, as `claims.toml` defines it.

use crate::reduce::Reduce;
use serde::Deserialize;
use std::fmt;

/// Where a number must lie, with its whole 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// At most `tolerance` away from `value`.
    Within {
        /// What is expected.
        value: f64,
        /// In the metric's unit.
        tolerance: f64,
    },
    /// At most `tolerance` times `value` away from it.
    WithinRatio {
        /// What is expected.
        value: f64,
        /// A part of it, such as 0.03.
        tolerance: f64,
    },
    /// From `value / tolerance` to `value * tolerance`.
    Factor {
        /// What is expected, above zero.
        value: f64,
        /// The factor, 1 or more.
        tolerance: f64,
    },
    /// Not more than this.
    AtMost(f64),
    /// Not less than this.
    AtLeast(f64),
    /// More than this.
    Above(f64),
    /// Less than this.
    Below(f64),
    /// From the first to the second.
    Between(f64, f64),
}

impl Bound {
    /// Whether everything from `low` to `high` lies where it must.
    #[must_use]
    pub fn holds(&self, (low, high): (f64, f64)) -> bool {
        let inside = |from: f64, to: f64| from <= low && high <= to;
        match *self {
            Self::Within { value, tolerance } => inside(value - tolerance, value + tolerance),
            Self::WithinRatio { value, tolerance } => {
                let room = (value * tolerance).abs();
                inside(value - room, value + room)
            }
            Self::Factor { value, tolerance } => inside(value / tolerance, value * tolerance),
            Self::AtMost(most) => high <= most,
            Self::AtLeast(least) => low >= least,
            Self::Above(bound) => low > bound,
            Self::Below(bound) => high < bound,
            Self::Between(from, to) => inside(from, to),
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Within { value, tolerance: 0.0 } => write!(f, "{value}"),
            Self::Within { value, tolerance } => write!(f, "within {tolerance} of {value}"),
            Self::WithinRatio { value, tolerance } => write!(f, "within {} % of {value}", 100.0 * tolerance),
            Self::Factor { value, tolerance } => write!(f, "within a factor of {tolerance} of {value}"),
            Self::AtMost(most) => write!(f, "at most {most}"),
            Self::AtLeast(least) => write!(f, "at least {least}"),
            Self::Above(bound) => write!(f, "above {bound}"),
            Self::Below(bound) => write!(f, "below {bound}"),
            Self::Between(from, to) => write!(f, "from {from} to {to}"),
        }
    }
}

/// The words of `op`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Op {
    Within,
    WithinRatio,
    Factor,
    AtMost,
    AtLeast,
    Above,
    Below,
    Between,
}

/// A check as `claims.toml` writes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Written {
    metric: String,
    /// Patterns of cells; each may give several.
    pub(crate) cells: Vec<String>,
    #[serde(default)]
    reduce: Reduce,
    op: Op,
    /// Absent: the paper's number.
    value: Option<f64>,
    tolerance: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    /// A pattern: a check for each of its names, its variables known in `cells`.
    #[serde(default)]
    pub(crate) each: String,
}

/// A number of the runs, and where it must lie.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Name of the metric.
    pub metric: String,
    /// Names of the cells.
    pub cells: Vec<String>,
    /// How they become one number.
    pub reduce: Reduce,
    /// Where it must lie.
    pub bound: Bound,
}

impl Written {
    /// With its patterns expanded into `cells`, for a claim with this number in the paper; `Err` says what is wrong.
    pub(crate) fn check(&self, cells: Vec<String>, paper: Option<f64>) -> Result<Check, String> {
        let bound = self.bound(paper)?;
        if !self.reduce.takes(cells.len()) {
            return Err(format!("{:?} does not go with {} cells", self.reduce, cells.len()));
        }
        Ok(Check { metric: self.metric.clone(), cells, reduce: self.reduce, bound })
    }

    fn bound(&self, paper: Option<f64>) -> Result<Bound, String> {
        let op = self.op;
        let has = |key: &str, number: Option<f64>| number.ok_or_else(|| format!("{op:?} needs {key}"));
        let none = |key: &str, number: Option<f64>| match number {
            Some(_) => Err(format!("{op:?} has no {key}")),
            None => Ok(()),
        };
        let one = |bound: fn(f64) -> Bound| {
            none("tolerance", self.tolerance)?;
            none("low", self.low)?;
            none("high", self.high)?;
            has("value", self.value.or(paper)).map(bound)
        };
        let around = |bound: fn(f64, f64) -> Bound| {
            none("low", self.low)?;
            none("high", self.high)?;
            Ok(bound(has("value", self.value.or(paper))?, has("tolerance", self.tolerance)?))
        };
        match op {
            Op::Within => around(|value, tolerance| Bound::Within { value, tolerance }),
            Op::WithinRatio => around(|value, tolerance| Bound::WithinRatio { value, tolerance }),
            Op::Factor => around(|value, tolerance| Bound::Factor { value, tolerance }),
            Op::AtMost => one(Bound::AtMost),
            Op::AtLeast => one(Bound::AtLeast),
            Op::Above => one(Bound::Above),
            Op::Below => one(Bound::Below),
            Op::Between => {
                none("value", self.value)?;
                none("tolerance", self.tolerance)?;
                Ok(Bound::Between(has("low", self.low)?, has("high", self.high)?))
            }
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.metric, self.reduce.words(&self.cells))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At its edge each bound holds (or not, if it is strict), a hair beyond it does not.
    #[test]
    fn bounds_at_their_edges() {
        let hair = 1e-9;
        for (bound, low, high) in [
            (Bound::Within { value: 13.0, tolerance: 0.5 }, 12.5, 13.5),
            (Bound::WithinRatio { value: 200.0, tolerance: 0.25 }, 150.0, 250.0),
            (Bound::WithinRatio { value: -200.0, tolerance: 0.25 }, -250.0, -150.0),
            (Bound::Factor { value: 3.0, tolerance: 2.0 }, 1.5, 6.0),
            (Bound::Between(5.0, 8.0), 5.0, 8.0),
        ] {
            assert!(bound.holds((low, high)), "{bound}");
            assert!(!bound.holds((low - hair, high)), "{bound}");
            assert!(!bound.holds((low, high + hair)), "{bound}");
        }
        for (bound, holds, fails) in [
            (Bound::AtMost(1.0), (-9.0, 1.0), (-9.0, 1.0 + hair)),
            (Bound::AtLeast(1.0), (1.0, 9.0), (1.0 - hair, 9.0)),
            (Bound::Above(1.0), (1.0 + hair, 9.0), (1.0, 9.0)),
            (Bound::Below(1.0), (-9.0, 1.0 - hair), (-9.0, 1.0)),
        ] {
            assert!(bound.holds(holds), "{bound}");
            assert!(!bound.holds(fails), "{bound}");
        }
    }

    fn written(text: &str) -> Result<Check, String> {
        let written: Written = toml::from_str(text).map_err(|error| error.to_string())?;
        written.check(written.cells.clone(), Some(7.0))
    }

    #[test]
    fn the_papers_number_is_the_default_value() {
        let check = written("metric = \"m\"\ncells = [\"a\"]\nop = \"factor\"\ntolerance = 2").unwrap();
        assert_eq!(check.bound, Bound::Factor { value: 7.0, tolerance: 2.0 });
        let check = written("metric = \"m\"\ncells = [\"a\"]\nop = \"within\"\nvalue = 1\ntolerance = 2").unwrap();
        assert_eq!(check.bound, Bound::Within { value: 1.0, tolerance: 2.0 });
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in [
            ("cells = [\"a\"]\nop = \"within\"", "Within needs tolerance"),
            ("cells = [\"a\"]\nop = \"at_most\"\ntolerance = 1", "AtMost has no tolerance"),
            ("cells = [\"a\"]\nop = \"between\"\nlow = 1", "Between needs high"),
            ("cells = [\"a\"]\nop = \"below\"\nlow = 1", "Below has no low"),
            ("cells = [\"a\", \"b\"]\nop = \"below\"", "Value does not go with 2 cells"),
            ("cells = [\"a\"]\nop = \"below\"\nreduce = \"tau\"", "Tau does not go with 1 cells"),
            ("cells = [\"a\"]\nop = \"below\"\nreduce = { share = { of = \"above\" } }", "does not go with 1 cells"),
            ("cells = [\"a\"]\nop = \"below\"\ntolerence = 1", "unknown field `tolerence`"),
        ] {
            let error = written(&format!("metric = \"m\"\n{text}")).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
