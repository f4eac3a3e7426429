//! Every timer of a connection, in one table: the least is the deadline.

use headway_units::Instant;

/// What an instant is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// A Request without an answer goes again (section 8.1.1).
    Request,
    /// A handshake has made no progress for too long: REQUEST, RESPOND and PARTOPEN give up (sections 8.1.1, 8.1.3, 8.1.5).
    GiveUp,
    /// In PARTOPEN another Ack tells the server that its Response has come (section 8.1.5).
    PartOpen,
    /// A Close or CloseReq without an answer goes again (section 8.3).
    Close,
    /// TIMEWAIT ends (section 8.3).
    TimeWait,
    /// Changes without a Confirm go again (section 6.6.3).
    Change,
    /// What waits for a packet to ride on, Confirms above all, gets one of its own (section 11.3).
    DelayedAck,
    /// Data has come of which no acknowledgement has told.
    TailAck,
    /// The controller of our data lets the next packet go, or asked to be called.
    Sender,
    /// The controller of the peer's data asked to be called.
    Receiver,
    /// Nothing valid has come for too long.
    Idle,
    /// Nothing valid has come for so long that a Sync asks whether the peer is there.
    KeepAlive,
    /// A padded Sync without an answer was too large for the path, or it is time for another (section 14.1).
    MtuProbe,
}

impl Timer {
    /// Every timer, in the order in which those of one instant fire.
    pub(crate) const ALL: [Self; 13] = [
        Self::Request,
        Self::GiveUp,
        Self::PartOpen,
        Self::Close,
        Self::TimeWait,
        Self::Change,
        Self::DelayedAck,
        Self::TailAck,
        Self::Sender,
        Self::Receiver,
        Self::Idle,
        Self::KeepAlive,
        Self::MtuProbe,
    ];
}

/// When each is due, and the earliest of them.
#[derive(Clone, Debug)]
pub(crate) struct Timers {
    due: [Instant; Timer::ALL.len()],
    earliest: Instant,
}

impl Timers {
    /// None runs.
    pub(crate) const fn new() -> Self {
        Self { due: [Instant::FAR_FUTURE; Timer::ALL.len()], earliest: Instant::FAR_FUTURE }
    }
    /// `at`, instead of what was set before.
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
    /// `at`, or never.
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
    /// The earliest.
    pub(crate) fn next(&self) -> Option<Instant> {
        (self.earliest != Instant::FAR_FUTURE).then_some(self.earliest)
    }
    /// Whether a timer's instant has come.
    pub(crate) fn is_due(&self, timer: Timer, now: Instant) -> bool {
        self.is_running(timer) && self.due[timer as usize] <= now
    }
    /// Stops a timer whose instant has come, and says whether it had.
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
    fn the_least_is_the_deadline() {
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
