//! What a receiver half is told of a packet.

use super::sending::Stamp;
use crate::report::Own;
use headway_units::{Bytes, Duration, Ecn, Instant};

/// A packet that has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Received {
    /// Its number.
    pub number: u64,
    /// Its data, without headers.
    pub size: Bytes,
    /// Whether it carries data of the application.
    pub data: bool,
    /// Its ECN field as it arrived.
    pub ecn: Ecn,
    /// [`Stamp::ccval`](crate::Stamp::ccval).
    pub ccval: u8,
    /// How many packets without data were sent just before it, if it says so (NDP Count, RFC 4340 section 7.7).
    pub ndp_count: Option<u64>,
    /// [`Stamp::rtt`](crate::Stamp::rtt), where the carrier has room for it.
    pub rtt: Option<Duration>,
    /// What only carriers with room for the sender's clock carry.
    pub timing: Option<Timing>,
    /// [`Stamp::own`](crate::Stamp::own).
    pub own: Own,
}

impl Received {
    /// One with this number. `data`: the bytes of the application on it, if it carries any.
    #[must_use]
    #[inline]
    pub fn new(number: u64, data: Option<Bytes>) -> Self {
        Self { number, size: data.unwrap_or_default(), data: data.is_some(), ..Self::default() }
    }
}

/// The sender's clock on a data packet (RFC 5348 section 3.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timing {
    /// When it was sent, by the sender's clock.
    pub sent: Instant,
    /// [`Stamp::t_rto`](crate::Stamp::t_rto).
    pub t_rto: Option<Duration>,
    /// [`Stamp::round`](crate::Stamp::round).
    pub round: u32,
    /// [`Stamp::urgent`](crate::Stamp::urgent).
    pub urgent: bool,
}

impl Timing {
    /// No more than when it was sent.
    #[must_use]
    #[inline]
    pub const fn new(sent: Instant) -> Self {
        Self { sent, t_rto: None, round: 0, urgent: false }
    }

    /// What a packet with this stamp says of its sender's clock.
    #[must_use]
    pub const fn stamped(sent: Instant, stamp: &Stamp) -> Self {
        Self { sent, t_rto: stamp.t_rto, round: stamp.round, urgent: stamp.urgent }
    }
}

/// What a receiver half has made of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The packets from the first to the last, of which none has come, are lost.
    Lost {
        /// The first of them.
        first: u64,
        /// The last of them.
        last: u64,
        /// Whether they count as congestion.
        counts: bool,
    },
    /// There was congestion before anything was lost.
    Early,
}
