//! What can go wrong, as sentences.

use std::path::{Path, PathBuf};

/// Why runs did not succeed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
#[non_exhaustive]
pub enum Error {
    /// The scenario is wrong, or its file is no text.
    #[error(transparent)]
    Scenario(#[from] headway_scenario::ScenarioError),
    #[error("cannot {action} {}: {error}", path.display())]
    File { action: &'static str, path: PathBuf, error: std::io::Error },
    /// The scenario is right, but cannot be run.
    #[error("{0}")]
    Setup(#[from] headway_sim::SetupError),
    #[error("{0}; what was done is kept and marked incomplete (\"complete\": false)")]
    Run(#[from] headway_sim::RunError),
    /// One run of several failed.
    #[error("{label}: {error}")]
    OfRun { label: String, error: Box<Self> },
    /// No record has a number that a metric names.
    #[error("{0}")]
    Metric(headway_record::ExpressionError),
    #[error(transparent)]
    Packets(#[from] headway_record::PacketsError),
    #[error(transparent)]
    Events(#[from] headway_record::EventsError),
    #[error(transparent)]
    Series(#[from] headway_record::SeriesError),
    #[error("stopped")]
    Stopped,
    /// A folder or a file in it is not that of a record.
    #[error("{}: {reason}", path.display())]
    Record { path: PathBuf, reason: Box<dyn std::error::Error + Send + Sync> },
}

impl Error {
    /// That of a run among others. What is wrong with a scenario is told with its place, and needs no more.
    pub(crate) fn of_run(label: String, error: Self) -> Self {
        match error {
            wrong @ Self::Scenario(_) => wrong,
            error if label.is_empty() => error,
            error => Self::OfRun { label, error: Box::new(error) },
        }
    }

    /// What could not be done with this file.
    pub fn file(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::File { action, path, error }
    }
}
