//! Checks of `claims.toml`: a number of the runs, and the bound that it must satisfy.

use crate::pattern::PatternError;
use crate::reduce::Reduce;
use headway_scenario::{hint, nearest};
use serde::Deserialize;
use std::fmt;
use std::ops::Bound as Edge;

/// Bound on a number that is computed from the runs. The whole 95 % confidence interval of the number must satisfy it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// The number is at most `tolerance` away from `value`.
    Within {
        /// Expected value.
        value: f64,
        /// Maximum distance of the number from `value`, in the metric's unit.
        tolerance: f64,
    },
    /// The number is at most `tolerance` times `value` away from `value`.
    WithinRatio {
        /// Expected value.
        value: f64,
        /// Tolerance as a fraction of `value`, such as 0.03.
        tolerance: f64,
    },
    /// The number is from `value / tolerance` to `value * tolerance`.
    Factor {
        /// Expected value, above 0.
        value: f64,
        /// Maximum factor between the number and `value`, 1 or more.
        tolerance: f64,
    },
    /// The number is at most this value.
    AtMost(f64),
    /// The number is at least this value.
    AtLeast(f64),
    /// The number is above this value.
    Above(f64),
    /// The number is below this value.
    Below(f64),
    /// The number is from the first value to the second, both inclusive.
    Between(f64, f64),
}

fn is_from(number: f64, from: Edge<f64>) -> bool {
    match from {
        Edge::Included(from) => number >= from,
        Edge::Excluded(from) => number > from,
        Edge::Unbounded => true,
    }
}

fn is_to(number: f64, to: Edge<f64>) -> bool {
    match to {
        Edge::Included(to) => number <= to,
        Edge::Excluded(to) => number < to,
        Edge::Unbounded => true,
    }
}

impl Bound {
    fn ends(&self) -> [Edge<f64>; 2] {
        match *self {
            Self::Within { value, tolerance } => [value - tolerance, value + tolerance].map(Edge::Included),
            Self::WithinRatio { value, tolerance } => {
                let deviation = (value * tolerance).abs();
                [value - deviation, value + deviation].map(Edge::Included)
            }
            Self::Factor { value, tolerance } => [value / tolerance, value * tolerance].map(Edge::Included),
            Self::AtMost(most) => [Edge::Unbounded, Edge::Included(most)],
            Self::AtLeast(least) => [Edge::Included(least), Edge::Unbounded],
            Self::Above(bound) => [Edge::Excluded(bound), Edge::Unbounded],
            Self::Below(bound) => [Edge::Unbounded, Edge::Excluded(bound)],
            Self::Between(from, to) => [from, to].map(Edge::Included),
        }
    }

    /// Whether some number from `low` to `high` satisfies the bound.
    fn can_hold(&self, (low, high): (f64, f64)) -> bool {
        let [from, to] = self.ends();
        is_from(high, from) && is_to(low, to)
    }

    /// Returns whether every number of an interval, from `low` to `high`, satisfies the bound.
    #[must_use]
    pub fn holds(&self, (low, high): (f64, f64)) -> bool {
        let [from, to] = self.ends();
        is_from(low, from) && is_to(high, to)
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

/// Values of `op`.
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

impl Op {
    const fn name(self) -> &'static str {
        match self {
            Self::Within => "within",
            Self::WithinRatio => "within_ratio",
            Self::Factor => "factor",
            Self::AtMost => "at_most",
            Self::AtLeast => "at_least",
            Self::Above => "above",
            Self::Below => "below",
            Self::Between => "between",
        }
    }
}

/// A check as written in `claims.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Written {
    metric: String,
    /// Patterns of cells; each may expand to several cells.
    pub(crate) cells: Vec<String>,
    #[serde(default)]
    reduce: Reduce,
    op: Op,
    /// Expected value; the paper's number if absent.
    value: Option<f64>,
    tolerance: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    /// Pattern: one check for each of its names; its variables can be used in `cells`.
    #[serde(default)]
    pub(crate) each: String,
}

/// A number computed from the runs of a paper, and the bound that it must satisfy.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Name of the metric whose values in the cells are reduced to the number.
    pub metric: String,
    /// Names of the cells (experiments) whose values are reduced to the number.
    pub cells: Vec<String>,
    /// Reduction of the values of the cells to one number.
    pub reduce: Reduce,
    /// Bound that the number must satisfy.
    pub bound: Bound,
}

