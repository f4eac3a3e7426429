//! Records marks, drops and deliveries of packets, and reports them to the observer.

use super::duplicates::Duplicates;
use super::judged::{self, Judged};
use crate::observe::{LinkEvent, Observer, OfferedPacket, Place};
use crate::packet::{Body, Packet};
use headway_link::{DroppedPacket, Handle, Handler};
use headway_record::{FlowMeter, FlowPacket, Measured, Phase, PhaseMeter};
use headway_scenario::{PhaseTable, Scenario};
use headway_units::{DropCause, Instant, MediaKind};
use std::sync::Arc;

/// Maximum number of packets in the network: half a second of 1500 B packets at 100 Gb/s, about 800 MB.
pub(crate) const MAX_PACKETS: usize = 1 << 22;

#[derive(Debug)]
pub(crate) struct Fates<O> {
    pub(crate) observer: O,
    pub(crate) flow_meters: Vec<FlowMeter>,
    /// Packets delivered to endpoints, and packets dropped.
    pub(super) delivered: u64,
    pub(super) dropped: u64,
    /// Whether any link duplicates packets.
    pub(super) copies: bool,
    /// Meters of phases, by flow; empty if the run has no phases.
    pub(crate) phases: Vec<PhaseMeter>,
    /// Whether there are copies or phases, so that other runs need only one test for each packet.
    has_copies_or_phases: bool,
    /// Number of copies made by links, and the packets that have copies in the network.
    pub(super) copied: u64,
    pub(super) duplicates: Duplicates,
    /// Time at which a packet was first refused because of [`MAX_PACKETS`].
    pub(super) overflowed: Option<Instant>,
    /// State of flows whose receivers distinguish losses; empty if there are none.
    pub(super) judged: Vec<Option<Box<Judged>>>,
    pub(super) measured: Arc<Measured>,
}

impl<O: Observer> Fates<O> {
    pub(super) fn new(scenario: &Scenario, measured: &Arc<Measured>, observer: O) -> Self {
        let copies = scenario.links.iter().any(|link| link.duplicate.is_some());
        Self {
            observer,
            flow_meters: scenario.flows.iter().map(|_| FlowMeter::new(measured)).collect(),
            delivered: 0,
            dropped: 0,
            copies,
            phases: phase_meters(scenario),
            has_copies_or_phases: copies || !scenario.phases.is_empty(),
            copied: 0,
            duplicates: Duplicates::default(),
            overflowed: None,
            judged: judged::of(scenario),
            measured: Arc::clone(measured),
        }
    }

    /// Counts a delivered packet. `goodput` is its number of new application bytes.
    #[inline(always)]
    pub(super) fn delivered(&mut self, now: Instant, packet: &Packet, goodput: u32) {
        self.delivered += 1;
        if self.has_copies_or_phases && self.counts_as_further_copy(now, packet) {
            return;
        }
        if packet.forward {
            let received = flow_packet(packet);
            self.flow_meters[packet.flow.0 as usize].received(now, &received, goodput);
            if O::FLOW_EVENTS && received.deadline.is_some_and(|deadline| deadline < now) {
                self.late(now, packet);
            }
        }
    }

    /// Reports a packet that arrived after its deadline. Not inlined, because most packets have no deadline.
    #[cold]
    #[inline(never)]
    fn late(&mut self, now: Instant, packet: &Packet) {
        if let Some(data) = packet.body.data() {
            self.observer.late(now, now.since(data.deadline), packet);
        }
    }

    /// Counts a packet in its phases and, if it arrives after another copy of it, as a duplicate. Returns whether it
    /// does.
    #[cold]
    #[inline(never)]
    fn counts_as_further_copy(&mut self, now: Instant, packet: &Packet) -> bool {
        let again = self.copies && self.duplicates.arrives(packet.uid);
        if packet.forward {
            let flow = packet.flow.0 as usize;
            if let Some(phases) = self.phases.get_mut(flow) {
                phases.received(now, packet.size, (!again).then(|| now.since(packet.sent)));
            }
            if again {
                self.flow_meters[flow].duplicate(now, &flow_packet(packet));
            }
        }
        again
    }

    pub(super) fn lost(&mut self, now: Instant, place: Place, packet: &Packet, cause: DropCause) {
        self.observer.dropped(now, place, cause, packet);
        // Also for packets to the sender, so that all copies are removed from the tracker.
        let is_one_of_several = self.copies && self.duplicates.others(packet.uid);
        if packet.forward && !is_one_of_several {
            let flow = packet.flow.0 as usize;
            self.flow_meters[flow].lost(&flow_packet(packet), cause);
            if let Some(phases) = self.phases.get_mut(flow) {
                phases.lost(now);
            }
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
        self.observer.hop_offered(now, &OfferedPacket { slot: handle.place(), link, queue, packet });
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
        if alive >= MAX_PACKETS {
            self.overflowed.get_or_insert(now);
            return None;
        }
        self.copied += 1;
        self.duplicates.copied(packet.uid);
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

/// Returns a meter of phases for each flow; none if the run has no phases.
fn phase_meters(scenario: &Scenario) -> Vec<PhaseMeter> {
    if scenario.phases.is_empty() {
        return Vec::new();
    }
    let at = |time| Instant::ZERO + time;
    let phase = |table: &PhaseTable| Phase { name: table.name.clone(), from: at(table.from), until: at(table.until) };
    let phases: Arc<[Phase]> = scenario.phases.iter().map(phase).collect();
    scenario.flows.iter().map(|_| PhaseMeter::new(&phases)).collect()
}

#[inline(always)]
pub(super) fn flow_packet(packet: &Packet) -> FlowPacket {
    let (kind, deadline) = media(&packet.body);
    FlowPacket { sent_at: packet.sent, wire_bytes: packet.size, kind, deadline }
}

/// Returns the media kind of a packet and its deadline.
#[inline]
pub(super) fn media(body: &Body) -> (MediaKind, Option<Instant>) {
    body.data().map_or((MediaKind::Data, None), |data| (data.kind, finite_deadline(data.deadline)))
}

pub(crate) fn finite_deadline(deadline: Instant) -> Option<Instant> {
    (deadline != Instant::FAR_FUTURE).then_some(deadline)
}
