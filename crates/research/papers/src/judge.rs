//! Decides the verdict on a claim from the runs.

use crate::check::Check;
use crate::claim::{Claim, Kind};
use crate::measured::Measured;
use crate::number::Number;
use crate::reference::Reference;
use crate::verdict::{CheckResult, JudgedClaim, UnderReading, Verdict};
use headway_record::MIN_RUNS;
use std::collections::BTreeMap;

/// Numbers on which the verdicts on a paper's claims are based.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// Metrics of Headway's runs.
    pub measured: &'a Measured,
    /// Means of ns-2, by cell and metric.
    pub ns2: &'a Reference,
    /// The paper's numbers, by cell and metric.
    pub paper: &'a BTreeMap<(&'a str, &'a str), f64>,
}

impl Evidence<'_> {
    fn find(&self, check: &Check) -> CheckResult {
        let reduced = |value: &dyn Fn(&String) -> Option<f64>| {
            check.reduce.of(&check.cells.iter().map(value).collect::<Option<Vec<f64>>>()?)
        };
        let estimate = self.measured.of(check);
        let number = estimate.map(Number::from);
        // A single run represents all seeds of a deterministic cell.
        let range = estimate.and_then(|estimate| match estimate.runs {
            1 if self.measured.is_exact(check) => Some((estimate.mean, estimate.mean)),
            runs if runs >= MIN_RUNS => estimate.range(),
            _ => None,
        });
        CheckResult {
            what: check.to_string(),
            bound: check.bound.to_string(),
            paper_value: reduced(&|cell| self.paper.get(&(cell.as_str(), check.metric.as_str())).copied()),
            ns2_value: reduced(&|cell| Some(self.ns2.get(cell, &check.metric)?.mean)),
            value: number.map(|number| number.mean),
            ci95: number.and_then(|number| number.ci95),
            runs: number.map_or(0, |number| number.runs),
            holds: range.map(|range| check.bound.holds(range)),
        }
    }

    /// Judges a claim: compares the numbers of its checks with their bounds. `paper` is the ID of the paper.
    #[must_use]
    pub fn judge(&self, paper: &str, claim: &Claim) -> JudgedClaim {
        let find = |checks: &[Check]| -> Vec<CheckResult> { checks.iter().map(|check| self.find(check)).collect() };
        let explain = claim.explain.as_ref().map(|explain| (explain.text.as_str(), find(&explain.checks)));
        let (verdict, mut reason, checks) = decide(claim, find(&claim.checks), find(&claim.trend), explain);
        if let Some(additional) = &claim.additional {
            let end = if reason.ends_with('.') { "" } else { "." };
            reason = format!("{reason}{end} {}: {}.", additional.text, joined(&find(&additional.checks)));
        }
        let readings = claim.readings.iter().map(|under| {
            let (verdict, reason, checks) = match &under.explain {
                Some(explain) => decide_by_explanation(&explain.text, find(&explain.checks)),
                None => decide_by_checks(claim.kind, find(&under.checks), find(&under.trend)),
            };
            let additional = under.additional.as_ref();
            let additional =
                additional.map(|additional| format!("{}: {}.", additional.text, joined(&find(&additional.checks))));
            let shown = shown(&checks);
            UnderReading {
                reading: under.reading.clone(),
                verdict,
                value: shown.and_then(|result| result.value),
                ci95: shown.and_then(|result| result.ci95),
                reason,
                additional: additional.unwrap_or_default(),
                checks,
            }
        });
        let readings = readings.collect();
        let shown = shown(&checks);
        JudgedClaim {
            id: claim.id.clone(),
            paper: paper.to_owned(),
            class: claim.class,
            kind: claim.kind,
            place: claim.place.clone(),
            statement: claim.statement.clone(),
            verdict,
            paper_value: claim.paper.or(shown.and_then(|result| result.paper_value)),
            ns2_value: shown.and_then(|result| result.ns2_value),
            value: shown.and_then(|result| result.value),
            ci95: shown.and_then(|result| result.ci95),
            runs: shown.map_or(0, |result| result.runs),
            fitted: claim.fitted,
            reason,
            reading: claim.reading.clone().unwrap_or_default(),
            readings,
            checks,
        }
    }
}

/// Returns the first result that does not hold, else the first one.
fn shown(checks: &[CheckResult]) -> Option<&CheckResult> {
    checks.iter().find(|result| result.holds != Some(true)).or(checks.first())
}

fn all_hold(results: &[CheckResult]) -> bool {
    !results.is_empty() && results.iter().all(|result| result.holds == Some(true))
}

