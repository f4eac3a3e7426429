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
use crate::verdict::{CheckResult, JudgedClaim, Verdict};
use headway_record::MIN_RUNS;
use headway_units::counted;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Profile, number of seeds, and measured intervals of the runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunDetails {
    /// Profile of the runs: `default` or `full`.
    pub profile: String,
    /// Number of seeds with which each cell (experiment) was run, from seed 1; deterministic cells were run once.
    pub seeds: u64,
    /// Start and end of the measured interval of each cell (experiment), in s of simulated time.
    pub seconds: BTreeMap<String, [f64; 2]>,
}

/// Comparison of a metric of a cell with ns-2. Both agree if the Welch 95 % interval of the difference lies inside the
/// margin. If all runs of both simulators give equal values, the difference itself must lie inside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Name of the cell (experiment).
    pub cell: String,
    /// Name of the metric.
    pub metric: String,
    /// Headway's mean of the metric minus ns-2's.
    pub difference: f64,
    /// Half the width of the 95 % interval of the difference; `None` if all runs of both simulators give equal values.
    pub ci95: Option<f64>,
    /// Largest difference that counts as agreement.
    pub margin: f64,
    /// Whether Headway and ns-2 agree: whether the interval of the difference lies inside the margin.
    pub agrees: bool,
}

/// The results of a paper's runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// ID of the paper.
    pub paper: String,
    /// Version of Headway.
    pub version: String,
    /// Profile, number of seeds, and measured intervals of the runs.
    pub ran: RunDetails,
    /// Means of the metrics over the runs, by cell (experiment) and name of the metric.
    #[serde(with = "crate::number::by_cell")]
    pub cells: BTreeMap<String, BTreeMap<String, Number>>,
    /// Curves of timelines (charts over time), by cell and name of the curve.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub curves: BTreeMap<String, BTreeMap<String, Curve>>,
    /// Comparisons of metrics with ns-2.
    pub agreement: Vec<Comparison>,
    /// Parameters that the paper does not state.
    pub inferred: Vec<Inferred>,
    /// Combined readings (interpretations of the paper), by name, each with the names of the readings that it combines.
    /// A claim to which a combined reading gives no separate verdict has the verdict under the first of these
    /// readings that gives one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub combined: BTreeMap<String, Vec<String>>,
    /// Claims with their verdicts.
    pub claims: Vec<JudgedClaim>,
}

/// Error: stored results do not match the expected runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {what} of the stored results is {stored}; expected {expected}")]
pub struct ResultsMismatch {
    /// Property that differs, such as `profile`.
    pub what: &'static str,
    /// Value that the stored results have.
    pub stored: String,
    /// Value that the stored results should have.
    pub expected: String,
}

impl ResultsMismatch {
    fn check(what: &'static str, expected: &str, stored: &str) -> Result<(), Self> {
        let [expected, stored] = [expected, stored].map(str::to_owned);
        if stored == expected { Ok(()) } else { Err(Self { what, stored, expected }) }
    }
}

impl Results {
    /// Judges the claims by the measured runs. `seconds` has the start and the end of the measured interval of each
    /// cell, in s.
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

    /// Checks that the results were computed by this version of Headway.
    ///
    /// # Errors
    /// If they were computed by another version.
    pub fn check_version(&self) -> Result<(), ResultsMismatch> {
        ResultsMismatch::check("version", env!("CARGO_PKG_VERSION"), &self.version)
    }

    /// Checks that these stored results are of this paper, version, profile and number of seeds, so that new runs can
    /// be added to them.
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

    /// Adds the cells (experiments) that only the results `stored` have, and the stored verdicts on claims that need
    /// them. A stored verdict is kept only if the checks of the claim have not changed.
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
        let mut before: BTreeMap<String, JudgedClaim> =
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

    /// Returns the number of claims that are reproduced, at least in their trend, without a parameter that was fitted
    /// to the paper's results.
    #[must_use]
    pub fn held_unfitted(&self) -> usize {
        self.claims.iter().filter(|claim| claim.holds_unfitted()).count()
    }

