//! Packets that are due, and the waits of retransmissions.

use crate::Reset;
use headway_units::{Duration, Instant, Seq48};
use std::collections::VecDeque;

pub(super) const MAX_WAIT: Duration = Duration::from_secs(64);
const MAX_CONTROL: usize = 16;

/// Packet that is sent without waiting for the controller. A padded Sync is not one: `transmit` plans it when due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    /// Sync in answer to an invalid or unexpected packet (`steps`), after a period without packets (`timing`), or after
    /// a probe of the path MTU (`transmit`).
    Sync {
        ack: Seq48,
    },
    SyncAck {
        ack: Seq48,
    },
    /// Sync on request of the driver (`sync_probes`).
    Probe,
    /// Reset; `ack` defaults to GSR, `seq` to the connection's next number.
    Reset {
        reset: Reset,
        ack: Option<Seq48>,
        seq: Option<Seq48>,
    },
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Due {
    Request,
    Response,
    Close,
    Ack,
}

#[derive(Debug)]
pub(super) struct Pending {
    control: VecDeque<Control>,
    due: u8,
    /// Current wait of the retransmission timer, and that of Changes.
    wait: Duration,
    change_wait: Duration,
    negotiated: Option<Instant>,
}

impl Pending {
    pub(super) const fn new() -> Self {
        Self { control: VecDeque::new(), due: 0, wait: Duration::ZERO, change_wait: Duration::ZERO, negotiated: None }
    }

    /// Queues an answer, which is sent before all other packets, unless the queue is full.
    pub(super) fn push(&mut self, control: Control) {
        if self.control.len() < MAX_CONTROL {
            self.control.push_back(control);
        }
    }
    /// Queues a packet to be sent next.
    pub(super) fn push_first(&mut self, control: Control) {
        self.control.retain(|waiting| *waiting != control);
        self.control.push_front(control);
    }
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Control> {
        if self.control.is_empty() { None } else { self.control.pop_front() }
    }
    pub(super) fn clear_answers(&mut self) {
        self.control.clear();
    }
    pub(super) fn clear(&mut self) {
        self.clear_answers();
        self.due = 0;
    }

    pub(super) const fn schedule(&mut self, due: Due) {
        self.due |= 1 << due as u8;
    }
    pub(super) const fn is_scheduled(&self, due: Due) -> bool {
        self.due & 1 << due as u8 != 0
    }
    pub(super) const fn unschedule(&mut self, due: Due) {
        self.due &= !(1 << due as u8);
    }

    /// Sets the wait for an answer to the next packet.
    pub(super) fn begin_wait(&mut self, wait: Duration) {
        self.wait = wait.min(MAX_WAIT);
    }
    pub(super) const fn wait(&self) -> Duration {
        self.wait
    }
    pub(super) fn back_off(&mut self) {
        self.wait = (self.wait * 2).min(MAX_WAIT);
    }

    /// Returns the wait for answers to sent Changes. New ones wait for two round trips ("not less than one round-trip
    /// time"), since the answer may wait for another packet. The wait doubles with each retransmission.
    pub(super) fn on_changes_sent(&mut self, new: bool, rtt: Duration, longest: Duration) -> Duration {
        self.change_wait = (if new { rtt } else { self.change_wait } * 2).min(longest.max(rtt)).min(MAX_WAIT);
        self.change_wait
    }
    /// Returns when a packet may be sent for negotiation only, `soonest` or later: at most one per
    /// round trip (section 6.6.1).
    pub(super) fn negotiate(&mut self, soonest: Instant, rtt: Duration) -> Instant {
        let at = self.negotiated.map_or(soonest, |last| soonest.max(last + rtt));
        self.negotiated = Some(at);
        at
    }
}
