//! Send queues written in Python: adapter from a class of `headway/_queues.py` to `Decisions` of `headway-media`.

use crate::object::{Answer, Method, Object, Raised};
use headway_media::{Decisions, ExternalQueue, WaitingPacket};
use headway_units::{Duration, Instant};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::Arc;

/// Class name in the package; it has no context.
const QUEUE: (&str, Option<&str>) = ("SendQueue", None);

/// A Python class of send queues.
#[derive(Debug)]
pub(crate) struct Class {
    pub(crate) class: Py<PyAny>,
    pub(crate) raised: Arc<Raised>,
}

impl ExternalQueue for Class {
    fn decisions(&self) -> Box<dyn Decisions> {
        Box::new(PyQueue(Object::new(&self.class, QUEUE, (), &self.raised)))
    }
}

#[derive(Debug)]
struct PyQueue(Object);

impl Decisions for PyQueue {
    fn choose(&self, now: Instant, waiting: &[WaitingPacket], travel: Duration) -> Option<usize> {
        self.0.call(Method::Choose, |py, method| {
            let args = (now.as_nanos(), list(py, waiting)?, travel.as_nanos());
            one_of(waiting, "choose", index(Method::Choose, &method.call1(args)?)?)
        })?
    }

    fn discard(&self, now: Instant, waiting: &[WaitingPacket], travel: Duration) -> Vec<usize> {
        let discarded = self.0.call(Method::Discard, |py, method| {
            let args = (now.as_nanos(), list(py, waiting)?, travel.as_nanos());
            let mut discarded = Vec::new();
            let answer = method.call1(args)?;
            let wrong = || Answer { method: Method::Discard, value: &answer }.mismatch("a list of indices");
            for each in answer.try_iter().map_err(|_| wrong())? {
                let index: i64 = each?.extract().map_err(|_| wrong())?;
                discarded.extend(one_of(waiting, "discard", Some(index))?);
            }
            Ok(discarded)
        });
        discarded.unwrap_or_default()
    }

    fn victim(
        &self,
        now: Instant,
        waiting: &[WaitingPacket],
        newcomer: &WaitingPacket,
        travel: Duration,
    ) -> Option<usize> {
        self.0.call(Method::MakeRoom, |py, method| {
            let args = (now.as_nanos(), list(py, waiting)?, Waiting(*newcomer), travel.as_nanos());
            one_of(waiting, "make_room", index(Method::MakeRoom, &method.call1(args)?)?)
        })?
    }
}

fn list<'py>(py: Python<'py>, waiting: &[WaitingPacket]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, waiting.iter().map(|packet| Waiting(*packet)))
}

fn index(method: Method, value: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    value.extract().map_err(|_| Answer { method, value }.mismatch("an index of a queued packet, or None"))
}

fn one_of(waiting: &[WaitingPacket], method: &str, index: Option<i64>) -> PyResult<Option<usize>> {
    let Some(index) = index else { return Ok(None) };
    let known = usize::try_from(index).ok().filter(|known| *known < waiting.len());
    let wrong = || format!("{method} returned {index}; expected an index of the {} queued packets", waiting.len());
    known.map(Some).ok_or_else(|| PyIndexError::new_err(wrong()))
}

/// Queued packet that a Python queue gets.
#[pyclass(frozen, module = "headway._native")]
pub(crate) struct Waiting(WaitingPacket);

#[pymethods]
impl Waiting {
    #[getter]
    fn size_bytes(&self) -> u64 {
        self.0.size.count()
    }
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind.name()
    }
    #[getter]
    fn priority(&self) -> u8 {
        self.0.priority
    }
    #[getter]
    fn created_ns(&self) -> u64 {
        self.0.created.as_nanos()
    }
    #[getter]
    fn expires_ns(&self) -> Option<u64> {
        self.0.expires.map(Instant::as_nanos)
    }
    #[getter]
    fn ends_frame(&self) -> bool {
        self.0.ends_frame
    }
}
