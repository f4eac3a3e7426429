//! Who always has something to send, and for a second or more gets less than a tenth of an equal share of its narrowest link.

use super::evidence::Evidence;
use super::{Finding, Severity, count, percent, rate, time};
use headway_media::SourceOptions;
use headway_record::EventKind;
use headway_scenario::{Flow, Scenario};
use headway_sim::Way;
use headway_units::{Duration, Instant};
use std::collections::BTreeMap;

/// Of its fair share.
const LITTLE: f64 = 0.1;
const LONG_S: f64 = 1.0;
/// What came so shortly before is a cause.
const BEFORE_S: f64 = 1.0;
/// Of a flow that starves again and again so many times are told one by one.
const TIMES: usize = 3;
/// Who takes so much of the link beside a flow that starves is named.
const MOST: f64 = 0.5;

struct Stretch {
    from: f64,
    to: f64,
    share: f64,
    link: usize,
}

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let Some((scenario, ways)) = &evidence.network else { return Vec::new() };
    let mut found = Vec::new();
    for (flow, way) in scenario.flows.iter().zip(ways) {
        if !matches!(&*flow.source, SourceOptions::Ftp(options) if options.segments.is_none()) {
            continue;
        }
        let mut stretches = stretches(evidence, scenario, ways, flow, way);
        // How it begins is slow start, unless something happened to it.
        stretches.retain(|stretch| {
            let begins = stretch.from <= way.start.as_secs_f64() + LONG_S;
            !begins || !why(evidence, flow, stretch).is_empty()
        });
        let all: f64 = stretches.iter().map(|stretch| stretch.to - stretch.from).sum();
        let more = stretches.len().saturating_sub(TIMES) as u64;
        stretches.sort_by(|a, b| (b.to - b.from).total_cmp(&(a.to - a.from)));
        stretches.truncate(TIMES);
        for (place, stretch) in stretches.iter().enumerate() {
            let why = [why(evidence, flow, stretch), beside(evidence, scenario, ways, flow, stretch)].concat();
            let again = if place == 0 && more > 0 {
                format!(" (and {} more, {} in all)", count(more, "time"), time(all))
            } else {
                String::new()
            };
            found.push(Finding {
                time_from_s: stretch.from,
                time_to_s: stretch.to,
                severity: Severity::Problem,
                subject: flow.name.clone(),
                text: format!(
                    "{} below a tenth of its fair share ({} at {}) for {}{again}{}",
                    flow.name,
                    rate(stretch.share),
                    scenario.links[stretch.link].name,
                    time(stretch.to - stretch.from),
                    if why.is_empty() { String::new() } else { format!(": {}", why.join("; ")) },
                ),
            });
        }
    }
    found
}

fn is_active(flow: &Flow, way: &Way, at: Instant) -> bool {
    way.start < at && flow.stop.is_none_or(|stop| at <= stop)
}

/// The least of what each link of the way has for each flow that is active there, and that link.
fn fair_share(scenario: &Scenario, ways: &[Way], way: &Way, since: Instant, at: Instant) -> Option<(f64, usize)> {
    let of_link = |&link: &usize| {
        let crosses = |(flow, way): &(&Flow, &Way)| is_active(flow, way, at) && way.links.contains(&link);
        let flows = scenario.flows.iter().zip(ways).filter(crosses).count().max(1);
        (scenario.links[link].lasting_rate(since, at) / flows as f64, link)
    };
    way.links.iter().map(of_link).min_by(|a, b| a.0.total_cmp(&b.0))
}

fn stretches(evidence: &Evidence<'_>, scenario: &Scenario, ways: &[Way], flow: &Flow, way: &Way) -> Vec<Stretch> {
    let mut all: Vec<Stretch> = Vec::new();
    let mut since: Option<Stretch> = None;
    let mut before = evidence.summary.interval.from.max(way.start.as_secs_f64());
    let long = |stretch: &Stretch| stretch.to - stretch.from >= LONG_S;
    for &(at, throughput) in evidence.throughput(&flow.name) {
        let now = at.as_secs_f64();
        if now <= before {
            continue;
        }
        let since_then = Instant::ZERO + Duration::from_secs_f64(before);
        let share = fair_share(scenario, ways, way, since_then, at).filter(|_| is_active(flow, way, at));
        match share {
            Some((share, link)) if throughput < LITTLE * share => {
                let open = since.get_or_insert(Stretch { from: before, to: now, share, link });
                open.to = now;
            }
            _ => all.extend(since.take().filter(long)),
        }
        before = now;
    }
    all.extend(since.filter(long));
    all
}

/// What happened to the flow in that time or shortly before.
fn why(evidence: &Evidence<'_>, flow: &Flow, stretch: &Stretch) -> Vec<String> {
    let reach = stretch.from - BEFORE_S..=stretch.to;
    let own = |event: &headway_record::EventRow<'_>| {
        event.flow == Some(flow.name.as_str()) && reach.contains(&event.at.as_secs_f64())
    };
    let timeouts = evidence.events(EventKind::Timeout).filter(own).count() as u64;
    let mut drops: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for event in evidence.events(EventKind::Drop).filter(own) {
        *drops.entry((event.entity, event.cause.unwrap_or_default())).or_default() += 1;
    }
    let least = if evidence.has_all(EventKind::Drop) { "" } else { "at least " };
    let most = drops.into_iter().max_by_key(|(_, packets)| *packets).map(|((place, cause), packets)| {
        format!("{least}{} at {place}", count(packets, super::drops::adjective(cause)))
    });
    match (timeouts, most) {
        (0, None) => Vec::new(),
        (0, Some(drops)) => vec![drops],
        (_, None) => vec![count(timeouts, "timeout")],
        (_, Some(drops)) => vec![format!("{} after {drops}", count(timeouts, "timeout"))],
    }
}

/// Who took the link meanwhile.
fn beside(evidence: &Evidence<'_>, scenario: &Scenario, ways: &[Way], flow: &Flow, stretch: &Stretch) -> Vec<String> {
    let [from, to] = [stretch.from, stretch.to].map(|seconds| Instant::ZERO + Duration::from_secs_f64(seconds));
    let capacity = scenario.links[stretch.link].lasting_rate(from, to);
    let others = scenario.flows.iter().zip(ways);
    let others = others.filter(|(other, way)| other.name != flow.name && way.links.contains(&stretch.link));
    let took = others.filter_map(|(other, _)| {
        let within = |(at, _): &&(Instant, f64)| {
            let at = at.as_secs_f64();
            stretch.from < at && at <= stretch.to
        };
        let samples: Vec<f64> =
            evidence.throughput(&other.name).iter().filter(within).map(|(_, value)| *value).collect();
        (!samples.is_empty()).then(|| (samples.iter().sum::<f64>() / samples.len() as f64 / capacity, &other.name))
    });
    let most = took.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(part, _)| *part >= MOST);
    most.map(|(part, name)| format!("meanwhile {name} took {} of the link", percent(part))).into_iter().collect()
}
