//! One claim of a paper, as `[[claim]]` writes it and as it is judged.

use crate::check::{Bound, Check, CheckError, Written as WrittenCheck};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What the paper gives for replicating a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// It follows from what the paper says.
    Derivable,
    /// It needs a parameter that the paper does not say.
    NeedsAssumption,
    /// It contradicts physics, or the paper itself.
    Contradictory,
}

impl Class {
    /// What it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Derivable => "derivable",
            Self::NeedsAssumption => "needs-assumption",
            Self::Contradictory => "contradictory",
        }
    }
}

/// What sort of claim it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A measured number.
    Number,
    /// One thing is larger than another.
    Ordering,
    /// Something grows or falls with something else.
    Trend,
    /// The form of a curve.
    Shape,
    /// A rule or a formula.
    Definition,
    /// A setting that the runs are given: it is read back, and is no result.
    Input,
}

/// A claim, checked and ready to be judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Its name, the same for ever.
    pub id: String,
    /// What the paper gives for replicating it.
    pub class: Class,
    /// What sort it is.
    pub kind: Kind,
    /// Where the paper says it.
    pub place: String,
    /// What it says.
    pub statement: String,
    /// Its number, if it has one.
    pub paper: Option<f64>,
    /// The cell in which tables show its number, if that is not the one in which it is judged.
    pub cell: Option<String>,
    /// What must hold for it to be reproduced: all of it.
    pub checks: Vec<Check>,
    /// What must hold for its trend to be reproduced.
    pub trend: Vec<Check>,
    /// What shows that it cannot hold as it stands.
    pub explain: Option<Explain>,
    /// Results under other assumptions, which do not count.
    pub beside: Option<Explain>,
    /// The reading under which `checks` judge it; none if nothing is judged, or the paper names no reading.
    pub reading: Option<String>,
    /// What it is judged by under each other reading that changes it.
    pub readings: Vec<ReadAs>,
    /// The tests of a definition or of an input, as `path::function`.
    pub tests: Vec<String>,
    /// Whether a parameter was chosen by the paper's results and the claim does not hold without that choice.
    pub fitted: bool,
    /// Why it cannot be measured, if so.
    pub unmeasurable: Option<String>,
    /// What a reader of its verdict should know.
    pub note: String,
}

impl Claim {
    /// Returns every check of the first reading, including those of explanations and of results that do not count.
    pub(crate) fn all_checks(&self) -> impl Iterator<Item = &Check> {
        let explained = self.explain.iter().chain(&self.beside).flat_map(|explain| &explain.checks);
        self.checks.iter().chain(&self.trend).chain(explained)
    }

    /// Returns the cells that its verdicts need, under every reading.
    pub(crate) fn cells(&self) -> BTreeSet<String> {
        let readings = self.readings.iter().flat_map(|under| {
            let beside = under.beside.iter().flat_map(|beside| &beside.checks);
            under.deciding_checks().chain(beside)
        });
        self.all_checks().chain(readings).flat_map(|check| check.cells.iter().cloned()).collect()
    }

    /// Whether what it is checked by is of the kind of the paper's number: of "4 Mb/s" a check may be that 85 % are filled.
    pub(crate) fn compares(&self) -> bool {
        let (Some(said), Some(check)) = (self.paper, self.checks.first()) else { return true };
        match check.bound {
            _ if self.cell.is_some() => true,
            Bound::AtMost(most) | Bound::Below(most) => said <= most,
            Bound::AtLeast(least) | Bound::Above(least) => said == least,
            _ => true,
        }
    }
}

/// A claim under another reading than the first.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadAs {
    /// The reading's name.
    pub reading: String,
    /// What must hold for the claim to be reproduced.
    pub checks: Vec<Check>,
    /// What must hold for its trend to be reproduced.
    pub trend: Vec<Check>,
    /// What shows that the claim cannot hold as written.
    pub explain: Option<Explain>,
    /// Results under other assumptions that the reading changes. They do not count.
    pub beside: Option<Explain>,
}

impl ReadAs {
    /// Returns the checks that decide the verdict.
    pub(crate) fn deciding_checks(&self) -> impl Iterator<Item = &Check> {
        let explained = self.explain.iter().flat_map(|explain| &explain.checks);
        self.checks.iter().chain(&self.trend).chain(explained)
    }
}

