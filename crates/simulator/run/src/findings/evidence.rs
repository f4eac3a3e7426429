//! What rules look at.

use crate::{Beside, Error, Folder, ScenarioText};
use foldhash::fast::RandomState;
use headway_record::{EventKind, EventRow, EventTable, FlowSummary, SeriesTable, Summary, metric};
use headway_scenario::{Scenario, load};
use headway_sim::{Way, ways};
use headway_units::{Duration, Instant};
use indexmap::IndexMap;
use std::collections::BTreeMap;

/// A record, read.
pub(super) struct Evidence<'a> {
    pub(super) summary: &'a Summary,
    /// The scenario with the way of each flow. A transfer between real sockets has none.
    pub(super) network: Option<(&'a Scenario, Vec<Way>)>,
    /// By name.
    flows: IndexMap<&'a str, &'a FlowSummary, RandomState>,
    /// The series that rules read; empty if the record has none.
    pub(super) series: SeriesTable,
    /// Empty if there are none.
    pub(super) events: EventTable,
}

/// What some events have in common.
#[derive(Debug, Default)]
pub(super) struct Events<'e> {
    /// The first and the last.
    reach: Option<(Instant, Instant)>,
    /// Of what came late, or would have, how late the worst.
    pub(super) worst: Option<Duration>,
    pub(super) by_flow: BTreeMap<&'e str, u64>,
}

impl<'e> Events<'e> {
    /// One more; they come in the order of time.
    fn add(&mut self, event: &EventRow<'e>) {
        self.reach = Some(self.reach.map_or((event.at, event.at), |(first, _)| (first, event.at)));
        self.worst = self.worst.max(event.late);
        if let Some(flow) = event.flow {
            *self.by_flow.entry(flow).or_default() += 1;
        }
    }
}

impl<'a> Evidence<'a> {
    pub(super) fn gather(folder: &Folder, summary: &'a Summary, scenario: Option<&'a Scenario>) -> Result<Self, Error> {
        let there = |name| folder.path(name).is_file();
        // Windows are of use if there is something before the measurement.
        let windows = if summary.interval.from > 0.0 { &[metric::CWND, metric::SSTHRESH][..] } else { &[] };
        let metrics = [&[metric::THROUGHPUT], windows].concat();
        let series = if there(Folder::SERIES) { folder.series_of(&metrics)? } else { SeriesTable::default() };
        let events = if there(Folder::EVENTS) { folder.events()? } else { EventTable::default() };
        let network = scenario.and_then(|scenario| Some((scenario, ways(scenario)?)));
        // The first of one name counts.
        let flows = summary.flows.iter().rev().map(|flow| (flow.name.as_str(), flow)).collect();
        Ok(Self { summary, network, flows, series, events })
    }

    pub(super) fn flow(&self, name: &str) -> Option<&'a FlowSummary> {
        self.flows.get(name).copied()
    }

    /// The events of this kind within what was measured.
    pub(super) fn events(&self, kind: EventKind) -> impl Iterator<Item = EventRow<'_>> {
        let measured = self.summary.interval.from..=self.summary.interval.to;
        self.events.iter().filter(move |event| event.is(kind) && measured.contains(&event.at.as_secs_f64()))
    }

    /// The events of this kind, those of each key together, in one pass: there may be hundreds of flows.
    pub(super) fn by_key<'e, K: Ord>(
        &'e self,
        kind: EventKind,
        key: impl Fn(&EventRow<'e>) -> Option<K>,
    ) -> BTreeMap<K, Events<'e>> {
        let mut all: BTreeMap<K, Events<'e>> = BTreeMap::new();
        for event in self.events(kind) {
            if let Some(key) = key(&event) {
                all.entry(key).or_default().add(&event);
            }
        }
        all
    }

    /// Whether the record has kept all events of this kind: of very many it keeps the first.
    pub(super) fn has_all(&self, kind: EventKind) -> bool {
        self.events.omitted(kind) == 0
    }

    /// From the first to the last of these; all of what was measured if there is none, or if some were not kept.
    pub(super) fn span(&self, kind: EventKind, events: Option<&Events<'_>>) -> (f64, f64) {
        let whole = (self.summary.interval.from, self.summary.interval.to);
        match events.and_then(|events| events.reach) {
            Some((first, _)) if !self.has_all(kind) => (first.as_secs_f64(), whole.1),
            Some((first, last)) => (first.as_secs_f64(), last.as_secs_f64()),
            None => whole,
        }
    }

    /// The throughput of a flow: until when, in bit/s.
    pub(super) fn throughput(&self, flow: &str) -> &[(Instant, f64)] {
        self.series.samples(flow, metric::THROUGHPUT)
    }
}

/// Reads the scenario of a record. If that fails, the findings are those of the other files.
pub(super) fn scenario(folder: &Folder) -> Option<Scenario> {
    let text = ScenarioText::read(&folder.path(Folder::SCENARIO), &[]).ok()?;
    Some(load(&text.file, &text.text, &[], &Beside::new(folder.0.clone())).ok()?.scenario)
}
