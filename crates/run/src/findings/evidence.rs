//! What rules look at.

use crate::{Beside, Error, Folder, ScenarioText};
use headway_record::{EventKind, EventRow, EventTable, SeriesTable, Summary, metric};
use headway_scenario::{Scenario, load};
use headway_sim::{Way, ways};
use headway_units::Instant;

/// A record, read.
pub(super) struct Evidence<'a> {
    pub(super) summary: &'a Summary,
    /// The scenario with the way of each flow. A transfer between real sockets has none.
    pub(super) network: Option<(Scenario, Vec<Way>)>,
    /// Empty if there is none.
    pub(super) series: SeriesTable,
    /// Empty if there are none.
    pub(super) events: EventTable,
}

impl<'a> Evidence<'a> {
    pub(super) fn gather(folder: &Folder, summary: &'a Summary) -> Result<Self, Error> {
        let there = |name| folder.path(name).is_file();
        let series = if there(Folder::SERIES) { folder.series()? } else { SeriesTable::default() };
        let events = if there(Folder::EVENTS) { folder.events()? } else { EventTable::default() };
        Ok(Self { summary, network: network(folder), series, events })
    }

    /// The events of this kind within what was measured.
    pub(super) fn events(&self, kind: EventKind) -> impl Iterator<Item = EventRow<'_>> {
        let measured = self.summary.interval.from..=self.summary.interval.to;
        self.events.iter().filter(move |event| event.is(kind) && measured.contains(&event.at.as_secs_f64()))
    }

    /// From the first to the last of these; all of what was measured if there is none, or if some were not kept.
    pub(super) fn span<'e>(&self, kind: EventKind, events: impl Iterator<Item = EventRow<'e>>) -> (f64, f64) {
        let whole = (self.summary.interval.from, self.summary.interval.to);
        let reach = events.map(|event| event.at.as_secs_f64()).fold(None, |reach: Option<(f64, f64)>, at| {
            Some(reach.map_or((at, at), |(first, last)| (first.min(at), last.max(at))))
        });
        match reach {
            Some((first, _)) if self.events.left_out(kind) > 0 => (first, whole.1),
            reach => reach.unwrap_or(whole),
        }
    }

    /// The throughput of a flow: until when, in bit/s.
    pub(super) fn throughput(&self, flow: &str) -> &[(Instant, f64)] {
        self.series.samples(flow, metric::THROUGHPUT)
    }
}

/// One that cannot be read is none: what the record says otherwise is as true.
fn network(folder: &Folder) -> Option<(Scenario, Vec<Way>)> {
    let text = ScenarioText::read(&folder.path(Folder::SCENARIO), &[]).ok()?;
    let scenario = load(&text.file, &text.text, &[], &Beside::new(folder.0.clone())).ok()?.scenario;
    let ways = ways(&scenario)?;
    Some((scenario, ways))
}
