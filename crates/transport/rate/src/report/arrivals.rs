//! Reception state per packet.

/// Run of consecutive packet numbers with equal state. A report lists runs from
/// [`Feedback::acknowledged`](crate::Feedback::acknowledged) downwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// State of the packets.
    pub arrival: Arrival,
    /// Number of packets, at least 1.
    pub packets: u64,
}

/// Reception state of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Received.
    Received,
    /// Received with Congestion Experienced.
    Marked,
    /// Not received yet.
    NotReceived,
}
