//! What a port does with a packet.

use crate::pool::Handle;
use headway_units::{DropCause, Instant};

/// What becomes of an offered packet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    /// Let in.
    Accepted,
    /// Let in; to be marked Congestion Experienced.
    Marked,
    /// Let in; another, which waits, is to be marked Congestion Experienced.
    MarkedAhead(Handle),
    /// Dropped; it is on no port.
    Dropped(DropCause),
    /// Marked, and then dropped; it is on no port.
    DroppedMarked(DropCause),
    /// Let in; the queue has decided about it or others that wait: see [`Common::decisions`](crate::common::Common).
    Decided,
    /// Let in, and another is dropped for it.
    Evicted {
        /// Whether the newcomer is to be marked.
        marked: bool,
        /// The dropped packet; it is on no port.
        victim: Handle,
        /// Why.
        cause: DropCause,
    },
}

/// The way of a packet through queue and transmitter. With one event, it is known in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transmission {
    /// The packet.
    pub(crate) packet: Handle,
    /// Its IP bytes.
    pub(crate) size: u32,
    /// When it was offered.
    pub(crate) enqueued: Instant,
    /// When it left the queue.
    pub(crate) start: Instant,
    /// When its last bit left the transmitter.
    pub(crate) end: Instant,
}

/// A packet at the far end; it is on no port.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// It has arrived.
    Arrived(Handle),
    /// It has arrived after a packet that was sent later: reordered by RFC 4737 section 3.3.
    Reordered(Handle),
    /// The channel has lost it on the way.
    Lost(Handle),
}
