//! Who serves the socket: its own thread, or a thread of the program that waits anyway.
//!
//! A datagram that wakes the socket's thread, which then wakes the program's, costs two changes of threads: twice the time, and more work than all the
//! protocol. So a thread of the program that has to wait for something leads: it waits for the socket itself, and does what is to be done. When it has
//! what it waited for, the place is free for a moment, and mostly it is back before that is over; if not, the socket's thread takes it.

use crate::Clock;
use crate::wait::{Alarm, Waiter};
use crate::watched::lock;
use headway_units::{Duration, Instant};
use std::io;
use std::sync::{Condvar, Mutex, PoisonError};

/// So long nobody need serve the socket. Programs that are longer about a datagram have it served by its thread.
const GRACE: Duration = Duration::from_micros(200);

#[derive(Debug)]
pub(crate) struct Lead {
    clock: Clock,
    state: Mutex<State>,
    freed: Condvar,
    /// Wakes the socket's thread when the place has been free for too long.
    alarm: Alarm,
}

#[derive(Debug)]
struct State {
    held: Held,
    /// A thread of the program waits for the socket's thread to leave.
    claimed: bool,
    /// Threads of the program that wait without leading.
    others: usize,
    /// When the alarm rings, if the place is free.
    rings: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Free,
    ByThread,
    ByProgram,
}

impl Lead {
    pub(crate) fn new(clock: Clock) -> io::Result<Self> {
        let state = State { held: Held::Free, claimed: false, others: 0, rings: Instant::ZERO };
        Ok(Self { clock, state: Mutex::new(state), freed: Condvar::new(), alarm: Alarm::new(clock)? })
    }

    /// A thread of the program wants to lead; whether it does. Where several wait they would take turns for nothing: then the socket's thread leads.
    pub(crate) fn take(&self, waiter: &Waiter) -> bool {
        let mut state = lock(&self.state);
        match state.held {
            Held::Free if !state.claimed => self.alarm.set(None),
            Held::ByThread if !state.claimed && state.others == 0 => {
                state.claimed = true;
                waiter.wake();
                while state.held != Held::Free {
                    state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                state.claimed = false;
            }
            Held::Free | Held::ByThread | Held::ByProgram => {
                state.others += 1;
                return false;
            }
        }
        state.held = Held::ByProgram;
        true
    }

    /// Who did not get to lead waits no more.
    pub(crate) fn gone(&self) {
        lock(&self.state).others -= 1;
    }

    /// A thread of the program leads no more. Something is to be done at this instant, if any.
    pub(crate) fn leave(&self, deadline: Option<Instant>) {
        let mut state = lock(&self.state);
        state.held = Held::Free;
        let soon = self.clock.now() + GRACE;
        state.rings = deadline.map_or(soon, |deadline| deadline.min(soon));
        self.alarm.set(Some(state.rings));
    }

    /// Something is to be done then, whoever leads.
    pub(crate) fn arm(&self, waiter: &Waiter, at: Instant) {
        waiter.arm(at);
        let mut state = lock(&self.state);
        if state.held == Held::Free && !state.claimed && at < state.rings {
            state.rings = at;
            self.alarm.set(Some(at));
        }
    }

    /// The socket's thread is to look whether it is still needed.
    pub(crate) fn call(&self, waiter: &Waiter) {
        waiter.wake();
        if lock(&self.state).held != Held::ByThread {
            self.alarm.set(Some(Instant::ZERO));
        }
    }

    /// The socket's thread leads, as soon as it may.
    pub(crate) fn take_as_thread(&self) {
        loop {
            let mut state = lock(&self.state);
            if state.held == Held::Free && !state.claimed {
                state.held = Held::ByThread;
                return;
            }
            drop(state);
            self.alarm.wait();
        }
    }

    /// The socket's thread leaves if somebody wants to lead; whether it has.
    pub(crate) fn leave_as_thread(&self) -> bool {
        let mut state = lock(&self.state);
        if state.claimed {
            state.held = Held::Free;
            self.freed.notify_all();
        }
        state.claimed
    }
}
