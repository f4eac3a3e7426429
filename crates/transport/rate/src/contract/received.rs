//! Information about received packets.

use super::sending::Stamp;
use crate::report::Own;
use headway_units::{Bytes, Duration, Ecn, Instant};

/// Received packet, as the receiver half of a controller gets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Received {
    /// Packet number.
    pub number: u64,
    /// Size of the data, without headers.
    pub size: Bytes,
    /// Whether the packet carries application data.
    pub data: bool,
    /// ECN field of the packet on arrival.
    pub ecn: Ecn,
    /// CCVal of the packet, four bits: [`Stamp::ccval`](crate::Stamp::ccval).
    pub ccval: u8,
    /// Number of packets without data that the sender sent just before this packet, if reported (NDP Count, RFC 4340
    /// section 7.7).
    pub ndp_count: Option<u64>,
    /// Round-trip time that the sender has measured ([`Stamp::rtt`](crate::Stamp::rtt)), if the transport carries it on
    /// packets.
    pub rtt: Option<Duration>,
    /// Sender's timing, if the transport carries it on packets.
    pub timing: Option<Timing>,
    /// Private data of the controller's sender half: [`Stamp::own`](crate::Stamp::own).
    pub own: Own,
}

impl Received {
    /// Creates a packet with this number. `data` is the number of application bytes, if the packet carries any.
    #[must_use]
    #[inline]
    pub fn new(number: u64, data: Option<Bytes>) -> Self {
        Self { number, size: data.unwrap_or_default(), data: data.is_some(), ..Self::default() }
    }
}

/// Sender's timing on a data packet (RFC 5348 section 3.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timing {
    /// Sending time by the sender's clock.
    pub sent: Instant,
    /// Sender's `t_RTO`, if known: [`Stamp::t_rto`](crate::Stamp::t_rto).
    pub t_rto: Option<Duration>,
    /// Counter of the sender's round trips: [`Stamp::round`](crate::Stamp::round).
    pub round: u32,
    /// Whether the sender requests an immediate report: [`Stamp::urgent`](crate::Stamp::urgent).
    pub urgent: bool,
}

impl Timing {
    /// Creates a timing with only the sending time.
    #[must_use]
    #[inline]
    pub const fn new(sent: Instant) -> Self {
        Self { sent, t_rto: None, round: 0, urgent: false }
    }

    /// Creates the timing of a packet with this stamp.
    #[must_use]
    pub const fn stamped(sent: Instant, stamp: &Stamp) -> Self {
        Self { sent, t_rto: stamp.t_rto, round: stamp.round, urgent: stamp.urgent }
    }
}

/// Classification of a loss by the loss filter of a receiver half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossClassification {
    /// A run of lost packets with consecutive numbers.
    Lost {
        /// Number of the first packet of the run.
        first: u64,
        /// Number of the last packet of the run.
        last: u64,
        /// Whether the run counts as congestion; false for a loss on the channel.
        counts: bool,
    },
    /// Congestion was detected without a loss.
    Early,
}
