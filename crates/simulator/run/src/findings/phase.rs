//! Phase effects: packets of long-lived flows that arrive in step with departures, so that a full queue drops one
//! flow again and again and another rarely (S. Floyd and V. Jacobson, "On traffic phase effects in packet-switched
//! gateways", Internetworking: Research and Experience 3, 1992).
//!
//! A DropTail queue that packets reach at random times drops the same part of each flow. Then TCP favors the shorter
//! round trip. The rule finds pairs of flows for which neither holds: the flow that loses the larger part of its
//! packets has the shorter round trip, or an equal one, and the lower throughput.

use super::evidence::Evidence;
use super::{Finding, Severity, percent, time};
use headway_media::SourceOptions;
use headway_record::{EventKind, FlowSummary};
use headway_scenario::{Flow, Scenario, Transport};
use headway_sim::FlowPath;
use headway_units::{DropCause, Duration, Instant, Registry};
use std::collections::BTreeMap;

/// Minimum ratio of the loss event rates of two flows.
const MIN_LOSS_RATIO: f64 = 2.0;
/// Minimum ratio of their throughputs.
const MIN_THROUGHPUT_RATIO: f64 = 1.2;
/// Maximum ratio of round-trip times that count as equal.
const MAX_EQUAL_RTT_RATIO: f64 = 1.05;
/// Minimum number of loss events of the flow that loses more.
const MIN_LOSS_EVENTS: u32 = 20;
/// Minimum difference of the loss events, in standard deviations of the binomial distribution with equal loss rates.
const MIN_DEVIATIONS: f64 = 4.0;
/// Maximum number of flows of a queue that are compared with all others; those with the most loss events.
const MAX_FLOWS: usize = 100;

/// A long-lived TCP flow through the queue.
struct Member<'a> {
    flow: &'a Flow,
    summary: &'a FlowSummary,
    rtt_s: f64,
    /// Loss events. Drops within one round trip are one event.
    loss_events: u32,
}

impl Member<'_> {
    fn loss_event_rate(&self) -> f64 {
        f64::from(self.loss_events) / self.summary.sent_packets.max(1) as f64
    }

    /// Returns whether the queue drops this flow significantly more often although its round trip is not longer.
    fn is_locked_against(&self, other: &Self) -> bool {
        let [ours, theirs] = [self, other].map(|member| f64::from(member.loss_events));
        let [sent, others] = [self, other].map(|member| member.summary.sent_packets as f64);
        // With equal loss rates, the number of this flow's loss events is binomial with its share of the packets.
        let (all, share) = (ours + theirs, sent / (sent + others));
        let deviations = (ours - all * share) / (all * share * (1.0 - share)).sqrt();
        self.loss_events >= MIN_LOSS_EVENTS
            && self.rtt_s <= MAX_EQUAL_RTT_RATIO * other.rtt_s
            && MIN_THROUGHPUT_RATIO * self.summary.throughput_bps <= other.summary.throughput_bps
            && self.loss_event_rate() >= MIN_LOSS_RATIO * other.loss_event_rate()
            && deviations >= MIN_DEVIATIONS
    }
}

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let Some((scenario, paths)) = &evidence.network else { return Vec::new() };
    let members = members(evidence, scenario, paths);
    members.into_iter().filter_map(|(link, members)| of(evidence, scenario, link, &members)).collect()
}

