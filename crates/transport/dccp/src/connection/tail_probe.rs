//! Probes for the loss of the last datagrams, after the tail loss probe of RFC 8985 section 7.
//!
//! A datagram counts as lost when the peer reports three later packets. After the last datagram there are none, so the
//! sender sends three Syncs, and the peer answers a Sync with an Ack Vector. They are sent two round trips after the last
//! datagram if its outcome is unknown, and again after four, eight and so on.

use headway_units::{Duration, Instant};

/// Number of Syncs, as many as make a loss certain (NUMDUPACK of RFC 4340 section 11.4.1 and RFC 5681).
pub(super) const SYNCS: usize = 3;
/// Maximum number of times that the wait doubles.
const MAX_DOUBLINGS: u32 = 6;

#[derive(Clone, Copy, Debug)]
pub(super) struct TailProbe {
    /// Time of the last datagram or probe.
    sent: Instant,
    probes: u32,
    is_due: bool,
}

impl Default for TailProbe {
    fn default() -> Self {
        Self { sent: Instant::ZERO, probes: 0, is_due: false }
    }
}

impl TailProbe {
    pub(super) const fn on_data(&mut self, now: Instant) {
        *self = Self { sent: now, probes: 0, is_due: false };
    }

    /// Returns the time of the next probe, `wait` after the last datagram, and later for each probe without an answer.
    pub(super) fn at(&self, wait: Duration) -> Instant {
        self.sent + wait * (1 << self.probes.min(MAX_DOUBLINGS))
    }

    pub(super) const fn expire(&mut self) {
        self.is_due = true;
    }

    pub(super) const fn is_due(&self) -> bool {
        self.is_due
    }

    pub(super) const fn on_probe(&mut self, now: Instant) {
        *self = Self { sent: now, probes: self.probes.saturating_add(1), is_due: false };
    }
}
