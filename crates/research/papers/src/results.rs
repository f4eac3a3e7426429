//! `results.json`: everything that the runs of a paper gave.

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
use crate::verdict::{Finding, Judgement, Verdict};
use headway_record::FEWEST_RUNS;
use headway_units::counted;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What was run, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ran {
    /// `default` or `full`.
    pub profile: String,
    /// How many seeds, from 1 on.
    pub seeds: u64,
    /// From when to when each cell was measured, in s.
    pub seconds: BTreeMap<String, [f64; 2]>,
}

/// Whether a metric of a cell agrees with ns-2's: the Welch 95 % interval of the difference lies inside the margin. If all
/// runs of both gave the same values, the difference itself must.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agreed {
    /// The cell.
    pub cell: String,
    /// The metric.
    pub metric: String,
    /// Ours less ns-2's.
    pub difference: f64,
    /// Half the width of its interval; none if all runs of both gave the same values.
    pub ci95: Option<f64>,
    /// How much it may be.
    pub margin: f64,
    /// Whether it is no more.
    pub agrees: bool,
}

/// Everything that the runs of a paper gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// The paper's name.
    pub paper: String,
    /// Headway's version.
    pub version: String,
    /// What was run.
    pub ran: Ran,
    /// By cell and metric.
    #[serde(with = "crate::number::by_cell")]
    pub cells: BTreeMap<String, BTreeMap<String, Number>>,
    /// What timelines show, by cell and curve.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub curves: BTreeMap<String, BTreeMap<String, Curve>>,
    /// Beside ns-2.
    pub agreement: Vec<Agreed>,
    /// What the paper leaves open.
    pub inferred: Vec<Inferred>,
    /// Readings that combine others, by name. A claim that such a reading does not judge has the verdict of the one that does.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub combined: BTreeMap<String, Vec<String>>,
    /// Each claim with its verdict.
    pub claims: Vec<Judgement>,
}

/// Stored results are of other runs than expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {what} of the stored results is {stored}; expected {expected}")]
pub struct Misfit {
    /// What differs, such as `profile`.
    pub what: &'static str,
    /// Value in the stored results.
    pub stored: String,
    /// Value of this program or of these runs.
    pub expected: String,
}

impl Misfit {
    fn check(what: &'static str, expected: &str, stored: &str) -> Result<(), Self> {
        let [expected, stored] = [expected, stored].map(str::to_owned);
        if stored == expected { Ok(()) } else { Err(Self { what, stored, expected }) }
    }
}

impl Results {
    /// Judges what was measured. `seconds` says of each cell how long it ran and was measured.
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
            ran: Ran { profile: profile.name().to_owned(), seeds: claims.seeds.of(profile), seconds },
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
    /// They are of another version.
    pub fn check_version(&self) -> Result<(), Misfit> {
        Misfit::check("version", env!("CARGO_PKG_VERSION"), &self.version)
    }

    /// Checks that runs of `paper` with this profile can complete these stored results.
    ///
    /// # Errors
    /// The stored results are of another paper, version, profile or number of seeds.
    pub fn check_fit(&self, paper: &Paper, claims: &Claims, profile: Profile) -> Result<(), Misfit> {
        for (what, ours, stored) in [
            ("paper", paper.id.as_ref(), &self.paper),
            ("version", env!("CARGO_PKG_VERSION"), &self.version),
            ("profile", profile.name(), &self.ran.profile),
            ("number of seeds", &claims.seeds.of(profile).to_string(), &self.ran.seeds.to_string()),
        ] {
            Misfit::check(what, ours, stored)?;
        }
        Ok(())
    }

    /// Adds what `stored` has: cells that were not run here, and verdicts of claims that need one of them. A stored verdict counts only if the
    /// claim is still judged by the same checks.
    #[must_use]
    pub fn completed_by(mut self, claims: &Claims, ns2: &Reference, stored: Self) -> Self {
        let ran: BTreeSet<String> = self.cells.keys().cloned().collect();
        let known: BTreeSet<&str> = claims.cells.iter().map(|cell| cell.name.as_str()).collect();
        add(&mut self.cells, stored.cells, &known);
        add(&mut self.curves, stored.curves, &known);
        add(&mut self.ran.seconds, stored.ran.seconds, &known);
        let mut agreed: BTreeMap<(String, String), Agreed> = BTreeMap::new();
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

    /// `results.json`: a line for each cell and each claim, so that it is small and its changes can be read.
    ///
    /// # Errors
    /// A number is none that JSON has.
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

    /// How many claims have each verdict.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<&'static str, usize> {
        let count = |verdict: Verdict| self.claims.iter().filter(|claim| claim.verdict == verdict).count();
        Verdict::ALL.into_iter().map(|verdict| (verdict.name(), count(verdict))).collect()
    }