/// Error in a check, or in another part of `claims.toml` that refers to cells (experiments) and metrics.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
#[non_exhaustive]
pub enum CheckError {
    #[error(transparent)]
    Pattern(#[from] PatternError),
    #[error("there is no cell \"{0}\"")]
    UnknownCell(String),
    #[error("there is no metric \"{name}\"{}", metric_hint(name, known))]
    UnknownMetric { name: String, known: Vec<String> },
    #[error("op = \"{op}\" needs {key}")]
    Missing { op: &'static str, key: &'static str },
    #[error("{key} has no effect with op = \"{op}\"")]
    NoEffect { op: &'static str, key: &'static str },
    #[error("{key} is {value}: expected {expected}")]
    OutOfRange { key: &'static str, value: f64, expected: &'static str },
    #[error("low is {low} and high is {high}: expected low <= high")]
    Empty { low: f64, high: f64 },
    #[error("reduce = \"{}\" needs {}, but this check has {cells}", reduce.name(), reduce.needs())]
    CellCount { reduce: Reduce, cells: usize },
    #[error("reduce = \"{}\" gives a number from {} to {}, but this check requires {bound}", reduce.name(), range.0, range.1)]
    Impossible { reduce: Reduce, range: (f64, f64), bound: Bound },
}

fn metric_hint(name: &str, known: &[String]) -> String {
    let known = || known.iter().map(String::as_str);
    let remedy = if nearest(name, known()).is_none() { ": define a [[metric]] with this name" } else { "" };
    hint(name, known()) + remedy
}

impl Written {
    /// Returns the check of `cells`; `paper` is the paper's number of the claim.
    pub(crate) fn check(&self, cells: Vec<String>, paper: Option<f64>) -> Result<Check, CheckError> {
        let reduce = self.reduce;
        let bound = self.bound(paper)?;
        if !reduce.accepts(cells.len()) {
            return Err(CheckError::CellCount { reduce, cells: cells.len() });
        }
        let range = reduce.range(cells.len());
        if !bound.can_hold(range) {
            return Err(CheckError::Impossible { reduce, range, bound });
        }
        Ok(Check { metric: self.metric.clone(), cells, reduce, bound })
    }

