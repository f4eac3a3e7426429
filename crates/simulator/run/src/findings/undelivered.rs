//! Flows of which no packet arrived.

use super::evidence::Evidence;
use super::{Finding, Severity, count, one_per_cause};
use headway_record::{FlowSummary, LinkSummary};
use headway_units::DropCause;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let summary = evidence.summary;
    let of = |(number, flow): (usize, &FlowSummary)| {
        // A failed connection has a separate finding.
        if flow.sent_packets == 0 || flow.received_packets > 0 || flow.connection_failure.is_some() {
            return None;
        }
        let cause = DropCause::ALL.into_iter().max_by_key(|cause| flow.lost_packets.of(*cause));
        let cause = cause.filter(|_| flow.lost_packets.total() > 0);
        let paths = evidence.network.as_ref().map(|(_, paths)| paths);
        let path = paths.and_then(|paths| paths.get(number)).map_or(&[][..], |path| &path.links);
        let links = path.iter().filter_map(|link| summary.links.get(*link));
        let dropped = |link: &&LinkSummary| cause.map_or(0, |cause| link.dropped_packets.of(cause));
        let link = links.max_by_key(dropped).filter(|link| dropped(link) > 0);
        let finding = Finding {
            time_from_s: summary.interval.from,
            time_to_s: summary.interval.to,
            severity: if cause.is_some() { Severity::Problem } else { Severity::Note },
            subject: flow.name.clone(),
            text: format!(
                "nothing of {} arrived, although it sent {}: {}",
                flow.name,
                count(flow.sent_packets, "packet"),
                why(flow, cause, link)
            ),
        };
        Some(((cause, link.map(|link| &link.name)), flow.sent_packets as f64, finding))
    };
    one_per_cause(summary.flows.iter().enumerate().filter_map(of).collect(), "more flow")
}

/// Describes the likely cause.
fn why(flow: &FlowSummary, cause: Option<DropCause>, link: Option<&LinkSummary>) -> String {
    let place = link.map_or_else(|| "a link".to_owned(), |link| link.name.clone());
    let Some(cause) = cause else {
        return "all were in transit at the end of the run: a link is down or slow, or the run is shorter than the delay"
            .to_owned();
    };
    let lost = count(flow.lost_packets.of(cause), "packet");
    match cause {
        // A queue that never held a packet had space for one, unless the packet is too large.
        DropCause::QueueFull if link.is_some_and(|link| link.peak_queue_packets == 0) => {
            format!("each packet is larger than the queue of {place}, which dropped {lost}")
        }
        DropCause::QueueFull => format!("the queue of {place} was full, and dropped {lost}"),
        DropCause::Early => format!("the queue of {place} dropped {lost} before it was full"),
        DropCause::Channel => format!("the channel of {place} lost {lost}"),
        DropCause::TooBig => format!("{lost} exceeded the MTU or the burst of {place}"),
        DropCause::Policer => format!("the policer of {place} dropped {lost}"),
        DropCause::Host => format!("the host {} had no buffer space for {lost}", flow.to),
    }
}
