//! Messages that no caller waits for: a thread writes them, however slowly its reader reads.

use crate::error::Failure;
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Messages that wait for the reader, at most. Of more the oldest are dropped: the newest figures are of the most use.
const MOST_WAITING: usize = 256;
/// How long the end of a command waits for a reader.
const PATIENCE: Duration = Duration::from_secs(3);

/// Hands messages to the thread that writes them.
pub(crate) struct Writer<T>(Arc<Shared<T>>);

struct Shared<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    waiting: VecDeque<T>,
    /// The thread is writing a message.
    busy: bool,
    /// No more messages are accepted.
    closed: bool,
    /// The error of the first write that failed, until a caller gets it.
    failed: Option<io::Error>,
    dropped: u64,
}

impl<T> Shared<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes messages until the writer is closed, or one fails.
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
    /// Starts the thread.
    pub(crate) fn new(write: impl FnMut(T) -> io::Result<()> + Send + 'static) -> Result<Self, Failure> {
        let (waiting, busy, closed, failed, dropped) = (VecDeque::new(), false, false, None, 0);
        let state = Mutex::new(State { waiting, busy, closed, failed, dropped });
        let shared = Arc::new(Shared { state, changed: Condvar::new() });
        let served = Arc::clone(&shared);
        let thread = std::thread::Builder::new().spawn(move || served.serve(write));
        thread.map_err(|error| Failure::Sockets(format!("cannot start a thread: {error}")))?;
        Ok(Self(shared))
    }

    /// Hands a message over, and returns the error of an earlier write.
    pub(crate) fn push(&self, message: T) -> io::Result<()> {
        let mut state = self.0.state();
        if let Some(error) = state.failed.take() {
            return Err(error);
        }
        if state.closed {
            return Ok(());
        }
        if state.waiting.len() >= MOST_WAITING {
            state.waiting.pop_front();
            state.dropped += 1;
        }
        state.waiting.push_back(message);
        drop(state);
        self.0.changed.notify_all();
        Ok(())
    }

    /// Waits until all messages are written, for a few seconds at most. Returns how many were dropped.
    pub(crate) fn finish(&self) -> io::Result<u64> {
        let state = self.0.state();
        let is_pending = |state: &mut State<T>| state.busy || !state.waiting.is_empty();
        let waited = self.0.changed.wait_timeout_while(state, PATIENCE, is_pending);
        let (mut state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        state.closed = true;
        let (failed, dropped) = (state.failed.take(), state.dropped);
        drop(state);
        self.0.changed.notify_all();
        match failed {
            Some(error) => Err(error),
            None if timeout.timed_out() => Err(io::Error::new(ErrorKind::TimedOut, "its reader does not read")),
            None => Ok(dropped),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::sync_channel;

    /// A writer whose reader had stopped blocked its caller. Here a write waits for the test: the oldest of more than 256 messages are dropped,
    /// the newest is written.
    #[test]
    fn a_reader_that_does_not_read_blocks_no_caller() {
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

    /// The first caller after a failed write gets its error; later messages go nowhere.
    #[test]
    fn an_error_is_returned_once() {
        let writer = Writer::new(|(): ()| Err(ErrorKind::BrokenPipe.into())).unwrap();
        writer.push(()).unwrap();
        assert_eq!(writer.finish().unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert!(writer.push(()).is_ok() && writer.finish().is_ok());
    }
}
