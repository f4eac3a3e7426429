//! `results.json`: the results of a paper's runs.

use crate::cell::Profile;
use crate::check::Check;
use crate::claim::{Claim, Kind};
use crate::claims::{Claims, Inferred};
use crate::judge::Evidence;
use crate::measured::Measured;
use crate::number::{Number, shortest};
use crate::paper::Paper;
use crate::reference::Reference;
use crate::timeline::Curve;
use crate::verdict::{CheckResult, Judgement, Verdict};
use headway_record::MIN_RUNS;
use headway_units::counted;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Profile, seeds and times of the runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunDetails {
    /// `default` or `full`.
    pub profile: String,
    /// Number of seeds; they start at 1.
    pub seeds: u64,
    /// Start and end of the measurement of each cell, in s.
    pub seconds: BTreeMap<String, [f64; 2]>,
}

/// Comparison of a metric of a cell with ns-2. They agree if the Welch 95 % interval of the difference lies inside the
/// margin, or the difference itself if all runs of both simulators give equal values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Cell.
    pub cell: String,
    /// Metric.
    pub metric: String,
    /// Headway's mean minus ns-2's.
    pub difference: f64,
    /// Half the width of the interval of the difference; none if all runs of both give equal values.
    pub ci95: Option<f64>,
    /// Largest difference that counts as agreement.
    pub margin: f64,
    /// Whether the interval lies inside the margin.
    pub agrees: bool,
}

/// The results of a paper's runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// ID of the paper.
    pub paper: String,
    /// Version of Headway.
    pub version: String,
    /// Profile, seeds and times of the runs.
    pub ran: RunDetails,
    /// Means, by cell and metric.
    #[serde(with = "crate::number::by_cell")]
    pub cells: BTreeMap<String, BTreeMap<String, Number>>,
    /// Curves of timelines, by cell and curve.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub curves: BTreeMap<String, BTreeMap<String, Curve>>,
    /// Comparisons with ns-2.
    pub agreement: Vec<Comparison>,
    /// Parameters that the paper does not state.
    pub inferred: Vec<Inferred>,
    /// Combined readings, by name. A claim that a combined reading does not judge has the verdict of the part that
    /// judges it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub combined: BTreeMap<String, Vec<String>>,
    /// Verdicts on the claims.
    pub claims: Vec<Judgement>,
}

/// Stored results that do not match the expected runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {what} of the stored results is {stored}; expected {expected}")]
pub struct ResultsMismatch {
    /// Differing property, such as `profile`.
    pub what: &'static str,
    /// Value in the stored results.
    pub stored: String,
    /// Expected value.
    pub expected: String,
}

impl ResultsMismatch {
    fn check(what: &'static str, expected: &str, stored: &str) -> Result<(), Self> {
        let [expected, stored] = [expected, stored].map(str::to_owned);
        if stored == expected { Ok(()) } else { Err(Self { what, stored, expected }) }
    }
}

impl Results {
    /// Judges the claims by the measured runs. `seconds` has the start and the end of the measurement of each cell.
    #[must_use]
    pub fn new(
        paper: &Paper,
        claims: &Claims,
        ns2: &Reference,
        profile: Profile,
        measured: &Measured,
        seconds: BTreeMap<String, [f64; 2]>,
    ) -> Self {
        let paper_values = claims.paper_values();
        let evidence = Evidence { measured, ns2, paper: &paper_values };
        let metrics = |cell: &str| {
            let number = |name: &str| measured.estimate(cell, name).map(Number::from);
            claims.metrics.iter().filter_map(|metric| Some((metric.name.to_owned(), number(metric.name)?))).collect()
        };
        Self {
            paper: paper.id.clone().into_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ran: RunDetails { profile: profile.name().to_owned(), seeds: claims.seeds.of(profile), seconds },
            cells: measured.cells().map(|cell| (cell.to_owned(), metrics(cell))).collect(),
            curves: measured.curves(),
            agreement: agreement(claims, ns2, measured),
            inferred: claims.inferred.clone(),
            combined: claims.combined(),
            claims: claims.claims.iter().map(|claim| evidence.judge(&paper.id, claim)).collect(),
        }
    }

    /// Checks that the results are of this version.
    ///
    /// # Errors
    /// If they are of another version.
    pub fn check_version(&self) -> Result<(), ResultsMismatch> {
        ResultsMismatch::check("version", env!("CARGO_PKG_VERSION"), &self.version)
    }

