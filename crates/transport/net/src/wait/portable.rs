//! What the system has, by way of `polling`: its timers may be coarser than a millisecond.

use crate::Clock;
use crate::watched::{Calls, Watched};
use crate::wire::Carrier;
use headway_units::Instant;
use polling::{Event, Events, PollMode, Poller};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const SOCKET: usize = 0;

/// What one thread at a time waits with; any may call it, or set an earlier instant.
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
            // SAFETY: the socket is taken out before it is dropped: see `Drop`.
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

    /// The next wait ends then. Who sets it and who [arms](Self::arm) it hold one lock.
    pub(crate) fn set(&self, _: Instant, until: Option<Instant>) {
        self.armed.store(until.map_or(u64::MAX, Instant::as_nanos), Ordering::SeqCst);
    }

    /// Until the instant that is [set](Self::set), or until something has come, or the socket takes more if that is asked for, or somebody
    /// [calls](Self::call). It may end for no reason. Returns whether something has come.
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

    /// Who waits, or waits next, does so until this instant at most.
    pub(crate) fn arm(&self, at: Instant) {
        if at.as_nanos() < self.armed.fetch_min(at.as_nanos(), Ordering::SeqCst) {
            self.call();
        }
    }

    /// Ends the wait, or the next one.
    pub(crate) fn call(&self) {
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

/// What a thread waits for that has nothing else to do.
#[derive(Debug)]
pub(crate) struct Alarm {
    clock: Clock,
    at: Watched<Option<Instant>>,
}

impl Alarm {
    pub(crate) fn new(clock: Clock) -> io::Result<Self> {
        Ok(Self { clock, at: Watched::new(None, Calls::default()) })
    }
    /// Rings then, instead of whenever it was set to.
    pub(crate) fn set(&self, at: Option<Instant>) {
        self.at.change(|now| *now = at);
    }
    /// Until it rings. It may end for no reason.
    pub(crate) fn wait(&self) {
        let at = self.at.with(|at| *at);
        let changed = |now: &mut Option<Instant>| (*now != at).then_some(());
        self.at.wait(at.map(|at| self.clock.system(at)), changed);
    }
}
