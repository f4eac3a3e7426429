//! Report of TFRC's receiver (RFC 5348 section 3.2.2; RFC 4342 section 8.6; RFC 5622 section 8.7).

use headway_units::{Probability, Rate};

/// Report of TFRC's receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TfrcReport<'a> {
    /// X_recv: rate of received data, without headers.
    pub x_recv: Rate,
    /// Loss event rate or loss intervals.
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
    /// Loss event rate p; zero before the first loss.
    EventRate(Probability),
    /// Loss intervals.
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
    /// Packets of the lossless part. 24 bits on the wire.
    pub lossless: u32,
    /// Packets from the first lost or marked one to the last of the loss event. 23 bits on the wire.
    pub lossy: u32,
    /// Data packets in both parts, or the synthetic length of the first interval. 24 bits on the wire.
    pub data: u32,
    /// Packets lost or marked in the lossy part (Dropped Packets, RFC 5622 section 8.7).
    pub dropped: u32,
}
