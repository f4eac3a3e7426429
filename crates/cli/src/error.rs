//! What can go wrong, as sentences.

use crate::interrupt;
use crate::output;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Why a command did not succeed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The scenario is wrong; the text names file, line and key, an error a line.
    #[error("{0}")]
    Scenario(String),
    /// A file or folder could not be read or written.
    #[error("cannot {action} {}: {error}", path.display())]
    File { action: &'static str, path: PathBuf, error: std::io::Error },
    /// The scenario is right, but cannot be run.
    #[error("{0}")]
    Setup(#[from] headway_sim::SetupError),
    /// The run came to a point from which it cannot go on.
    #[error("{0}; what was done is kept and marked incomplete (\"complete\": false)")]
    Run(#[from] headway_sim::RunError),
    /// A folder is not a record.
    #[error("{}: {reason}", path.display())]
    Record { path: PathBuf, reason: String },
    /// A paper's folder is wrong, or there is no such paper.
    #[error("{0}")]
    Papers(String),
    /// Derivable claims do not hold; the text names them.
    #[error("these claims follow from their papers, and do not hold: {0}")]
    Claims(String),
    /// Send queues cannot be compared so.
    #[error("{0}")]
    Queues(String),
    /// The proxy cannot do so, or its run is not valid.
    #[cfg(target_os = "linux")]
    #[error("{0}")]
    Proxy(String),
    /// A connection, or what it is to carry, is wrong.
    #[error("{0}")]
    Sockets(String),
    /// The scenario cannot be run between real sockets, or its run is not valid.
    #[cfg(target_os = "linux")]
    #[error("{0}")]
    Live(String),
    /// The pictures could not be drawn.
    #[error("cannot draw: {0}")]
    Plot(String),
    /// Standard output is gone.
    #[error("cannot write to standard output: {0}")]
    Output(std::io::Error),
    /// The user stopped it; what was done is kept.
    #[error("stopped; what was done is kept and marked incomplete (\"complete\": false)")]
    Interrupted,
    /// The user stopped it before there was anything to keep.
    #[error("stopped")]
    Stopped,
}

impl Failure {
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::File { action, path, error }
    }

    /// Tells the user, and the shell: 1 for errors, 128 and the signal's number for an interruption.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            // The reader has what it wanted (`headway run ... | head`).
            Self::Output(error) if error.kind() == ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
            Self::Scenario(text) => output::note(text),
            other => output::note(&format!("headway: {other}")),
        }
        ExitCode::from(if matches!(self, Self::Interrupted | Self::Stopped) { interrupt::status() } else { 1 })
    }
}
