//! Who looks at figures beside the terminal: Prometheus, a record, and a browser that follows it.

use super::arguments::WatchOptions;
use super::metrics::Metrics;
use super::recording::{Recording, Values};
use super::teller::Teller;
use crate::error::Failure;
use crate::view::Beside;
use headway_record::{FlowSummary, Interval};
use tempfile::TempDir;

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
    /// Before the folder that it shows.
    _view: Option<Beside>,
    recording: Option<Recording>,
    _folder: Option<TempDir>,
}

impl Watch {
    /// `entity`: what a record calls the flow.
    pub(super) fn new(asked: &WatchOptions, entity: &str, seed: u64, teller: &Teller) -> Result<Self, Failure> {
        let metrics = asked.metrics.as_deref().map(|at| Metrics::new(at, teller)).transpose()?;
        let failed = |error| Failure::Sockets(format!("cannot make a folder for what --view shows: {error}"));
        let temporary = asked.view && asked.record.is_none();
        let temporary = temporary.then(|| tempfile::tempdir().map_err(failed)).transpose()?;
        let path = asked.record.as_deref().or(temporary.as_ref().map(TempDir::path));
        let recording = path.map(|path| Recording::new(path, entity, seed)).transpose()?;
        let view = match &recording {
            Some(recording) if asked.view => Some(Beside::new(recording.folder(), entity)?),
            _ => None,
        };
        if let Some(view) = &view {
            teller.note(&format!("shown at {}", view.address()));
            teller.line(&serde_json::json!({ "view": view.address() }))?;
        }
        Ok(Self { metrics, _view: view, recording, _folder: temporary })
    }

    /// Whether a record is kept.
    pub(super) const fn records(&self) -> bool {
        self.recording.is_some()
    }

    /// `flow`: the summary up to now.
    pub(super) fn see(
        &mut self,
        figures: &impl Figures,
        flow: impl FnOnce() -> Option<FlowSummary>,
    ) -> Result<(), Failure> {
        if let Some(metrics) = &self.metrics {
            metrics.set(figures.page());
        }
        let Some(recording) = &mut self.recording else { return Ok(()) };
        recording.sample(figures.interval(), figures.values(), flow())
    }

    /// The last figures; of all that was, `flow` is the summary, of which a record has need.
    pub(super) fn finish(mut self, last: &impl Figures, flow: Option<FlowSummary>) -> Result<(), Failure> {
        self.see(last, || None)?;
        match (self.recording, flow) {
            (Some(recording), Some(flow)) => recording.finish(last.interval(), flow),
            _ => Ok(()),
        }
    }
}
