//! What can go wrong, as sentences.

use headway_run::Error;
use headway_scenario::ScenarioError;
use std::path::{Path, PathBuf};

/// Why a command did not succeed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A scenario, a run or its folder.
    #[error(transparent)]
    Runs(#[from] Error),
    /// A scenario or an option for its keys.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A paper's folder is wrong, or there is no such paper.
    #[error("{0}")]
    Papers(String),
    /// Derivable claims do not hold; the text names them.
    #[error("these claims follow from their papers, and do not hold: {0}")]
    Claims(String),
    /// Options contradict one another.
    #[error("{0}")]
    Usage(String),
    /// A sweep cannot be asked so.
    #[error("{0}")]
    Sweep(String),
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
    /// The pictures could not be drawn.
    #[error("cannot draw: {0}")]
    Plot(String),
    /// Standard output is gone.
    #[error("cannot write to standard output: {0}")]
    Output(std::io::Error),
    /// The reader of standard output closed it while a connection was open.
    #[error("the reader of standard output closed it: stopped before the end of the job")]
    Unread,
    /// The user stopped it; what was done is kept.
    #[error("stopped; what was done is kept and marked incomplete (\"complete\": false)")]
    Interrupted,
    /// The user stopped a sweep: so many of all its runs are done.
    #[error("stopped; {0} of {1} runs are done and kept, and the same command goes on from there")]
    SweepStopped(usize, usize),
    /// The user stopped it before there was anything to keep.
    #[error("stopped")]
    Stopped,
}

impl Failure {
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let error = Error::file(action, path);
        move |why| error(why).into()
    }

    /// A folder that is not what it should be.
    pub(crate) fn record(path: PathBuf, reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Error::Record { path, reason: reason.into() }.into()
    }
}