fn decide(
    claim: &Claim,
    checks: Vec<CheckResult>,
    trend: Vec<CheckResult>,
    explain: Option<(&str, Vec<CheckResult>)>,
) -> (Verdict, String, Vec<CheckResult>) {
    let noted = |words: String| if claim.note.is_empty() { words } else { format!("{words}. {}", claim.note) };
    if let Some(why) = &claim.unmeasurable {
        return (Verdict::NotMeasurable, why.clone(), Vec::new());
    }
    if !claim.tests.is_empty() {
        return (Verdict::Tested, noted(claim.tests.join(", ")), Vec::new());
    }
    if claim.kind == Kind::Definition {
        return (Verdict::NotReproduced, claim.note.clone(), Vec::new());
    }
    if let Some((text, results)) = explain {
        let (verdict, reason, results) = decide_by_explanation(text, results);
        return (verdict, noted(reason), results);
    }
    let (verdict, reason, checks) = decide_by_checks(claim.kind, checks, trend);
    (verdict, noted(reason), checks)
}

/// Returns the verdict on a claim that is judged by its explanation, the reason without the note, and the check
/// results.
fn decide_by_explanation(text: &str, results: Vec<CheckResult>) -> (Verdict, String, Vec<CheckResult>) {
    if all_hold(&results) {
        return (Verdict::Explained, format!("{text}: {}", joined(&results)), results);
    }
    (verdict_without(&results), joined_failures(&results), results)
}

/// Returns the verdict on a claim that is judged by checks, the reason without the note, and the check results.
fn decide_by_checks(
    kind: Kind,
    checks: Vec<CheckResult>,
    trend: Vec<CheckResult>,
) -> (Verdict, String, Vec<CheckResult>) {
    if all_hold(&checks) {
        let verdict = if kind == Kind::Input { Verdict::Tested } else { Verdict::Reproduced };
        return (verdict, joined(&checks), checks);
    }
    // A check that was not run can still hold or fail.
    let known = checks.iter().all(|result| result.holds.is_some());
    if known && all_hold(&trend) {
        let words = format!("the trend holds: {}; the number does not: {}", joined(&trend), joined_failures(&checks));
        return (Verdict::Trend, words, checks);
    }
    (verdict_without(&checks), joined_failures(&checks), checks)
}

fn verdict_without(results: &[CheckResult]) -> Verdict {
    let is_known = |result: &CheckResult| result.holds.is_some();
    let fails = |result: &CheckResult| result.holds == Some(false);
    if results.iter().any(fails) || results.iter().all(is_known) { Verdict::NotReproduced } else { Verdict::NotRun }
}

