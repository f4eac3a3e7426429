//! Observation of a run, packet by packet.

use crate::packet::Packet;
use headway_media::Unsent;
use headway_units::{DropCause, Duration, Instant};

/// Event of a packet at a link, with its letter in ns-2 traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// The packet is offered to the link's queue (`+`), which may then drop it.
    Enqueue,
    /// The loss model drops the packet before the queue (`d` without a preceding `+`).
    Lost,
    /// The transmission begins (`-`).
    Dequeue,
    /// The packet reaches the far end (`r`).
    Receive,
    /// The link drops the packet after it was offered to the queue (`d`).
    Drop,
}

/// Round-trip measurement of a sender from a report or an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// Measured round-trip time.
    pub sample: Duration,
    /// Smoothed round-trip time of the rate controller, if there is one.
    pub smoothed: Option<Duration>,
    /// One-way delay to the receiver, if measured.
    pub one_way: Option<Duration>,
}

/// A packet offered to a link. Later calls of the observer identify the packet by [`slot`](Self::slot).
#[derive(Clone, Copy, Debug)]
pub struct OfferedPacket<'a> {
    /// Small number that identifies the packet until it leaves this link; unique among all packets that are on links.
    pub slot: usize,
    /// Number of the link direction, in the order of the scenario.
    pub link: usize,
    /// Number of packets that wait in the link's queue, without this packet.
    pub queue: u64,
    /// Packet that is offered to the link.
    pub packet: &'a Packet,
}

/// Place where a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Link direction with this number, in the order of the scenario.
    Link(usize),
    /// Node with this number, in the order of the scenario: its host or an attacker there dropped the packet.
    Node(usize),
}

/// Event at a sender that reduces its rate or window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionEvent {
    /// Expiry of the sender's retransmission timer or nofeedback timer.
    Timeout,
    /// TCP retransmits a segment because of acknowledgements, before its timer expires.
    FastRetransmit,
    /// Loss event of a rate controller: losses or marks that it counts as one event.
    LossEvent,
}

/// Number of each kind of [`CongestionEvent`] so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CongestionEvents {
    pub(crate) timeouts: u64,
    pub(crate) fast_retransmits: u64,
    pub(crate) loss_events: u64,
}

impl CongestionEvents {
    /// Adds the change of one sender's counters.
    pub(crate) fn add(&mut self, before: headway_tcp::Counters, now: headway_tcp::Counters) {
        self.timeouts += now.timeouts - before.timeouts;
        self.fast_retransmits += now.fast_recoveries - before.fast_recoveries;
    }

    /// Returns each congestion event since `before`.
    pub(crate) fn since(self, before: Self) -> impl Iterator<Item = CongestionEvent> {
        let of = |what, now: u64, before| (before..now).map(move |_| what);
        of(CongestionEvent::Timeout, self.timeouts, before.timeouts)
            .chain(of(CongestionEvent::FastRetransmit, self.fast_retransmits, before.fast_retransmits))
            .chain(of(CongestionEvent::LossEvent, self.loss_events, before.loss_events))
    }
}

impl From<headway_tcp::Counters> for CongestionEvents {
    fn from(counters: headway_tcp::Counters) -> Self {
        Self { timeouts: counters.timeouts, fast_retransmits: counters.fast_recoveries, loss_events: 0 }
    }
}

impl From<headway_rate::CongestionEvents> for CongestionEvents {
    fn from(congestion_events: headway_rate::CongestionEvents) -> Self {
        Self { timeouts: congestion_events.timeouts, fast_retransmits: 0, loss_events: congestion_events.loss_events }
    }
}

