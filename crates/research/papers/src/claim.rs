//! Claims of a paper, as written in `[[claim]]` and as judged.

use crate::check::{Bound, Check, CheckError, Written as WrittenCheck};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Whether a paper states enough to replicate a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// The claim follows from what the paper states.
    Derivable,
    /// The claim depends on a parameter that the paper does not state.
    NeedsAssumption,
    /// The claim contradicts physics or the paper itself.
    Contradictory,
}

impl Class {
    /// Returns the name of the class, as in `claims.toml`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Derivable => "derivable",
            Self::NeedsAssumption => "needs-assumption",
            Self::Contradictory => "contradictory",
        }
    }
}

/// Kind of a claim of a paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The claim states a measured number.
    Number,
    /// The claim states that one quantity is larger than another.
    Ordering,
    /// The claim states that one quantity grows or falls with another.
    Trend,
    /// The claim states the form of a curve.
    Shape,
    /// The claim states a rule or a formula.
    Definition,
    /// The claim states a setting of the experiments, which is read back from the runs and is not a result.
    Input,
}

/// A claim of a paper, with the checks that decide whether the runs reproduce it.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// ID of the claim, such as `lan.fig3.a`, which does not change.
    pub id: String,
    /// Whether the paper states enough to replicate the claim.
    pub class: Class,
    /// Kind of the claim.
    pub kind: Kind,
    /// Place of the claim in the paper, such as a figure or a section.
    pub place: String,
    /// Statement of the paper that is tested.
    pub statement: String,
    /// Number that the paper states; `None` if it states none.
    pub paper: Option<f64>,
    /// Cell (experiment) for which tables show the paper's number; `None` for the cell of the first check.
    pub cell: Option<String>,
    /// Checks, all of which must hold for the claim to be reproduced.
    pub checks: Vec<Check>,
    /// Checks, all of which must hold for the trend of the claim to be reproduced.
    pub trend: Vec<Check>,
    /// Contradiction with physics or within the paper, because of which the claim cannot hold, and the checks that show
    /// it; `None` if there is none.
    pub explain: Option<Explain>,
    /// Checks under assumptions other than the claim's, whose results do not affect the verdict; `None` if there are
    /// none.
    pub additional: Option<Explain>,
    /// Name of the reading (interpretation of the paper) under which `checks` judge the claim; `None` if nothing is
    /// measured or the paper has no readings.
    pub reading: Option<String>,
    /// Checks of the claim under each reading other than the first that changes them.
    pub readings: Vec<ReadingChecks>,
    /// Tests in Headway's code that cover the claim, a definition or an input, as `path::function`.
    pub tests: Vec<String>,
    /// Whether a parameter was fitted to the paper's results and the claim depends on that choice.
    pub fitted: bool,
    /// Reason why the claim cannot be measured; `None` if it can.
    pub unmeasurable: Option<String>,
    /// Remark that is appended to the reason of the verdict.
    pub note: String,
}

impl Claim {
    /// Returns every check of the first reading, including those of the explanation and of `additional`.
    pub(crate) fn all_checks(&self) -> impl Iterator<Item = &Check> {
        let explained = self.explain.iter().chain(&self.additional).flat_map(|explain| &explain.checks);
        self.checks.iter().chain(&self.trend).chain(explained)
    }

    /// Returns the cells that the verdicts under all readings need.
    pub(crate) fn cells(&self) -> BTreeSet<String> {
        let readings = self.readings.iter().flat_map(|under| {
            let additional = under.additional.iter().flat_map(|additional| &additional.checks);
            under.deciding_checks().chain(additional)
        });
        self.all_checks().chain(readings).flat_map(|check| check.cells.iter().cloned()).collect()
    }

    /// Whether the first check is comparable with the paper's number: the check of "4 Mb/s" may be a utilization of at
    /// least 85 %.
    pub(crate) fn compares(&self) -> bool {
        let (Some(number), Some(check)) = (self.paper, self.checks.first()) else { return true };
        match check.bound {
            _ if self.cell.is_some() => true,
            Bound::AtMost(most) | Bound::Below(most) => number <= most,
            Bound::AtLeast(least) | Bound::Above(least) => number == least,
            _ => true,
        }
    }
}

/// Checks of a claim under a reading other than the first.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadingChecks {
    /// Name of the reading (interpretation of the paper).
    pub reading: String,
    /// Checks, all of which must hold under this reading for the claim to be reproduced.
    pub checks: Vec<Check>,
    /// Checks, all of which must hold under this reading for the trend of the claim to be reproduced.
    pub trend: Vec<Check>,
    /// Contradiction with physics or within the paper, because of which the claim cannot hold, and the checks that show
    /// it; `None` if there is none.
    pub explain: Option<Explain>,
    /// The checks under other assumptions ([`Claim::additional`]) that this reading changes. Their results do not
    /// affect the verdict.
    pub additional: Option<Explain>,
}

impl ReadingChecks {
    pub(crate) fn deciding_checks(&self) -> impl Iterator<Item = &Check> {
        let explained = self.explain.iter().flat_map(|explain| &explain.checks);
        self.checks.iter().chain(&self.trend).chain(explained)
    }
}

/// A text and the checks that support it. The text describes a contradiction with physics or within the paper
/// ([`Claim::explain`]), or the assumptions of a result under assumptions other than the claim's
/// ([`Claim::additional`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Explain {
    /// Description of the contradiction, or of the other assumptions.
    pub text: String,
    /// Checks that support the text. The first check of a contradiction gives the nearest feasible value.
    pub checks: Vec<Check>,
}

/// A claim as written in `claims.toml`.
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
    additional: Option<WrittenExplain>,
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

/// Error in a `[[claim]]` of `claims.toml`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
#[non_exhaustive]
pub enum ClaimError {
    #[error(transparent)]
    Check(#[from] CheckError),
    #[error("measurable = false needs a note with the reason")]
    NoReason,
    #[error("a definition needs test, or a note that describes what is missing")]
    NoTests,
    #[error("test is allowed only with kind = \"definition\" or \"input\"")]
    Tested,
    #[error("test cannot be combined with check, trend or explain")]
    TestedAndMeasured,
    #[error("explain needs at least one check")]
    ExplanationWithoutCheck,
    #[error("explain needs class = \"contradictory\"")]
    NotContradictory,
    #[error("explain cannot be combined with check or trend")]
    CheckedAndExplained,
    #[error("the claim has no check: expected check, explain, or measurable = false")]
    Undecidable,
}

fn yes() -> bool {
    true
}

impl Written {
    /// Returns the claim with its checks expanded by `expand`, which also gets the paper's number.
    pub(crate) fn claim(
        self,
        expand: impl Fn(&[WrittenCheck], Option<f64>) -> Result<Vec<Check>, CheckError>,
    ) -> Result<Claim, ClaimError> {
        let expanded = |written: &Option<WrittenExplain>| match written {
            Some(written) => {
                expand(&written.check, self.paper).map(|checks| Some(Explain { text: written.text.clone(), checks }))
            }
            None => Ok(None),
        };
        let claim = Claim {
            checks: expand(&self.check, self.paper)?,
            trend: expand(&self.trend, self.paper)?,
            explain: expanded(&self.explain)?,
            additional: expanded(&self.additional)?,
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
        claim.check_keys()?;
        Ok(claim)
    }
}

impl Claim {
    fn check_keys(&self) -> Result<(), ClaimError> {
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
