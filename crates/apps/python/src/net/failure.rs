//! Conversion of errors of sockets and connections to the package's exceptions.

use crate::error::exception;
use headway_net::{Closed, EndpointError, SendError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::fmt::Display;
use std::io;

/// Returns the name of the reason why a connection is closed.
pub(super) const fn reason(why: &Closed) -> &'static str {
    match why {
        Closed::Here => "here",
        Closed::ByPeer => "peer",
        Closed::NoAnswer => "no-answer",
        Closed::Reset(_) => "reset",
        Closed::Aborted(_) => "aborted",
        Closed::Breaker(_) => "breaker",
        Closed::Security(_) => "security",
        Closed::Refused(_) => "refused",
        Closed::Socket => "socket",
        // A reason of a newer version of the library.
        _ => "other",
    }
}

pub(super) fn closed(py: Python<'_>, why: &Closed) -> PyErr {
    exception(py, "ConnectionClosed", (why.to_string(), reason(why)))
}

pub(super) fn send(py: Python<'_>, error: &SendError) -> PyErr {
    match error {
        SendError::Closed(why) => closed(py, why),
        SendError::TooLarge { len, largest } => exception(py, "DatagramTooLarge", (error.to_string(), *len, *largest)),
        other => PyValueError::new_err(other.to_string()),
    }
}

/// Converts the error of an endpoint. `action` is what failed, such as "cannot open a socket".
pub(super) fn endpoint(py: Python<'_>, action: &str, error: &EndpointError) -> PyErr {
    match error {
        EndpointError::Options(_) => PyValueError::new_err(error.to_string()),
        EndpointError::System(error) => system(py, action, error),
        other => socket(py, format!("{action}: {other}")),
    }
}

/// Converts an error of the operating system.
pub(super) fn system(py: Python<'_>, action: &str, error: &io::Error) -> PyErr {
    exception(py, "SocketError", (format!("{action}: {error}"), error.raw_os_error()))
}

pub(super) fn socket(py: Python<'_>, message: String) -> PyErr {
    exception(py, "SocketError", (message,))
}

/// Returns the error about an argument.
pub(super) fn argument(name: &str, message: impl Display) -> PyErr {
    PyValueError::new_err(format!("{name}: {message}"))
}