/// Receives the events of a run in the order in which they are known. The unit type ignores all events at no cost.
pub trait Observer {
    /// Whether [`link_event`](Self::link_event) is called. Every link then schedules events for the ends of its
    /// transmissions, so that dequeues are reported when they happen.
    const WATCHES: bool;
    /// Whether the `hop_*` methods are called, for each packet at each link. They cause no simulator events: if a
    /// packet's transmission is known when the packet is offered to the link, it is reported then.
    const HOPS: bool = false;
    /// Whether [`congestion_event`](Self::congestion_event), [`unsent`](Self::unsent) and [`late`](Self::late) are
    /// called.
    const FLOW_EVENTS: bool = false;

    /// Handles an event on the link direction with this number. Called if `WATCHES` is true.
    fn link_event(&mut self, now: Instant, event: LinkEvent, link: usize, packet: &Packet);

    /// Handles RED's average queue length at a link after an arrival, in packets (of mean size if RED counts bytes).
    /// Always called.
    fn average(&mut self, _now: Instant, _link: usize, _average: f64) {}

    /// Handles a packet that a host with processing time has delivered or dropped. Called if `WATCHES` is true.
    fn host_event(&mut self, _now: Instant, _delivered: bool, _packet: &Packet) {}

    /// Handles a round-trip time that a flow's sender measured. Called if `WATCHES` or `FLOW_EVENTS` is true.
    fn round_trip(&mut self, _now: Instant, _flow: usize, _trip: RoundTrip) {}

    /// Handles a possible change of the congestion window of a TCP flow. Always called.
    fn window(&mut self, _now: Instant, _flow: usize, _sender: &headway_tcp::Sender) {}

    /// Handles a packet that is offered to a link, before it is queued or dropped.
    fn hop_offered(&mut self, _now: Instant, _hop: &OfferedPacket<'_>) {}

    /// Handles the transmission of the packet in this slot, from `start` to `end`; both may be in the future.
    fn hop_transmitted(&mut self, _slot: usize, _start: Instant, _end: Instant) {}

    /// Handles a congestion mark that the link sets on the packet in this slot.
    fn hop_marked(&mut self, _slot: usize) {}

    /// Handles the end of a packet's passage over a link: it reached the far end, or the link or the host there dropped
    /// it.
    fn hop_ended(&mut self, _now: Instant, _slot: usize, _dropped: Option<DropCause>) {}

    /// Handles a packet that was dropped by a link, a host or an attacker. Always called.
    fn dropped(&mut self, _now: Instant, _place: Place, _cause: DropCause, _packet: &Packet) {}

    /// Handles an event that reduces the rate or window of a flow's sender. `resent` is the number of the packet that
    /// the sender retransmits immediately, if any.
    fn congestion_event(&mut self, _now: Instant, _flow: usize, _setback: CongestionEvent, _resent: Option<i64>) {}

    /// Handles a packet that a flow's send queue discarded before it was sent.
    fn unsent(&mut self, _now: Instant, _flow: usize, _unsent: &Unsent) {}

    /// Handles a packet that arrived at its receiver the time `by` after its deadline.
    fn late(&mut self, _now: Instant, _by: Duration, _packet: &Packet) {}

    /// Handles the end of the run, or the time at which it was stopped.
    fn ended(&mut self, _now: Instant) {}
}

impl Observer for () {
    const WATCHES: bool = false;
    fn link_event(&mut self, _: Instant, _: LinkEvent, _: usize, _: &Packet) {}
}

/// Two observers of one run.
impl<A: Observer, B: Observer> Observer for (A, B) {
    const WATCHES: bool = A::WATCHES || B::WATCHES;
    const HOPS: bool = A::HOPS || B::HOPS;
    const FLOW_EVENTS: bool = A::FLOW_EVENTS || B::FLOW_EVENTS;

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
    fn hop_offered(&mut self, now: Instant, hop: &OfferedPacket<'_>) {
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
    fn congestion_event(&mut self, now: Instant, flow: usize, congestion_event: CongestionEvent, resent: Option<i64>) {
        self.0.congestion_event(now, flow, congestion_event, resent);
        self.1.congestion_event(now, flow, congestion_event, resent);
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
