//! Connections that came to nothing.

use super::evidence::Evidence;
use super::{Finding, Severity};

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let measured = evidence.summary.interval;
    let of = |flow: &headway_record::FlowSummary| {
        Some(Finding {
            time_from_s: measured.from,
            time_to_s: measured.to,
            severity: Severity::Problem,
            subject: flow.name.clone(),
            text: format!("the connection of {} failed: {}", flow.name, flow.connection_failure.as_ref()?),
        })
    };
    evidence.summary.flows.iter().filter_map(of).collect()
}