    /// Returns the number of inputs: claims that state a setting of the experiments, which is read back from the runs
    /// and is not a result.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.claims.iter().filter(|claim| claim.kind == Kind::Input).count()
    }

    /// Returns whether every claim that follows from what the paper states (class "derivable") is reproduced, at least
    /// in its trend, or covered by a test.
    #[must_use]
    pub fn is_acceptable(&self) -> bool {
        self.claims.iter().all(JudgedClaim::is_acceptable)
    }

    /// Returns the mean of a metric in a cell; `None` if the cell was not run or lacks the metric.
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

    /// Returns a line with the numbers of claims with each verdict.
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
fn keep(claim: &Claim, judged: &mut JudgedClaim, before: JudgedClaim, ran: &BTreeSet<String>) {
    let lacks = |mut checks: Box<dyn Iterator<Item = &Check> + '_>| {
        checks.any(|check| check.cells.iter().any(|cell| !ran.contains(cell)))
    };
    if lacks(Box::new(claim.all_checks())) && are_same(&judged.checks, &before.checks) {
        let JudgedClaim { verdict, paper_value, ns2_value, value, ci95, runs, reason, checks, .. } = before;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn results(cells: &[(&str, usize)]) -> Results {
        let number = |runs: &usize| Number { mean: 1.0, ci95: None, runs: *runs };
        let cell =
            |(name, runs): &(&str, usize)| ((*name).to_owned(), BTreeMap::from([("metric".to_owned(), number(runs))]));
        Results {
            paper: "udpm".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ran: RunDetails { profile: "default".to_owned(), seeds: 20, seconds: BTreeMap::new() },
            cells: cells.iter().map(cell).collect(),
            curves: BTreeMap::new(),
            agreement: Vec::new(),
            inferred: Vec::new(),
            combined: BTreeMap::new(),
            claims: Vec::new(),
        }
    }

    /// Cells with one run are deterministic. Without other cells the number of seeds is reported.
    #[test]
    fn the_number_of_runs_is_that_of_random_cells() {
        for (cells, words) in [
            (&[("a", 10), ("b", 10)][..], "10 runs"),
            (&[("a", 10), ("b", 1)], "10 runs"),
            (&[("a", 10), ("b", 2), ("c", 30)], "2 to 30 runs"),
            (&[("a", 1)], "20 runs"),
            (&[], "20 runs"),
        ] {
            assert_eq!(results(cells).runs(cells.iter().map(|(name, _)| *name)), words);
        }
        let found = results(&[("a", 10), ("b", 30)]);
        assert_eq!((found.runs(["b", "none"].into_iter()), found.get("b", "none")), ("30 runs".to_owned(), None));
        assert_eq!(found.get("b", "metric").map(|number| number.runs), Some(30));
    }

    #[test]
    fn results_of_other_runs_do_not_fit() {
        let paper = Paper::find("udpm").unwrap();
        let claims = paper.claims().unwrap();
        let seeds = claims.seeds.of(Profile::Default);
        let fitting = || Results { ran: RunDetails { seeds, ..results(&[]).ran }, ..results(&[]) };
        assert_eq!(fitting().check_fit(paper, &claims, Profile::Default), Ok(()));
        assert_eq!(fitting().check_version(), Ok(()));
        for (what, change) in [
            ("paper", (|of| "other".clone_into(&mut of.paper)) as fn(&mut Results)),
            ("version", |of| "0.0.0".clone_into(&mut of.version)),
            ("profile", |of| "full".clone_into(&mut of.ran.profile)),
            ("number of seeds", |of| of.ran.seeds += 1),
        ] {
            let mut other = fitting();
            change(&mut other);
            assert_eq!(other.check_fit(paper, &claims, Profile::Default).unwrap_err().what, what);
            assert_eq!(other.check_version().is_err(), what == "version");
        }
    }

    #[test]
    fn one_parameter_is_and_two_are() {
        assert_eq!([0, 1, 2].map(parameters_are), ["0 parameters are", "1 parameter is", "2 parameters are"]);
    }

    fn needs_others<'a>(checks: impl Iterator<Item = &'a Check>, ran: &BTreeSet<String>) -> bool {
        checks.flat_map(|check| &check.cells).any(|cell| !ran.contains(cell))
    }

    /// Returns the results of runs of these cells only: claims and readings that need other cells are not run.
    fn partial(claims: &Claims, stored: &Results, ran: &BTreeSet<String>) -> Results {
        let mut partial = stored.clone();
        partial.cells.retain(|cell, _| ran.contains(cell));
        partial.curves.retain(|cell, _| ran.contains(cell));
        partial.ran.seconds.retain(|cell, _| ran.contains(cell));
        partial.agreement.retain(|one| ran.contains(&one.cell));
        let unmeasured = |checks: &mut Vec<CheckResult>| {
            for check in checks {
                (check.value, check.ci95, check.runs, check.holds) = (None, None, 0, None);
            }
        };
        for (claim, judged) in claims.claims.iter().zip(&mut partial.claims) {
            if needs_others(claim.all_checks(), ran) {
                (judged.verdict, judged.value, judged.ci95, judged.runs) = (Verdict::NotRun, None, None, 0);
                (judged.paper_value, judged.ns2_value) = (None, None);
                judged.reason.clear();
                unmeasured(&mut judged.checks);
            }
            for (read, under) in claim.readings.iter().zip(&mut judged.readings) {
                if needs_others(read.deciding_checks(), ran) {
                    (under.verdict, under.value, under.ci95) = (Verdict::NotRun, None, None);
                    under.reason.clear();
                    unmeasured(&mut under.checks);
                }
                if read.additional.as_ref().is_some_and(|additional| needs_others(additional.checks.iter(), ran)) {
                    under.additional = "unknown".to_owned();
                }
            }
        }
        partial
    }

    /// Some cells are run again. With the stored results of the others, all results are those of the whole run.
    #[test]
    fn partial_results_are_completed_by_stored_ones() {
        for paper in crate::PAPERS.iter() {
            let (claims, ns2) = (paper.claims().unwrap(), paper.ns2().unwrap());
            let stored: Results = serde_json::from_slice(&paper.results().unwrap()).unwrap();
            let cells: Vec<&String> = stored.cells.keys().collect();
            for of in [0, 1, 2, 3] {
                let ran = cells.iter().enumerate().filter(|(at, _)| of == 0 || at % (of + 1) == 1);
                let ran: BTreeSet<String> = ran.map(|(_, cell)| (*cell).clone()).collect();
                let partial = partial(&claims, &stored, &ran);
                assert_eq!(partial == stored, of == 0, "{} {of}", paper.id);
                let completed = partial.clone().completed_by(&claims, &ns2, stored.clone());
                assert!(completed == stored, "{} {of}", paper.id);
                // A stored verdict of other checks is not kept.
                let mut other = stored.clone();
                for judged in &mut other.claims {
                    judged.checks.iter_mut().for_each(|check| check.bound.push('!'));
                }
                let completed = partial.clone().completed_by(&claims, &ns2, other);
                for (judged, partial) in completed.claims.iter().zip(&partial.claims) {
                    assert_eq!(
                        judged.verdict == partial.verdict,
                        !partial.checks.is_empty()
                            || judged.verdict == Verdict::NotRun
                            || partial.verdict != Verdict::NotRun
                    );
                }
            }
            // Stored cells that no claim names any more are left out.
            let mut other = stored.clone();
            other.cells.insert("no such cell".to_owned(), BTreeMap::new());
            assert!(stored.clone().completed_by(&claims, &ns2, other) == stored, "{}", paper.id);
        }
    }

    fn judged(verdict: &str, kind: &str, others: &[&str]) -> JudgedClaim {
        let under = others.iter().map(|verdict| {
            serde_json::json!({ "reading": "other", "verdict": verdict, "value": null, "ci95": null, "reason": "", "checks": [] })
        });
        let judged = serde_json::json!({
            "id": "a", "paper": "p", "class": "derivable", "kind": kind, "where": "1", "statement": "s", "verdict": verdict,
            "paper_value": null, "ns2_value": null, "value": null, "ci95": null, "runs": 10, "fitted": false, "reason": "",
            "checks": [], "reading": "", "readings": under.collect::<Vec<_>>(),
        });
        serde_json::from_value(judged).unwrap()
    }

    #[test]
    fn the_summary_counts_claims_verdicts_and_readings() {
        let mut results = results(&[]);
        results.claims = vec![judged("reproduced", "number", &[])];
        assert_eq!(
            results.summary(),
            "1 claim, 0 of which are inputs that are only read back. Verdicts: 1 reproduced; no verdict depends on the \
             reading. 0 parameters are inferred; 1 claim holds without a fitted parameter."
        );
        assert!(results.is_acceptable());
        results.claims.extend([
            judged("tested", "input", &[]),
            judged("trend", "trend", &["trend", "not run"]),
            judged("not reproduced", "shape", &["reproduced"]),
        ]);
        results.claims[3].reading = "first".to_owned();
        assert_eq!(
            results.summary(),
            "4 claims, 1 of which are inputs that are only read back. Verdicts under the reading \"first\": 1 reproduced, \
             1 trend, 1 tested, 1 not reproduced; 1 verdict depends on the reading. 0 parameters are inferred; 2 claims hold \
             without a fitted parameter."
        );
        assert!(!results.is_acceptable());
        results.claims[0].fitted = true;
        results.claims.push(judged("trend", "trend", &["reproduced"]));
        let found = (results.held_unfitted(), results.inputs(), results.depend());
        assert_eq!(found, (2, 1, "2 verdicts depend".to_owned()));
        assert_eq!(results.counts().values().sum::<usize>(), 5);
        assert_eq!((results.counts()["trend"], results.counts()["not run"]), (2, 0));
    }

    /// A claim that cannot be derived from the paper may fail.
    #[test]
    fn derivable_claims_must_hold() {
        for verdict in Verdict::ALL {
            let mut judged = judged(verdict.name(), "number", &[]);
            let holds = matches!(verdict, Verdict::Reproduced | Verdict::Trend | Verdict::Tested);
            assert_eq!((judged.verdict, judged.is_acceptable()), (verdict, holds));
            assert_eq!(judged.holds_unfitted(), holds && verdict != Verdict::Tested);
            judged.class = crate::Class::NeedsAssumption;
            judged.fitted = true;
            assert!(judged.is_acceptable() && !judged.holds_unfitted());
        }
    }

    #[test]
    fn a_check_is_described_with_its_number() {
        let check = |value, ci95, runs, holds| {
            let (what, bound) = ("x".to_owned(), "at most 3".to_owned());
            CheckResult { what, bound, paper_value: None, ns2_value: None, value, ci95, runs, holds }.to_string()
        };
        assert_eq!(check(Some(2.0), Some(0.5), 10, Some(true)), "x is 2 +- 0.5, at most 3");
        assert_eq!(check(Some(4.0), Some(0.5), 10, Some(false)), "x is 4 +- 0.5, not at most 3");
        assert_eq!(check(Some(4.0), None, 10, Some(false)), "x is 4, not at most 3");
        assert!(check(Some(4.0), None, 1, None).starts_with("x has 1 run; at least "));
        assert!(check(None, None, 0, None).starts_with("x has no value"));
    }

    /// Stored entries fill gaps only, and only for known cells.
    #[test]
    fn stored_cells_do_not_replace_new_ones() {
        let mut cells = BTreeMap::from([("a".to_owned(), 1)]);
        let stored = ["a", "b", "c"].map(|name| (name.to_owned(), 2)).into();
        add(&mut cells, stored, &BTreeSet::from(["a", "b"]));
        assert_eq!(cells, BTreeMap::from([("a".to_owned(), 1), ("b".to_owned(), 2)]));
    }
}
