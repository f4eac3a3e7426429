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
    /// What a record samples of each flow.
    fn values(&self) -> Vec<Values>;
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
    /// `flows`: what a record calls them.
    pub(super) fn new(asked: &WatchOptions, flows: &[&str], seed: u64, teller: &Teller) -> Result<Self, Failure> {
        let metrics = asked.metrics.as_deref().map(|at| Metrics::new(at, teller)).transpose()?;
        let failed = |error| Failure::Sockets(format!("cannot make a folder for what --view shows: {error}"));
        let temporary = asked.view.is_some() && asked.record.is_none();
        let temporary = temporary.then(|| tempfile::tempdir().map_err(failed)).transpose()?;
        let path = asked.record.as_deref().or(temporary.as_ref().map(TempDir::path));
        let recording = path.map(|path| Recording::new(path, flows, seed)).transpose()?;
        let view = match &recording {
            Some(recording) if asked.view.is_some() => {
                let label = flows.first().copied().unwrap_or_default();
                Some(Beside::new(recording.folder(), label, asked.view.unwrap_or_default(), !asked.no_open)?)
            }
            _ => None,
        };
        if let Some(view) = &view {
            // Whoever wants to see it needs the address.
            teller.wanted(&format!("shown at {}", view.address()));
            teller.line(&serde_json::json!({ "view": view.address() }))?;
        }
        Ok(Self { metrics, _view: view, recording, _folder: temporary })
    }

    /// Whether a record is kept.
    pub(super) const fn records(&self) -> bool {
        self.recording.is_some()
    }

    /// `flows`: their summaries up to now.
    pub(super) fn see(
        &mut self,
        figures: &impl Figures,
        flows: impl FnOnce() -> Vec<FlowSummary>,
    ) -> Result<(), Failure> {
        if let Some(metrics) = &self.metrics {
            metrics.set(figures.page());
        }
        let Some(recording) = &mut self.recording else { return Ok(()) };
        recording.sample(figures.interval(), &figures.values(), flows())
    }

    /// The last figures; `flows` are the summaries of all that was, of which a record has need.
    pub(super) fn finish(mut self, last: &impl Figures, flows: Vec<FlowSummary>) -> Result<(), Failure> {
        self.see(last, Vec::new)?;
        match self.recording {
            Some(recording) => recording.finish(last.interval(), flows),
            None => Ok(()),
        }
    }
}
