//! Outcomes of a packet at a port.

use crate::pool::Handle;
use headway_units::{DropCause, Instant};

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
    /// Admitted, and another packet is dropped.
    Evicted {
        marked: bool,
        /// The dropped packet; it is on no port.
        victim: Handle,
        cause: DropCause,
    },
}

/// The times of a packet in queue and transmitter. With one event, they are known in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transmission {
    pub(crate) packet: Handle,
    pub(crate) size: u32,
    /// Time of the offer.
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
    /// It arrived after a packet that was sent later: reordered by RFC 4737 section 3.3.
    Reordered(Handle),
    /// The channel lost it after its transmission.
    Lost(Handle),
}
