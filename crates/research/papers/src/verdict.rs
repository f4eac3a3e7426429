//! Verdicts on claims, and the results of their checks. [`Evidence::judge`](crate::Evidence::judge) decides a verdict.

use crate::claim::{Class, Kind};
use crate::number::shortest;
use headway_record::MIN_RUNS;
use headway_units::counted;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Outcome of testing a claim by runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Verdict {
    /// Every check holds: each interval lies inside its bound.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// Only the sign or the order holds, not the number.
    #[serde(rename = "trend")]
    Trend,
    /// The runs show the contradiction, with the nearest feasible value.
    #[serde(rename = "explained")]
    Explained,
    /// A definition that tests cover, or an input that is read back.
    #[serde(rename = "tested")]
    Tested,
    /// A check fails.
    #[serde(rename = "not reproduced")]
    NotReproduced,
    /// The paper does not state enough to measure anything.
    #[serde(rename = "not measurable")]
    NotMeasurable,
    /// Cells are missing, or have fewer than [`MIN_RUNS`] runs.
    #[serde(rename = "not run")]
    NotRun,
}

impl Verdict {
    /// All verdicts, best first.
    pub const ALL: [Self; 7] = [
        Self::Reproduced,
        Self::Trend,
        Self::Explained,
        Self::Tested,
        Self::NotReproduced,
        Self::NotMeasurable,
        Self::NotRun,
    ];

    /// Returns the name, as in `results.json`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Trend => "trend",
            Self::Explained => "explained",
            Self::Tested => "tested",
            Self::NotReproduced => "not reproduced",
            Self::NotMeasurable => "not measurable",
            Self::NotRun => "not run",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A check with its measured value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckResult {
    /// Description of the checked number.
    pub what: String,
    /// Description of the bound.
    pub bound: String,
    /// The same number in the paper, if stated.
    pub paper_value: Option<f64>,
    /// The same number in ns-2, if measured.
    pub ns2_value: Option<f64>,
    /// Headway's number: the mean over runs.
    pub value: Option<f64>,
    /// Half the width of its 95 % interval; none if all runs gave the same value.
    pub ci95: Option<f64>,
    /// Number of runs.
    pub runs: usize,
    /// Whether the whole interval lies inside the bound; none with too few runs.
    pub holds: Option<bool>,
}

/// A claim with its verdict, as `headway papers check --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// ID of the claim.
    pub id: String,
    /// ID of the paper.
    pub paper: String,
    /// Whether the paper states enough to replicate the claim.
    pub class: Class,
    /// Kind of the claim.
    pub kind: Kind,
    /// Place in the paper.
    #[serde(rename = "where")]
    pub place: String,
    /// Statement of the paper.
    pub statement: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The paper's number.
    pub paper_value: Option<f64>,
    /// The same number in ns-2.
    pub ns2_value: Option<f64>,
    /// Headway's number: that of the first check that does not hold, else of the first check.
    pub value: Option<f64>,
    /// Half the width of its 95 % interval; none if all runs gave the same value.
    pub ci95: Option<f64>,
    /// Number of runs.
    pub runs: usize,
    /// Whether a parameter was fitted to the paper's results and the claim depends on that choice.
    pub fitted: bool,
    /// Reason for the verdict.
    pub reason: String,
    /// The checks, or those of the explanation.
    pub checks: Vec<CheckResult>,
    /// The reading of this verdict; empty if nothing was measured or the paper has no readings.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reading: String,
    /// Verdicts under the other readings that change its checks or its explanation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<UnderReading>,
}

/// A claim's verdict under a reading other than the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnderReading {
    /// Name of the reading.
    pub reading: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Headway's number: that of the first check that does not hold, else of the first check.
    pub value: Option<f64>,
    /// Half the width of its 95 % interval; none if all runs gave the same value.
    pub ci95: Option<f64>,
    /// Reason for the verdict.
    pub reason: String,
    /// Results under other assumptions that the reading changes; empty if there are none. They do not affect the
    /// verdict.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub additional: String,
    /// The checks, or those of the explanation.
    pub checks: Vec<CheckResult>,
}

impl UnderReading {
    /// Returns `additional` with a leading space, or an empty string.
    pub(crate) fn spaced_additional(&self) -> String {
        if self.additional.is_empty() { String::new() } else { format!(" {}", self.additional) }
    }
}

impl Judgement {
    /// Whether the verdict is acceptable: a derivable claim must be reproduced, at least in its trend, or tested.
    #[must_use]
    pub fn is_acceptable(&self) -> bool {
        self.class != Class::Derivable || matches!(self.verdict, Verdict::Reproduced | Verdict::Trend | Verdict::Tested)
    }

    /// Whether another reading that was run gives a different verdict.
    #[must_use]
    pub fn depends_on_reading(&self) -> bool {
        self.readings.iter().any(|under| under.verdict != Verdict::NotRun && under.verdict != self.verdict)
    }

    /// Returns the verdict under another reading, if that reading judges the claim.
    #[must_use]
    pub fn under(&self, reading: &str) -> Option<&UnderReading> {
        self.readings.iter().find(|under| under.reading == reading)
    }

    /// Whether the claim holds without a fitted parameter.
    #[must_use]
    pub fn holds_unfitted(&self) -> bool {
        !self.fitted && matches!(self.verdict, Verdict::Reproduced | Verdict::Trend)
    }
}

impl fmt::Display for CheckResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, bound, value, ci95, runs, holds, .. } = self;
        let not = if *holds == Some(false) { "not " } else { "" };
        let short = |number: f64| shortest(number);
        match (value, ci95, holds) {
            (Some(value), Some(ci95), Some(_)) => {
                write!(f, "{what} is {} +- {}, {not}{bound}", short(*value), short(*ci95))
            }
            (Some(value), None, Some(_)) => write!(f, "{what} is {}, {not}{bound}", short(*value)),
            (Some(_), ..) => {
                write!(f, "{what} has {}; at least {MIN_RUNS} are needed", counted(*runs as u64, "run"))
            }
            (None, ..) => write!(f, "{what} has no value: the cell was not run, or no event occurred that it measures"),
        }
    }
}
