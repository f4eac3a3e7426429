//! What can go wrong, as sentences.

use std::path::{Path, PathBuf};

/// Why runs did not succeed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The scenario is wrong, or its file is no text.
    #[error(transparent)]
    Scenario(#[from] headway_scenario::ScenarioError),
    /// A file or folder could not be read or written.
    #[error("cannot {action} {}: {error}", path.display())]
    File {
        /// What was tried, as a verb: `read`.
        action: &'static str,
        /// With which.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The scenario is right, but cannot be run.
    #[error("{0}")]
    Setup(#[from] headway_sim::SetupError),
    /// The run came to a point from which it cannot go on.
    #[error("{0}; what was done is kept and marked incomplete (\"complete\": false)")]
    Run(#[from] headway_sim::RunError),
    /// One run of many is wrong.
    #[error("{label}: {error}")]
    OfRun {
        /// What tells it from its siblings.
        label: String,
        /// What is wrong.
        error: Box<Self>,
    },
    /// What is asked of runs names what none of them has.
    #[error("{0}")]
    Metric(headway_record::ExpressionError),
    /// Packets could not be written in columns.
    #[error(transparent)]
    Packets(#[from] headway_record::PacketsError),
    /// Events could not be written.
    #[error(transparent)]
    Events(#[from] headway_record::EventsError),
    /// Samples could not be written.
    #[error(transparent)]
    Series(#[from] headway_record::SeriesError),
    /// It was stopped before there was anything to keep.
    #[error("stopped")]
    Stopped,
    /// A folder is not what it should be.
    #[error("{}: {reason}", path.display())]
    Record {
        /// Which.
        path: PathBuf,
        /// What is wrong with it and what is allowed.
        reason: Box<dyn std::error::Error + Send + Sync>,
    },
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
