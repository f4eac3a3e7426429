//! Where a connection takes its data from.

use super::Connection;
use headway_rate::Next;
use headway_units::{Bytes, Instant, Seq48};

/// The application's data, bound as late as possible: which datagram goes is decided at the instant at which the controller
/// lets one go.
pub trait Outbox {
    /// Bytes of the datagram that would go now, or `None` if nothing waits. Zero bytes are a datagram too.
    fn next_len(&mut self, now: Instant) -> Option<usize>;

    /// The same with what else a controller may ask: what waits behind it, for how long and until when. Who knows more than the length says
    /// so here.
    fn next(&mut self, now: Instant) -> Option<Next> {
        self.next_len(now).map(|len| Next::new(Bytes::new(len as u64)))
    }

    /// Takes that datagram out: the controller lets one go. What is longer than [`next_len`](Self::next_len) said is cut off.
    /// `None` if what waited is thrown away instead, and the permission with it.
    fn take(&mut self, now: Instant) -> Option<&[u8]>;

    /// Throws that datagram away if it is late and its discard uses up the permission to send. Returns whether it did. Asked before each
    /// [`take`](Self::take).
    fn discard(&mut self, _now: Instant) -> bool {
        false
    }

    /// A packet of the connection went under this number, with what was [taken](Self::take) last or without data. Drivers say so once they
    /// are done with the packet, an [`Endpoint`](crate::Endpoint) among them.
    fn sent(&mut self, _number: Seq48) {}

    /// What was [taken](Self::take) last goes nowhere, for no packet can carry it.
    fn too_large(&mut self) {}

    /// The connection has [handled](Connection::handle) a packet: there may be a round trip to learn, or what has come. Drivers say so, an
    /// [`Endpoint`](crate::Endpoint) among them.
    fn heard(&mut self, _now: Instant, _connection: &mut Connection) {}

    /// A timer of the connection has [expired](Connection::handle_timeout): the allowed rate may have changed without a packet from the
    /// peer. Drivers call it, an [`Endpoint`](crate::Endpoint) among them.
    fn timer_expired(&mut self, _now: Instant, _connection: &Connection) {}
}

/// Nothing until there is an outbox.
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
    fn heard(&mut self, now: Instant, connection: &mut Connection) {
        if let Some(outbox) = self {
            outbox.heard(now, connection);
        }
    }
    fn timer_expired(&mut self, now: Instant, connection: &Connection) {
        if let Some(outbox) = self {
            outbox.timer_expired(now, connection);
        }
    }
}

/// An application without data.
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