fn joined(results: &[CheckResult]) -> String {
    results.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn joined_failures(results: &[CheckResult]) -> String {
    let against: Vec<String> =
        results.iter().filter(|result| result.holds != Some(true)).map(ToString::to_string).collect();
    against.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Bound;
    use crate::claim::{Class, Explain, ReadingChecks};
    use crate::measured::Values;
    use crate::reduce::Reduce;

    fn check(cell: &str, bound: Bound) -> Check {
        Check { metric: "m".to_owned(), cells: vec![cell.to_owned()], reduce: Reduce::Value, bound }
    }

    fn claim(class: Class, checks: Vec<Check>) -> Claim {
        Claim {
            id: "x".to_owned(),
            class,
            kind: Kind::Number,
            place: String::new(),
            statement: String::new(),
            paper: Some(10.0),
            cell: None,
            checks,
            trend: Vec::new(),
            explain: None,
            additional: None,
            reading: Some("first".to_owned()),
            readings: Vec::new(),
            tests: Vec::new(),
            fitted: false,
            unmeasurable: None,
            note: String::new(),
        }
    }

    /// Ten runs of cell `a` from 9.5 to 10.5 (interval 9.76 to 10.24), nine of `few`, one of the deterministic `fixed`.
    fn judged(claim: &Claim) -> JudgedClaim {
        let mut measured = Measured::default();
        for seed in 1..=10 {
            let value = 10.0 + (seed as f64 - 5.5) / 9.0;
            measured.add("a", seed, false, Values::from([("m".to_owned(), value)]));
            if seed < 10 {
                measured.add("few", seed, false, Values::from([("m".to_owned(), value)]));
            }
        }
        measured.add("fixed", 1, true, Values::from([("m".to_owned(), 10.0)]));
        let ns2 = Reference::parse("cell,metric,mean,ci95,runs\na,m,9,1,10\n").unwrap();
        let paper = BTreeMap::from([(("a", "m"), 10.0)]);
        Evidence { measured: &measured, ns2: &ns2, paper: &paper }.judge("p", claim)
    }

    const TIGHT: Bound = Bound::Within { value: 10.0, tolerance: 0.2 };
    const LOOSE: Bound = Bound::Within { value: 10.0, tolerance: 0.3 };

    #[test]
    fn the_whole_interval_must_lie_inside() {
        let good = judged(&claim(Class::Derivable, vec![check("a", LOOSE)]));
        assert_eq!(good.verdict, Verdict::Reproduced);
        assert_eq!((good.value, good.ns2_value, good.paper_value, good.runs), (Some(10.0), Some(9.0), Some(10.0), 10));
        assert_eq!(good.reason, "m of a is 10 +- 0.24065, within 0.3 of 10");
        assert!(good.is_acceptable() && good.holds_unfitted());
        // The mean is exact, but the interval is wider than the tolerance.
        let bad = judged(&claim(Class::Derivable, vec![check("a", TIGHT)]));
        assert_eq!(bad.verdict, Verdict::NotReproduced);
        assert_eq!(bad.reason, "m of a is 10 +- 0.24065, not within 0.2 of 10");
        assert!(!bad.is_acceptable() && !bad.holds_unfitted());
        assert!(judged(&claim(Class::NeedsAssumption, vec![check("a", TIGHT)])).is_acceptable());
    }

    #[test]
    fn every_check_must_hold() {
        let both = judged(&claim(Class::Derivable, vec![check("a", LOOSE), check("fixed", Bound::Above(10.0))]));
        assert_eq!((both.verdict, both.value, both.runs), (Verdict::NotReproduced, Some(10.0), 1));
        assert_eq!(both.checks.len(), 2);
    }

    #[test]
    fn only_deterministic_cells_are_judged_by_few_runs() {
        let few = judged(&claim(Class::Derivable, vec![check("few", LOOSE)]));
        assert_eq!(
            (few.verdict, few.reason.as_str()),
            (Verdict::NotRun, "m of few has 9 runs; at least 10 are needed")
        );
        assert_eq!(judged(&claim(Class::Derivable, vec![check("none", LOOSE)])).verdict, Verdict::NotRun);
        assert_eq!(judged(&claim(Class::Derivable, vec![check("fixed", TIGHT)])).verdict, Verdict::Reproduced);
    }

    #[test]
    fn a_trend_counts_only_if_the_number_fails() {
        let mut claim = claim(Class::NeedsAssumption, vec![check("a", TIGHT)]);
        claim.trend = vec![check("a", Bound::Above(0.0))];
        assert_eq!(judged(&claim).verdict, Verdict::Trend);
        claim.checks = vec![check("a", LOOSE)];
        assert_eq!(judged(&claim).verdict, Verdict::Reproduced);
        claim.checks = vec![check("a", TIGHT)];
        claim.trend = vec![check("a", Bound::Above(10.0))];
        assert_eq!(judged(&claim).verdict, Verdict::NotReproduced);
    }

    /// A trend that holds gives no verdict if the number itself was not measured.
    #[test]
    fn a_trend_needs_a_measured_number() {
        let mut claim = claim(Class::Contradictory, vec![check("none", LOOSE)]);
        claim.trend = vec![check("a", LOOSE)];
        assert_eq!(judged(&claim).verdict, Verdict::NotRun);
    }

    /// Each reading has a verdict by the same rules; the verdict of the first reading is the claim's.
    #[test]
    fn each_reading_has_a_verdict() {
        let mut claim = claim(Class::NeedsAssumption, vec![check("a", TIGHT)]);
        let under = |cell: &str, bound| ReadingChecks {
            reading: cell.to_owned(),
            checks: vec![check(cell, bound)],
            trend: vec![check("a", Bound::Above(0.0))],
            explain: None,
            additional: None,
        };
        claim.readings = vec![under("fixed", TIGHT), under("few", TIGHT), under("a", TIGHT)];
        let found = judged(&claim);
        assert_eq!((found.verdict, found.reading.as_str()), (Verdict::NotReproduced, "first"));
        let verdicts: Vec<Verdict> = found.readings.iter().map(|under| under.verdict).collect();
        assert_eq!(verdicts, [Verdict::Reproduced, Verdict::NotRun, Verdict::Trend]);
        assert_eq!((found.readings[0].value, found.readings[0].ci95), (Some(10.0), None));
        assert!(found.depends_on_reading());
        claim.readings.drain(..1);
        claim.readings.pop();
        assert!(!judged(&claim).depends_on_reading(), "a reading that was not run does not count");
    }

    /// An input that is read back is not a result.
    #[test]
    fn inputs_are_tested_not_reproduced() {
        let mut input = claim(Class::Derivable, vec![check("fixed", TIGHT)]);
        input.kind = Kind::Input;
        let found = judged(&input);
        assert_eq!(found.verdict, Verdict::Tested);
        assert!(found.is_acceptable() && !found.holds_unfitted());
        input.checks = vec![check("fixed", Bound::Above(10.0))];
        assert_eq!(judged(&input).verdict, Verdict::NotReproduced);
        input.checks = vec![check("few", LOOSE)];
        assert_eq!(judged(&input).verdict, Verdict::NotRun);
    }

    #[test]
    fn a_contradiction_is_explained_only_if_it_is_shown() {
        let mut claim = claim(Class::Contradictory, Vec::new());
        claim.explain = Some(Explain { text: "it is too much".to_owned(), checks: vec![check("a", LOOSE)] });
        let explained = judged(&claim);
        assert_eq!((explained.verdict, explained.value), (Verdict::Explained, Some(10.0)));
        assert!(explained.reason.starts_with("it is too much: m of a is 10"), "{}", explained.reason);
        claim.explain = Some(Explain { text: String::new(), checks: vec![check("a", TIGHT)] });
        assert_eq!(judged(&claim).verdict, Verdict::NotReproduced);
        claim.explain = Some(Explain { text: String::new(), checks: vec![check("none", LOOSE)] });
        assert_eq!(judged(&claim).verdict, Verdict::NotRun);
    }

    #[test]
    fn results_under_other_assumptions_do_not_affect_the_verdict() {
        let mut claim = claim(Class::NeedsAssumption, vec![check("a", TIGHT)]);
        claim.additional = Some(Explain { text: "In another set".to_owned(), checks: vec![check("a", LOOSE)] });
        let judged = judged(&claim);
        assert_eq!((judged.verdict, judged.checks.len()), (Verdict::NotReproduced, 1));
        assert!(
            judged.reason.ends_with("In another set: m of a is 10 +- 0.24065, within 0.3 of 10."),
            "{}",
            judged.reason
        );
    }

    /// A contradictory claim has a verdict under each reading that changes its explanation, by the same rule.
    #[test]
    fn a_contradiction_is_explained_under_each_reading() {
        let mut claim = claim(Class::Contradictory, Vec::new());
        let explain = |bound| Some(Explain { text: "too much".to_owned(), checks: vec![check("a", bound)] });
        claim.explain = explain(LOOSE);
        let under = |bound| ReadingChecks {
            reading: "r".to_owned(),
            checks: vec![],
            trend: vec![],
            explain: explain(bound),
            additional: None,
        };
        claim.readings = vec![under(LOOSE), under(TIGHT)];
        let found = judged(&claim).readings;
        assert_eq!((found[0].verdict, found[1].verdict), (Verdict::Explained, Verdict::NotReproduced));
        assert_eq!(found[0].reason, "too much: m of a is 10 +- 0.24065, within 0.3 of 10");
        assert_eq!((found[0].value, found[1].checks.len()), (Some(10.0), 1));
    }

    /// A result under other assumptions is printed under a reading that changes it, and does not affect that verdict.
    #[test]
    fn other_assumptions_do_not_affect_the_verdict_under_a_reading() {
        let mut claim = claim(Class::NeedsAssumption, vec![check("fixed", TIGHT)]);
        let additional = Some(Explain { text: "In another set".to_owned(), checks: vec![check("a", TIGHT)] });
        let checks = vec![check("a", LOOSE)];
        claim.readings =
            vec![ReadingChecks { reading: "r".to_owned(), checks, trend: vec![], explain: None, additional }];
        let found = judged(&claim);
        let under = found.under("r").unwrap();
        assert_eq!((under.verdict, under.checks.len()), (Verdict::Reproduced, 1));
        assert_eq!(under.additional, "In another set: m of a is 10 +- 0.24065, not within 0.2 of 10.");
    }

    #[test]
    fn definitions_are_tested_and_unmeasurable_claims_have_a_reason() {
        let mut definition = claim(Class::Derivable, Vec::new());
        definition.kind = Kind::Definition;
        definition.note = "half of it is missing".to_owned();
        let missing = judged(&definition);
        assert_eq!((missing.verdict, missing.reason.as_str()), (Verdict::NotReproduced, "half of it is missing"));
        assert!(!missing.is_acceptable());
        definition.tests = vec!["crates/simulator/x/src/y.rs::a_test".to_owned()];
        assert_eq!(judged(&definition).verdict, Verdict::Tested);
        assert!(judged(&definition).is_acceptable());
        let mut vague = claim(Class::NeedsAssumption, Vec::new());
        vague.unmeasurable = Some("no metric is given".to_owned());
        assert_eq!(judged(&vague).reason, "no metric is given");
        assert_eq!(judged(&vague).verdict, Verdict::NotMeasurable);
    }

    #[test]
    fn verdicts_are_spelled_as_they_are_printed() {
        for verdict in Verdict::ALL {
            assert_eq!(serde_json::to_string(&verdict).unwrap(), format!("\"{verdict}\""));
        }
    }
}
