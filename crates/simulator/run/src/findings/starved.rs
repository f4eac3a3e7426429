//! Flows that always have data to send, but get less than a tenth of their fair share for a second or longer.

use super::evidence::Evidence;
use super::{Finding, Severity, by_cause, count, likewise, percent, rate, time};
use headway_media::SourceOptions;
use headway_record::EventKind;
use headway_scenario::{Flow, Scenario, Transport};
use headway_sim::FlowPath;
use headway_units::{Duration, Instant};
use std::collections::BTreeMap;

/// Part of the fair share below which a flow starves.
const MIN_SHARE: f64 = 0.1;
const MIN_PERIOD_S: f64 = 1.0;
/// Maximum time from a drop or timeout to the starvation it may cause, in s.
const MAX_CAUSE_DELAY_S: f64 = 1.0;
/// Maximum number of periods of a flow that are reported individually.
const MAX_REPORTED: usize = 3;
/// Minimum part of the link of another flow that is named in the text.
const MIN_LINK_PART: f64 = 0.5;

struct Period {
    from: f64,
    to: f64,
    /// Minimum fair share during the period, in bit/s, and the link that limits it.
    share: f64,
    link: usize,
}

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let Some((scenario, paths)) = &evidence.network else { return Vec::new() };
    let mut links = Links::new(scenario, paths);
    let congestion_events = congestion_events(evidence);
    let of_flow = |flow: &Flow| congestion_events.get(flow.name.as_str());
    let mut starving = Vec::new();
    for (flow, path) in scenario.flows.iter().zip(paths) {
        if !matches!(&*flow.source, SourceOptions::Ftp(options) if options.segments.is_none()) {
            continue;
        }
        let mut periods = periods(evidence, &mut links, flow, path);
        // The beginning is slow start, unless drops or timeouts occurred.
        periods.retain(|period| {
            let begins = period.from <= path.start.as_secs_f64() + MIN_PERIOD_S;
            !begins
                || of_flow(flow).is_some_and(|congestion_events| !congestion_events.causes(evidence, period).is_empty())
        });
        let all: f64 = periods.iter().map(|period| period.to - period.from).sum();
        periods.sort_by(|a, b| (b.to - b.from).total_cmp(&(a.to - a.from)));
        if let Some(longest) = periods.first() {
            starving.push((longest.link, all, (flow, periods, all)));
        }
    }
    let mut found = Vec::new();
    for ((flow, mut periods, all), others) in by_cause(starving) {
        let more = periods.len().saturating_sub(MAX_REPORTED) as u64;
        periods.truncate(if others > 0 { 1 } else { MAX_REPORTED });
        for (place, period) in periods.iter().enumerate() {
            let causes =
                of_flow(flow).map_or_else(Vec::new, |congestion_events| congestion_events.causes(evidence, period));
            let causes = [causes, links.largest_user(evidence, flow, period)].concat();
            let again = if place == 0 && more > 0 {
                format!(" (and {} more, {} in all)", count(more, "time"), time(all))
            } else {
                String::new()
            };
            found.push(Finding {
                time_from_s: period.from,
                time_to_s: period.to,
                severity: Severity::Problem,
                subject: flow.name.clone(),
                text: format!(
                    "{} below a tenth of its fair share ({} at {}) for {}{again}{}{}",
                    flow.name,
                    rate(period.share),
                    scenario.links[period.link].name,
                    time(period.to - period.from),
                    if causes.is_empty() { String::new() } else { format!(": {}", causes.join("; ")) },
                    likewise(others, "more flow"),
                ),
            });
        }
    }
    found
}

fn is_active(flow: &Flow, path: &FlowPath, at: Instant) -> bool {
    path.start < at && flow.stop.is_none_or(|stop| at <= stop)
}

struct Links<'a> {
    scenario: &'a Scenario,
    paths: &'a [FlowPath],
    /// Start and stop times of flows, by link.
    starts: Times,
    stops: Times,
    /// Mean rates of links with a variable rate, in bit/s.
    rates: BTreeMap<(usize, Instant, Instant), f64>,
}

/// Times by link, in ascending order.
struct Times {
    all: Vec<(usize, Instant)>,
    /// Index of each link's first time, and the number of all times.
    begins: Vec<usize>,
}

impl Times {
    fn new(links: usize, mut all: Vec<(usize, Instant)>) -> Self {
        all.sort_unstable();
        let mut begins = vec![0; links + 1];
        for (link, _) in &all {
            begins[link + 1] += 1;
        }
        for link in 0..links {
            begins[link + 1] += begins[link];
        }
        Self { all, begins }
    }

    /// Returns the number of the link's times before `at`.
    fn before(&self, link: usize, at: Instant) -> usize {
        self.all[self.begins[link]..self.begins[link + 1]].partition_point(|(_, time)| *time < at)
    }
}

impl<'a> Links<'a> {
    fn new(scenario: &'a Scenario, paths: &'a [FlowPath]) -> Self {
        let (mut starts, mut stops) = (Vec::new(), Vec::new());
        for (flow, path) in scenario.flows.iter().zip(paths) {
            // A flow that stops before it starts is never active.
            if flow.stop.is_none_or(|stop| path.start < stop) {
                starts.extend(path.links.iter().map(|link| (*link, path.start)));
                stops.extend(path.links.iter().filter_map(|link| Some((*link, flow.stop?))));
            }
        }
        let [starts, stops] = [starts, stops].map(|times| Times::new(scenario.links.len(), times));
        Self { scenario, paths, starts, stops, rates: BTreeMap::new() }
    }

