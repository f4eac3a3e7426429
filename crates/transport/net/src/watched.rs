//! A value that one thread changes and others wait for, blocking or as tasks of any executor.
//!
//! Wakers are the program's: whatever they do, and whatever goes with the last of them, is done while nothing is locked. So they are not
//! called by who changes the value, which holds the lock on the driver, but [kept](Calls) for when that has been given back.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

/// A lock that does not mind that somebody has panicked while holding it: what it guards is never left half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tasks that are to be called once nothing is locked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls(Arc<Mutex<Vec<Waker>>>);

impl Calls {
    fn keep(&self, wakers: impl Iterator<Item = Waker>) {
        lock(&self.0).extend(wakers);
    }
    /// All of them, for whoever is about to give back the lock under which they were kept.
    pub(crate) fn take(&self) -> Vec<Waker> {
        std::mem::take(&mut *lock(&self.0))
    }
}

#[derive(Debug)]
pub(crate) struct Watched<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    calls: Calls,
}

#[derive(Debug)]
struct State<T> {
    value: T,
    /// Threads that wait: without them nobody need be called, which is a call of the system.
    asleep: usize,
    /// The thread that waits for the socket at the same time.
    leader: Option<Waker>,
    /// The task that has [asked](Watched::poll) last.
    asked: Option<Waker>,
    /// Those of [futures](Until), by their numbers.
    futures: BTreeMap<u64, Waker>,
    next: u64,
}

impl<T> Watched<T> {
    pub(crate) fn new(value: T, calls: Calls) -> Self {
        let (asleep, leader, asked, futures, next) = Default::default();
        let state = Mutex::new(State { value, asleep, leader, asked, futures, next });
        Self { state, changed: Condvar::new(), calls }
    }

    /// Looks at the value, or changes what nobody waits for.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&mut T) -> R) -> R {
        look(&mut lock(&self.state).value)
    }

    /// Changes the value, and calls all who wait.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let mut state = lock(&self.state);
        let result = change(&mut state.value);
        self.call(state);
        result
    }

    /// Changes the value, and calls all who wait if that is of any use to them.
    pub(crate) fn change_some(&self, change: impl FnOnce(&mut T) -> bool) {
        let mut state = lock(&self.state);
        if change(&mut state.value) {
            self.call(state);
        }
    }

    fn call(&self, mut state: MutexGuard<'_, State<T>>) {
        let (asked, leader, futures) = (state.asked.take(), state.leader.take(), std::mem::take(&mut state.futures));
        if state.asleep > 0 {
            self.changed.notify_all();
        }
        drop(state);
        if asked.is_some() || !futures.is_empty() {
            self.calls.keep(asked.into_iter().chain(futures.into_values()));
        }
        // Ours: it does nothing but end a wait.
        leader.into_iter().for_each(Waker::wake);
    }

    /// Waits until `ready` has something, or until that instant: then nothing.
    #[expect(clippy::disallowed_methods, reason = "who waits in the program's thread looks at its clock")]
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

    /// What `ready` has; if that is nothing, the leader, who is about to wait for the socket, is called at the next change.
    pub(crate) fn lead<R>(&self, leader: &Waker, ready: impl FnOnce(&mut T) -> Option<R>) -> Option<R> {
        let mut state = lock(&self.state);
        let found = ready(&mut state.value);
        state.leader = found.is_none().then(|| leader.clone());
        found
    }

    /// The leader waits for the socket no more.
    pub(crate) fn led(&self) {
        lock(&self.state).leader = None;
    }

    /// What `ready` has; if that is nothing, this task is called at the next change, unless another asks before that.
    pub(crate) fn poll<R>(&self, context: &Context<'_>, mut ready: impl FnMut(&mut T) -> Option<R>) -> Poll<R> {
        let waker = context.waker().clone();
        let mut state = lock(&self.state);
        if let Some(found) = ready(&mut state.value) {
            return Poll::Ready(found);
        }
        let before = state.asked.replace(waker);
        drop(state);
        drop(before);
        Poll::Pending
    }

    /// The same as a future, of which there may be many.
    pub(crate) const fn until<R, F: FnMut(&mut T) -> Option<R> + Unpin>(&self, ready: F) -> Until<'_, T, F> {
        Until { watched: self, ready, number: None }
    }
}

/// Waits until `ready` has something. A future that is dropped before has taken nothing, and leaves nothing.
#[must_use]
#[derive(Debug)]
pub(crate) struct Until<'a, T, F> {
    watched: &'a Watched<T>,
    ready: F,
    /// Under which it is to be called.
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
        // With it something of the program may go, which is not to happen under a lock.
        drop(left);
    }
}
