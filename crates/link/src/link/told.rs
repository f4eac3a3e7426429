//! What a link tells of its packets.

use crate::pool::Handle;
use headway_units::{Bytes, DropCause, Instant};

/// What became of an offered packet.
#[derive(Debug, PartialEq, Eq)]
pub enum Offer {
    /// Let in.
    Accepted,
    /// Let in; to be marked Congestion Experienced.
    Marked,
    /// Let in; another, which waits, is to be marked Congestion Experienced.
    MarkedAhead(Handle),
    /// Dropped; it is on no link.
    Dropped(DropCause),
    /// Marked, and then dropped; it is on no link.
    DroppedMarked(DropCause),
    /// Let in; the queue has decided about it or others that wait, which [`poll_decision`](crate::Common::poll_decision) tells.
    Decided,
    /// Let in, at the cost of another.
    Evicted {
        /// Whether the newcomer is to be marked.
        marked: bool,
        /// The one that had to go; it is on no link.
        victim: Handle,
        /// Why.
        cause: DropCause,
    },
}

/// A packet's way through queue and transmitter. One-event links tell it in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// The packet.
    pub packet: Handle,
    /// Its IP bytes.
    pub size: Bytes,
    /// When it was offered.
    pub enqueued: Instant,
    /// When it left the queue.
    pub start: Instant,
    /// When its last bit left the transmitter.
    pub end: Instant,
}

/// What comes out at the far end; it is on no link.
#[derive(Debug, PartialEq, Eq)]
pub enum Delivery {
    /// A packet.
    Arrived(Handle),
    /// A packet that another has overtaken: reordered by RFC 4737 section 3.3.
    Reordered(Handle),
    /// A packet that the channel has lost on the way.
    Lost(Handle),
}
