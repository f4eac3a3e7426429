//! Errors of runs.

use std::path::{Path, PathBuf};

/// Error of a run or of a folder.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
#[non_exhaustive]
pub enum Error {
    /// The scenario is invalid, or its file is not text.
    #[error(transparent)]
    Scenario(#[from] headway_scenario::ScenarioError),
    #[error("cannot {action} {}: {error}", path.display())]
    File { action: &'static str, path: PathBuf, error: std::io::Error },
    /// The scenario is valid, but cannot be run.
    #[error("{0}")]
    Setup(#[from] headway_sim::SetupError),
    #[error("{0}; the partial record is kept and marked incomplete (\"complete\": false)")]
    Run(#[from] headway_sim::RunError),
    /// The run `label`, one of several, failed.
    #[error("{label}: {error}")]
    OfRun { label: String, error: Box<Self> },
    /// A metric cannot be computed: it names a number that no record has.
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
    /// A folder or file is not part of a valid record.
    #[error("{}: {reason}", path.display())]
    Record { path: PathBuf, reason: Box<dyn std::error::Error + Send + Sync> },
}

impl Error {
    /// Adds the label of a run among several. An error in the scenario has its own location and is returned
    /// unchanged.
    pub(crate) fn of_run(label: String, error: Self) -> Self {
        match error {
            wrong @ Self::Scenario(_) => wrong,
            error if label.is_empty() => error,
            error => Self::OfRun { label, error: Box::new(error) },
        }
    }

    /// Returns a function that converts an I/O error and adds the action that failed and the path of the file.
    pub fn file(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::File { action, path, error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A single run has no label, and an error in the scenario has its own place.
    #[test]
    fn errors_of_several_runs_have_a_label() {
        let file = || Error::file("read", Path::new("x"))(std::io::Error::other("broken"));
        assert_eq!(file().to_string(), "cannot read x: broken");
        assert_eq!(Error::of_run(String::new(), file()).to_string(), "cannot read x: broken");
        assert_eq!(Error::of_run("seed=1".to_owned(), file()).to_string(), "seed=1: cannot read x: broken");
        let wrong = headway_scenario::ScenarioError::new("x.toml", headway_scenario::Place::File, "wrong");
        let text = wrong.to_string();
        assert_eq!(Error::of_run("seed=1".to_owned(), wrong.into()).to_string(), text);
    }
}
