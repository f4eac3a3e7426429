//! Which links dropped packets, and why: a queue that overflowed, a channel that lost.

use super::evidence::Evidence;
use super::{Finding, Severity, count, percent};
use headway_record::{EventKind, LinkSummary};
use headway_units::DropCause;
use std::collections::BTreeMap;

/// From so large a part of its packets on media are worse off, whatever they do.
const MANY: f64 = 0.02;

/// A packet that was dropped for it, in the singular.
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
    let links = evidence.summary.links.iter();
    links.flat_map(|link| DropCause::ALL.into_iter().filter_map(|cause| of(evidence, link, cause))).collect()
}

fn of(evidence: &Evidence<'_>, link: &LinkSummary, cause: DropCause) -> Option<Finding> {
    let packets = link.dropped_packets.of(cause);
    // What its hosts drop a link does not.
    if packets == 0 || cause == DropCause::Host {
        return None;
    }
    let part = packets as f64 / link.arrived_packets.max(packets) as f64;
    let here = || {
        let dropped = evidence.events(EventKind::Drop);
        dropped.filter(|event| event.entity == link.name && event.cause == Some(cause.name()))
    };
    let (from, to) = evidence.span(EventKind::Drop, here());
    let mut by_flow: BTreeMap<&str, u64> = BTreeMap::new();
    here().filter_map(|event| event.flow).for_each(|flow| *by_flow.entry(flow).or_default() += 1);
    let known: u64 = by_flow.values().sum();
    let most = by_flow.into_iter().max_by_key(|(_, packets)| *packets);
    let whose = most.map_or_else(String::new, |(flow, most)| {
        if most == known {
            format!(", of {flow}")
        } else {
            format!(", most of them ({}) of {flow}", percent(most as f64 / known as f64))
        }
    });
    let name = &link.name;
    let packets = count(packets, "packet");
    let what = match cause {
        DropCause::QueueFull => format!("the queue of {name} overflowed: it dropped {packets}"),
        DropCause::Early => format!("the queue of {name} dropped {packets} early"),
        DropCause::Channel => format!("the channel of {name} lost {packets}"),
        DropCause::TooBig => format!("{packets} had no room in the MTU of {name}"),
        DropCause::Policer => format!("the policer of {name} dropped {packets}"),
        DropCause::Host => return None,
    };
    let bad = part >= MANY || cause == DropCause::TooBig;
    Some(Finding {
        time_from_s: from,
        time_to_s: to,
        severity: if bad { Severity::Problem } else { Severity::Note },
        subject: name.clone(),
        text: format!("{what} ({} of what came){whose}", percent(part)),
    })
}
