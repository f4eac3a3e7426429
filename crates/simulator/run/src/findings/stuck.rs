//! Senders that stopped forever.

use super::evidence::Evidence;
use super::{Finding, Severity, one_per_cause};

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let measured = evidence.summary.interval;
    let stuck = evidence.summary.flows.iter().filter(|flow| flow.stuck);
    let of = |flow: &headway_record::FlowSummary| Finding {
        time_from_s: measured.from,
        time_to_s: measured.to,
        severity: Severity::Problem,
        subject: flow.name.clone(),
        text: format!("{} stopped forever: it had data to send, but neither an open window nor a timer", flow.name),
    };
    one_per_cause(stuck.map(|flow| ((), 0.0, of(flow))).collect(), "more flow")
}
