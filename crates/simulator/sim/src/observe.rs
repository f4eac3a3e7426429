//! Watching a run packet by packet.

use crate::packet::Packet;
use headway_media::Unsent;
use headway_units::{DropCause, Duration, Instant};

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

/// A packet that is offered to a link, with what becomes of it there told by its [`slot`](Self::slot).
#[derive(Clone, Copy, Debug)]
pub struct OfferedHop<'a> {
    /// Which packet: until the hop has ended no other has this number, and numbers are small.
    pub slot: usize,
    /// The link's number.
    pub link: usize,
    /// How many packets wait there.
    pub queue: u64,
    /// The packet.
    pub packet: &'a Packet,
}

/// Where a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On the link with this number.
    Link(usize),
    /// At the node with this number, by its host or by an attacker there.
    Node(usize),
}

/// What sets a sender back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setback {
    /// It heard nothing for too long.
    Timeout,
    /// A TCP sends again what acknowledgements say is lost.
    FastRetransmit,
    /// A rate controller answers losses or marks that it takes for one event.
    LossEvent,
}

/// How often each [`Setback`] has come so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Setbacks {
    pub(crate) timeouts: u64,
    pub(crate) fast_retransmits: u64,
    pub(crate) loss_events: u64,
}

impl Setbacks {
    /// One of many senders has come from one count to another.
    pub(crate) fn add(&mut self, before: headway_tcp::Counters, now: headway_tcp::Counters) {
        self.timeouts += now.timeouts - before.timeouts;
        self.fast_retransmits += now.fast_recoveries - before.fast_recoveries;
    }

    /// Each that has come since it was `before`.
    pub(crate) fn since(self, before: Self) -> impl Iterator<Item = Setback> {
        let of = |what, now: u64, before| (before..now).map(move |_| what);
        of(Setback::Timeout, self.timeouts, before.timeouts)
            .chain(of(Setback::FastRetransmit, self.fast_retransmits, before.fast_retransmits))
            .chain(of(Setback::LossEvent, self.loss_events, before.loss_events))
    }
}

impl From<headway_tcp::Counters> for Setbacks {
    fn from(counters: headway_tcp::Counters) -> Self {
        Self { timeouts: counters.timeouts, fast_retransmits: counters.fast_recoveries, loss_events: 0 }
    }
}

impl From<headway_rate::Setbacks> for Setbacks {
    fn from(setbacks: headway_rate::Setbacks) -> Self {
        Self { timeouts: setbacks.timeouts, fast_retransmits: 0, loss_events: setbacks.loss_events }
    }
}

/// Sees every packet event of a run in the order of time. The unit type sees nothing, at no cost.
pub trait Observer {
    /// Whether [`link_event`](Self::link_event) is to be called. Then every link makes events of the ends of its
    /// transmissions, so that dequeues are told when they happen.
    const WATCHES: bool;
    /// Whether `hop_..` is to be called: what becomes of each packet at each link. It makes no events; where all is settled when a packet is
    /// offered, it is told then.
    const HOPS: bool = false;
    /// Whether [`dropped`](Self::dropped), [`setback`](Self::setback), [`unsent`](Self::unsent) and [`late`](Self::late) are to be called.
    const TELLS: bool = false;

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

