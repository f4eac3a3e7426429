//! Who looks at figures beside the terminal: Prometheus, and a record.

use super::arguments::WatchOptions;
use super::metrics::Metrics;
use super::recording::{Recording, Values};
use super::teller::Teller;
use crate::error::Failure;
use headway_record::{FlowSummary, Interval};

/// The seed of what draws nothing.
pub(super) const NO_SEED: u64 = 0;

/// What is known at one time.
pub(super) trait Figures {
    /// From the start to then.
    fn interval(&self) -> Interval;
    /// What a record samples.
    fn values(&self) -> Values;
    /// What Prometheus is told.
    fn page(&self) -> String;
}

pub(super) struct Watch {
    metrics: Option<Metrics>,
    recording: Option<Recording>,
}

impl Watch {
    /// `entity`: what a record calls the flow.
    pub(super) fn new(asked: &WatchOptions, entity: &str, teller: &Teller) -> Result<Self, Failure> {
        let metrics = asked.metrics.as_deref().map(|at| Metrics::new(at, teller)).transpose()?;
        let recording = asked.record.as_deref().map(|path| Recording::new(path, entity)).transpose()?;
        Ok(Self { metrics, recording })
    }

    /// Whether a record is kept.
    pub(super) const fn records(&self) -> bool {
        self.recording.is_some()
    }

    pub(super) fn see(&mut self, figures: &impl Figures) -> Result<(), Failure> {
        if let Some(metrics) = &self.metrics {
            metrics.set(figures.page());
        }
        let Some(recording) = &mut self.recording else { return Ok(()) };
        recording.sample(figures.interval(), figures.values())
    }

    /// The last figures; of all that was, `flow` is the summary, of which a record has need.
    pub(super) fn finish(mut self, last: &impl Figures, flow: Option<FlowSummary>, seed: u64) -> Result<(), Failure> {
        self.see(last)?;
        match (self.recording, flow) {
            (Some(recording), Some(flow)) => recording.finish(last.interval(), flow, seed),
            _ => Ok(()),
        }
    }
}
