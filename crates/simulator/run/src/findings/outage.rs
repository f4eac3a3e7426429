//! Outages of links and shapers with a variable rate.

use super::evidence::Evidence;
use super::{Finding, Severity, by_cause, count, likewise, time};
use headway_units::Instant;

/// Maximum number of outages of a link that are reported individually.
const MAX_REPORTED: usize = 3;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let Some((scenario, _)) = &evidence.network else { return Vec::new() };
    let measured = evidence.summary.interval;
    let mut found = Vec::new();
    let of_link = scenario.links.iter().filter_map(|link| {
        let outages: Vec<_> = link.changes.as_ref()?.outages();
        Some((link, format!("{} forwarded nothing", link.name), outages))
    });
    let of_shaper = scenario.links.iter().filter_map(|link| {
        let outages: Vec<_> = link.shaper.as_ref()?.outages();
        Some((link, format!("the shaper of {} forwarded no more than its burst", link.name), outages))
    });
    // Links with the same outages have one cause.
    let all = of_link.chain(of_shaper).filter(|(.., outages)| !outages.is_empty());
    let all: Vec<(Vec<(Instant, Instant)>, f64, _)> =
        all.map(|(link, what, outages)| (outages.clone(), 0.0, (link, what, outages))).collect();
    for ((link, what, outages), others) in by_cause(all) {
        let within = outages.into_iter().map(|(from, to)| (from.as_secs_f64(), to.as_secs_f64().min(measured.to)));
        let mut outages: Vec<_> = within.filter(|(from, to)| *from < *to && *to > measured.from).collect();
        let all: f64 = outages.iter().map(|(from, to)| to - from).sum();
        let more = outages.len().saturating_sub(MAX_REPORTED) as u64;
        outages.sort_by(|a, b| (b.1 - b.0).total_cmp(&(a.1 - a.0)));
        outages.truncate(MAX_REPORTED);
        for (place, (from, to)) in outages.into_iter().enumerate() {
            let again = if place == 0 && more > 0 {
                format!(" (and {} more, {} in all)", count(more, "time"), time(all))
            } else {
                String::new()
            };
            found.push(Finding {
                time_from_s: from,
                time_to_s: to,
                severity: Severity::Problem,
                subject: link.name.clone(),
                text: format!("outage: {what} for {}{again}{}", time(to - from), likewise(others, "more link")),
            });
        }
    }
    found
}
