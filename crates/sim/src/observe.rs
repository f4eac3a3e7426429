//! Watching a run packet by packet.

use crate::packet::Packet;
use headway_units::{Duration, Instant};

/// What happens to a packet at a link, as ns-2's traces tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// It is offered to the link's queue (`+`).
    Enqueue,
    /// The channel loses it before the queue, to which it is never offered (`d` without a `+`).
    Lost,
    /// Its transmission begins (`-`).
    Dequeue,
    /// It reaches the far end (`r`).
    Receive,
    /// It is dropped, after it was offered (`d`).
    Drop,
}

/// What a report lets a sender measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// The round trip.
    pub sample: Duration,
    /// What its rate controller smooths it to.
    pub smoothed: Option<Duration>,
    /// A packet's way to the receiver, where that is measured.
    pub one_way: Option<Duration>,
}

/// Sees every packet event of a run in the order of time. The unit type sees nothing, at no cost.
pub trait Observer {
    /// Whether [`link_event`](Self::link_event) is to be called. Then every link makes events of the ends of its
    /// transmissions, so that dequeues are told when they happen.
    const WATCHES: bool;

    /// Something happened on the link with this number.
    fn link_event(&mut self, now: Instant, event: LinkEvent, link: usize, packet: &Packet);

    /// The average of the link's queue, in packets or bytes as the queue counts, became this.
    fn average(&mut self, _now: Instant, _link: usize, _average: f64) {}

    /// A host at the end of the packet's way, whose CPU takes time, has delivered it or dropped it. Called where links' events are.
    fn host_event(&mut self, _now: Instant, _delivered: bool, _packet: &Packet) {}

    /// A flow's sender has measured a round trip.
    fn round_trip(&mut self, _now: Instant, _flow: usize, _trip: RoundTrip) {}

    /// A TCP flow's window may have changed.
    fn window(&mut self, _now: Instant, _flow: usize, _sender: &headway_tcp::Sender) {}
}

impl Observer for () {
    const WATCHES: bool = false;
    fn link_event(&mut self, _: Instant, _: LinkEvent, _: usize, _: &Packet) {}
}
