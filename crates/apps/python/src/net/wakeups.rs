//! Wakeups of an event loop of asyncio.
//!
//! The threads of `headway-net` wake a task by a byte in a pipe that the loop reads. They never wait for the interpreter
//! lock.

use pyo3::prelude::*;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

/// Keys of the tasks to wake, of one event loop.
#[pyclass(frozen, module = "headway._native")]
pub(crate) struct Wakeups(Arc<Shared>);

struct Shared {
    /// The pipe has one byte if there is any key, and none otherwise.
    woken: Mutex<Vec<u64>>,
    /// Kept with the writer: a pipe without a reader would raise SIGPIPE.
    reader: PipeReader,
    writer: PipeWriter,
}

impl Shared {
    fn woken(&self) -> MutexGuard<'_, Vec<u64>> {
        self.woken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Key {
    shared: Arc<Shared>,
    key: u64,
}

impl Wake for Key {
    fn wake(self: Arc<Self>) {
        let mut woken = self.shared.woken();
        // A pipe that is empty accepts a byte at once.
        if !woken.is_empty() || (&self.shared.writer).write_all(&[0]).is_ok() {
            woken.push(self.key);
        }
    }
}

impl Wakeups {
    /// Returns a waker that reports this key.
    pub(super) fn waker(&self, key: u64) -> Waker {
        Waker::from(Arc::new(Key { shared: Arc::clone(&self.0), key }))
    }
}

#[pymethods]
impl Wakeups {
    #[new]
    fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        Ok(Self(Arc::new(Shared { woken: Mutex::default(), reader, writer })))
    }

    /// Returns the file descriptor that is readable while there are keys.
    #[cfg(unix)]
    fn fileno(&self) -> i32 {
        use std::os::fd::AsRawFd as _;
        self.0.reader.as_raw_fd()
    }

    /// Event loops of this system read sockets only.
    #[cfg(not(unix))]
    fn fileno(&self) -> PyResult<i32> {
        let message = "connections cannot be used with asyncio on this system; expected the functions that wait";
        Err(pyo3::exceptions::PyNotImplementedError::new_err(message))
    }

    /// Removes and returns the keys of the tasks to wake.
    fn take(&self) -> io::Result<Vec<u64>> {
        let mut woken = self.0.woken();
        if !woken.is_empty() {
            (&self.0.reader).read_exact(&mut [0])?;
        }
        Ok(std::mem::take(&mut *woken))
    }
}
