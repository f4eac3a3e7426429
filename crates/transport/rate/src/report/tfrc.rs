//! Report of TFRC's receiver (RFC 5348 section 3.2.2; RFC 4342 section 8.6; RFC 5622 section 8.7).

use headway_units::{Probability, Rate};

/// Report from a TFRC receiver to its sender: receive rate and losses (RFC 5348 section 3.2.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TfrcReport<'a> {
    /// X_recv: rate at which the receiver received data, without headers.
    pub x_recv: Rate,
    /// Losses, as a loss event rate or as loss intervals.
    pub losses: Losses<'a>,
    /// Whether a loss event began since the previous report (ns-2's `losses`). False if not transmitted.
    pub new_loss_event: bool,
}

/// Form in which a receiver reports losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossForm {
    /// Loss event rate computed by the receiver (RFC 5348; RFC 4342 section 8.5).
    #[default]
    EventRate,
    /// Loss intervals from which the sender computes the rate (RFC 4342 section 8.6).
    Intervals,
}

/// Losses in a report of TFRC's receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Losses<'a> {
    /// Loss event rate p, computed by the receiver; zero before the first loss.
    EventRate(Probability),
    /// Loss intervals, from which the sender computes the loss event rate.
    Intervals {
        /// Number of latest packets whose state is undecided (Skip Length).
        skip: u8,
        /// Intervals, newest first.
        intervals: &'a [LossInterval],
    },
}

/// Loss interval: consecutive packets with a lossy part followed by a lossless part (RFC 4342 section 8.6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossInterval {
    /// Number of packets in the lossless part. 24 bits on the wire.
    pub lossless: u32,
    /// Number of packets in the lossy part: from the first to the last lost or marked packet of the loss event. 23 bits
    /// on the wire.
    pub lossy: u32,
    /// Number of data packets in both parts, or the synthetic length of the interval before the first loss. 24 bits on
    /// the wire.
    pub data: u32,
    /// Number of packets lost or marked in the lossy part (Dropped Packets, RFC 5622 section 8.7).
    pub dropped: u32,
}
