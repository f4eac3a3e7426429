//! Queues that never empty: what is in them waits, and all else behind it.

use super::evidence::Evidence;
use super::{Finding, Severity, time};
use headway_units::{Duration, Instant};

/// On average. A conversation has 150 ms for everything (ITU-T G.114).
const LONG_S: f64 = 0.1;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let Some((scenario, _)) = &evidence.network else { return Vec::new() };
    let measured = evidence.summary.interval;
    let [from, to] = [measured.from, measured.to].map(|seconds| Instant::ZERO + Duration::from_secs_f64(seconds));
    let of = |link: &headway_record::LinkSummary| {
        let rate = scenario.links.iter().find(|described| described.name == link.name)?.mean_rate(from, to);
        let wait = 8.0 * link.mean_queue_bytes / rate.max(1.0);
        (wait >= LONG_S).then(|| Finding {
            time_from_s: measured.from,
            time_to_s: measured.to,
            severity: Severity::Problem,
            subject: link.name.clone(),
            text: format!("the queue of {} held {} of traffic on average", link.name, time(wait)),
        })
    };
    evidence.summary.links.iter().filter_map(of).collect()
}
