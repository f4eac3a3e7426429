//! Objects of classes that are written in Python, of which a run asks something.
//!
//! What such an object raises stops the run, and is kept: from then on none of its methods is called.

use headway_units::Instant;
use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The first exception of all objects of a run.
#[derive(Debug, Default)]
pub(crate) struct Raised {
    is: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl Raised {
    pub(crate) fn is(&self) -> bool {
        self.is.load(Ordering::Relaxed)
    }

    pub(crate) fn take(&self) -> Option<PyErr> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn keep(&self, error: PyErr) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.is.store(true, Ordering::Relaxed);
    }
}

/// Every method of the package's classes; those that a class has not overridden are not called.
const METHODS: [&str; 12] = [
    "poll_send",
    "on_send",
    "on_feedback",
    "on_application_limited",
    "on_packet",
    "poll_report",
    "handle_timeout",
    "poll_timeout",
    "status",
    "choose",
    "discard",
    "make_room",
];

/// Those that a class must have: that they are missing they say themselves.
const NEEDED: [&str; 2] = ["poll_send", "choose"];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    PollSend,
    OnSend,
    OnFeedback,
    OnApplicationLimited,
    OnPacket,
    PollReport,
    HandleTimeout,
    PollTimeout,
    Status,
    Choose,
    Discard,
    MakeRoom,
}

/// Length of the longest answer that an error shows, in characters.
const SHOWN: usize = 80;

/// What a method of a class answered.
pub(crate) struct Answer<'a, 'py> {
    pub(crate) method: Method,
    pub(crate) value: &'a Bound<'py, PyAny>,
}

impl Answer<'_, '_> {
    /// The error for an answer that is not as `expected`.
    pub(crate) fn mismatch(&self, expected: &str) -> PyErr {
        let shown = self.value.repr().map_or_else(|_| "an object".to_owned(), |shown| shown.to_string());
        let shown: String = shown.chars().take(SHOWN).collect();
        let class = self.value.get_type();
        let class = class.name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
        PyTypeError::new_err(format!(
            "{} returned {shown} ({class}); expected {expected}",
            METHODS[self.method as usize]
        ))
    }

    /// None, of a method whose answer is not used.
    pub(crate) fn nothing(&self) -> PyResult<()> {
        if self.value.is_none() { Ok(()) } else { Err(self.mismatch("None")) }
    }

    /// An integer that is not negative, or None.
    pub(crate) fn integer(&self, expected: &str) -> PyResult<Option<u64>> {
        if self.value.is_none() {
            return Ok(None);
        }
        let integer = (!self.value.is_instance_of::<PyBool>()).then(|| self.value.extract().ok()).flatten();
        integer.map(Some).ok_or_else(|| self.mismatch(expected))
    }

    /// A time in ns, or None.
    pub(crate) fn time(&self) -> PyResult<Option<u64>> {
        self.integer("a time as an integer in ns, at least 0, or None")
    }

    /// Bytes, or None.
    pub(crate) fn bytes(&self, expected: &str) -> PyResult<Option<Vec<u8>>> {
        if self.value.is_none() {
            return Ok(None);
        }
        let is_bytes = self.value.is_instance_of::<PyBytes>() || self.value.is_instance_of::<PyByteArray>();
        let bytes = is_bytes.then(|| self.value.extract().ok()).flatten();
        bytes.map(Some).ok_or_else(|| self.mismatch(expected))
    }

    /// True or false; None is false.
    pub(crate) fn flag(&self, expected: &str) -> PyResult<bool> {
        if self.value.is_none() {
            return Ok(false);
        }
        // NumPy has a class of its own for the results of comparisons.
        let class = self.value.get_type();
        let is_flag = self.value.is_instance_of::<PyBool>()
            || class.name().is_ok_and(|name| ["bool_", "bool"].iter().any(|known| name == *known));
        if is_flag { self.value.is_truthy() } else { Err(self.mismatch(expected)) }
    }
}

/// So often it may be called at one instant to act: a half that always lets a packet go, or always has a report, would never come to the next.
const MOST_CALLS: u32 = 1_000_000;

/// An object of Python, its methods looked up once.
#[derive(Debug)]
pub(crate) struct Object {
    methods: [Option<Py<PyAny>>; METHODS.len()],
    /// The instant of the last calls that may act, and how many there were.
    calls: Cell<(Instant, u32)>,
    raised: Arc<Raised>,
}

impl Object {
    /// One of this class, which stands for one of the package's; that may be made of a context, with these arguments.
    pub(crate) fn new<A>(
        class: &Py<PyAny>,
        (base, context): (&str, Option<&str>),
        args: A,
        raised: &Arc<Raised>,
    ) -> Self
    where
        A: for<'py> PyCallArgs<'py>,
    {
        let raised = Arc::clone(raised);
        let made = Python::attach(|py| {
            let module = py.import("headway")?;
            let base = module.getattr(base)?;
            let object = match context {
                Some(context) => class.bind(py).call1((module.getattr(context)?.call1(args)?,))?,
                None => class.bind(py).call0()?,
            };
            let mut methods = [const { None }; METHODS.len()];
            for (method, name) in methods.iter_mut().zip(METHODS) {
                let Some(default) = base.getattr_opt(name)? else { continue };
                if NEEDED.contains(&name) || !object.get_type().getattr(name).is_ok_and(|own| own.is(&default)) {
                    *method = Some(object.getattr(name)?.unbind());
                }
            }
            PyResult::Ok(methods)
        });
        let methods = made.unwrap_or_else(|error| {
            raised.keep(error);
            [const { None }; METHODS.len()]
        });
        Self { methods, calls: Cell::new((Instant::ZERO, 0)), raised }
    }

    /// What a method that acts answers: as [`call`](Self::call), but not for ever at one instant.
    pub(crate) fn act<T>(
        &self,
        now: Instant,
        method: Method,
        call: impl for<'py> FnOnce(Python<'py>, &Bound<'py, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        let (at, calls) = self.calls.get();
        let calls = if at == now { calls + 1 } else { 0 };
        self.calls.set((now, calls));
        if calls < MOST_CALLS {
            return self.call(method, call);
        }
        let why = format!(
            "{} was called {calls} times at one instant, {now}: it must not always answer \"now\"",
            METHODS[method as usize]
        );
        self.raised.keep(PyRuntimeError::new_err(why));
        None
    }

    /// What the method answers; `None` if it is not there, or something was raised.
    pub(crate) fn call<T>(
        &self,
        method: Method,
        call: impl for<'py> FnOnce(Python<'py>, &Bound<'py, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        let method = self.methods[method as usize].as_ref()?;
        if self.raised.is() {
            return None;
        }
        let answer = Python::attach(|py| call(py, method.bind(py)));
        answer.map_err(|error| self.raised.keep(error)).ok()
    }

    pub(crate) fn handle_timeout(&self, now: Instant) {
        self.act(now, Method::HandleTimeout, |_, method| {
            Answer { method: Method::HandleTimeout, value: &method.call1((now.as_nanos(),))? }.nothing()
        });
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let at = self.call(Method::PollTimeout, |_, method| {
            Answer { method: Method::PollTimeout, value: &method.call0()? }.time()
        })?;
        at.map(Instant::from_nanos)
    }
}