    /// A packet is offered to a link, whatever comes of it.
    fn hop_offered(&mut self, _now: Instant, _hop: &OfferedHop<'_>) {}

    /// The packet's transmission lasts, or will last, from `start` to `end`.
    fn hop_transmitted(&mut self, _slot: usize, _start: Instant, _end: Instant) {}

    /// The link marks the packet.
    fn hop_marked(&mut self, _slot: usize) {}

    /// The packet is no longer on the link: it has come to the far end, or was dropped. A host there that has no room for it drops it.
    fn hop_ended(&mut self, _now: Instant, _slot: usize, _dropped: Option<DropCause>) {}

    /// A packet goes no further.
    fn dropped(&mut self, _now: Instant, _place: Place, _cause: DropCause, _packet: &Packet) {}

    /// Something has set a flow's sender back, and `resent` is the number of what it sends again at once, if it does.
    fn setback(&mut self, _now: Instant, _flow: usize, _setback: Setback, _resent: Option<i64>) {}

    /// A flow's send queue has thrown something away.
    fn unsent(&mut self, _now: Instant, _flow: usize, _unsent: &Unsent) {}

    /// A packet has come so long after its deadline.
    fn late(&mut self, _now: Instant, _by: Duration, _packet: &Packet) {}

    /// The run is over, or ends here.
    fn ended(&mut self, _now: Instant) {}
}

impl Observer for () {
    const WATCHES: bool = false;
    fn link_event(&mut self, _: Instant, _: LinkEvent, _: usize, _: &Packet) {}
}

/// Two that watch one run.
impl<A: Observer, B: Observer> Observer for (A, B) {
    const WATCHES: bool = A::WATCHES || B::WATCHES;
    const HOPS: bool = A::HOPS || B::HOPS;
    const TELLS: bool = A::TELLS || B::TELLS;

    #[inline]
    fn link_event(&mut self, now: Instant, event: LinkEvent, link: usize, packet: &Packet) {
        if A::WATCHES {
            self.0.link_event(now, event, link, packet);
        }
        if B::WATCHES {
            self.1.link_event(now, event, link, packet);
        }
    }
    fn average(&mut self, now: Instant, link: usize, average: f64) {
        self.0.average(now, link, average);
        self.1.average(now, link, average);
    }
    fn host_event(&mut self, now: Instant, delivered: bool, packet: &Packet) {
        self.0.host_event(now, delivered, packet);
        self.1.host_event(now, delivered, packet);
    }
    fn round_trip(&mut self, now: Instant, flow: usize, trip: RoundTrip) {
        self.0.round_trip(now, flow, trip);
        self.1.round_trip(now, flow, trip);
    }
    #[inline]
    fn window(&mut self, now: Instant, flow: usize, sender: &headway_tcp::Sender) {
        self.0.window(now, flow, sender);
        self.1.window(now, flow, sender);
    }
    #[inline]
    fn hop_offered(&mut self, now: Instant, hop: &OfferedHop<'_>) {
        self.0.hop_offered(now, hop);
        self.1.hop_offered(now, hop);
    }
    #[inline]
    fn hop_transmitted(&mut self, slot: usize, start: Instant, end: Instant) {
        self.0.hop_transmitted(slot, start, end);
        self.1.hop_transmitted(slot, start, end);
    }
    fn hop_marked(&mut self, slot: usize) {
        self.0.hop_marked(slot);
        self.1.hop_marked(slot);
    }
    #[inline]
    fn hop_ended(&mut self, now: Instant, slot: usize, dropped: Option<DropCause>) {
        self.0.hop_ended(now, slot, dropped);
        self.1.hop_ended(now, slot, dropped);
    }
    fn dropped(&mut self, now: Instant, place: Place, cause: DropCause, packet: &Packet) {
        self.0.dropped(now, place, cause, packet);
        self.1.dropped(now, place, cause, packet);
    }
    fn setback(&mut self, now: Instant, flow: usize, setback: Setback, resent: Option<i64>) {
        self.0.setback(now, flow, setback, resent);
        self.1.setback(now, flow, setback, resent);
    }
    fn unsent(&mut self, now: Instant, flow: usize, unsent: &Unsent) {
        self.0.unsent(now, flow, unsent);
        self.1.unsent(now, flow, unsent);
    }
    fn late(&mut self, now: Instant, by: Duration, packet: &Packet) {
        self.0.late(now, by, packet);
        self.1.late(now, by, packet);
    }
    fn ended(&mut self, now: Instant) {
        self.0.ended(now);
        self.1.ended(now);
    }
}
