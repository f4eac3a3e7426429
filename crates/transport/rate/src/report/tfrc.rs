//! What TFRC's receiver reports (RFC 5348 section 3.2.2; RFC 4342 section 8.6; RFC 5622 section 8.7).

use headway_units::{Probability, Rate};

/// What TFRC's receiver reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TfrcReport<'a> {
    /// X_recv: what has come, in data bytes a second.
    pub x_recv: Rate,
    /// What was lost.
    pub losses: Losses<'a>,
    /// Whether a loss event began since the report before (ns-2's `losses`). Carriers without room for it say no.
    pub new_loss_event: bool,
}

/// How a receiver reports losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossForm {
    /// The loss event rate that the receiver has computed (RFC 5348; RFC 4342 section 8.5).
    #[default]
    EventRate,
    /// The intervals of which the sender computes it (RFC 4342 section 8.6).
    Intervals,
}

/// What TFRC's receiver says of losses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Losses<'a> {
    /// p; zero before the first loss.
    EventRate(Probability),
    /// Loss intervals, the newest first.
    Intervals {
        /// Packets at the end whose fate is open (Skip Length).
        skip: u8,
        /// The newest first.
        intervals: &'a [LossInterval],
    },
}

/// Consecutive packets: a lossy part, and behind it a lossless one (RFC 4342 section 8.6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossInterval {
    /// Packets of the lossless part. 24 bits on the wire.
    pub lossless: u32,
    /// Packets from the first lost or marked one to the last of the loss event. 23 bits on the wire.
    pub lossy: u32,
    /// Data packets in both, or the synthetic length of the first interval. 24 bits on the wire.
    pub data: u32,
    /// Packets lost or marked in the lossy part (Dropped Packets, RFC 5622 section 8.7).
    pub dropped: u32,
}