    fn bound(&self, paper: Option<f64>) -> Result<Bound, CheckError> {
        let (op, word) = (self.op, self.op.name());
        let allowed = |key, value, is_allowed, expected| {
            if is_allowed { Ok(value) } else { Err(CheckError::OutOfRange { key, value, expected }) }
        };
        let has = |key, number: Option<f64>| {
            let number = number.ok_or(CheckError::Missing { op: word, key })?;
            allowed(key, number, number.is_finite(), "a finite number")
        };
        let none = |key, number: Option<f64>| match number {
            Some(_) => Err(CheckError::NoEffect { op: word, key }),
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
            let (value, tolerance) = (has("value", self.value.or(paper))?, has("tolerance", self.tolerance)?);
            if op == Op::Factor {
                allowed("value", value, value > 0.0, "a number above 0 with op = \"factor\"")?;
                allowed("tolerance", tolerance, tolerance >= 1.0, "1 or more")?;
            }
            allowed("tolerance", tolerance, tolerance >= 0.0, "0 or more")?;
            Ok(bound(value, tolerance))
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
                let (low, high) = (has("low", self.low)?, has("high", self.high)?);
                if low > high { Err(CheckError::Empty { low, high }) } else { Ok(Bound::Between(low, high)) }
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

    /// Inclusive bounds hold at their edges, strict ones do not; beyond an edge neither holds.
    #[test]
    fn bounds_at_their_edges() {
        let epsilon = 1e-9;
        for (bound, low, high) in [
            (Bound::Within { value: 13.0, tolerance: 0.5 }, 12.5, 13.5),
            (Bound::WithinRatio { value: 200.0, tolerance: 0.25 }, 150.0, 250.0),
            (Bound::WithinRatio { value: -200.0, tolerance: 0.25 }, -250.0, -150.0),
            (Bound::Factor { value: 3.0, tolerance: 2.0 }, 1.5, 6.0),
            (Bound::Between(5.0, 8.0), 5.0, 8.0),
        ] {
            assert!(bound.holds((low, high)), "{bound}");
            assert!(!bound.holds((low - epsilon, high)), "{bound}");
            assert!(!bound.holds((low, high + epsilon)), "{bound}");
        }
        for (bound, holds, fails) in [
            (Bound::AtMost(1.0), (-9.0, 1.0), (-9.0, 1.0 + epsilon)),
            (Bound::AtLeast(1.0), (1.0, 9.0), (1.0 - epsilon, 9.0)),
            (Bound::Above(1.0), (1.0 + epsilon, 9.0), (1.0, 9.0)),
            (Bound::Below(1.0), (-9.0, 1.0 - epsilon), (-9.0, 1.0)),
        ] {
            assert!(bound.holds(holds), "{bound}");
            assert!(!bound.holds(fails), "{bound}");
        }
    }

    fn written(text: &str) -> Result<Check, String> {
        let written: Written = toml::from_str(text).map_err(|error| error.to_string())?;
        written.check(written.cells.clone(), Some(7.0)).map_err(|error| error.to_string())
    }

    #[test]
    fn the_papers_number_is_the_default_value() {
        let check = written("metric = \"m\"\ncells = [\"a\"]\nop = \"factor\"\ntolerance = 2").unwrap();
        assert_eq!(check.bound, Bound::Factor { value: 7.0, tolerance: 2.0 });
        let check = written("metric = \"m\"\ncells = [\"a\"]\nop = \"within\"\nvalue = 1\ntolerance = 2").unwrap();
        assert_eq!(check.bound, Bound::Within { value: 1.0, tolerance: 2.0 });
    }

    #[test]
    fn errors_name_the_key() {
        for (text, part) in [
            ("cells = [\"a\"]\nop = \"within\"", "op = \"within\" needs tolerance"),
            ("cells = [\"a\"]\nop = \"at_most\"\ntolerance = 1", "tolerance has no effect with op = \"at_most\""),
            ("cells = [\"a\"]\nop = \"between\"\nlow = 1", "op = \"between\" needs high"),
            ("cells = [\"a\"]\nop = \"below\"\nlow = 1", "low has no effect with op = \"below\""),
            ("cells = [\"a\", \"b\"]\nop = \"below\"", "reduce = \"value\" needs one cell, but this check has 2"),
            (
                "cells = [\"a\"]\nop = \"below\"\nreduce = \"tau\"",
                "reduce = \"tau\" needs two cells or more, but this check has 1",
            ),
            (
                "cells = [\"a\"]\nop = \"below\"\nreduce = { share = { of = \"above\" } }",
                "reduce = \"share\" needs an even number of cells, but this check has 1",
            ),
            ("cells = [\"a\"]\nop = \"below\"\ntolerence = 1", "unknown field `tolerence`"),
        ] {
            let error = written(&format!("metric = \"m\"\n{text}")).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    /// Such checks were once accepted, and their claims could never be reproduced.
    #[test]
    fn a_check_that_cannot_hold_is_an_error() {
        let check = |text: &str| written(&format!("metric = \"m\"\n{text}"));
        for (text, part) in [
            ("op = \"between\"\nlow = 5\nhigh = 1", "low is 5 and high is 1: expected low <= high"),
            ("op = \"within\"\ntolerance = -1", "tolerance is -1: expected 0 or more"),
            ("op = \"within_ratio\"\ntolerance = -0.5", "tolerance is -0.5: expected 0 or more"),
            ("op = \"factor\"\ntolerance = 0.5", "tolerance is 0.5: expected 1 or more"),
            ("op = \"factor\"\nvalue = 0\ntolerance = 2", "value is 0: expected a number above 0"),
            ("op = \"above\"\nvalue = inf", "value is inf: expected a finite number"),
            ("op = \"within\"\ntolerance = nan", "tolerance is NaN: expected a finite number"),
        ] {
            let error = check(&format!("cells = [\"a\"]\n{text}")).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        for (text, part) in [
            (
                "reduce = \"tau\"\nop = \"above\"\nvalue = 1",
                "\"tau\" gives a number from -1 to 1, but this check requires above 1",
            ),
            ("reduce = \"peak\"\nop = \"at_least\"\nvalue = 3", "from 1 to 2, but this check requires at least 3"),
            ("reduce = { share = { of = \"above\" } }\nop = \"within\"\nvalue = 50\ntolerance = 5", "from 0 to 1"),
            ("reduce = \"spread_ratio\"\nop = \"below\"\nvalue = 0", "from 0 to inf"),
        ] {
            let error = check(&format!("cells = [\"a\", \"b\"]\n{text}")).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        for text in
            ["reduce = \"tau\"\nop = \"at_least\"\nvalue = 1", "reduce = \"peak\"\nop = \"between\"\nlow = 2\nhigh = 2"]
        {
            assert!(check(&format!("cells = [\"a\", \"b\"]\n{text}")).is_ok(), "{text}");
        }
    }
}
