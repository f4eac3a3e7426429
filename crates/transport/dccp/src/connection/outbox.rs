//! Source of a connection's data.

use super::Connection;
use crate::{DeliveryOrder, Repair};
use headway_rate::Next;
use headway_units::{Bytes, Instant, Seq48};

/// Queue of the application's datagrams. The choice of a datagram is made as late as possible: when
/// the controller permits the next transmission.
pub trait Outbox {
    /// Returns the size of the next datagram, in bytes; `None` if the queue is empty. A datagram may be empty.
    fn next_len(&mut self, now: Instant) -> Option<usize>;

    /// Returns the next datagram with details for the controller: what is queued after it, and its
    /// age and expiry. The default knows only the length.
    fn next(&mut self, now: Instant) -> Option<Next> {
        self.next_len(now).map(|len| Next::new(Bytes::new(len as u64)))
    }

    /// Removes and returns the next datagram when the controller permits its transmission. Bytes
    /// beyond [`next_len`](Self::next_len) are cut off. `None` if the datagram was discarded
    /// instead; the permission is then used up.
    fn take(&mut self, now: Instant) -> Option<&[u8]>;

    /// Like [`take`](Self::take), with the datagram's position if it may be sent again: the packet then has an option
    /// with it.
    fn take_ordered(&mut self, now: Instant) -> Option<(&[u8], Option<DeliveryOrder>)> {
        self.take(now).map(|data| (data, None))
    }

    /// Returns the option of the packet with the next data, if this is a repair packet, and the number of the first packet
    /// of its block. The connection replaces [`back`](Repair::back). Called before [`take`](Self::take).
    fn next_repair(&mut self, _now: Instant) -> Option<(Seq48, Repair)> {
        None
    }

    /// Returns when the outbox has something to send without a further call, such as a repair packet.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Discards the next datagram if it is late and its discard uses up the permission to send.
    /// Returns whether it did. Called before each [`take`](Self::take).
    fn discard(&mut self, _now: Instant) -> bool {
        false
    }

    /// Records the sequence number of a packet that was sent, with the datagram [taken](Self::take) last or without
    /// data. Drivers such as [`Endpoint`](crate::Endpoint) call this when they are done with the packet.
    fn sent(&mut self, _number: Seq48) {}

    /// Records that the datagram [taken](Self::take) last was discarded, because it exceeds any packet.
    fn too_large(&mut self) {}

    /// Returns whether the outcome of a datagram in flight is unknown and of interest: the connection then
    /// [probes](super::ConnectionExpert::tail_ack) for the loss of the last ones.
    fn has_outstanding(&self) -> bool {
        false
    }

    /// Called by drivers, such as [`Endpoint`](crate::Endpoint), after the connection has
    /// [handled](Connection::handle) a packet. A round-trip sample or arrivals may be available.
    fn packet_handled(&mut self, _now: Instant, _connection: &mut Connection) {}

    /// Called by drivers, such as [`Endpoint`](crate::Endpoint), after a timer of the connection has
    /// [expired](Connection::handle_timeout). The allowed rate may have changed without a packet from the peer.
    fn timer_expired(&mut self, _now: Instant, _connection: &Connection) {}
}

/// An absent outbox is empty.
impl<O: Outbox> Outbox for Option<O> {
    fn next_len(&mut self, now: Instant) -> Option<usize> {
        self.as_mut()?.next_len(now)
    }
    fn next(&mut self, now: Instant) -> Option<Next> {
        self.as_mut()?.next(now)
    }
    fn take(&mut self, now: Instant) -> Option<&[u8]> {
        self.as_mut()?.take(now)
    }
    fn take_ordered(&mut self, now: Instant) -> Option<(&[u8], Option<DeliveryOrder>)> {
        self.as_mut()?.take_ordered(now)
    }
    fn next_repair(&mut self, now: Instant) -> Option<(Seq48, Repair)> {
        self.as_mut()?.next_repair(now)
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.as_ref()?.poll_timeout()
    }
    fn discard(&mut self, now: Instant) -> bool {
        self.as_mut().is_some_and(|outbox| outbox.discard(now))
    }
    fn sent(&mut self, number: Seq48) {
        if let Some(outbox) = self {
            outbox.sent(number);
        }
    }
    fn too_large(&mut self) {
        if let Some(outbox) = self {
            outbox.too_large();
        }
    }
    fn has_outstanding(&self) -> bool {
        self.as_ref().is_some_and(Outbox::has_outstanding)
    }
    fn packet_handled(&mut self, now: Instant, connection: &mut Connection) {
        if let Some(outbox) = self {
            outbox.packet_handled(now, connection);
        }
    }
    fn timer_expired(&mut self, now: Instant, connection: &Connection) {
        if let Some(outbox) = self {
            outbox.timer_expired(now, connection);
        }
    }
}

/// Outbox without data.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoData;

impl Outbox for NoData {
    fn next_len(&mut self, _: Instant) -> Option<usize> {
        None
    }
    fn take(&mut self, _: Instant) -> Option<&[u8]> {
        None
    }
}
