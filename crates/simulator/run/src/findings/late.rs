//! Packets that arrived after their deadline.

use super::evidence::Evidence;
use super::{Finding, Severity, one_per_cause, percent, time};
use headway_record::EventKind;

/// Part of a kind's packets above which late arrivals are a problem.
const MIN_PROBLEM: f64 = 0.01;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let late = evidence.by_key(EventKind::Late, |event| Some((event.flow?, event.kind?)));
    let mut found = Vec::new();
    for flow in &evidence.summary.flows {
        for (kind, part) in flow.late_ratio.iter().filter(|(_, part)| **part > 0.0) {
            let own = late.get(&(flow.name.as_str(), kind.name()));
            let (from, to) = evidence.span(EventKind::Late, own);
            let worst = own.and_then(|events| events.worst).filter(|_| evidence.has_all(EventKind::Late));
            let worst = worst.map_or_else(String::new, |worst| format!(", at most by {}", time(worst.as_secs_f64())));
            let finding = Finding {
                time_from_s: from,
                time_to_s: to,
                severity: if *part >= MIN_PROBLEM { Severity::Problem } else { Severity::Note },
                subject: flow.name.clone(),
                text: format!("{} of {kind} of {} arrived after its deadline{worst}", percent(*part), flow.name),
            };
            found.push(((*kind, finding.severity), *part, finding));
        }
    }
    one_per_cause(found, "more flow")
}
