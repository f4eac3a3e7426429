//! Outcomes of a packet at a port.

use crate::pool::Handle;
use headway_units::{DropCause, Instant};

/// The outcome of an offered packet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    Accepted,
    /// Admitted; to be marked Congestion Experienced.
    Marked,
    /// Admitted; this waiting packet is to be marked Congestion Experienced.
    MarkedAhead(Handle),
    /// Dropped; it is on no port.
    Dropped(DropCause),
    /// Marked, and then dropped; it is on no port.
    DroppedMarked(DropCause),
    /// Admitted; the queue has marked or dropped waiting packets: see [`Common::decisions`](crate::common::Common).
    Decided,
    /// Admitted, and another packet is dropped in exchange.
    Evicted {
        /// Whether the newcomer is to be marked.
        marked: bool,
        /// The dropped packet; it is on no port.
        victim: Handle,
        cause: DropCause,
    },
}

/// The way of a packet through queue and transmitter. With one event, it is known in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transmission {
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
    Arrived(Handle),
    /// It has arrived after a packet that was sent later: reordered by RFC 4737 section 3.3.
    Reordered(Handle),
    /// The channel has lost it on the way.
    Lost(Handle),
}
