//! Further outputs of figures: Prometheus metrics, a record, and a live view in the browser.

use super::arguments::WatchOptions;
use super::console::Console;
use super::metrics::{CurrentRate, Metrics};
use super::recording::{Recording, Values};
use crate::error::Failure;
use crate::view::LiveView;
use headway_record::{FlowSummary, Interval};
use tempfile::TempDir;

/// Seed in the record of a command without random numbers.
pub(super) const NO_SEED: u64 = 0;

/// Figures at one time.
pub(super) trait Figures {
    /// Returns the interval from the start to this time, in s.
    fn interval(&self) -> Interval;
    /// Returns the samples of each flow for a record.
    fn values(&self) -> Vec<Values>;
    /// Returns the text of the Prometheus metrics.
    fn page(&self) -> String;
}

pub(super) struct Watch {
    metrics: Option<Metrics>,
    /// Declared before its folder, so that it is dropped first.
    _view: Option<LiveView>,
    recording: Option<Recording>,
    _folder: Option<TempDir>,
}

impl Watch {
    /// `first`: figures before the first update. `flows`: names of the flows.
    pub(super) fn new(
        args: &WatchOptions,
        first: &impl Figures,
        rate: Option<&CurrentRate>,
        flows: &[&str],
        seed: u64,
        console: &Console,
    ) -> Result<Self, Failure> {
        let serve = |at| Metrics::new(at, first.page(), rate.cloned(), console);
        let metrics = args.metrics.as_deref().map(serve).transpose()?;
        let failed = |error| Failure::Sockets(format!("--view: cannot create a temporary folder: {error}"));
        let temporary = args.view.is_some() && args.record.is_none();
        let temporary = temporary.then(|| tempfile::tempdir().map_err(failed)).transpose()?;
        let path = args.record.as_deref().or(temporary.as_ref().map(TempDir::path));
        let recording = path.map(|path| Recording::new(path, flows, seed)).transpose()?;
        let view = match &recording {
            Some(recording) if args.view.is_some() => {
                let label = flows.first().copied().unwrap_or_default();
                Some(LiveView::new(recording.folder(), label, args.view.unwrap_or_default(), !args.no_open)?)
            }
            _ => None,
        };
        if let Some(view) = &view {
            console.requested(&format!("live view at {}", view.address()));
            console.line(&serde_json::json!({ "view": view.address() }))?;
        }
        Ok(Self { metrics, _view: view, recording, _folder: temporary })
    }

    /// Returns whether a record is written.
    pub(super) const fn records(&self) -> bool {
        self.recording.is_some()
    }

    /// Updates all outputs. `flows`: summaries of the flows up to now.
    pub(super) fn update(
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

    /// Writes the last figures and completes the record. `flows`: summaries of the flows.
    pub(super) fn finish(mut self, last: &impl Figures, flows: Vec<FlowSummary>) -> Result<(), Failure> {
        self.update(last, Vec::new)?;
        match self.recording {
            Some(recording) => recording.finish(last.interval(), flows),
            None => Ok(()),
        }
    }
}
