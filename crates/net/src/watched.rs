//! A value that one thread changes and others wait for, blocking or as tasks of any executor.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

/// A lock that does not mind that somebody has panicked while holding it: what it guards is never left half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug, Default)]
pub(crate) struct Watched<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State<T> {
    value: T,
    /// Threads that wait: without them nobody need be called, which is a call of the system.
    asleep: usize,
    /// The thread that waits for the socket at the same time.
    leader: Option<Waker>,
    wakers: Vec<Waker>,
}

impl<T> Watched<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            state: Mutex::new(State { value, asleep: 0, leader: None, wakers: Vec::new() }),
            changed: Condvar::new(),
        }
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
        let (wakers, leader) = (std::mem::take(&mut state.wakers), state.leader.take());
        if state.asleep > 0 {
            self.changed.notify_all();
        }
        drop(state);
        wakers.into_iter().chain(leader).for_each(Waker::wake);
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

    /// The same for a task.
    pub(crate) fn poll<R>(&self, context: &Context<'_>, mut ready: impl FnMut(&mut T) -> Option<R>) -> Poll<R> {
        let mut state = lock(&self.state);
        if let Some(found) = ready(&mut state.value) {
            return Poll::Ready(found);
        }
        if !state.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
            state.wakers.push(context.waker().clone());
        }
        Poll::Pending
    }
}
