//! Verdicts on claims, and the results of their checks. [`Evidence::judge`](crate::Evidence::judge) decides a verdict.

use crate::claim::{Class, Kind};
use crate::number::shortest;
use headway_record::MIN_RUNS;
use headway_units::counted;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Outcome of testing a claim of a paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Verdict {
    /// Every check of the claim holds: the 95 % interval of each number lies inside its bound.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// A check of the claim fails, but all checks of its `trend` hold, such as the sign or the order of numbers.
    #[serde(rename = "trend")]
    Trend,
    /// The claim contradicts physics or the paper itself; the runs show this, and the nearest feasible value.
    #[serde(rename = "explained")]
    Explained,
    /// The claim is a definition or an input that tests cover, or an input that is read back from the runs.
    #[serde(rename = "tested")]
    Tested,
    /// A check of the claim fails, and its trend does not hold; or the claim is a definition without tests.
    #[serde(rename = "not reproduced")]
    NotReproduced,
    /// The paper does not state enough to measure the claim.
    #[serde(rename = "not measurable")]
    NotMeasurable,
    /// Cells (experiments) that the claim needs were not run, or have fewer than [`MIN_RUNS`] runs.
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

    /// Returns the name of the verdict, as in `results.json`.
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

/// Result of a check: a number of the runs, compared with its bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckResult {
    /// Description of the checked number: metric, cells and reduction.
    pub what: String,
    /// Description of the bound that the number must satisfy.
    pub bound: String,
    /// The paper's value of the checked number; `None` if the paper states none.
    pub paper_value: Option<f64>,
    /// ns-2's value of the checked number; `None` if it was not measured.
    pub ns2_value: Option<f64>,
    /// Headway's value of the checked number, the mean over runs; `None` if it was not measured.
    pub value: Option<f64>,
    /// Half the width of the 95 % interval of `value`. `None` if all runs gave the same value, for a single run, and
    /// for a share of the points of a curve.
    pub ci95: Option<f64>,
    /// Number of runs over which `value` is the mean.
    pub runs: usize,
    /// Whether the whole 95 % interval of the number lies inside the bound; `None` if cells were not run or have too
    /// few runs.
    pub holds: Option<bool>,
}

/// A claim with its verdict, as `headway papers check --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgedClaim {
    /// ID of the claim.
    pub id: String,
    /// ID of the paper.
    pub paper: String,
    /// Whether the paper states enough to replicate the claim.
    pub class: Class,
    /// Kind of the claim.
    pub kind: Kind,
    /// Place of the claim in the paper, such as a figure or a section.
    #[serde(rename = "where")]
    pub place: String,
    /// Statement of the paper.
    pub statement: String,
    /// Verdict on the claim.
    pub verdict: Verdict,
    /// The paper's value of the claimed number; `None` if the paper states none.
    pub paper_value: Option<f64>,
    /// ns-2's number in the check that `value` is of; `None` if it was not measured with ns-2.
    pub ns2_value: Option<f64>,
    /// Headway's number in the first check that does not hold, else in the first check; `None` if it was not measured.
    pub value: Option<f64>,
    /// Half the width of the 95 % interval of `value`. `None` if all runs gave the same value, for a single run, and
    /// for a share of the points of a curve.
    pub ci95: Option<f64>,
    /// Number of runs over which `value` is the mean.
    pub runs: usize,
    /// Whether a parameter was fitted to the paper's results and the claim depends on that choice.
    pub fitted: bool,
    /// Reason for the verdict, as text.
    pub reason: String,
    /// Results of the claim's checks, or of the checks that show a contradiction.
    pub checks: Vec<CheckResult>,
    /// Reading (interpretation of the paper) of this verdict; empty if nothing was measured or the paper has no
    /// readings.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reading: String,
    /// Verdicts under the other readings of the paper that change the checks or the explanation of the claim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<UnderReading>,
}

/// A claim's verdict under a reading other than the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnderReading {
    /// Name of the reading (interpretation of the paper).
    pub reading: String,
    /// Verdict on the claim.
    pub verdict: Verdict,
    /// Headway's number in the first check that does not hold, else in the first check; `None` if it was not measured.
    pub value: Option<f64>,
    /// Half the width of the 95 % interval of `value`. `None` if all runs gave the same value, for a single run, and
    /// for a share of the points of a curve.
    pub ci95: Option<f64>,
    /// Reason for the verdict, as text.
    pub reason: String,
    /// Results of the checks under other assumptions ([`Claim::additional`](crate::Claim::additional)) that this
    /// reading changes; empty if there are none. They do not affect the verdict.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub additional: String,
    /// Results of the claim's checks, or of the checks that show a contradiction.
    pub checks: Vec<CheckResult>,
}

impl UnderReading {
    /// Returns `additional` with a leading space, or an empty string.
    pub(crate) fn spaced_additional(&self) -> String {
        if self.additional.is_empty() { String::new() } else { format!(" {}", self.additional) }
    }
}

impl JudgedClaim {
    /// Returns whether the verdict is acceptable. A claim that follows from what the paper states
    /// ([`Class::Derivable`]) needs [`Verdict::Reproduced`], [`Verdict::Trend`] or [`Verdict::Tested`]. Claims of other
    /// classes may have any verdict.
    #[must_use]
    pub fn is_acceptable(&self) -> bool {
        self.class != Class::Derivable || matches!(self.verdict, Verdict::Reproduced | Verdict::Trend | Verdict::Tested)
    }

    /// Returns whether the claim has a different verdict under another reading of the paper that was run.
    #[must_use]
    pub fn depends_on_reading(&self) -> bool {
        self.readings.iter().any(|under| under.verdict != Verdict::NotRun && under.verdict != self.verdict)
    }

    /// Returns the verdict under the reading of this name; `None` if that reading does not change the claim's checks.
    #[must_use]
    pub fn under(&self, reading: &str) -> Option<&UnderReading> {
        self.readings.iter().find(|under| under.reading == reading)
    }

    /// Returns whether the claim is reproduced, at least in its trend, without a parameter that was fitted to the
    /// paper's results.
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
