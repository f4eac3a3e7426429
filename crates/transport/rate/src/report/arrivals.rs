//! Of each packet, whether it has come.

/// Packets with consecutive numbers that fared alike. A report lists runs from [`Feedback::acknowledged`](crate::Feedback::acknowledged) downwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// How they fared.
    pub arrival: Arrival,
    /// How many they are.
    pub packets: u64,
}

/// How a packet fared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It has come.
    Received,
    /// It has come with Congestion Experienced.
    Marked,
    /// It has not come yet.
    NotReceived,
}
