//! What comes of a claim.

use crate::claim::{Class, Kind};
use crate::number::shortest;
use headway_record::FEWEST_RUNS;
use headway_units::counted;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What the runs say of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Verdict {
    /// Inside the tolerance.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// Sign or order only.
    #[serde(rename = "trend")]
    Trend,
    /// The contradiction is shown, with the nearest feasible value.
    #[serde(rename = "explained")]
    Explained,
    /// A definition or an input that tests hold.
    #[serde(rename = "tested")]
    Tested,
    /// Outside the tolerance.
    #[serde(rename = "not reproduced")]
    NotReproduced,
    /// The paper says too little to measure anything.
    #[serde(rename = "not measurable")]
    NotMeasurable,
    /// Cells are missing, or have fewer runs than prove anything.
    #[serde(rename = "not run")]
    NotRun,
}

impl Verdict {
    /// Every verdict, the best first.
    pub const ALL: [Self; 7] = [
        Self::Reproduced,
        Self::Trend,
        Self::Explained,
        Self::Tested,
        Self::NotReproduced,
        Self::NotMeasurable,
        Self::NotRun,
    ];

    /// What it is called.
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

/// A check with what was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The number, in words.
    pub what: String,
    /// Where it must lie, in words.
    pub bound: String,
    /// The paper's number of the same kind, if it has one.
    pub paper_value: Option<f64>,
    /// ns-2's.
    pub ns2_value: Option<f64>,
    /// Ours: the mean over runs.
    pub value: Option<f64>,
    /// Half the width of its 95 % interval; none if all runs gave the same value.
    pub ci95: Option<f64>,
    /// How many runs.
    pub runs: usize,
    /// Whether the whole interval lies where it must; none if it was not run, or not often enough.
    pub holds: Option<bool>,
}

/// A claim with its verdict, as `headway papers check --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The claim's name.
    pub id: String,
    /// The paper's.
    pub paper: String,
    /// What the paper gives for replicating it.
    pub class: Class,
    /// What sort it is.
    pub kind: Kind,
    /// Where the paper says it.
    #[serde(rename = "where")]
    pub place: String,
    /// What it says.
    pub statement: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The paper's number.
    pub paper_value: Option<f64>,
    /// ns-2's number of the same kind.
    pub ns2_value: Option<f64>,
    /// Ours: that of the first check that does not hold, or of the first.
    pub value: Option<f64>,
    /// Half the width of its 95 % interval; none if all runs gave the same value.
    pub ci95: Option<f64>,
    /// How many runs.
    pub runs: usize,
    /// Whether a parameter was chosen by the paper's results and the claim does not hold without that choice.
    pub fitted: bool,
    /// Why this verdict.
    pub reason: String,
    /// The checks, or those of the explanation.
    pub checks: Vec<Finding>,
    /// The reading under which this is the verdict; empty if nothing was measured, or the paper names no reading.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reading: String,
    /// Verdicts under the other readings that change its checks or its explanation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<UnderReading>,
}

/// A claim's verdict under a reading other than the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnderReading {
    /// The reading's name.
    pub reading: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Headway's number: that of the first check that does not hold, or of the first.
    pub value: Option<f64>,
    /// Half the width of its 95 % interval; none if all runs gave the same value.
    pub ci95: Option<f64>,
    /// Why this verdict.
    pub reason: String,
    /// Results under other assumptions that the reading changes; empty if there are none. They do not count.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub beside: String,
    /// The checks, or those of the explanation.
    pub checks: Vec<Finding>,
}

impl UnderReading {
    /// Returns `beside` after a space, or nothing if it is empty.
    pub(crate) fn spaced_beside(&self) -> String {
        if self.beside.is_empty() { String::new() } else { format!(" {}", self.beside) }
    }
}

impl Judgement {
    /// Whether it is as it must be: a derivable claim is reproduced at least in its trend, or tested.
    #[must_use]
    pub fn is_acceptable(&self) -> bool {
        self.class != Class::Derivable || matches!(self.verdict, Verdict::Reproduced | Verdict::Trend | Verdict::Tested)
    }

    /// Whether another reading, of those that were run, gives another verdict.
    #[must_use]
    pub fn depends_on_reading(&self) -> bool {
        self.readings.iter().any(|under| under.verdict != Verdict::NotRun && under.verdict != self.verdict)
    }

    /// What was found under another reading, if that judges it.
    #[must_use]
    pub fn under(&self, reading: &str) -> Option<&UnderReading> {
        self.readings.iter().find(|under| under.reading == reading)
    }

    /// Whether it holds by a number that no parameter was chosen for.
    #[must_use]
    pub fn holds_unfitted(&self) -> bool {
        !self.fitted && matches!(self.verdict, Verdict::Reproduced | Verdict::Trend)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, bound, value, ci95, runs, holds, .. } = self;
        let not = if *holds == Some(false) { "not " } else { "" };
        let short = |number: f64| shortest(number);
        match (value, ci95, holds) {
            (Some(value), Some(ci95), Some(_)) => {
                write!(f, "{what} is {} +- {}, {not}{bound}", short(*value), short(*ci95))
            }
            (Some(value), None, Some(_)) => write!(f, "{what} is {}, {not}{bound}", short(*value)),
            (Some(_), ..) => write!(f, "{what} has {}, and {FEWEST_RUNS} are the fewest", counted(*runs as u64, "run")),
            (None, ..) => write!(f, "{what} has no value: not run, or nothing happened that it measures"),
        }
    }
}
