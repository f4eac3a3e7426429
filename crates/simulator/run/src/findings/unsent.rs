//! Packets that a send queue discarded before they were sent.

use super::evidence::{Events, Evidence};
use super::{Finding, Severity, count, one_per_cause, percent, time};
use headway_record::{EventKind, SendQueueSummary};
use headway_units::MediaKind;

/// Part of a kind's packets above which discards are a problem.
const MIN_PROBLEM: f64 = 0.01;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let unsent = evidence.by_key(EventKind::Unsent, |event| Some((event.flow?, event.kind?)));
    let of_flow = |flow: &headway_record::FlowSummary| {
        let of_kind = |(kind, queue): (&MediaKind, &SendQueueSummary)| {
            of(evidence, &flow.name, *kind, queue, unsent.get(&(flow.name.as_str(), kind.name())))
        };
        flow.send_queue.iter().filter_map(of_kind).collect::<Vec<_>>()
    };
    one_per_cause(evidence.summary.flows.iter().flat_map(of_flow).collect(), "more flow")
}

fn of(
    evidence: &Evidence<'_>,
    flow: &str,
    kind: MediaKind,
    queue: &SendQueueSummary,
    events: Option<&Events<'_>>,
) -> Option<((MediaKind, Severity), f64, Finding)> {
    let unsent = queue.unsent_packets();
    if unsent == 0 {
        return None;
    }
    let part = unsent as f64 / queue.written_packets.max(unsent) as f64;
    let (from, to) = evidence.span(EventKind::Unsent, events);
    let causes = [
        (queue.expired_packets, "would have arrived too late"),
        (queue.refused_packets, "found the queue full"),
        (queue.pushed_out_packets, "made room for more urgent packets"),
    ];
    let causes = causes.into_iter().filter(|(packets, _)| *packets > 0);
    let causes: Vec<_> = causes.map(|(packets, why)| format!("{packets} {why}")).collect();
    let worst = events.and_then(|events| events.worst).filter(|late| !late.is_zero());
    let worst = worst.filter(|_| evidence.has_all(EventKind::Unsent));
    let late = queue.mean_lateness_s.map_or_else(String::new, |mean| {
        let worst = worst.map_or_else(String::new, |worst| format!(", at most {}", time(worst.as_secs_f64())));
        format!("; packets past their deadline were late by {} on average{worst}", time(mean))
    });
    let severity = if part >= MIN_PROBLEM { Severity::Problem } else { Severity::Note };
    let finding = Finding {
        time_from_s: from,
        time_to_s: to,
        severity,
        subject: flow.to_owned(),
        text: format!(
            "{flow} discarded {} of {kind} ({}) before they were sent: {}{late}",
            count(unsent, "packet"),
            percent(part),
            causes.join(", "),
        ),
    };
    Some(((kind, severity), part, finding))
}
