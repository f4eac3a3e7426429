//! Queues that never empty: what is in them waits, and all else behind it.

use super::evidence::Evidence;
use super::{Finding, Severity, time};

/// A conversation has 150 ms for everything (ITU-T G.114).
const LONG_S: f64 = 0.1;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let measured = evidence.summary.interval;
    let of = |link: &headway_record::LinkSummary| {
        let through = link.arrived_packets.saturating_sub(link.dropped_packets.total());
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
