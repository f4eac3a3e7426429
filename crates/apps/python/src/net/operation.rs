//! Operations that wait: a thread waits for them, or an event loop polls them. Each is a future of `headway-net`.

use super::connection::Connection;
use super::event;
use super::failure::{argument, closed};
use super::wakeups::Wakeups;
use headway_net::{Closed, Event};
use pyo3::exceptions::{PyRuntimeError, PyTimeoutError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// Interval between checks for Ctrl-C. A signal does not end the wait of a thread.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Result of an operation.
pub(super) enum Outcome {
    Done,
    Datagram(Vec<u8>),
    /// `None` after the last event.
    Event(Option<Event>),
    /// `None`: the listener is closed.
    Accepted(Option<Connection>),
}

impl Outcome {
    fn into_python(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self {
            Self::Done => Ok(py.None()),
            Self::Datagram(datagram) => Ok(PyBytes::new(py, &datagram).into_any().unbind()),
            Self::Event(event) => Ok(event.as_ref().map(event::parts).into_pyobject(py)?.unbind()),
            Self::Accepted(connection) => Ok(connection.into_pyobject(py)?.unbind()),
        }
    }
}

type Future = Pin<Box<dyn std::future::Future<Output = Result<Outcome, Closed>> + Send>>;

/// Operation that waits. An operation that is dropped early has received nothing.
#[pyclass(frozen, module = "headway._native")]
pub(crate) struct Operation {
    /// `None` once the operation has ended.
    future: Mutex<Option<Future>>,
    /// What has not happened at a timeout, such as "no datagram arrived".
    missing: &'static str,
}

impl Operation {
    pub(super) fn new(
        missing: &'static str,
        future: impl std::future::Future<Output = Result<Outcome, Closed>> + Send + 'static,
    ) -> Self {
        Self { future: Mutex::new(Some(Box::pin(future))), missing }
    }

    fn future(&self) -> MutexGuard<'_, Option<Future>> {
        self.future.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Operation {
    /// Waits for the result, for at most `timeout` seconds. Other threads of Python run meanwhile.
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Py<PyAny>> {
        if timeout.is_some_and(|timeout| timeout.is_nan() || timeout < 0.0) {
            let timeout = timeout.unwrap_or_default();
            return Err(argument("timeout", format_args!("{timeout} is out of range; expected at least 0 s, or None")));
        }
        // A time that no clock reaches is no limit.
        let limit = timeout.and_then(|timeout| Duration::try_from_secs_f64(timeout).ok());
        let until = limit.and_then(|limit| now().checked_add(limit));
        let mut future = self.future().take().ok_or_else(ended)?;
        let thread = Arc::new(Sleeper::default());
        loop {
            let checked = now() + CHECK_INTERVAL;
            let deadline = until.map_or(checked, |until| until.min(checked));
            match py.detach(|| thread.block_on(&mut future, deadline)) {
                Some(result) => return result.map_err(|why| closed(py, &why))?.into_python(py),
                None => py.check_signals()?,
            }
            if until.is_some_and(|until| until <= now()) {
                let message = format!("{} within {} s", self.missing, timeout.unwrap_or_default());
                return Err(PyTimeoutError::new_err(message));
            }
        }
    }

    /// Returns the result in a tuple, or None. In the latter case `wakeups` reports `key` when the operation is to be
    /// polled again.
    fn poll(&self, py: Python<'_>, wakeups: &Wakeups, key: u64) -> PyResult<Option<(Py<PyAny>,)>> {
        let mut slot = self.future();
        let future = slot.as_mut().ok_or_else(ended)?;
        let waker = wakeups.waker(key);
        let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) else { return Ok(None) };
        *slot = None;
        let outcome = result.map_err(|why| closed(py, &why))?;
        Ok(Some((outcome.into_python(py)?,)))
    }
}

fn ended() -> PyErr {
    PyRuntimeError::new_err("the operation has ended, or another thread waits for it")
}

/// A thread that waits for a future.
#[derive(Default)]
struct Sleeper {
    is_woken: Mutex<bool>,
    woken: Condvar,
}

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        *self.is_woken() = true;
        self.woken.notify_one();
    }
}

impl Sleeper {
    fn is_woken(&self) -> MutexGuard<'_, bool> {
        self.is_woken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the result of the future, or `None` at the deadline.
    fn block_on(self: &Arc<Self>, future: &mut Future, deadline: Instant) -> Option<Result<Outcome, Closed>> {
        let waker = Waker::from(Arc::clone(self));
        loop {
            if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return Some(result);
            }
            let mut is_woken = self.is_woken();
            while !*is_woken {
                let left = deadline.saturating_duration_since(now());
                if left.is_zero() {
                    return None;
                }
                is_woken = self.woken.wait_timeout(is_woken, left).unwrap_or_else(PoisonError::into_inner).0;
            }
            *is_woken = false;
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a program waits in wall-clock time")]
fn now() -> Instant {
    Instant::now()
}
