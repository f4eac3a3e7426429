//! Queues that never empty: what is in them waits, and all else behind it.

use super::evidence::Evidence;
use super::{Finding, Severity, one_per_cause, time};
use headway_units::DropCause;
use std::collections::BTreeSet;

/// A conversation has 150 ms for everything (ITU-T G.114).
const LONG_S: f64 = 0.1;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let measured = evidence.summary.interval;
    let links = evidence.network.iter().flat_map(|(scenario, _)| &scenario.links);
    let lose_before: BTreeSet<&str> =
        links.filter(|link| link.loses_before_queue()).map(|link| link.name.as_str()).collect();
    let of = |link: &headway_record::LinkSummary| {
        let dropped = link.dropped_packets;
        let unheard = if lose_before.contains(link.name.as_str()) { dropped.of(DropCause::Channel) } else { 0 };
        // What the queue took. Some of what it dropped early may have waited, too: then packets waited longer than this says.
        let refused = [DropCause::QueueFull, DropCause::Early, DropCause::TooBig, DropCause::Policer];
        let refused: u64 = refused.into_iter().map(|cause| dropped.of(cause)).sum();
        let through = link.arrived_packets.saturating_sub(refused + unheard);
        // Little's law, which holds whatever the rate of the link does.
        let wait = link.mean_queue_packets * (measured.to - measured.from) / through.max(1) as f64;
        let finding = || Finding {
            time_from_s: measured.from,
            time_to_s: measured.to,
            severity: Severity::Problem,
            subject: link.name.clone(),
            text: format!("packets waited {} in the queue of {} on average", time(wait), link.name),
        };
        (wait >= LONG_S).then(|| ((), wait, finding()))
    };
    one_per_cause(evidence.summary.links.iter().filter_map(of).collect(), "more queue")
}
