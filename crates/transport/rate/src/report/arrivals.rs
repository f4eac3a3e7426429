//! Reception state per packet.

/// Run of packets with consecutive numbers and the same state. A report lists runs from the packet number
/// [`Feedback::acknowledged`](crate::Feedback::acknowledged) downwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Reception state of the packets.
    pub arrival: Arrival,
    /// Number of packets, at least 1.
    pub packets: u64,
}

/// Reception state of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The packet was received without an ECN mark.
    Received,
    /// The packet was received with the ECN mark Congestion Experienced.
    Marked,
    /// The packet has not been received yet.
    NotReceived,
}
