//! Conversion of errors to the package's exceptions, which are defined in `headway/_errors.py`.

use headway_scenario::{Place, Problem, ScenarioError};
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;

/// Creates an exception of the package. If that fails, returns the error of the attempt.
pub(crate) fn exception<'py>(py: Python<'py>, name: &str, args: impl PyCallArgs<'py>) -> PyErr {
    let made = py.import("headway._errors").and_then(|errors| errors.getattr(name)).and_then(|class| class.call1(args));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// Converts an error in a scenario.
pub(crate) fn scenario(py: Python<'_>, error: &ScenarioError) -> PyErr {
    let problems: Vec<_> = error.problems.iter().map(problem).collect();
    exception(py, "ScenarioError", (problems, error.more))
}

/// Converts an error of the setup of a run, or of reading or writing a record.
pub(crate) fn run(py: Python<'_>, error: &headway_run::Error) -> PyErr {
    use headway_run::Error;
    let (path, message) = match error {
        Error::File { path, action, error } => (path.display().to_string(), format!("cannot {action}: {error}")),
        Error::Record { path, reason } => (path.display().to_string(), reason.to_string()),
        Error::Scenario(error) => return scenario(py, error),
        Error::Metric(wrong) => return metric(py, &wrong.expression, &wrong.fault.to_string()),
        // Errors that the check of a scenario does not find.
        other => return value(py, &other.to_string()),
    };
    exception(py, "RecordError", (path, message))
}

/// Creates the error about a value without a place in a file.
pub(crate) fn value(py: Python<'_>, message: &str) -> PyErr {
    let problem: ProblemParts = (String::new(), None, None, String::new(), message.to_owned(), message.to_owned());
    exception(py, "ScenarioError", ([problem],))
}

/// Converts an error in an expression.
pub(crate) fn metric(py: Python<'_>, expression: &str, message: &str) -> PyErr {
    exception(py, "MetricError", (expression, message))
}

/// File, line, column, key, message, and the complete text.
pub(crate) type ProblemParts = (String, Option<usize>, Option<usize>, String, String, String);

/// Returns the fields of the package's `Problem`.
pub(crate) fn problem(problem: &Problem) -> ProblemParts {
    let text = problem.to_string();
    let (line, column, text) = match problem.place {
        Place::File => (None, None, text),
        Place::Line { line, column } => (Some(line), Some(column), text),
        // These places are command line options; Python has `Scenario.set`.
        Place::Set(_) | Place::Vary(_) | Place::Option(_) => {
            let plain = text.strip_prefix("--set ").or_else(|| text.strip_prefix("--vary ")).map(str::to_owned);
            (None, None, plain.unwrap_or(text))
        }
    };
    (problem.file.clone(), line, column, problem.key.clone(), problem.message.clone(), text)
}
