//! What a sender has counted.

use std::ops::AddAssign;

/// What a sender has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets sent: the SYN, data and retransmissions.
    pub sent: u64,
    /// Of these, numbers that had been sent before.
    pub retransmitted: u64,
    /// Retransmission timeouts with data in flight.
    pub timeouts: u64,
    /// Fast retransmits, each with its recovery.
    pub fast_recoveries: u64,
    /// Reductions because of ECN.
    pub ecn_reductions: u64,
    /// Acknowledgements taken in.
    pub acks: u64,
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        let Self { sent, retransmitted, timeouts, fast_recoveries, ecn_reductions, acks } = other;
        self.sent += sent;
        self.retransmitted += retransmitted;
        self.timeouts += timeouts;
        self.fast_recoveries += fast_recoveries;
        self.ecn_reductions += ecn_reductions;
        self.acks += acks;
    }
}