    /// Checks that runs of `paper` with this profile can complete these stored results.
    ///
    /// # Errors
    /// If they are of another paper, version, profile or number of seeds.
    pub fn check_fit(&self, paper: &Paper, claims: &Claims, profile: Profile) -> Result<(), ResultsMismatch> {
        for (what, ours, stored) in [
            ("paper", paper.id.as_ref(), &self.paper),
            ("version", env!("CARGO_PKG_VERSION"), &self.version),
            ("profile", profile.name(), &self.ran.profile),
            ("number of seeds", &claims.seeds.of(profile).to_string(), &self.ran.seeds.to_string()),
        ] {
            ResultsMismatch::check(what, ours, stored)?;
        }
        Ok(())
    }

    /// Adds cells of `stored` that these runs lack, and the stored verdicts that need them. A stored verdict is kept
    /// only if the claim still has the same checks.
    #[must_use]
    pub fn completed_by(mut self, claims: &Claims, ns2: &Reference, stored: Self) -> Self {
        let ran: BTreeSet<String> = self.cells.keys().cloned().collect();
        let known: BTreeSet<&str> = claims.cells.iter().map(|cell| cell.name.as_str()).collect();
        add(&mut self.cells, stored.cells, &known);
        add(&mut self.curves, stored.curves, &known);
        add(&mut self.ran.seconds, stored.ran.seconds, &known);
        let mut agreed: BTreeMap<(String, String), Comparison> = BTreeMap::new();
        for one in stored.agreement.into_iter().filter(|one| !ran.contains(&one.cell)).chain(self.agreement) {
            agreed.insert((one.cell.clone(), one.metric.clone()), one);
        }
        let in_order = ns2.iter().filter_map(|(cell, metric, _)| agreed.remove(&(cell.to_owned(), metric.to_owned())));
        self.agreement = in_order.collect();
        let mut before: BTreeMap<String, Judgement> =
            stored.claims.into_iter().map(|judged| (judged.id.clone(), judged)).collect();
        for (claim, judged) in claims.claims.iter().zip(&mut self.claims) {
            if let Some(before) = before.remove(&judged.id) {
                keep(claim, judged, before, &ran);
            }
        }
        self
    }

    /// Formats `results.json` with one line per cell and claim, so that the file is small and its diffs are readable.
    ///
    /// # Errors
    /// If the results cannot be represented in JSON.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let serde_json::Value::Object(whole) = serde_json::to_value(self)? else { return Ok(String::new()) };
        let name = |key: &String| serde_json::Value::from(key.as_str());
        let parts = whole.iter().map(|(key, value)| {
            let lines = |open: &str, lines: Vec<String>, close: &str| format!("{open}\n{}\n{close}", lines.join(",\n"));
            let value = match value {
                serde_json::Value::Object(entries) => {
                    lines("{", entries.iter().map(|(key, value)| format!("{}: {value}", name(key))).collect(), "}")
                }
                serde_json::Value::Array(entries) => lines("[", entries.iter().map(ToString::to_string).collect(), "]"),
                single => single.to_string(),
            };
            format!("{}: {value}", name(key))
        });
        Ok(format!("{{\n{}\n}}\n", parts.collect::<Vec<_>>().join(",\n")))
    }

    /// Returns the number of claims with each verdict.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<&'static str, usize> {
        let count = |verdict: Verdict| self.claims.iter().filter(|claim| claim.verdict == verdict).count();
        Verdict::ALL.into_iter().map(|verdict| (verdict.name(), count(verdict))).collect()
    }

    /// Returns the number of claims that hold without a fitted parameter.
    #[must_use]
    pub fn held_unfitted(&self) -> usize {
        self.claims.iter().filter(|claim| claim.holds_unfitted()).count()
    }

    /// Returns the number of inputs: claims that are read back and are not results.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.claims.iter().filter(|claim| claim.kind == Kind::Input).count()
    }

    /// Whether every derivable claim holds.
    #[must_use]
    pub fn is_acceptable(&self) -> bool {
        self.claims.iter().all(Judgement::is_acceptable)
    }

    /// Returns a metric of a cell.
    #[must_use]
    pub fn get(&self, cell: &str, metric: &str) -> Option<Number> {
        self.cells.get(cell)?.get(metric).copied()
    }

    /// Describes the number of runs of these cells. Deterministic cells, which have one run, are not counted.
    pub(crate) fn runs<'a>(&self, cells: impl Iterator<Item = &'a str>) -> String {
        let numbers = cells.filter_map(|cell| self.cells.get(cell)).flat_map(BTreeMap::values);
        let counts: BTreeSet<usize> = numbers.map(|number| number.runs).filter(|runs| *runs > 1).collect();
        match (counts.first(), counts.last()) {
            (Some(fewest), Some(most)) if fewest != most => format!("{fewest} to {most} runs"),
            (Some(runs), _) => format!("{runs} runs"),
            _ => counted(self.ran.seeds, "run"),
        }
    }

    /// Summarizes the verdicts in one line.
    #[must_use]
    pub fn summary(&self) -> String {
        let counts = self.counts();
        let some = Verdict::ALL.into_iter().filter(|verdict| counts[verdict.name()] > 0);
        let verdicts: Vec<String> = some.map(|verdict| format!("{} {verdict}", counts[verdict.name()])).collect();
        let reading = self.claims.iter().find(|claim| !claim.reading.is_empty());
        let under = reading.map_or_else(String::new, |claim| format!(" under the reading \"{}\"", claim.reading));
        format!(
            "{}, {} of which are inputs that are only read back. Verdicts{under}: {}; {} on the reading. {} inferred; {}.",
            counted(self.claims.len() as u64, "claim"),
            self.inputs(),
            verdicts.join(", "),
            self.depend(),
            parameters_are(self.inferred.len()),
            match self.held_unfitted() {
                1 => "1 claim holds without a fitted parameter".to_owned(),
                many => format!("{many} claims hold without a fitted parameter"),
            }
        )
    }

    pub(crate) fn depend(&self) -> String {
        match self.claims.iter().filter(|claim| claim.depends_on_reading()).count() {
            0 => "no verdict depends".to_owned(),
            1 => "1 verdict depends".to_owned(),
            many => format!("{many} verdicts depend"),
        }
    }
}

