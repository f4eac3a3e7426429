//! Who always has something to send, and for a second or more gets less than a tenth of an equal share of its narrowest link.

use super::evidence::Evidence;
use super::{Finding, Severity, by_cause, count, likewise, percent, rate, time};
use headway_media::SourceOptions;
use headway_record::EventKind;
use headway_scenario::{Flow, Scenario, Transport};
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
    /// The least fair share of the stretch in bit/s, and its link.
    share: f64,
    link: usize,
}

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let Some((scenario, ways)) = &evidence.network else { return Vec::new() };
    let mut links = Links::new(scenario, ways);
    let happened = happened(evidence);
    let of_flow = |flow: &Flow| happened.get(flow.name.as_str());
    let mut starving = Vec::new();
    for (flow, way) in scenario.flows.iter().zip(ways) {
        if !matches!(&*flow.source, SourceOptions::Ftp(options) if options.segments.is_none()) {
            continue;
        }
        let mut stretches = stretches(evidence, &mut links, flow, way);
        // How it begins is slow start, unless something happened to it.
        stretches.retain(|stretch| {
            let begins = stretch.from <= way.start.as_secs_f64() + LONG_S;
            !begins || of_flow(flow).is_some_and(|happened| !happened.why(evidence, stretch).is_empty())
        });
        let all: f64 = stretches.iter().map(|stretch| stretch.to - stretch.from).sum();
        stretches.sort_by(|a, b| (b.to - b.from).total_cmp(&(a.to - a.from)));
        if let Some(longest) = stretches.first() {
            starving.push((longest.link, all, (flow, stretches, all)));
        }
    }
    let mut found = Vec::new();
    for ((flow, mut stretches, all), others) in by_cause(starving) {
        let more = stretches.len().saturating_sub(TIMES) as u64;
        stretches.truncate(if others > 0 { 1 } else { TIMES });
        for (place, stretch) in stretches.iter().enumerate() {
            let why = of_flow(flow).map_or_else(Vec::new, |happened| happened.why(evidence, stretch));
            let why = [why, links.beside(evidence, flow, stretch)].concat();
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
                    "{} below a tenth of its fair share ({} at {}) for {}{again}{}{}",
                    flow.name,
                    rate(stretch.share),
                    scenario.links[stretch.link].name,
                    time(stretch.to - stretch.from),
                    if why.is_empty() { String::new() } else { format!(": {}", why.join("; ")) },
                    likewise(others, "more flow"),
                ),
            });
        }
    }
    found
}

fn is_active(flow: &Flow, way: &Way, at: Instant) -> bool {
    way.start < at && flow.stop.is_none_or(|stop| at <= stop)
}

struct Links<'a> {
    scenario: &'a Scenario,
    ways: &'a [Way],
    /// When flows of each link start and stop.
    starts: Times,
    stops: Times,
    /// Mean rates of links whose rate changes, in bit/s.
    rates: BTreeMap<(usize, Instant, Instant), f64>,
}

/// Times of each link, in ascending order.
struct Times {
    all: Vec<(usize, Instant)>,
    /// Where those of each link begin among all of them, and their end.
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
    fn new(scenario: &'a Scenario, ways: &'a [Way]) -> Self {
        let (mut starts, mut stops) = (Vec::new(), Vec::new());
        for (flow, way) in scenario.flows.iter().zip(ways) {
            // A flow that stops before it starts is never active.
            if flow.stop.is_none_or(|stop| way.start < stop) {
                starts.extend(way.links.iter().map(|link| (*link, way.start)));
                stops.extend(way.links.iter().filter_map(|link| Some((*link, flow.stop?))));
            }
        }
        let [starts, stops] = [starts, stops].map(|times| Times::new(scenario.links.len(), times));
        Self { scenario, ways, starts, stops, rates: BTreeMap::new() }
    }

