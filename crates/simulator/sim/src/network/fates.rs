//! Marks, drops and deliveries of the packets of a run, for the record and the observer.

use super::judged::{self, Judged};
use super::twins::Twins;
use crate::observe::{LinkEvent, Observer, OfferedHop, Place};
use crate::packet::{Body, Packet};
use headway_link::{DroppedPacket, Handle, Handler};
use headway_record::{FlowMeter, FlowPacket, Measured};
use headway_scenario::Scenario;
use headway_units::{DropCause, Instant, MediaKind};
use std::sync::Arc;

/// The largest number of packets in the network at once: what a path of 100 Gb/s holds in half a second, in 1500 B packets.
/// They take about 800 MB.
pub(crate) const MOST_PACKETS: usize = 1 << 22;

#[derive(Debug)]
pub(crate) struct Fates<O> {
    pub(crate) observer: O,
    pub(crate) flow_meters: Vec<FlowMeter>,
    /// Packets that ended at a flow's end, and those that ended elsewhere.
    pub(super) delivered: u64,
    pub(super) dropped: u64,
    /// Whether any link duplicates packets.
    pub(super) copies: bool,
    /// Copies that links have made, and those of which another is in the network.
    pub(super) copied: u64,
    pub(super) twins: Twins,
    /// When a packet was not sent because there were [`MOST_PACKETS`].
    pub(super) overflowed: Option<Instant>,
    /// Of flows whose receivers distinguish losses; empty if there are none.
    pub(super) judged: Vec<Option<Box<Judged>>>,
    pub(super) measured: Arc<Measured>,
}

impl<O: Observer> Fates<O> {
    pub(super) fn new(scenario: &Scenario, measured: &Arc<Measured>, observer: O) -> Self {
        Self {
            observer,
            flow_meters: scenario.flows.iter().map(|_| FlowMeter::new(measured)).collect(),
            delivered: 0,
            dropped: 0,
            copies: scenario.links.iter().any(|link| link.duplicate.is_some()),
            copied: 0,
            twins: Twins::default(),
            overflowed: None,
            judged: judged::of(scenario),
            measured: Arc::clone(measured),
        }
    }

    /// A packet has reached its end. `goodput` bytes of it were of use.
    #[inline(always)]
    pub(super) fn delivered(&mut self, now: Instant, packet: &Packet, goodput: u32) {
        self.delivered += 1;
        if self.copies && self.twins.arrives(packet.uid) {
            return self.arrived_again(now, packet);
        }
        if packet.forward {
            let received = flow_packet(packet);
            self.flow_meters[packet.flow.0 as usize].received(now, &received, goodput);
            if O::TELLS && received.deadline.is_some_and(|deadline| deadline < now) {
                self.late(now, packet);
            }
        }
    }

    /// A packet has arrived after its deadline: a separate function, since most packets have none.
    #[cold]
    #[inline(never)]
    fn late(&mut self, now: Instant, packet: &Packet) {
        if let Some(data) = packet.body.data() {
            self.observer.late(now, now.since(data.deadline), packet);
        }
    }

    /// A packet has reached its end where another copy of it was before.
    #[cold]
    #[inline(never)]
    fn arrived_again(&mut self, now: Instant, packet: &Packet) {
        if packet.forward {
            self.flow_meters[packet.flow.0 as usize].duplicate(now, &flow_packet(packet));
        }
    }

    /// A packet has ended before its end.
    pub(super) fn lost(&mut self, now: Instant, place: Place, packet: &Packet, cause: DropCause) {
        self.observer.dropped(now, place, cause, packet);
        // Also for packets to the sender, so that none of several is kept for ever.
        let is_one_of_several = self.copies && self.twins.others(packet.uid);
        if packet.forward && !is_one_of_several {
            self.flow_meters[packet.flow.0 as usize].lost(&flow_packet(packet), cause);
            if self.judges() {
                self.note_loss(packet, cause);
            }
        }
        self.dropped += 1;
    }
}

impl<O: Observer> Handler<Packet> for Fates<O> {
    const WATCHES: bool = O::WATCHES;
    const HOPS: bool = O::HOPS;

    #[inline]
    fn offered(&mut self, now: Instant, link: usize, queue: u64, handle: Handle, packet: &Packet) {
        self.observer.hop_offered(now, &OfferedHop { slot: handle.place(), link, queue, packet });
    }

    #[inline]
    fn transmitted(&mut self, handle: Handle, _: &Packet, start: Instant, end: Instant) {
        self.observer.hop_transmitted(handle.place(), start, end);
    }

    #[inline]
    fn enqueued(&mut self, now: Instant, link: usize, packet: &Packet) {
        self.observer.link_event(now, LinkEvent::Enqueue, link, packet);
    }

    #[inline]
    fn dequeued(&mut self, now: Instant, link: usize, packet: &Packet) {
        self.observer.link_event(now, LinkEvent::Dequeue, link, packet);
    }

    #[inline]
    fn received(&mut self, now: Instant, link: usize, packet: &Packet) {
        self.observer.link_event(now, LinkEvent::Receive, link, packet);
    }

    #[inline]
    fn average(&mut self, now: Instant, link: usize, average: f64) {
        self.observer.average(now, link, average);
    }

    #[cold]
    fn duplicate(&mut self, now: Instant, _: usize, packet: &Packet, alive: usize) -> Option<Packet> {
        if alive >= MOST_PACKETS {
            self.overflowed.get_or_insert(now);
            return None;
        }
        self.copied += 1;
        self.twins.copied(packet.uid);
        Some(packet.clone())
    }

    fn marked(&mut self, _: Instant, _: usize, handle: Handle, _: &mut Packet) {
        if O::HOPS {
            self.observer.hop_marked(handle.place());
        }
    }

    fn dropped(&mut self, drop: DroppedPacket<'_, Packet>) {
        let DroppedPacket { now, port, handle, packet, cause, before_queue } = drop;
        if O::WATCHES {
            let event = if before_queue { LinkEvent::Lost } else { LinkEvent::Drop };
            self.observer.link_event(now, event, port, packet);
        }
        if O::HOPS {
            self.observer.hop_ended(now, handle.place(), Some(cause));
        }
        self.lost(now, Place::Link(port), packet, cause);
    }
}

#[inline(always)]
pub(super) fn flow_packet(packet: &Packet) -> FlowPacket {
    let (kind, deadline) = media(&packet.body);
    FlowPacket { sent_at: packet.sent, wire_bytes: packet.size, kind, deadline }
}

/// The kind of media in a packet, and its deadline.
#[inline]
pub(super) fn media(body: &Body) -> (MediaKind, Option<Instant>) {
    body.data().map_or((MediaKind::Data, None), |data| (data.kind, unless_far(data.deadline)))
}

pub(crate) fn unless_far(deadline: Instant) -> Option<Instant> {
    (deadline != Instant::FAR_FUTURE).then_some(deadline)
}