/// A sentence and the numbers that show it: why a claim cannot hold, or a result under other assumptions.
#[derive(Clone, Debug, PartialEq)]
pub struct Explain {
    /// The contradiction, or the other assumptions, in words.
    pub text: String,
    /// Numbers of the runs. Of a contradiction the first is the nearest feasible value.
    pub checks: Vec<Check>,
}

/// A claim as `claims.toml` writes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Written {
    pub(crate) id: String,
    class: Class,
    kind: Kind,
    #[serde(rename = "where")]
    place: String,
    statement: String,
    paper: Option<f64>,
    cell: Option<String>,
    #[serde(default)]
    check: Vec<WrittenCheck>,
    #[serde(default)]
    trend: Vec<WrittenCheck>,
    explain: Option<WrittenExplain>,
    beside: Option<WrittenExplain>,
    #[serde(default)]
    test: Vec<String>,
    #[serde(default)]
    fitted: bool,
    #[serde(default = "yes")]
    measurable: bool,
    #[serde(default)]
    note: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenExplain {
    text: String,
    check: Vec<WrittenCheck>,
}

/// Reason why a claim cannot be judged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
#[non_exhaustive]
pub enum ClaimError {
    #[error(transparent)]
    Check(#[from] CheckError),
    #[error("note is missing: it describes why the claim cannot be measured")]
    NoReason,
    #[error("a definition names its tests, or its note says what is missing")]
    NoTests,
    #[error("only a definition or an input is tested; other claims are measured")]
    Tested,
    #[error("a claim that is tested is not measured: leave test or the checks out")]
    TestedAndMeasured,
    #[error("an explanation shows its contradiction by a check")]
    ExplanationWithoutCheck,
    #[error("only a contradictory claim can be explained")]
    NotContradictory,
    #[error("a claim that is checked is not explained: write check or explain")]
    CheckedAndExplained,
    #[error("nothing decides this claim: write check or explain, or measurable = false")]
    Undecidable,
}

fn yes() -> bool {
    true
}

impl Written {
    /// Returns the claim with its checks expanded by `expand`, which is given the paper's number.
    pub(crate) fn claim(
        self,
        expand: impl Fn(&[WrittenCheck], Option<f64>) -> Result<Vec<Check>, CheckError>,
    ) -> Result<Claim, ClaimError> {
        let shown = |written: &Option<WrittenExplain>| match written {
            Some(written) => {
                expand(&written.check, self.paper).map(|checks| Some(Explain { text: written.text.clone(), checks }))
            }
            None => Ok(None),
        };
        let claim = Claim {
            checks: expand(&self.check, self.paper)?,
            trend: expand(&self.trend, self.paper)?,
            explain: shown(&self.explain)?,
            beside: shown(&self.beside)?,
            unmeasurable: (!self.measurable).then(|| self.note.clone()),
            id: self.id,
            class: self.class,
            kind: self.kind,
            place: self.place,
            statement: self.statement,
            paper: self.paper,
            cell: self.cell,
            reading: None,
            readings: Vec::new(),
            tests: self.test,
            fitted: self.fitted,
            note: self.note,
        };
        claim.check_itself()?;
        Ok(claim)
    }
}

impl Claim {
    /// Checks that the keys of the claim fit one another.
    fn check_itself(&self) -> Result<(), ClaimError> {
        let is_definition = self.kind == Kind::Definition;
        let is_measured = !is_definition && self.tests.is_empty();
        let explained = self.explain.as_ref().is_some_and(|explain| !explain.checks.is_empty());
        let error = if self.unmeasurable.as_deref() == Some("") {
            ClaimError::NoReason
        } else if is_definition && self.tests.is_empty() && self.note.is_empty() {
            ClaimError::NoTests
        } else if !matches!(self.kind, Kind::Definition | Kind::Input) && !self.tests.is_empty() {
            ClaimError::Tested
        } else if !is_measured && (!self.checks.is_empty() || !self.trend.is_empty() || explained) {
            ClaimError::TestedAndMeasured
        } else if self.explain.is_some() && !explained {
            ClaimError::ExplanationWithoutCheck
        } else if self.explain.is_some() && self.class != Class::Contradictory {
            ClaimError::NotContradictory
        } else if explained && !(self.checks.is_empty() && self.trend.is_empty()) {
            ClaimError::CheckedAndExplained
        } else if is_measured && self.checks.is_empty() && !explained && self.unmeasurable.is_none() {
            ClaimError::Undecidable
        } else {
            return Ok(());
        };
        Err(error)
    }
}
