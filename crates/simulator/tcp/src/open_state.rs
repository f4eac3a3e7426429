//! The state TCP_CA_Open of Linux: no loss or mark, or all data sent before the last reduction is acknowledged. Growths
//! that measure pause in other states.

use crate::growth::Acked;

/// State, with the sequence numbers it depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenState {
    phase: Phase,
    /// Sequence numbers of the last acknowledgement.
    una: u64,
    max: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// A timeout reduced the window, and no acknowledgement has arrived since.
    TimedOut,
    /// Ends once this number is acknowledged.
    Recovering(u64),
}

impl OpenState {
    pub(crate) const fn new() -> Self {
        Self { phase: Phase::Open, una: 0, max: 0 }
    }

    pub(crate) fn is_open(self) -> bool {
        self.phase == Phase::Open
    }

    /// Processes an acknowledgement. Returns whether the previous one ended a recovery (`tcp_fastretrans_alert` runs
    /// after the window has grown).
    pub(crate) fn on_ack(&mut self, acked: Acked) -> bool {
        if self.phase == Phase::TimedOut {
            self.phase = Phase::Recovering(acked.max);
        }
        let ended = matches!(self.phase, Phase::Recovering(end) if self.una >= end);
        if ended {
            self.phase = Phase::Open;
        }
        (self.una, self.max) = (acked.una, acked.max);
        ended
    }

    /// Starts a recovery after a loss or mark.
    pub(crate) fn reduced(&mut self) {
        self.phase = Phase::Recovering(self.max);
    }

    pub(crate) fn timed_out(&mut self) {
        self.phase = Phase::TimedOut;
    }

    /// Ends the recovery before the next acknowledgement.
    pub(crate) fn recovered(&mut self) {
        self.phase = Phase::Open;
    }
}
