//! Queues that never empty: what is in them waits, and all else behind it.

use super::evidence::Evidence;
use super::{Finding, Severity, time};
use headway_units::DropCause;

/// A conversation has 150 ms for everything (ITU-T G.114).
const LONG_S: f64 = 0.1;

/// Whether a channel's losses never came to the queue.
fn loses_before(evidence: &Evidence<'_>, link: &str) -> bool {
    let scenario = evidence.network.iter().map(|(scenario, _)| scenario);
    let mut losses = scenario.flat_map(|scenario| &scenario.links).filter(|known| known.name == link);
    losses.next().is_some_and(headway_scenario::Link::loses_before_queue)
}

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let measured = evidence.summary.interval;
    let of = |link: &headway_record::LinkSummary| {
        let dropped = link.dropped_packets;
        let unheard = if loses_before(evidence, &link.name) { dropped.of(DropCause::Channel) } else { 0 };
        // What the queue took. Some of what it dropped early may have waited, too: then packets waited longer than this says.
        let refused = [DropCause::QueueFull, DropCause::Early, DropCause::TooBig, DropCause::Policer];
        let refused: u64 = refused.into_iter().map(|cause| dropped.of(cause)).sum();
        let through = link.arrived_packets.saturating_sub(refused + unheard);
        // Little's law, which holds whatever the rate of the link does.
        let wait = link.mean_queue_packets * (measured.to - measured.from) / through.max(1) as f64;
        (wait >= LONG_S).then(|| Finding {
            time_from_s: measured.from,
            time_to_s: measured.to,
            severity: Severity::Problem,
            subject: link.name.clone(),
            text: format!("packets waited {} in the queue of {} on average", time(wait), link.name),
        })
    };
    evidence.summary.links.iter().filter_map(of).collect()
}
