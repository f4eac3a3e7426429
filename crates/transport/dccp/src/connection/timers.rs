//! Timers of a connection. The earliest is its deadline.

use headway_units::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// Retransmits an unanswered Request (section 8.1.1).
    Request,
    /// Ends a handshake without progress in REQUEST, RESPOND or PARTOPEN (sections 8.1.1, 8.1.3, 8.1.5).
    GiveUp,
    /// Retransmits the Ack in PARTOPEN (section 8.1.5).
    PartOpen,
    /// Retransmits an unanswered Close or CloseReq (section 8.3).
    Close,
    /// Ends TIMEWAIT (section 8.3).
    TimeWait,
    /// Retransmits unconfirmed Changes (section 6.6.3).
    Change,
    /// Sends an Ack for options that no other packet has carried, mainly Confirms (section 11.3).
    DelayedAck,
    /// Acknowledges data that no acknowledgement has covered.
    TailAck,
    /// Probes for the loss of the last datagrams.
    TailProbe,
    /// Permits the next packet, or calls the controller of our data.
    Sender,
    /// Calls the controller of the peer's data.
    Receiver,
    /// Closes a connection without valid packets.
    Idle,
    /// Sends a Sync after a time without valid packets.
    KeepAlive,
    /// Counts a padded Sync as lost, or starts the next search (section 14.1).
    MtuProbe,
}

impl Timer {
    /// All timers, in the order in which simultaneous ones fire.
    pub(crate) const ALL: [Self; 14] = [
        Self::Request,
        Self::GiveUp,
        Self::PartOpen,
        Self::Close,
        Self::TimeWait,
        Self::Change,
        Self::DelayedAck,
        Self::TailAck,
        Self::TailProbe,
        Self::Sender,
        Self::Receiver,
        Self::Idle,
        Self::KeepAlive,
        Self::MtuProbe,
    ];
}

#[derive(Clone, Debug)]
pub(crate) struct Timers {
    due: [Instant; Timer::ALL.len()],
    earliest: Instant,
}

impl Timers {
    pub(crate) const fn new() -> Self {
        Self { due: [Instant::FAR_FUTURE; Timer::ALL.len()], earliest: Instant::FAR_FUTURE }
    }
    #[inline]
    pub(crate) fn set(&mut self, timer: Timer, at: Instant) {
        if self.due[timer as usize] != at {
            self.change(timer, at);
        }
    }
    fn change(&mut self, timer: Timer, at: Instant) {
        let before = std::mem::replace(&mut self.due[timer as usize], at);
        if at <= self.earliest {
            self.earliest = at;
        } else if before == self.earliest {
            self.earliest = self.due.iter().copied().min().unwrap_or(at);
        }
    }
    pub(crate) fn arm(&mut self, timer: Timer, at: Option<Instant>) {
        self.set(timer, at.unwrap_or(Instant::FAR_FUTURE));
    }
    pub(crate) fn stop(&mut self, timer: Timer) {
        self.set(timer, Instant::FAR_FUTURE);
    }
    pub(crate) fn stop_all(&mut self) {
        *self = Self::new();
    }
    pub(crate) fn is_running(&self, timer: Timer) -> bool {
        self.due[timer as usize] != Instant::FAR_FUTURE
    }
    pub(crate) fn next(&self) -> Option<Instant> {
        (self.earliest != Instant::FAR_FUTURE).then_some(self.earliest)
    }
    pub(crate) fn is_due(&self, timer: Timer, now: Instant) -> bool {
        self.is_running(timer) && self.due[timer as usize] <= now
    }
    pub(crate) fn take(&mut self, timer: Timer, now: Instant) -> bool {
        let due = self.is_due(timer, now);
        if due {
            self.stop(timer);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_timer_is_the_deadline() {
        let mut timers = Timers::new();
        assert_eq!(timers.next(), None);
        timers.set(Timer::Close, Instant::from_millis(7));
        timers.set(Timer::Sender, Instant::from_millis(5));
        assert_eq!(timers.next(), Some(Instant::from_millis(5)));
        assert!(!timers.take(Timer::Close, Instant::from_millis(6)));
        assert!(timers.take(Timer::Sender, Instant::from_millis(6)));
        assert_eq!(timers.next(), Some(Instant::from_millis(7)));
    }
}
