//! Errors of commands.

use headway_run::Error;
use headway_scenario::ScenarioError;
use std::path::{Path, PathBuf};

/// Reason for which a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Error of a scenario, a run or its folder.
    #[error(transparent)]
    Runs(#[from] Error),
    /// Error of a scenario or of an option that sets its keys.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Error in the folder of a paper, or unknown paper.
    #[error("{0}")]
    Papers(String),
    /// Derivable claims that do not hold.
    #[error("derivable claims do not hold: {0}")]
    Claims(String),
    /// Conflicting options.
    #[error("{0}")]
    Usage(String),
    /// Invalid options of a sweep or of its charts.
    #[error("{0}")]
    Sweep(String),
    /// Invalid suite, or options that do not fit it.
    #[error("{0}")]
    Suite(String),
    /// Invalid comparison of send queues.
    #[error("{0}")]
    Queues(String),
    /// Error of the proxy, or an invalid run.
    #[cfg(target_os = "linux")]
    #[error("{0}")]
    Proxy(String),
    /// Error of the shell, or an invalid run.
    #[cfg(target_os = "linux")]
    #[error("{0}")]
    Shell(String),
    /// Error of a lab, or an invalid run.
    #[cfg(target_os = "linux")]
    #[error("{0}")]
    Lab(String),
    /// Error of a connection, its source or its output.
    #[error("{0}")]
    Sockets(String),
    /// Charts that cannot be drawn.
    #[error("cannot draw: {0}")]
    Plot(String),
    /// Standard output cannot be written.
    #[error("cannot write to standard output: {0}")]
    Output(std::io::Error),
    /// Standard output that its reader closed while a connection was open.
    #[error("standard output was closed by its reader; stopped before the transfer was complete")]
    Unread,
    /// Run that the user stopped. Its partial record is kept.
    #[error("stopped; the partial record is kept and marked incomplete (\"complete\": false)")]
    Interrupted,
    /// Sweep that the user stopped, with the number of completed runs and of all runs.
    #[error("stopped; {0} of {1} runs are complete and kept; run the same command again to resume")]
    SweepStopped(usize, usize),
    /// Command that the user stopped before it produced any result.
    #[error("stopped")]
    Stopped,
}

impl Failure {
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let error = Error::file(action, path);
        move |why| error(why).into()
    }

    /// Returns the error of an invalid record folder.
    pub(crate) fn record(path: PathBuf, reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Error::Record { path, reason: reason.into() }.into()
    }
}
