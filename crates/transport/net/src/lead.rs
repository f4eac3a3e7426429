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
/// And so long where the program has come back in time so often: to set a timer costs more than all else here.
const LONG_GRACE: Duration = Duration::from_millis(5);
const OFTEN: u32 = 16;

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
    /// When a thread of the program left, and how often in a row it was back in time.
    left: Instant,
    returns: u32,
    /// When the socket's thread is to take the place, if it is free.
    wanted: Instant,
    /// When the alarm rings, unless that is past: it may be too early, which costs a look.
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
        let zero = Instant::ZERO;
        let state =
            State { held: Held::Free, claimed: false, others: 0, left: zero, returns: 0, wanted: zero, rings: zero };
        Ok(Self { clock, state: Mutex::new(state), freed: Condvar::new(), alarm: Alarm::new(clock)? })
    }

    /// A thread of the program wants to lead; whether it does. Where several wait they would take turns for nothing: then the socket's thread leads.
    pub(crate) fn take(&self, waiter: &Waiter) -> bool {
        let mut state = lock(&self.state);
        match state.held {
            Held::Free if !state.claimed => {
                let now = self.clock.now();
                let in_time = now.since(state.left) <= GRACE;
                state.returns = if in_time { state.returns.saturating_add(1) } else { 0 };
                // It would ring for nothing, and soon.
                if state.rings > now && state.rings.since(now) < LONG_GRACE / 2 {
                    state.rings = Instant::ZERO;
                    self.alarm.set(None);
                }
            }
            Held::ByThread if !state.claimed && state.others == 0 => {
                state.claimed = true;
                waiter.call();
                while state.held != Held::Free {
                    state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                state.claimed = false;
                state.returns = 0;
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

    /// Who leads does so no more. Something is to be done at this instant, if any.
    pub(crate) fn leave(&self, deadline: Option<Instant>) {
        let mut state = lock(&self.state);
        let now = self.clock.now();
        let soon = now + if state.returns < OFTEN { GRACE } else { LONG_GRACE };
        state.held = Held::Free;
        state.left = now;
        state.wanted = deadline.map_or(soon, |deadline| deadline.min(soon));
        if state.claimed {
            self.freed.notify_all();
        } else {
            self.ring(&mut state, now);
        }
    }

    /// The alarm rings when the socket's thread is wanted, at the latest.
    fn ring(&self, state: &mut State, now: Instant) {
        if state.rings <= now || state.wanted < state.rings {
            state.rings = state.wanted;
            self.alarm.set(Some(state.wanted));
        }
    }

    /// Something is to be done then, whoever leads.
    pub(crate) fn arm(&self, waiter: &Waiter, at: Instant) {
        waiter.arm(at);
        let mut state = lock(&self.state);
        if state.held == Held::Free && !state.claimed && at < state.wanted {
            state.wanted = at;
            self.ring(&mut state, self.clock.now());
        }
    }

    /// The socket's thread is to look whether it is still needed.
    pub(crate) fn call(&self, waiter: &Waiter) {
        waiter.call();
        let mut state = lock(&self.state);
        state.wanted = Instant::ZERO;
        if state.held != Held::ByThread {
            self.ring(&mut state, self.clock.now());
        }
    }

    /// The socket's thread leads, as soon as it may.
    pub(crate) fn take_as_thread(&self) {
        loop {
            let mut state = lock(&self.state);
            let now = self.clock.now();
            if state.held == Held::Free && !state.claimed {
                if state.wanted <= now {
                    state.held = Held::ByThread;
                    return;
                }
                self.ring(&mut state, now);
            }
            drop(state);
            self.alarm.wait();
            // It rings once; whoever has set it anew meanwhile is not hurt if it is set again.
            lock(&self.state).rings = Instant::ZERO;
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
