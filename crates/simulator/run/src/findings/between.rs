//! Comparison of runs: for each flow name, the runs in which the flow did best and worst.

use super::{Finding, Severity, percent};
use headway_record::{FlowSummary, Summary};
use headway_units::MediaKind;
use std::collections::{BTreeMap, BTreeSet};

/// Minimum difference of on-time ratios that is reported.
const MIN_RATIO_DIFFERENCE: f64 = 0.01;
/// Minimum difference of coefficients of variation of the rate that is reported.
const MIN_COV_DIFFERENCE: f64 = 0.01;

/// Compares runs, each given with its label: for each flow name that two or more runs have, returns in which run the
/// flow did best and worst.
#[must_use]
pub fn findings_between(runs: &[(&str, Summary)]) -> Vec<Finding> {
    let mut names: Vec<&str> = Vec::new();
    let mut by_name: BTreeMap<&str, Vec<(&str, &FlowSummary)>> = BTreeMap::new();
    for (label, run) in runs {
        let mut in_run = BTreeSet::new();
        for flow in run.flows.iter().filter(|flow| in_run.insert(flow.name.as_str())) {
            let flows = by_name.entry(&flow.name).or_default();
            if flows.is_empty() {
                names.push(&flow.name);
            }
            flows.push((*label, flow));
        }
    }
    names.into_iter().flat_map(|name| of(name, &by_name[name], runs)).collect()
}

fn of(name: &str, flows: &[(&str, &FlowSummary)], runs: &[(&str, Summary)]) -> Vec<Finding> {
    let extremes = |of: &dyn Fn(&FlowSummary) -> Option<f64>| {
        let mut found: Vec<_> = flows.iter().filter_map(|(label, flow)| Some((*label, *flow, of(flow)?))).collect();
        found.sort_by(|a, b| a.2.total_cmp(&b.2));
        Some((*found.first()?, *found.last()?))
    };
    let (from, to) = runs
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(from, to), (_, run)| (from.min(run.interval.from), to.max(run.interval.to)));
    let finding = |text: String| Finding {
        time_from_s: from,
        time_to_s: to,
        severity: Severity::Note,
        subject: name.to_owned(),
        text,
    };
    let mut findings = Vec::new();
    if let Some(((smooth, of_smooth, least), (rough, of_rough, most))) = extremes(&|flow| flow.rate_cov)
        && most - least >= MIN_COV_DIFFERENCE
    {
        findings.push(finding(format!(
            "{name} was smoother in {smooth} ({}) than in {rough} ({}): its rate varied by {least:.2} of its mean, compared with {most:.2}",
            of_smooth.kind, of_rough.kind
        )));
    }
    let kinds: BTreeSet<MediaKind> = flows.iter().flat_map(|(_, flow)| flow.on_time_ratio.keys().copied()).collect();
    for kind in kinds {
        if let Some(((worst, of_worst, least), (best, of_best, most))) =
            extremes(&|flow| flow.on_time_ratio.get(&kind).copied())
            && most - least >= MIN_RATIO_DIFFERENCE
        {
            findings.push(finding(format!(
                "more of the {} of {name} arrived on time in {best} ({}) than in {worst} ({}): {}, compared with {}",
                kind.name(),
                of_best.kind,
                of_worst.kind,
                percent(most),
                percent(least)
            )));
        }
    }
    findings
}
