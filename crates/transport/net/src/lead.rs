//! Choice of the thread that serves the socket (leader/follower pattern): the socket's own thread, or a thread of
//! the program that waits anyway.
//!
//! A datagram that wakes the socket's thread, which then wakes the program's thread, costs two context switches:
//! twice the time, and more work than the whole protocol. So a waiting thread of the program leads: it waits for the
//! socket itself and handles the datagrams. After its wait ends, the lead is free for a grace time, in which the
//! thread mostly returns; otherwise the socket's thread takes the lead.

use crate::Clock;
use crate::wait::{Alarm, Waiter};
use crate::watched::lock;
use headway_units::{Duration, Instant};
use std::io;
use std::sync::{Condvar, Mutex, PoisonError};

/// Grace time in which no thread serves the socket. The socket's thread serves programs that take longer per
/// datagram.
const GRACE: Duration = Duration::from_micros(200);
/// Grace time after [`LONG_GRACE_RETURNS`] returns in time: setting a timer is the largest cost here.
const LONG_GRACE: Duration = Duration::from_millis(5);
const LONG_GRACE_RETURNS: u32 = 16;

#[derive(Debug)]
pub(crate) struct Lead {
    clock: Clock,
    state: Mutex<State>,
    freed: Condvar,
    /// Wakes the socket's thread when the grace time is over.
    alarm: Alarm,
}

#[derive(Debug)]
struct State {
    held: Held,
    /// Whether a thread of the program waits for the socket's thread to give up the lead.
    claimed: bool,
    /// Number of the program's threads that wait without leading.
    waiting: usize,
    /// Time when a thread of the program last gave up the lead, and number of consecutive returns in time.
    left_at: Instant,
    returns: u32,
    /// Time when the socket's thread takes the lead, if it is free.
    wanted_at: Instant,
    /// Expiry of the alarm, unless past. An early expiry only costs a check.
    alarm_at: Instant,
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
        let state = State {
            held: Held::Free,
            claimed: false,
            waiting: 0,
            left_at: zero,
            returns: 0,
            wanted_at: zero,
            alarm_at: zero,
        };
        Ok(Self { clock, state: Mutex::new(state), freed: Condvar::new(), alarm: Alarm::new(clock)? })
    }

    /// Takes the lead for a thread of the program and returns whether it leads. If several threads wait, the
    /// socket's thread leads: they would only take turns.
    pub(crate) fn take(&self, waiter: &Waiter) -> bool {
        let mut state = lock(&self.state);
        match state.held {
            Held::Free if !state.claimed => {
                let now = self.clock.now();
                let in_time = now.since(state.left_at) <= GRACE;
                state.returns = if in_time { state.returns.saturating_add(1) } else { 0 };
                // The alarm would expire soon, without need.
                if state.alarm_at > now && state.alarm_at.since(now) < LONG_GRACE / 2 {
                    state.alarm_at = Instant::ZERO;
                    self.alarm.set(None);
                }
            }
            Held::ByThread if !state.claimed && state.waiting == 0 => {
                state.claimed = true;
                waiter.notify();
                while state.held != Held::Free {
                    state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                state.claimed = false;
                state.returns = 0;
            }
            Held::Free | Held::ByThread | Held::ByProgram => {
                state.waiting += 1;
                return false;
            }
        }
        state.held = Held::ByProgram;
        true
    }

    /// Ends the wait of a thread that did not get the lead.
    pub(crate) fn stop_waiting(&self) {
        lock(&self.state).waiting -= 1;
    }

    /// Gives up the lead. `deadline` is the time of the next work.
    pub(crate) fn leave(&self, deadline: Option<Instant>) {
        let mut state = lock(&self.state);
        let now = self.clock.now();
        let soon = now + if state.returns < LONG_GRACE_RETURNS { GRACE } else { LONG_GRACE };
        state.held = Held::Free;
        state.left_at = now;
        state.wanted_at = deadline.map_or(soon, |deadline| deadline.min(soon));
        if state.claimed {
            self.freed.notify_all();
        } else {
            self.set_alarm(&mut state, now);
        }
    }

    /// Sets the alarm to the time when the socket's thread is wanted, at the latest.
    fn set_alarm(&self, state: &mut State, now: Instant) {
        if state.alarm_at <= now || state.wanted_at < state.alarm_at {
            state.alarm_at = state.wanted_at;
            self.alarm.set(Some(state.wanted_at));
        }
    }

    /// Sets a deadline for the present leader, or for the socket's thread.
    pub(crate) fn arm(&self, waiter: &Waiter, at: Instant) {
        waiter.arm(at);
        let mut state = lock(&self.state);
        if state.held == Held::Free && !state.claimed && at < state.wanted_at {
            state.wanted_at = at;
            self.set_alarm(&mut state, self.clock.now());
        }
    }

    /// Makes the socket's thread check whether it is still needed.
    pub(crate) fn notify(&self, waiter: &Waiter) {
        waiter.notify();
        let mut state = lock(&self.state);
        state.wanted_at = Instant::ZERO;
        if state.held != Held::ByThread {
            self.set_alarm(&mut state, self.clock.now());
        }
    }

    /// Waits until the socket's thread leads.
    pub(crate) fn take_as_thread(&self) {
        loop {
            let mut state = lock(&self.state);
            let now = self.clock.now();
            if state.held == Held::Free && !state.claimed {
                if state.wanted_at <= now {
                    state.held = Held::ByThread;
                    return;
                }
                self.set_alarm(&mut state, now);
            }
            drop(state);
            self.alarm.wait();
            // The alarm expires once; setting it again is harmless.
            lock(&self.state).alarm_at = Instant::ZERO;
        }
    }

    /// Gives up the lead of the socket's thread if another thread wants it. Returns whether it has.
    pub(crate) fn leave_as_thread(&self) -> bool {
        let mut state = lock(&self.state);
        if state.claimed {
            state.held = Held::Free;
            self.freed.notify_all();
        }
        state.claimed
    }
}
