//! Counters of a TCP sender since its creation.

use std::ops::AddAssign;

/// Counters of a TCP sender since its creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that the sender sent: SYN, data and retransmissions.
    pub sent: u64,
    /// Packets sent with a sequence number that was sent before.
    pub retransmitted: u64,
    /// Expirations of the retransmission timer with data in flight.
    pub timeouts: u64,
    /// Fast retransmits, each of which starts a loss recovery.
    pub fast_recoveries: u64,
    /// Window reductions caused by ECN.
    pub ecn_reductions: u64,
    /// Acknowledgements that the sender processed.
    pub acks: u64,
    /// 1 if the sender stopped using ECN because the path changes the ECN field (with `ecn_echo = "accurate"`), else 0.
    /// In a sum over connections: the number of such connections.
    pub ecn_failures: u64,
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        let Self { sent, retransmitted, timeouts, fast_recoveries, ecn_reductions, acks, ecn_failures } = other;
        self.sent += sent;
        self.retransmitted += retransmitted;
        self.timeouts += timeouts;
        self.fast_recoveries += fast_recoveries;
        self.ecn_reductions += ecn_reductions;
        self.acks += acks;
        self.ecn_failures += ecn_failures;
    }
}
