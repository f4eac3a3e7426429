//! The contents of a record that rules use.

use crate::{Error, Folder, ScenarioFiles, ScenarioText};
use foldhash::fast::RandomState;
use headway_record::{EventKind, EventRow, EventTable, FlowSummary, SeriesTable, Summary, metric};
use headway_scenario::{Scenario, load};
use headway_sim::{FlowPath, flow_paths};
use headway_units::{Duration, Instant};
use indexmap::IndexMap;
use std::collections::BTreeMap;

pub(super) struct Evidence<'a> {
    pub(super) summary: &'a Summary,
    /// The scenario and the path of each flow. `None` for a transfer between real sockets.
    pub(super) network: Option<(&'a Scenario, Vec<FlowPath>)>,
    /// Flows by name.
    flows: IndexMap<&'a str, &'a FlowSummary, RandomState>,
    /// Series that rules use; empty if the record has none.
    pub(super) series: SeriesTable,
    /// Events; empty if the record has none.
    pub(super) events: EventTable,
}

/// Aggregate of events with one key.
#[derive(Debug, Default)]
pub(super) struct Events<'e> {
    /// Times of the first and the last event.
    reach: Option<(Instant, Instant)>,
    /// Maximum lateness.
    pub(super) worst: Option<Duration>,
    pub(super) by_flow: BTreeMap<&'e str, u64>,
}

impl<'e> Events<'e> {
    /// Adds an event. Events are added in order of time.
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
        // Window samples matter only if the measurement begins after the start.
        let windows = if summary.interval.from > 0.0 { &[metric::CWND, metric::SSTHRESH][..] } else { &[] };
        let metrics = [&[metric::THROUGHPUT], windows].concat();
        let series = if there(Folder::SERIES) { folder.series_of(&metrics)? } else { SeriesTable::default() };
        let events = if there(Folder::EVENTS) { folder.events()? } else { EventTable::default() };
        let network = scenario.and_then(|scenario| Some((scenario, flow_paths(scenario)?)));
        // The first flow of a name wins: the map is filled in reverse order.
        let flows = summary.flows.iter().rev().map(|flow| (flow.name.as_str(), flow)).collect();
        Ok(Self { summary, network, flows, series, events })
    }

    pub(super) fn flow(&self, name: &str) -> Option<&'a FlowSummary> {
        self.flows.get(name).copied()
    }

    /// Returns the events of this kind within the measured interval.
    pub(super) fn events(&self, kind: EventKind) -> impl Iterator<Item = EventRow<'_>> {
        let measured = self.summary.interval.from..=self.summary.interval.to;
        self.events.iter().filter(move |event| event.is(kind) && measured.contains(&event.at.as_secs_f64()))
    }

    /// Groups the events of this kind by key in one pass, because there may be hundreds of flows.
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

    /// Returns whether the record has all events of this kind. Above a limit it has only the first.
    pub(super) fn has_all(&self, kind: EventKind) -> bool {
        self.events.omitted(kind) == 0
    }

    /// Returns the interval from the first to the last of `events`. It is the whole measured interval if there is no
    /// event, and ends with it if some events were not recorded.
    pub(super) fn span(&self, kind: EventKind, events: Option<&Events<'_>>) -> (f64, f64) {
        let whole = (self.summary.interval.from, self.summary.interval.to);
        match events.and_then(|events| events.reach) {
            Some((first, _)) if !self.has_all(kind) => (first.as_secs_f64(), whole.1),
            Some((first, last)) => (first.as_secs_f64(), last.as_secs_f64()),
            None => whole,
        }
    }

    /// Returns the throughput samples of a flow: the end of each sampling interval and bit/s.
    pub(super) fn throughput(&self, flow: &str) -> &[(Instant, f64)] {
        self.series.samples(flow, metric::THROUGHPUT)
    }
}

/// Reads the scenario of a record. Returns `None` on errors: rules without the scenario still apply.
pub(super) fn scenario(folder: &Folder) -> Option<Scenario> {
    let text = ScenarioText::read(&folder.path(Folder::SCENARIO), &[]).ok()?;
    Some(load(&text.file, &text.text, &[], &ScenarioFiles::new(folder.0.clone())).ok()?.scenario)
}