    /// The least of what each link of the way has for each flow that is active there, and that link.
    fn fair_share(&mut self, way: &Way, since: Instant, at: Instant) -> Option<(f64, usize)> {
        let of_link = |&link: &usize| {
            let active = self.starts.before(link, at) - self.stops.before(link, at);
            (self.rate(link, since, at) / active.max(1) as f64, link)
        };
        way.links.iter().map(of_link).min_by(|a, b| a.0.total_cmp(&b.0))
    }

    fn rate(&mut self, link: usize, from: Instant, to: Instant) -> f64 {
        let of = &self.scenario.links[link];
        if of.capacity.is_none() && of.changes.is_none() && of.shaper.is_none() {
            return of.lasting_rate(from, to);
        }
        *self.rates.entry((link, from, to)).or_insert_with(|| of.lasting_rate(from, to))
    }

    /// The flow that used most of the link during the stretch.
    fn beside(&mut self, evidence: &Evidence<'_>, flow: &Flow, stretch: &Stretch) -> Vec<String> {
        let [from, to] = [stretch.from, stretch.to].map(|seconds| Instant::ZERO + Duration::from_secs_f64(seconds));
        let capacity = self.rate(stretch.link, from, to);
        let flows = self.scenario.flows.iter().zip(self.ways);
        let others = flows.filter(|(other, way)| other.name != flow.name && way.links.contains(&stretch.link));
        let took = others.filter_map(|(other, _)| {
            let samples = evidence.throughput(&other.name);
            let until = |end: f64| samples.partition_point(|(at, _)| at.as_secs_f64() <= end);
            let within = samples.get(until(stretch.from)..until(stretch.to)).filter(|within| !within.is_empty())?;
            let sum: f64 = within.iter().map(|(_, value)| *value).sum();
            Some((sum / within.len() as f64 / capacity, &other.name))
        });
        let most = took.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(part, _)| *part >= MOST);
        most.map(|(part, name)| format!("meanwhile {name} took {} of the link", percent(part))).into_iter().collect()
    }
}

fn stretches(evidence: &Evidence<'_>, links: &mut Links<'_>, flow: &Flow, way: &Way) -> Vec<Stretch> {
    let mut all: Vec<Stretch> = Vec::new();
    let mut since: Option<Stretch> = None;
    let mut before = evidence.summary.interval.from.max(way.start.as_secs_f64());
    let long = |stretch: &Stretch| stretch.to - stretch.from >= LONG_S;
    let most = most_of_window(links.scenario, flow, way);
    for &(at, throughput) in evidence.throughput(&flow.name) {
        let now = at.as_secs_f64();
        if now <= before {
            continue;
        }
        let since_then = Instant::ZERO + Duration::from_secs_f64(before);
        let share = links.fair_share(way, since_then, at).filter(|_| is_active(flow, way, at));
        match share {
            Some((share, link)) if throughput < LITTLE * share.min(most) => {
                let open = since.get_or_insert(Stretch { from: before, to: now, share, link });
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

/// The rate in bit/s that a TCP's own window allows without queues; the links back are as long. A flow that takes it does not starve.
fn most_of_window(scenario: &Scenario, flow: &Flow, way: &Way) -> f64 {
    let Transport::Tcp(options) = &*flow.transport else { return f64::INFINITY };
    let delay_s: f64 = way.links.iter().map(|&link| scenario.links[link].delay_at(way.start).as_secs_f64()).sum();
    let bits = 8.0 * options.rules.segment.count() as f64;
    bits * options.rules.window_segments() as f64 / (2.0 * delay_s)
}

#[derive(Default)]
struct Happened<'e> {
    timeouts_s: Vec<f64>,
    /// When, where and why its packets were dropped.
    drops: Vec<(f64, &'e str, &'e str)>,
}

fn happened<'e>(evidence: &'e Evidence<'_>) -> BTreeMap<&'e str, Happened<'e>> {
    let mut all: BTreeMap<&str, Happened<'_>> = BTreeMap::new();
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

impl Happened<'_> {
    /// What happened to the flow in that time or shortly before.
    fn why(&self, evidence: &Evidence<'_>, stretch: &Stretch) -> Vec<String> {
        let reach = stretch.from - BEFORE_S..=stretch.to;
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
