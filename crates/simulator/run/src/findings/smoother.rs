//! The controller with the smoothest rate. Only flows with equal sources that are active for the whole
//! measurement are compared, because the rate of a flow is 0 before its start.

use super::evidence::Evidence;
use super::{Finding, Severity};
use headway_record::FlowSummary;
use headway_scenario::Flow;
use std::collections::BTreeMap;

/// Width of a bin of the compared rates (`rate_cov` of a flow), in s.
const BIN_S: f64 = 0.5;
/// Maximum number of different sources whose flows are compared.
const MAX_SOURCES: usize = 100;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let Some((scenario, paths)) = &evidence.network else { return Vec::new() };
    let mut groups: Vec<(&Flow, Vec<(&FlowSummary, f64)>)> = Vec::new();
    let from = evidence.summary.interval.from.max(BIN_S);
    for (flow, _) in scenario.flows.iter().zip(paths).filter(|(_, path)| path.start.as_secs_f64() <= from) {
        let summary = evidence.flow(&flow.name).and_then(|summary| Some((summary, summary.rate_cov?)));
        let Some((summary, cov)) = summary else { continue };
        let alike = |first: &Flow| first.source == flow.source && first.stop == flow.stop;
        let known = groups.iter().position(|(first, _)| alike(first));
        match known {
            Some(at) => groups[at].1.push((summary, cov)),
            None if groups.len() < MAX_SOURCES => groups.push((flow, vec![(summary, cov)])),
            None => {}
        }
    }
    groups.iter().filter_map(|(_, members)| of(evidence, members)).collect()
}

fn of(evidence: &Evidence<'_>, members: &[(&FlowSummary, f64)]) -> Option<Finding> {
    let mut kinds: BTreeMap<&str, (Vec<f64>, &str)> = BTreeMap::new();
    for (flow, cov) in members {
        kinds.entry(&flow.kind).or_insert_with(|| (Vec::new(), &flow.name)).0.push(*cov);
    }
    let kinds: Vec<(&str, f64, &str)> = kinds
        .into_iter()
        .map(|(kind, (covs, name))| (kind, covs.iter().sum::<f64>() / covs.len() as f64, name))
        .collect();
    let by_cov = |a: &&(&str, f64, &str), b: &&(&str, f64, &str)| a.1.total_cmp(&b.1);
    let (smooth, rough) = (kinds.iter().min_by(by_cov)?, kinds.iter().max_by(by_cov)?);
    (smooth.0 != rough.0).then(|| Finding {
        time_from_s: evidence.summary.interval.from,
        time_to_s: evidence.summary.interval.to,
        severity: Severity::Note,
        subject: smooth.2.to_owned(),
        text: format!(
            "{} was smoother than {}: its rate varied by {:.2} of its mean, the other's by {:.2}",
            smooth.0, rough.0, smooth.1, rough.1
        ),
    })
}