/// Returns a finding about the pair of flows with the largest ratio of throughputs.
fn of(evidence: &Evidence<'_>, scenario: &Scenario, link: usize, members: &[Member<'_>]) -> Option<Finding> {
    let mut dropped: Vec<&Member<'_>> = members.iter().filter(|one| one.loss_events >= MIN_LOSS_EVENTS).collect();
    dropped.sort_by_key(|member| std::cmp::Reverse(member.loss_events));
    dropped.truncate(MAX_FLOWS);
    let pairs = dropped.into_iter().flat_map(|one| members.iter().map(move |other| (one, other)));
    let locked =
        pairs.filter(|(one, other)| one.is_locked_against(other) && one.flow.transport == other.flow.transport);
    let ratio =
        |(one, other): &(&Member<'_>, &Member<'_>)| other.summary.throughput_bps / one.summary.throughput_bps.max(1.0);
    let (one, other) = locked.max_by(|a, b| ratio(a).total_cmp(&ratio(b)))?;
    let measured = evidence.summary.interval;
    let (from, to) = (measured.from, measured.to);
    let [since, until] = [from, to].map(|seconds| Instant::ZERO + Duration::from_secs_f64(seconds));
    let Transport::Tcp(options) = &*one.flow.transport else { return None };
    let service_s = 8.0 * options.rules.segment.count() as f64 / scenario.links[link].sustained_rate(since, until);
    let trips =
        if other.rtt_s > MAX_EQUAL_RTT_RATIO * one.rtt_s { "the longer round trip" } else { "an equal round trip" };
    Some(Finding {
        time_from_s: from,
        time_to_s: to,
        severity: Severity::Problem,
        subject: scenario.links[link].name.clone(),
        text: format!(
            "phase effect: {} has {trips} and {:.1} times the throughput of {}, because the queue of {} dropped {} of the packets \
             of {} and {} of those of {}; a transport with overhead = \"{}\" breaks the phase",
            other.flow.name,
            ratio(&(one, other)),
            one.flow.name,
            scenario.links[link].name,
            percent(lost(one)),
            one.flow.name,
            percent(lost(other)),
            other.flow.name,
            time(service_s).replace(' ', ""),
        ),
    })
}

/// Returns the part of a flow's packets that full queues dropped.
fn lost(member: &Member<'_>) -> f64 {
    let summary = member.summary;
    summary.lost_packets.of(DropCause::QueueFull) as f64 / summary.sent_packets.max(1) as f64
}

/// Returns the TCP flows that always send through each DropTail queue, without random overhead.
fn members<'e>(
    evidence: &'e Evidence<'_>,
    scenario: &'e Scenario,
    paths: &[FlowPath],
) -> BTreeMap<usize, Vec<Member<'e>>> {
    let measured = evidence.summary.interval;
    let full = DropCause::QueueFull.name();
    let mut dropped = evidence.events(EventKind::Drop).filter(|event| event.cause == Some(full)).peekable();
    if dropped.peek().is_none() || !evidence.has_all(EventKind::Drop) {
        return BTreeMap::new();
    }
    let sends_always = |flow: &Flow, path: &FlowPath| {
        let endless = matches!(&*flow.source, SourceOptions::Ftp(options) if options.segments.is_none());
        let steady = matches!(&*flow.transport, Transport::Tcp(options) if options.rules.overhead.is_zero());
        let whole = path.start.as_secs_f64() <= measured.from.max(1.0)
            && flow.stop.is_none_or(|stop| stop.as_secs_f64() >= measured.to);
        endless && steady && whole
    };
    let mut members: BTreeMap<usize, Vec<Member<'e>>> = BTreeMap::new();
    for (flow, path) in scenario.flows.iter().zip(paths).filter(|(flow, path)| sends_always(flow, path)) {
        let Some(summary) = evidence.flow(&flow.name) else { continue };
        let Some(rtt_s) = summary.rtt_s.map(|rtt| rtt.min) else { continue };
        for &link in path.links.iter().filter(|link| scenario.links[**link].queue.kind() == "droptail") {
            members.entry(link).or_default().push(Member { flow, summary, rtt_s, loss_events: 0 });
        }
    }
    let mut last_s = BTreeMap::new();
    let mut places = BTreeMap::new();
    for (&link, members) in &members {
        let name = scenario.links[link].name.as_str();
        places.extend(members.iter().enumerate().map(|(at, member)| ((name, member.flow.name.as_str()), (link, at))));
    }
    for event in dropped {
        let Some(&place) = event.flow.and_then(|flow| places.get(&(event.entity, flow))) else { continue };
        let Some(member) = members.get_mut(&place.0).and_then(|members| members.get_mut(place.1)) else { continue };
        let now = event.at.as_secs_f64();
        let last = last_s.entry(place).or_insert(f64::NEG_INFINITY);
        if now - *last > member.summary.rtt_s.map_or(0.0, |rtt| rtt.mean) {
            member.loss_events += 1;
            *last = now;
        }
    }
    members
}
