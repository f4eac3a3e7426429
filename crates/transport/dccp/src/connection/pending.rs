//! What goes as soon as it is asked for, and how long what has gone waits for its answer.

use crate::Reset;
use headway_units::{Duration, Instant, Seq48};
use std::collections::VecDeque;

/// The longest wait between two retransmissions of anything.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(64);
/// Answers to other packets that wait at most. The driver drains them after each packet.
const MOST_CONTROL: usize = 16;

/// A packet that answers another and waits for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    Sync {
        ack: Seq48,
    },
    SyncAck {
        ack: Seq48,
    },
    /// A Sync of which the driver wants to know whether it is answered.
    Probe,
    /// `ack` absent: GSR. `seq` absent: the connection's own numbers.
    Reset {
        reset: Reset,
        ack: Option<Seq48>,
        seq: Option<Seq48>,
    },
}

/// A packet that is due.
#[derive(Clone, Copy, Debug)]
pub(super) enum Due {
    Request,
    Response,
    Close,
    Ack,
}

/// Packets that are due, and their repetition.
#[derive(Debug)]
pub(super) struct Pending {
    /// Answers to packets that have come.
    control: VecDeque<Control>,
    /// A bit for each [`Due`].
    due: u8,
    /// The wait of the present retransmission timer, and that of Changes.
    wait: Duration,
    change_wait: Duration,
    /// When a packet last went for negotiation's sake.
    negotiated: Option<Instant>,
}

impl Pending {
    pub(super) const fn new() -> Self {
        Self { control: VecDeque::new(), due: 0, wait: Duration::ZERO, change_wait: Duration::ZERO, negotiated: None }
    }

    /// An answer goes before all else, unless too many wait.
    pub(super) fn push(&mut self, control: Control) {
        if self.control.len() < MOST_CONTROL {
            self.control.push_back(control);
        }
    }
    /// What the driver wants to see as the next packet.
    pub(super) fn push_first(&mut self, control: Control) {
        self.control.retain(|waiting| *waiting != control);
        self.control.push_front(control);
    }
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Control> {
        if self.control.is_empty() { None } else { self.control.pop_front() }
    }
    /// Nothing answers any more.
    pub(super) fn forget_answers(&mut self) {
        self.control.clear();
    }
    /// Nothing is due any more.
    pub(super) fn clear(&mut self) {
        self.forget_answers();
        self.due = 0;
    }

    pub(super) const fn owe(&mut self, due: Due) {
        self.due |= 1 << due as u8;
    }
    pub(super) const fn owes(&self, due: Due) -> bool {
        self.due & 1 << due as u8 != 0
    }
    pub(super) const fn pay(&mut self, due: Due) {
        self.due &= !(1 << due as u8);
    }

    /// What goes next waits so long for its answer.
    pub(super) fn begin_wait(&mut self, wait: Duration) {
        self.wait = wait.min(LONGEST_WAIT);
    }
    pub(super) const fn wait(&self) -> Duration {
        self.wait
    }
    /// The next repetition waits twice as long.
    pub(super) fn back_off(&mut self) {
        self.wait = (self.wait * 2).min(LONGEST_WAIT);
    }

    /// Changes have gone: how long they wait. New ones wait for two round trips, "not less than one round-trip time", since the answer may
    /// wait for a packet to ride on; repeated ones twice as long as before.
    pub(super) fn changes_went(&mut self, new: bool, rtt: Duration, longest: Duration) -> Duration {
        self.change_wait = (if new { rtt } else { self.change_wait } * 2).min(longest.max(rtt)).min(LONGEST_WAIT);
        self.change_wait
    }
    /// A packet is wanted for negotiation's sake, `soonest` then: at most one a round trip (section 6.6.1). When it goes is the answer.
    pub(super) fn negotiate(&mut self, soonest: Instant, rtt: Duration) -> Instant {
        let at = self.negotiated.map_or(soonest, |last| soonest.max(last + rtt));
        self.negotiated = Some(at);
        at
    }
}
