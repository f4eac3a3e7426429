//! Connections that failed.

use super::evidence::Evidence;
use super::{Finding, Severity, one_per_cause};

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let measured = evidence.summary.interval;
    let of = |flow: &headway_record::FlowSummary| {
        let failure = flow.connection_failure.clone()?;
        let finding = Finding {
            time_from_s: measured.from,
            time_to_s: measured.to,
            severity: Severity::Problem,
            subject: flow.name.clone(),
            text: format!("the connection of {} failed: {}", flow.name, failure),
        };
        Some((failure, 0.0, finding))
    };
    one_per_cause(evidence.summary.flows.iter().filter_map(of).collect(), "more flow")
}