    /// How many claims hold by numbers that no parameter was chosen for.
    #[must_use]
    pub fn held_unfitted(&self) -> usize {
        self.claims.iter().filter(|claim| claim.holds_unfitted()).count()
    }

    /// How many claims are settings that were read back, and no results.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.claims.iter().filter(|claim| claim.kind == Kind::Input).count()
    }

    /// Whether every derivable claim holds.
    #[must_use]
    pub fn is_acceptable(&self) -> bool {
        self.claims.iter().all(Judgement::is_acceptable)
    }

    /// A metric of a cell.
    #[must_use]
    pub fn get(&self, cell: &str, metric: &str) -> Option<Number> {
        self.cells.get(cell)?.get(metric).copied()
    }

    /// Returns how many runs these cells have, in words. A cell without chance has one run, which is not counted.
    pub(crate) fn runs<'a>(&self, cells: impl Iterator<Item = &'a str>) -> String {
        let numbers = cells.filter_map(|cell| self.cells.get(cell)).flat_map(BTreeMap::values);
        let counts: BTreeSet<usize> = numbers.map(|number| number.runs).filter(|runs| *runs > 1).collect();
        match (counts.first(), counts.last()) {
            (Some(fewest), Some(most)) if fewest != most => format!("{fewest} to {most} runs"),
            (Some(runs), _) => format!("{runs} runs"),
            _ => counted(self.ran.seeds, "run"),
        }
    }

    /// One line: how many of what.
    #[must_use]
    pub fn summary(&self) -> String {
        let counts = self.counts();
        let some = Verdict::ALL.into_iter().filter(|verdict| counts[verdict.name()] > 0);
        let verdicts: Vec<String> = some.map(|verdict| format!("{} {verdict}", counts[verdict.name()])).collect();
        let reading = self.claims.iter().find(|claim| !claim.reading.is_empty());
        let under = reading.map_or_else(String::new, |claim| format!(" under the reading \"{}\"", claim.reading));
        format!(
            "{}, {} of them inputs that are only read back{under}: {}; {} on the reading. {} inferred; {}.",
            counted(self.claims.len() as u64, "claim"),
            self.inputs(),
            verdicts.join(", "),
            self.depend(),
            parameters_are(self.inferred.len()),
            match self.held_unfitted() {
                1 => "1 claim holds that it was not fitted to".to_owned(),
                many => format!("{many} claims hold that they were not fitted to"),
            }
        )
    }

    /// How many verdicts depend on the reading, in words.
    pub(crate) fn depend(&self) -> String {
        match self.claims.iter().filter(|claim| claim.depends_on_reading()).count() {
            0 => "no verdict depends".to_owned(),
            1 => "1 verdict depends".to_owned(),
            many => format!("{many} verdicts depend"),
        }
    }
}

/// Returns how many parameters, with the verb.
#[must_use]
pub fn parameters_are(number: usize) -> String {
    if number == 1 { "1 parameter is".to_owned() } else { format!("{number} parameters are") }
}

/// Adds the entries of known cells that are not there yet.
fn add<T>(cells: &mut BTreeMap<String, T>, stored: BTreeMap<String, T>, known: &BTreeSet<&str>) {
    for (cell, value) in stored.into_iter().filter(|(cell, _)| known.contains(cell.as_str())) {
        cells.entry(cell).or_insert(value);
    }
}

/// Takes from `before` the verdicts that need cells which were not `ran`.
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
        let beside = match &read.beside {
            Some(beside) if lacks(Box::new(beside.checks.iter())) => found.beside.clone(),
            _ => std::mem::take(&mut under.beside),
        };
        if lacks(Box::new(read.deciding_checks())) && are_same(&under.checks, &found.checks) {
            *under = found.clone();
        }
        under.beside = beside;
    }
}

/// Whether two lists of findings are of the same checks.
fn are_same(ours: &[Finding], theirs: &[Finding]) -> bool {
    let what = |finding: &Finding| (finding.what.clone(), finding.bound.clone());
    ours.iter().map(what).eq(theirs.iter().map(what))
}

/// Every cell and metric with a margin that both sides have run often enough.
fn agreement(claims: &Claims, ns2: &Reference, measured: &Measured) -> Vec<Agreed> {
    let digits = |number: f64| shortest(number).parse().unwrap_or(number);
    ns2.iter()
        .filter_map(|(cell, metric, theirs)| {
            let margin = claims.agreements.iter().find(|agreement| agreement.metric == metric)?.margin;
            let ours = measured.estimate(cell, metric)?;
            if ours.runs.min(theirs.runs) < FEWEST_RUNS {
                return None;
            }
            let (difference, ci95) = (ours.mean - theirs.mean, ours.welch(&theirs));
            let margin = (margin * theirs.mean).abs();
            Some(Agreed {
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
