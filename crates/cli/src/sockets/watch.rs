//! Who looks at a connection's figures beside the terminal: Prometheus, and a record.

use super::arguments::WatchOptions;
use super::metrics::Metrics;
use super::recording::Recording;
use super::sending::Sent;
use super::teller::Teller;
use crate::error::Failure;

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

    pub(super) fn see(&mut self, sent: &Sent) -> Result<(), Failure> {
        if let Some(metrics) = &self.metrics {
            metrics.sent(sent);
        }
        self.recording.as_mut().map_or(Ok(()), |recording| recording.sample(sent))
    }

    /// The last that is seen.
    pub(super) fn finish(mut self, sent: &Sent, seed: u64) -> Result<(), Failure> {
        self.see(sent)?;
        self.recording.map_or(Ok(()), |recording| recording.finish(sent, seed))
    }
}
