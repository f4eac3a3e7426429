//! Waits with the `polling` crate, whose timers may be coarser than a millisecond.

use crate::Clock;
use crate::watched::{PendingWakers, Watched};
use crate::wire::Carrier;
use headway_units::Instant;
use polling::{Event, Events, PollMode, Poller};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const SOCKET: usize = 0;

/// Waiter of one thread at a time; any thread may notify it or set an earlier expiry.
#[derive(Debug)]
pub(crate) struct Waiter {
    clock: Clock,
    poller: Poller,
    armed: AtomicU64,
    socket: Arc<Carrier>,
    writable: AtomicBool,
}

impl Waiter {
    pub(crate) fn new(clock: Clock, socket: Arc<Carrier>) -> io::Result<Self> {
        let poller = Poller::new()?;
        if let Some(io) = socket.io() {
            // SAFETY: the socket is removed before it is dropped: see `Drop`.
            #[expect(unsafe_code, reason = "a poller does not own what it waits for")]
            unsafe {
                poller.add_with_mode(io, Event::readable(SOCKET), PollMode::Level)?;
            }
        }
        Ok(Self { clock, poller, armed: AtomicU64::new(u64::MAX), socket, writable: AtomicBool::new(false) })
    }

    #[cfg(test)]
    pub(crate) fn wait(&self, now: Instant, until: Option<Instant>, writable: bool) -> io::Result<bool> {
        self.set(now, until);
        self.wait_set(writable)
    }

    /// Sets the end of the next wait. Callers of this method and of [`arm`](Self::arm) hold the same lock.
    pub(crate) fn set(&self, _: Instant, until: Option<Instant>) {
        self.armed.store(until.map_or(u64::MAX, Instant::as_nanos), Ordering::SeqCst);
    }

    /// Waits until the expiry that is [set](Self::set), a datagram, a [notification](Self::notify), or, if
    /// `writable`, space in the send buffer. It may end spuriously. Returns whether the socket is ready.
    pub(crate) fn wait_set(&self, writable: bool) -> io::Result<bool> {
        if let Some(io) = self.socket.io()
            && self.writable.swap(writable, Ordering::SeqCst) != writable
        {
            let interest = if writable { Event::all(SOCKET) } else { Event::readable(SOCKET) };
            self.poller.modify_with_mode(io, interest, PollMode::Level)?;
        }
        let mut events = Events::new();
        let waited = match self.armed.load(Ordering::SeqCst) {
            u64::MAX => self.poller.wait(&mut events, None),
            at => self.poller.wait_deadline(&mut events, self.clock.system(Instant::from_nanos(at))),
        };
        match waited {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(events.iter().any(|event| event.readable)),
        }
    }

    /// Ends the present or next wait at this time at the latest.
    pub(crate) fn arm(&self, at: Instant) {
        if at.as_nanos() < self.armed.fetch_min(at.as_nanos(), Ordering::SeqCst) {
            self.notify();
        }
    }

    /// Ends the present wait, or the next one.
    pub(crate) fn notify(&self) {
        drop(self.poller.notify());
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        if let Some(io) = self.socket.io() {
            drop(self.poller.delete(io));
        }
    }
}

/// Timer of an idle thread.
#[derive(Debug)]
pub(crate) struct Alarm {
    clock: Clock,
    at: Watched<Option<Instant>>,
}

impl Alarm {
    pub(crate) fn new(clock: Clock) -> io::Result<Self> {
        Ok(Self { clock, at: Watched::new(None, PendingWakers::default()) })
    }
    /// Replaces the expiry.
    pub(crate) fn set(&self, at: Option<Instant>) {
        self.at.change(|now| *now = at);
    }
    /// Waits for the expiry. It may end spuriously.
    pub(crate) fn wait(&self) {
        let at = self.at.with(|at| *at);
        let changed = |now: &mut Option<Instant>| (*now != at).then_some(());
        self.at.wait(at.map(|at| self.clock.system(at)), changed);
    }
}
