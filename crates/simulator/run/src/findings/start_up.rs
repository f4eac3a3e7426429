//! Flows that are still in start-up when the measurement begins.

use super::evidence::Evidence;
use super::{Finding, Severity, one_per_cause, time};
use headway_media::SourceOptions;
use headway_record::metric;
use headway_scenario::{Link, Scenario, Transport};
use headway_sim::FlowPath;
use headway_units::{Duration, Instant};
use std::collections::BTreeMap;

/// Sample of a window: time, cwnd and ssthresh in packets.
type Sample = (Instant, f64, f64);

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let Some((scenario, paths)) = &evidence.network else { return Vec::new() };
    let begins = Instant::ZERO + Duration::from_secs_f64(evidence.summary.interval.from);
    if begins == Instant::ZERO {
        return Vec::new();
    }
    // The first link of each pair of nodes.
    let links = scenario.links.iter().rev().map(|link| ((link.from, link.to), link));
    let links: BTreeMap<_, _> = links.collect();
    let mut found = Vec::new();
    for (flow, path) in scenario.flows.iter().zip(paths) {
        let greedy = matches!(&*flow.source, SourceOptions::Ftp(options) if options.segments.is_none());
        let Transport::Tcp(options) = &*flow.transport else { continue };
        if !greedy || path.start >= begins {
            continue;
        }
        let samples = samples(evidence, &flow.name);
        let (before, after) = samples.split_at(samples.partition_point(|sample| sample.0 <= begins));
        let Some(&now) = before.last() else { continue };
        let segment_bits = options.rules.segment.count() as f64 * 8.0;
        let product = bottleneck(scenario, path, begins) * round_trip(scenario, &links, path, begins) / segment_bits;
        // A flow limited by its maximum window never reaches ssthresh, regardless of when the measurement begins.
        let most = options.rules.window_segments() as f64;
        let in_start_up = |sample: &Sample| sample.1 < sample.2.min(most) && sample.2 > product;
        if !in_start_up(&now) {
            continue;
        }
        let left = after.iter().find(|sample| !in_start_up(sample)).map(|sample| sample.0.as_secs_f64());
        let from = evidence.summary.interval.from;
        let begins = time(from);
        let until = left.map_or_else(
            || format!("from before the measurement began at {begins} to its end"),
            |at| format!("until {}, after the measurement began at {begins}", time(at)),
        );
        let until_s = left.unwrap_or(evidence.summary.interval.to);
        let finding = Finding {
            time_from_s: from,
            time_to_s: until_s,
            severity: Severity::Note,
            subject: flow.name.clone(),
            text: format!(
                "{} was in start-up {until}: its slow-start threshold was {:.0} packets, the path holds {product:.0}; a later \
                 measure_from leaves start-up out",
                flow.name, now.2,
            ),
        };
        found.push(((), until_s, finding));
    }
    one_per_cause(found, "more flow")
}

/// Returns the window samples of a flow.
fn samples(evidence: &Evidence<'_>, flow: &str) -> Vec<Sample> {
    let cwnd = evidence.series.samples(flow, metric::CWND);
    let ssthresh = evidence.series.samples(flow, metric::SSTHRESH);
    cwnd.iter().zip(ssthresh).map(|(cwnd, ssthresh)| (cwnd.0, cwnd.1, ssthresh.1)).collect()
}

/// Returns the mean rate of the slowest link of a path up to `until`, in bit/s.
fn bottleneck(scenario: &Scenario, path: &FlowPath, until: Instant) -> f64 {
    path.links.iter().map(|&link| scenario.links[link].sustained_rate(path.start, until)).fold(f64::INFINITY, f64::min)
}

/// Returns the propagation delay of a path and back, in s. A link without a reverse direction counts twice.
fn round_trip(scenario: &Scenario, links: &BTreeMap<(usize, usize), &Link>, path: &FlowPath, at: Instant) -> f64 {
    let of_link = |&link: &usize| {
        let there = &scenario.links[link];
        let back = links.get(&(there.to, there.from)).copied().unwrap_or(there);
        (there.delay_at(at) + back.delay_at(at)).as_secs_f64()
    };
    path.links.iter().map(of_link).sum()
}
