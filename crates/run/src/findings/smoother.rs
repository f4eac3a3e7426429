//! Which of several controllers had the smoother rate: only flows are compared whose sources are alike, and that were there all the time. Before it starts a
//! flow's rate is 0, and that is no fault of its controller.

use super::evidence::Evidence;
use super::{Finding, Severity};
use headway_record::FlowSummary;
use headway_scenario::Flow;

/// A bin of the rates that are compared (`rate_cov` of a flow).
const BEGINNING_S: f64 = 0.5;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let Some((scenario, ways)) = &evidence.network else { return Vec::new() };
    let mut groups: Vec<(&Flow, Vec<(&FlowSummary, f64)>)> = Vec::new();
    let from = evidence.summary.interval.from.max(BEGINNING_S);
    for (flow, _) in scenario.flows.iter().zip(ways).filter(|(_, way)| way.start.as_secs_f64() <= from) {
        let summary = evidence.summary.flows.iter().find(|summary| summary.name == flow.name);
        let Some((summary, cov)) = summary.and_then(|summary| Some((summary, summary.rate_cov?))) else { continue };
        let alike = |first: &Flow| first.source == flow.source && first.stop == flow.stop;
        match groups.iter_mut().find(|(first, _)| alike(first)) {
            Some((_, members)) => members.push((summary, cov)),
            None => groups.push((flow, vec![(summary, cov)])),
        }
    }
    groups.iter().filter_map(|(_, members)| of(evidence, members)).collect()
}

fn of(evidence: &Evidence<'_>, members: &[(&FlowSummary, f64)]) -> Option<Finding> {
    let mut kinds: Vec<(&str, Vec<f64>, &str)> = Vec::new();
    for (flow, cov) in members {
        match kinds.iter_mut().find(|(kind, ..)| *kind == flow.kind) {
            Some((_, covs, _)) => covs.push(*cov),
            None => kinds.push((&flow.kind, vec![*cov], &flow.name)),
        }
    }
    let mean = |covs: &[f64]| covs.iter().sum::<f64>() / covs.len() as f64;
    let by_cov = |a: &&(&str, Vec<f64>, &str), b: &&(&str, Vec<f64>, &str)| mean(&a.1).total_cmp(&mean(&b.1));
    let (smooth, rough) = (kinds.iter().min_by(by_cov)?, kinds.iter().max_by(by_cov)?);
    (smooth.0 != rough.0).then(|| Finding {
        time_from_s: evidence.summary.interval.from,
        time_to_s: evidence.summary.interval.to,
        severity: Severity::Note,
        subject: smooth.2.to_owned(),
        text: format!(
            "{} was smoother than {}: its rate varied by {:.2} of its mean, the other's by {:.2}",
            smooth.0,
            rough.0,
            mean(&smooth.1),
            mean(&rough.1)
        ),
    })
}
