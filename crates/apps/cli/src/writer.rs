//! Asynchronous output: a thread writes messages, so that a slow reader does not block the caller.

use crate::error::Failure;
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Maximum number of queued messages. If the queue is full, the oldest message is dropped.
const MAX_QUEUED: usize = 256;
/// Maximum time for which the end of a command waits for a reader.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

/// Hands messages to the thread that writes them.
pub(crate) struct Writer<T>(Arc<Shared<T>>);

struct Shared<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    waiting: VecDeque<T>,
    /// Whether the thread is writing a message.
    busy: bool,
    /// Whether new messages are discarded.
    closed: bool,
    /// First write error, until it is returned to a caller.
    failed: Option<io::Error>,
    dropped: u64,
}

impl<T> Shared<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes messages until the writer is closed or a write fails.
    fn serve(&self, mut write: impl FnMut(T) -> io::Result<()>) {
        loop {
            let guard = self.state();
            let idle = |state: &mut State<T>| state.waiting.is_empty() && !state.closed;
            let mut state = self.changed.wait_while(guard, idle).unwrap_or_else(PoisonError::into_inner);
            let Some(message) = state.waiting.pop_front() else { return };
            state.busy = true;
            drop(state);
            let written = write(message);
            let mut state = self.state();
            state.busy = false;
            if let Err(error) = written {
                (state.failed, state.closed) = (Some(error), true);
                state.waiting.clear();
            }
            drop(state);
            self.changed.notify_all();
        }
    }
}

impl<T: Send + 'static> Writer<T> {
    /// Starts the thread that writes the messages.
    pub(crate) fn new(write: impl FnMut(T) -> io::Result<()> + Send + 'static) -> Result<Self, Failure> {
        let (waiting, busy, closed, failed, dropped) = (VecDeque::new(), false, false, None, 0);
        let state = Mutex::new(State { waiting, busy, closed, failed, dropped });
        let shared = Arc::new(Shared { state, changed: Condvar::new() });
        let served = Arc::clone(&shared);
        let thread = std::thread::Builder::new().spawn(move || served.serve(write));
        thread.map_err(|error| Failure::Sockets(format!("cannot start a thread: {error}")))?;
        Ok(Self(shared))
    }

    /// Enqueues a message.
    ///
    /// # Errors
    ///
    /// The error of an earlier write.
    pub(crate) fn push(&self, message: T) -> io::Result<()> {
        let mut state = self.0.state();
        if let Some(error) = state.failed.take() {
            return Err(error);
        }
        if state.closed {
            return Ok(());
        }
        if state.waiting.len() >= MAX_QUEUED {
            state.waiting.pop_front();
            state.dropped += 1;
        }
        state.waiting.push_back(message);
        drop(state);
        self.0.changed.notify_all();
        Ok(())
    }

    /// Waits up to [`FLUSH_TIMEOUT`] until all messages are written. Returns the number of dropped messages.
    pub(crate) fn finish(&self) -> io::Result<u64> {
        let state = self.0.state();
        let is_pending = |state: &mut State<T>| state.busy || !state.waiting.is_empty();
        let waited = self.0.changed.wait_timeout_while(state, FLUSH_TIMEOUT, is_pending);
        let (mut state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        state.closed = true;
        let (failed, dropped) = (state.failed.take(), state.dropped);
        drop(state);
        self.0.changed.notify_all();
        match failed {
            Some(error) => Err(error),
            None if timeout.timed_out() => {
                Err(io::Error::new(ErrorKind::TimedOut, "timeout: its reader does not read"))
            }
            None => Ok(dropped),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::sync_channel;

    /// The first write blocks until the test permits it. Of 300 further messages, the oldest 44 are dropped.
    #[test]
    fn a_full_queue_drops_the_oldest_messages_without_blocking() {
        let ((begun, begins), (permit, permits)) = (sync_channel(1), sync_channel::<()>(0));
        let written = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&written);
        let writer = Writer::new(move |message: u32| {
            if message == 0 {
                begun.send(()).unwrap();
                permits.recv().unwrap();
            }
            all.lock().unwrap().push(message);
            Ok(())
        })
        .unwrap();
        writer.push(0).unwrap();
        begins.recv().unwrap();
        (1..=300).for_each(|message| writer.push(message).unwrap());
        permit.send(()).unwrap();
        assert_eq!(writer.finish().unwrap(), 44);
        let expected: Vec<u32> = std::iter::once(0).chain(45..=300).collect();
        assert_eq!(*written.lock().unwrap(), expected);
    }

    /// Messages after the error are discarded.
    #[test]
    fn a_write_error_is_returned_once() {
        let writer = Writer::new(|(): ()| Err(ErrorKind::BrokenPipe.into())).unwrap();
        writer.push(()).unwrap();
        assert_eq!(writer.finish().unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert!(writer.push(()).is_ok() && writer.finish().is_ok());
    }
}
