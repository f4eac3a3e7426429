//! Objects of Python classes that a run calls.
//!
//! An exception in a method stops the run and is kept. After it, no method of any object is called.

use headway_units::Instant;
use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// First exception of the objects of a run.
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

/// All methods of the package's classes. Methods that a class does not override are not called.
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

/// Methods without a default. They are always called, and the package's class raises an exception.
const REQUIRED: [&str; 2] = ["poll_send", "choose"];

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

/// Maximum length of a value shown in an error, in characters.
const MAX_SHOWN: usize = 80;

/// Returns `repr(value)` for an error.
pub(crate) fn shown(value: &Bound<'_, PyAny>) -> String {
    let shown = value.repr().map_or_else(|_| "an object".to_owned(), |shown| shown.to_string());
    shown.chars().take(MAX_SHOWN).collect()
}

/// Return value of a Python method.
pub(crate) struct Answer<'a, 'py> {
    pub(crate) method: Method,
    pub(crate) value: &'a Bound<'py, PyAny>,
}

impl Answer<'_, '_> {
    /// Returns the error for a value that is not as `expected`.
    pub(crate) fn mismatch(&self, expected: &str) -> PyErr {
        let shown = shown(self.value);
        let class = self.value.get_type();
        let class = class.name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
        PyTypeError::new_err(format!(
            "{} returned {shown} ({class}); expected {expected}",
            METHODS[self.method as usize]
        ))
    }

    /// Checks that the value is None.
    pub(crate) fn nothing(&self) -> PyResult<()> {
        if self.value.is_none() { Ok(()) } else { Err(self.mismatch("None")) }
    }

    /// Converts a nonnegative integer or None.
    pub(crate) fn integer(&self, expected: &str) -> PyResult<Option<u64>> {
        if self.value.is_none() {
            return Ok(None);
        }
        let integer = (!self.value.is_instance_of::<PyBool>()).then(|| self.value.extract().ok()).flatten();
        integer.map(Some).ok_or_else(|| self.mismatch(expected))
    }

    /// Converts a time in ns or None.
    pub(crate) fn time(&self) -> PyResult<Option<u64>> {
        self.integer("a time as an integer in ns, at least 0, or None")
    }

    /// Converts bytes or None.
    pub(crate) fn bytes(&self, expected: &str) -> PyResult<Option<Vec<u8>>> {
        if self.value.is_none() {
            return Ok(None);
        }
        let is_bytes = self.value.is_instance_of::<PyBytes>() || self.value.is_instance_of::<PyByteArray>();
        let bytes = is_bytes.then(|| self.value.extract().ok()).flatten();
        bytes.map(Some).ok_or_else(|| self.mismatch(expected))
    }

    /// Converts a Boolean; None is false.
    pub(crate) fn flag(&self, expected: &str) -> PyResult<bool> {
        if self.value.is_none() {
            return Ok(false);
        }
        // NumPy has a separate class for results of comparisons.
        let class = self.value.get_type();
        let is_flag = self.value.is_instance_of::<PyBool>()
            || class.name().is_ok_and(|name| ["bool_", "bool"].iter().any(|known| name == *known));
        if is_flag { self.value.is_truthy() } else { Err(self.mismatch(expected)) }
    }
}

/// Maximum number of calls at one time. A half that always allows a packet or always has a report would block the
/// run.
const MAX_CALLS: u32 = 1_000_000;

/// A Python object with its methods.
#[derive(Debug)]
pub(crate) struct Object {
    methods: [Option<Py<PyAny>>; METHODS.len()],
    /// Time of the last calls of [`act`](Self::act), and their number.
    calls: Cell<(Instant, u32)>,
    raised: Arc<Raised>,
}

impl Object {
    /// Creates an object of `class`, which has the interface of a class of the package. The arguments may include a
    /// context.
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
                if REQUIRED.contains(&name) || !object.get_type().getattr(name).is_ok_and(|own| own.is(&default)) {
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

    /// Calls a method like [`call`](Self::call), and raises an error after too many calls at one time.
    pub(crate) fn act<T>(
        &self,
        now: Instant,
        method: Method,
        call: impl for<'py> FnOnce(Python<'py>, &Bound<'py, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        let (at, calls) = self.calls.get();
        let calls = if at == now { calls + 1 } else { 0 };
        self.calls.set((now, calls));
        if calls < MAX_CALLS {
            return self.call(method, call);
        }
        let why = format!(
            "{} was called {calls} times at one instant, {now}: it must not always return \"now\"",
            METHODS[method as usize]
        );
        self.raised.keep(PyRuntimeError::new_err(why));
        None
    }

    /// Calls a method. Returns `None` if the class does not have it, or after an exception.
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
