//! A value that one thread changes and other threads or tasks wait for.
//!
//! Wakers are the program's code and run while nothing is locked. The thread that changes a value holds the lock on
//! the driver, so it [queues](PendingWakers) the wakers until the lock is released.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

/// Locks a mutex also after a panic: the guarded value is always consistent.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Wakers of tasks, to be woken once nothing is locked.
#[derive(Clone, Debug, Default)]
pub(crate) struct PendingWakers(Arc<Mutex<Vec<Waker>>>);

impl PendingWakers {
    fn push(&self, wakers: impl Iterator<Item = Waker>) {
        lock(&self.0).extend(wakers);
    }
    /// Takes all wakers, to be woken after the caller releases its lock.
    pub(crate) fn take(&self) -> Vec<Waker> {
        std::mem::take(&mut *lock(&self.0))
    }
}

#[derive(Debug)]
pub(crate) struct Watched<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    wakers: PendingWakers,
}

#[derive(Debug)]
struct State<T> {
    value: T,
    /// Number of waiting threads. Without any, the notification, a system call, is not needed.
    asleep: usize,
    /// Thread that waits for the socket at the same time.
    leader: Option<Waker>,
    /// Waker of the task that [polled](Watched::poll) last.
    polled: Option<Waker>,
    /// Wakers of [futures](Until) by number.
    futures: BTreeMap<u64, Waker>,
    next: u64,
}

impl<T> Watched<T> {
    pub(crate) fn new(value: T, wakers: PendingWakers) -> Self {
        let (asleep, leader, polled, futures, next) = Default::default();
        let state = Mutex::new(State { value, asleep, leader, polled, futures, next });
        Self { state, changed: Condvar::new(), wakers }
    }

    /// Reads the value, or changes a part that is not waited for.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&mut T) -> R) -> R {
        look(&mut lock(&self.state).value)
    }

    /// Changes the value and wakes all waiters.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let mut state = lock(&self.state);
        let result = change(&mut state.value);
        self.notify(state);
        result
    }

    /// Changes the value and wakes all waiters if `change` returns true.
    pub(crate) fn change_some(&self, change: impl FnOnce(&mut T) -> bool) {
        let mut state = lock(&self.state);
        if change(&mut state.value) {
            self.notify(state);
        }
    }

    fn notify(&self, mut state: MutexGuard<'_, State<T>>) {
        let (polled, leader, futures) = (state.polled.take(), state.leader.take(), std::mem::take(&mut state.futures));
        if state.asleep > 0 {
            self.changed.notify_all();
        }
        drop(state);
        if polled.is_some() || !futures.is_empty() {
            self.wakers.push(polled.into_iter().chain(futures.into_values()));
        }
        // The leader's waker is ours and only ends a wait.
        leader.into_iter().for_each(Waker::wake);
    }

    /// Waits until `ready` returns a value or the time is `until`.
    #[expect(clippy::disallowed_methods, reason = "a wait in the program's thread needs the system's clock")]
    pub(crate) fn wait<R>(&self, until: Option<Instant>, mut ready: impl FnMut(&mut T) -> Option<R>) -> Option<R> {
        let mut state = lock(&self.state);
        loop {
            if let Some(found) = ready(&mut state.value) {
                return Some(found);
            }
            state.asleep += 1;
            state = match until.map(|until| until.saturating_duration_since(Instant::now())) {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(left) if left.is_zero() => {
                    state.asleep -= 1;
                    return None;
                }
                Some(left) => self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
            };
            state.asleep -= 1;
        }
    }

    /// Returns the value of `ready`. If there is none, the leader, which is about to wait for the socket, is woken
    /// at the next change.
    pub(crate) fn poll_as_leader<R>(&self, leader: &Waker, ready: impl FnOnce(&mut T) -> Option<R>) -> Option<R> {
        let mut state = lock(&self.state);
        let found = ready(&mut state.value);
        state.leader = found.is_none().then(|| leader.clone());
        found
    }

    /// Removes the leader, which no longer waits for the socket.
    pub(crate) fn clear_leader(&self) {
        lock(&self.state).leader = None;
    }

    /// Returns the value of `ready`. If there is none, this task is woken at the next change, unless another task
    /// polls before.
    pub(crate) fn poll<R>(&self, context: &Context<'_>, mut ready: impl FnMut(&mut T) -> Option<R>) -> Poll<R> {
        let waker = context.waker().clone();
        let mut state = lock(&self.state);
        if let Some(found) = ready(&mut state.value) {
            return Poll::Ready(found);
        }
        let before = state.polled.replace(waker);
        drop(state);
        drop(before);
        Poll::Pending
    }

    /// Returns a future equivalent to [`poll`](Self::poll). There may be any number of them.
    pub(crate) const fn until<R, F: FnMut(&mut T) -> Option<R> + Unpin>(&self, ready: F) -> Until<'_, T, F> {
        Until { watched: self, ready, number: None }
    }
}

/// Future that waits until `ready` returns a value. Dropping it early removes its waker.
#[must_use]
#[derive(Debug)]
pub(crate) struct Until<'a, T, F> {
    watched: &'a Watched<T>,
    ready: F,
    /// Number of its waker.
    number: Option<u64>,
}

impl<T, R, F: FnMut(&mut T) -> Option<R> + Unpin> Future for Until<'_, T, F> {
    type Output = R;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<R> {
        let Self { watched, ready, number } = self.get_mut();
        let waker = context.waker().clone();
        let mut state = lock(&watched.state);
        if let Some(found) = ready(&mut state.value) {
            return Poll::Ready(found);
        }
        let State { futures, next, .. } = &mut *state;
        let number = *number.get_or_insert_with(|| {
            *next += 1;
            *next
        });
        let before = futures.insert(number, waker);
        drop(state);
        drop(before);
        Poll::Pending
    }
}

impl<T, F> Drop for Until<'_, T, F> {
    fn drop(&mut self) {
        let left = self.number.and_then(|number| lock(&self.watched.state).futures.remove(&number));
        // Dropping the last waker may run code of the program, which must not happen under a lock.
        drop(left);
    }
}