/// Returns "1 parameter is" or "N parameters are".
#[must_use]
pub fn parameters_are(number: usize) -> String {
    if number == 1 { "1 parameter is".to_owned() } else { format!("{number} parameters are") }
}

/// Adds the entries of known cells that `cells` lacks.
fn add<T>(cells: &mut BTreeMap<String, T>, stored: BTreeMap<String, T>, known: &BTreeSet<&str>) {
    for (cell, value) in stored.into_iter().filter(|(cell, _)| known.contains(cell.as_str())) {
        cells.entry(cell).or_insert(value);
    }
}

/// Restores from `before` the verdicts that need cells which are not in `ran`.
fn keep(claim: &Claim, judged: &mut Judgement, before: Judgement, ran: &BTreeSet<String>) {
    let lacks = |mut checks: Box<dyn Iterator<Item = &Check> + '_>| {
        checks.any(|check| check.cells.iter().any(|cell| !ran.contains(cell)))
    };
    if lacks(Box::new(claim.all_checks())) && are_same(&judged.checks, &before.checks) {
        let Judgement { verdict, paper_value, ns2_value, value, ci95, runs, reason, checks, .. } = before;
        (judged.verdict, judged.paper_value, judged.ns2_value, judged.value) = (verdict, paper_value, ns2_value, value);
        (judged.ci95, judged.runs, judged.reason, judged.checks) = (ci95, runs, reason, checks);
    }
    for (read, under) in claim.readings.iter().zip(&mut judged.readings) {
        let found = before.readings.iter().find(|found| found.reading == under.reading);
        let Some(found) = found else { continue };
        let additional = match &read.additional {
            Some(additional) if lacks(Box::new(additional.checks.iter())) => found.additional.clone(),
            _ => std::mem::take(&mut under.additional),
        };
        if lacks(Box::new(read.deciding_checks())) && are_same(&under.checks, &found.checks) {
            *under = found.clone();
        }
        under.additional = additional;
    }
}

fn are_same(ours: &[CheckResult], theirs: &[CheckResult]) -> bool {
    let what = |result: &CheckResult| (result.what.clone(), result.bound.clone());
    ours.iter().map(what).eq(theirs.iter().map(what))
}

/// Compares every cell and metric that has a margin and enough runs in both simulators.
fn agreement(claims: &Claims, ns2: &Reference, measured: &Measured) -> Vec<Comparison> {
    let digits = |number: f64| shortest(number).parse().unwrap_or(number);
    ns2.iter()
        .filter_map(|(cell, metric, theirs)| {
            let margin = claims.agreements.iter().find(|agreement| agreement.metric == metric)?.margin;
            let ours = measured.estimate(cell, metric)?;
            if ours.runs.min(theirs.runs) < MIN_RUNS {
                return None;
            }
            let (difference, ci95) = (ours.mean - theirs.mean, ours.welch(&theirs));
            let margin = (margin * theirs.mean).abs();
            Some(Comparison {
                cell: cell.to_owned(),
                metric: metric.to_owned(),
                difference: digits(difference),
                ci95: ci95.map(digits),
                margin: digits(margin),
                agrees: difference.abs() + ci95.unwrap_or(0.0) <= margin,
            })
        })
        .collect()
}
