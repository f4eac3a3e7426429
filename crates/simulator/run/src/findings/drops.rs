//! Links that dropped packets, with the cause and the most affected flow.

use super::evidence::{Events, Evidence};
use super::{Finding, Severity, count, one_per_cause, percent};
use headway_record::{EventKind, LinkSummary};
use headway_units::DropCause;

/// Part of a link's packets above which drops are a problem.
const MIN_PROBLEM: f64 = 0.02;

/// Returns a noun phrase for a packet dropped for this cause.
pub(super) fn adjective(cause: &str) -> &'static str {
    match DropCause::ALL.into_iter().find(|known| known.name() == cause) {
        Some(DropCause::QueueFull) => "queue-full drop",
        Some(DropCause::Early) => "early drop",
        Some(DropCause::Channel) => "lost packet",
        Some(DropCause::TooBig) => "too large packet",
        Some(DropCause::Policer) => "policed packet",
        Some(DropCause::Host) => "drop of the host",
        None => "drop",
    }
}

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let dropped = evidence.by_key(EventKind::Drop, |event| Some((event.entity, event.cause?)));
    let causes = |link| DropCause::ALL.into_iter().map(move |cause| (link, cause));
    let of = |(link, cause): (&LinkSummary, DropCause)| {
        let packets = link.dropped_packets.of(cause);
        if packets == 0 {
            None
        } else {
            of(evidence, link, (cause, packets), dropped.get(&(link.name.as_str(), cause.name())))
        }
    };
    one_per_cause(evidence.summary.links.iter().flat_map(causes).filter_map(of).collect(), "more link")
}

fn of(
    evidence: &Evidence<'_>,
    link: &LinkSummary,
    (cause, packets): (DropCause, u64),
    events: Option<&Events<'_>>,
) -> Option<((DropCause, Severity), f64, Finding)> {
    let part = packets as f64 / link.arrived_packets.max(packets) as f64;
    let (from, to) = evidence.span(EventKind::Drop, events);
    let by_flow = || events.into_iter().flat_map(|events| &events.by_flow);
    let known: u64 = by_flow().map(|(_, packets)| packets).sum();
    let most = by_flow().max_by_key(|(_, packets)| **packets).filter(|_| evidence.has_all(EventKind::Drop));
    let whose = most.map_or_else(String::new, |(flow, most)| {
        let part = *most as f64 / known as f64;
        match part {
            all if all >= 1.0 => format!(", of {flow}"),
            most if most >= 0.5 => format!(", most of them ({}) of {flow}", percent(most)),
            less => format!(", the largest part ({}) of {flow}", percent(less)),
        }
    });
    let name = &link.name;
    let packets = count(packets, "packet");
    let what = match cause {
        // RED also drops packets for this cause while its average is too long.
        DropCause::QueueFull if link.mean_red_average.is_some() => {
            format!("the queue of {name} was full, or its average too long (RED): it dropped {packets}")
        }
        DropCause::QueueFull => format!("the queue of {name} overflowed: it dropped {packets}"),
        DropCause::Early => format!("the queue of {name} dropped {packets} early"),
        DropCause::Channel => format!("the channel of {name} lost {packets}"),
        DropCause::TooBig => format!("{packets} exceeded the MTU or the burst of {name}"),
        DropCause::Policer => format!("the policer of {name} dropped {packets}"),
        // The link did not drop these packets.
        DropCause::Host => return None,
    };
    let bad = part >= MIN_PROBLEM || cause == DropCause::TooBig;
    let severity = if bad { Severity::Problem } else { Severity::Note };
    let finding = Finding {
        time_from_s: from,
        time_to_s: to,
        severity,
        subject: name.clone(),
        text: format!("{what} ({} of the packets that arrived){whose}", percent(part)),
    };
    Some(((cause, severity), part, finding))
}
