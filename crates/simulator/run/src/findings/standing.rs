//! Standing queues: queues with a long mean delay.

use super::evidence::Evidence;
use super::{Finding, Severity, one_per_cause, time};
use headway_units::DropCause;
use std::collections::BTreeSet;

/// Mean queueing delay that is a problem, in s. A conversation tolerates a delay of 150 ms in total (ITU-T G.114).
const MIN_DELAY_S: f64 = 0.1;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let measured = evidence.summary.interval;
    let links = evidence.network.iter().flat_map(|(scenario, _)| &scenario.links);
    let lossy: BTreeSet<&str> =
        links.filter(|link| link.has_loss_before_queue()).map(|link| link.name.as_str()).collect();
    let of = |link: &headway_record::LinkSummary| {
        let dropped = link.dropped_packets;
        let lost_before = if lossy.contains(link.name.as_str()) { dropped.of(DropCause::Channel) } else { 0 };
        // Enqueued packets. Some early drops may be of enqueued packets; then the true delay is longer.
        let refused = [DropCause::QueueFull, DropCause::Early, DropCause::TooBig, DropCause::Policer];
        let refused: u64 = refused.into_iter().map(|cause| dropped.of(cause)).sum();
        let through = link.arrived_packets.saturating_sub(refused + lost_before);
        // Little's law. It holds also for a variable link rate.
        let wait = link.mean_queue_packets * (measured.to - measured.from) / through.max(1) as f64;
        let finding = || Finding {
            time_from_s: measured.from,
            time_to_s: measured.to,
            severity: Severity::Problem,
            subject: link.name.clone(),
            text: format!("packets waited {} in the queue of {} on average", time(wait), link.name),
        };
        (wait >= MIN_DELAY_S).then(|| ((), wait, finding()))
    };
    one_per_cause(evidence.summary.links.iter().filter_map(of).collect(), "more queue")
}