    /// Returns the fair share on the path: the minimum over its links of the rate per active flow, and that link.
    fn fair_share(&mut self, path: &FlowPath, since: Instant, at: Instant) -> Option<(f64, usize)> {
        let of_link = |&link: &usize| {
            let active = self.starts.before(link, at) - self.stops.before(link, at);
            (self.rate(link, since, at) / active.max(1) as f64, link)
        };
        path.links.iter().map(of_link).min_by(|a, b| a.0.total_cmp(&b.0))
    }

    fn rate(&mut self, link: usize, from: Instant, to: Instant) -> f64 {
        let of = &self.scenario.links[link];
        if of.capacity.is_none() && of.changes.is_none() && of.shaper.is_none() {
            return of.sustained_rate(from, to);
        }
        *self.rates.entry((link, from, to)).or_insert_with(|| of.sustained_rate(from, to))
    }

    /// Names the flow that used most of the link during the period.
    fn largest_user(&mut self, evidence: &Evidence<'_>, flow: &Flow, period: &Period) -> Vec<String> {
        let [from, to] = [period.from, period.to].map(|seconds| Instant::ZERO + Duration::from_secs_f64(seconds));
        let capacity = self.rate(period.link, from, to);
        let flows = self.scenario.flows.iter().zip(self.paths);
        let others = flows.filter(|(other, path)| other.name != flow.name && path.links.contains(&period.link));
        let used = others.filter_map(|(other, _)| {
            let samples = evidence.throughput(&other.name);
            let until = |end: f64| samples.partition_point(|(at, _)| at.as_secs_f64() <= end);
            let within = samples.get(until(period.from)..until(period.to)).filter(|within| !within.is_empty())?;
            let sum: f64 = within.iter().map(|(_, value)| *value).sum();
            Some((sum / within.len() as f64 / capacity, &other.name))
        });
        let most = used.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(part, _)| *part >= MIN_LINK_PART);
        most.map(|(part, name)| format!("meanwhile {name} used {} of the link", percent(part))).into_iter().collect()
    }
}

fn periods(evidence: &Evidence<'_>, links: &mut Links<'_>, flow: &Flow, path: &FlowPath) -> Vec<Period> {
    let mut all: Vec<Period> = Vec::new();
    let mut since: Option<Period> = None;
    let mut before = evidence.summary.interval.from.max(path.start.as_secs_f64());
    let long = |period: &Period| period.to - period.from >= MIN_PERIOD_S;
    let most = window_rate(links.scenario, flow, path);
    for &(at, throughput) in evidence.throughput(&flow.name) {
        let now = at.as_secs_f64();
        if now <= before {
            continue;
        }
        let previous = Instant::ZERO + Duration::from_secs_f64(before);
        let share = links.fair_share(path, previous, at).filter(|_| is_active(flow, path, at));
        match share {
            Some((share, link)) if throughput < MIN_SHARE * share.min(most) => {
                let open = since.get_or_insert(Period { from: before, to: now, share, link });
                open.to = now;
                if share < open.share {
                    (open.share, open.link) = (share, link);
                }
            }
            _ => all.extend(since.take().filter(long)),
        }
        before = now;
    }
    all.extend(since.filter(long));
    all
}

/// Returns the rate in bit/s that the maximum window of a TCP allows without queueing, if the reverse path has the
/// same delay. A flow at this rate does not starve.
fn window_rate(scenario: &Scenario, flow: &Flow, path: &FlowPath) -> f64 {
    let Transport::Tcp(options) = &*flow.transport else { return f64::INFINITY };
    let delay_s: f64 = path.links.iter().map(|&link| scenario.links[link].delay_at(path.start).as_secs_f64()).sum();
    let bits = 8.0 * options.rules.segment.count() as f64;
    bits * options.rules.window_segments() as f64 / (2.0 * delay_s)
}

#[derive(Default)]
struct CongestionEvents<'e> {
    timeouts_s: Vec<f64>,
    /// Time, place and cause of each dropped packet.
    drops: Vec<(f64, &'e str, &'e str)>,
}

fn congestion_events<'e>(evidence: &'e Evidence<'_>) -> BTreeMap<&'e str, CongestionEvents<'e>> {
    let mut all: BTreeMap<&str, CongestionEvents<'_>> = BTreeMap::new();
    for event in evidence.events(EventKind::Timeout) {
        if let Some(flow) = event.flow {
            all.entry(flow).or_default().timeouts_s.push(event.at.as_secs_f64());
        }
    }
    for event in evidence.events(EventKind::Drop) {
        if let Some(flow) = event.flow {
            let drop = (event.at.as_secs_f64(), event.entity, event.cause.unwrap_or_default());
            all.entry(flow).or_default().drops.push(drop);
        }
    }
    all
}

impl CongestionEvents<'_> {
    /// Describes the drops and timeouts of the flow during the period or shortly before.
    fn causes(&self, evidence: &Evidence<'_>, period: &Period) -> Vec<String> {
        let reach = period.from - MAX_CAUSE_DELAY_S..=period.to;
        let timeouts = self.timeouts_s.iter().filter(|at| reach.contains(*at)).count() as u64;
        let mut drops: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for &(_, place, cause) in self.drops.iter().filter(|(at, ..)| reach.contains(at)) {
            *drops.entry((place, cause)).or_default() += 1;
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
}
