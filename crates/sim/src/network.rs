//! Links, routes, and the packets on them.

pub(crate) mod accounts;
mod fates;
mod fetch;
mod hosts;
mod judged;
mod twins;

use crate::observe::{LinkEvent, Observer, OfferedHop, RoundTrip};
use crate::packet::{Body, Envelope, Packet};
use crate::routes::Routes;
use headway_engine::{Actor, Class, EventQueue, Moment};
use headway_link::{Common, Config, Delivery, Departure, Handle, Link, Offer, PlainOffer, Pool, Transmission};
use headway_record::{FlowMeter, FlowPacket, LinkMeter, Measured};
use headway_scenario::{self as scenario, FlowDscp};
use headway_units::{DropCause, Dscp, FlowId, Instant, MediaKind};
use hosts::Hosts;
use judged::Judged;
use std::sync::Arc;
use twins::Twins;

/// One direction of a link with its meter: two cache lines, of which an arrival touches the first.
#[derive(Debug)]
#[repr(C, align(64))]
struct Port {
    link: Link,
    meter: LinkMeter,
}

/// What a port notes of a transmission.
#[inline(always)]
fn note(meter: &mut LinkMeter, measured: &Measured, packets: &Pool<Packet>, transmission: &Transmission) {
    let bytes = transmission.size.count() as u32;
    meter.waited(measured, transmission.enqueued, transmission.start, bytes);
    meter.transmitted(measured, transmission.start, transmission.end, bytes);
    if meter.counts_by_flow() {
        note_flow(meter, measured, packets, transmission);
    }
}

/// Out of the way of links that do not count by flow.
#[cold]
#[inline(never)]
fn note_flow(meter: &mut LinkMeter, measured: &Measured, packets: &Pool<Packet>, transmission: &Transmission) {
    if let Some(flows) = meter.by_flow_mut() {
        let bytes = transmission.size.count() as u32;
        flows.sent(measured, transmission.start, packets.get(transmission.packet).flow, bytes);
    }
}

#[cold]
#[inline(never)]
fn arrived_of_flow(meter: &mut LinkMeter, measured: &Measured, now: Instant, packet: &Packet) {
    if let Some(flows) = meter.by_flow_mut() {
        flows.arrived(measured, now, packet.flow);
    }
}

/// Puts the end of a link's transmission into the queue, where it makes an event and is not there yet.
#[inline]
fn schedule_departure(link: &mut Link, common: &Common, number: usize, events: &mut EventQueue) {
    if link.departure == Departure::Idle
        && let Some(at) = link.next_departure(common)
    {
        link.departure = Departure::Pending;
        events.push(at, Actor::new(Class::Departure, number));
    }
}

/// Puts the next arrival at a link's far end into the queue, where it is not there yet.
#[inline]
fn schedule_arrival(link: &mut Link, number: usize, events: &mut EventQueue) {
    if !link.arrival_pending
        && let Some(at) = link.next_arrival()
    {
        link.arrival_pending = true;
        events.push(at, Actor::new(Class::Arrival, number));
    }
}

/// The most packets that may be under way at once: what a path of 100 Gb/s holds in half a second, in 1500 B packets.
/// They take about 800 MB.
pub(crate) const MOST_PACKETS: usize = 1 << 22;

/// So many kinds of links are looked through for one that is alike.
const LATEST: usize = 8;

/// Everything between the flows' ends.
#[derive(Debug)]
pub(crate) struct Network<O> {
    pub(crate) events: EventQueue,
    pub(crate) observer: O,
    pub(crate) flow_meters: Vec<FlowMeter>,
    pub(crate) packet_hops: u64,
    measured: Arc<Measured>,
    /// Of each flow; empty if all are the default.
    dscp: Vec<FlowDscp>,
    ports: Vec<Port>,
    commons: Vec<Common>,
    routes: Routes,
    packets: Pool<Packet>,
    next_uid: u64,
    ended: Ended,
    hosts: Hosts,
    /// Of flows whose receivers tell losses apart; empty if there are none.
    judged: Vec<Option<Box<Judged>>>,
    overflowed: Option<Instant>,
    /// Whether the end of a transmission is an event on any link.
    departures: bool,
    /// Whether any link copies packets.
    copies: bool,
    twins: Twins,
}

/// How many packets have ended, and how.
#[derive(Clone, Copy, Debug, Default)]
struct Ended {
    /// Copies that links have made.
    copied: u64,
    delivered: u64,
    dropped: u64,
}

impl<O: Observer> Network<O> {
    pub(crate) fn new(scenario: &scenario::Scenario, routes: Routes, observer: O) -> Self {
        let measured = Measured::between(Instant::ZERO + scenario.measure_from, Instant::ZERO + scenario.duration);
        let (mut commons, mut latest) = (Vec::new(), Vec::<(Config, u32)>::new());
        let port = |link: &scenario::Link| {
            let mut config = link.config(scenario.ties);
            config.two_events |= O::WATCHES;
            // Replicas follow one another.
            let alike = latest.iter().rev().take(LATEST).find(|(other, _)| *other == config);
            let common = alike.map_or(commons.len() as u32, |(_, common)| *common);
            if alike.is_none() {
                commons.push(Common::new(&config, scenario.seed, &link.name));
                if config.may_be_shared() {
                    latest.push((config, common));
                }
            }
            let meter = if link.by_flow { LinkMeter::counting_by_flow() } else { LinkMeter::default() };
            let mut port = Port { link: Link::new(scenario.seed, &link.name, common), meter };
            if !O::WATCHES && !O::HOPS && !link.by_flow {
                port.link = port.link.plain(&commons[common as usize]);
            }
            port
        };
        let ports = scenario.links.iter().map(port).collect();
        let hosts = scenario.flows.iter().map(|flow| (flow.from as u32, flow.to as u32)).collect();
        commons.iter_mut().for_each(|common| common.know_hosts(&hosts));
        let dscp: Vec<_> = scenario.flows.iter().map(|flow| flow.dscp).collect();
        Self {
            departures: commons.iter().any(Common::two_events),
            copies: commons.iter().any(Common::duplicates),
            twins: Twins::default(),
            events: EventQueue::new(scenario.ties),
            observer,
            flow_meters: scenario.flows.iter().map(|_| FlowMeter::new(&measured)).collect(),
            packet_hops: 0,
            measured,
            dscp: if dscp.iter().all(|dscp| *dscp == FlowDscp::default()) { Vec::new() } else { dscp },
            ports,
            commons,
            routes,
            packets: Pool::default(),
            next_uid: 0,
            ended: Ended::default(),
            hosts: Hosts::new(scenario),
            judged: judged::of(scenario),
            overflowed: None,
        }
    }

    /// Packets sent so far.
    pub(crate) fn sent_packets(&self) -> u64 {
        self.next_uid
    }

    /// When a packet was not sent because there were [`MOST_PACKETS`]: from then on the run is not true.
    pub(crate) fn overflowed(&self) -> Option<Instant> {
        self.overflowed
    }

    /// A flow's sender has measured a round trip.
    pub(crate) fn round_trip(&mut self, now: Instant, flow: FlowId, trip: RoundTrip) {
        self.flow_meters[flow.0 as usize].rtt(now, trip.sample);
        if O::WATCHES {
            self.observer.round_trip(now, flow.0 as usize, trip);
        }
    }

    /// Sends a packet on the route that starts at `place`.
    #[inline]
    pub(crate) fn inject(&mut self, now: Moment, flow: FlowId, place: u32, forward: bool, envelope: Envelope) {
        if self.packets.alive() >= MOST_PACKETS {
            self.overflowed.get_or_insert(now.at);
            return;
        }
        let uid = self.next_uid;
        self.next_uid += 1;
        let Envelope { size, ecn, body } = envelope;
        let dscp = self.dscp.get(flow.0 as usize).map_or(Dscp::CS0, |dscp| dscp.of(media(&body).0));
        let packet = Packet { uid, flow, size, ecn, dscp, forward, place, sent: now.at, body };
        if forward {
            self.flow_meters[flow.0 as usize].sent(&flow_packet(&packet));
        }
        let handle = self.packets.insert(packet);
        self.offer(now, handle);
    }

    /// Offers the packet to the link that its route names next.
    #[inline(always)]
    fn offer(&mut self, now: Moment, handle: Handle) {
        let number = self.routes.link_at(self.packets.get(handle).place) as usize;
        if self.ports[number].link.is_plain() {
            self.offer_plain_by_call(now, number, handle);
        } else {
            self.offer_any(now, number, handle);
        }
    }

    /// Offers the packet to a plain link without inlining: only [`arrival`](Self::arrival) has a copy of that code.
    #[inline(never)]
    fn offer_plain_by_call(&mut self, now: Moment, number: usize, handle: Handle) {
        self.offer_plain(now, number, handle);
    }

    /// Offers the packet to a plain link.
    #[inline(always)]
    fn offer_plain(&mut self, now: Moment, number: usize, handle: Handle) {
        let Port { link, meter } = &mut self.ports[number];
        let common = &mut self.commons[link.common as usize];
        let measured = &*self.measured;
        meter.arrived(measured, now.at);
        let offer = link.offer_plain(common, &mut self.packets, now, handle, meter.peak());
        meter.queue_seen(measured, now.at, link.waiting().0 as u32);
        let PlainOffer::Accepted { bytes, start, end } = offer else {
            return self.drop(now.at, number, handle, DropCause::QueueFull, LinkEvent::Drop);
        };
        meter.waited(measured, now.at, start, bytes);
        meter.transmitted(measured, start, end, bytes);
        schedule_arrival(link, number, &mut self.events);
    }

    /// Offers the packet to a link of any kind.
    #[inline(never)]
    fn offer_any(&mut self, now: Moment, number: usize, handle: Handle) {
        if self.copies {
            self.offer_with_copy(now, number, handle);
        } else {
            self.put(now, number, handle, false);
        }
    }

    /// Puts a packet on a link. A copy that the link has made itself does not arrive at it.
    #[inline(always)]
    fn put(&mut self, now: Moment, number: usize, handle: Handle, copy: bool) {
        let Port { link, meter } = &mut self.ports[number];
        let common = &mut self.commons[link.common as usize];
        let measured = &*self.measured;
        if !copy {
            meter.arrived(measured, now.at);
            if meter.counts_by_flow() {
                arrived_of_flow(meter, measured, now.at, self.packets.get(handle));
            }
        }
        if O::HOPS {
            // Who looks at the queue shall see it as it is.
            link.settle(common, &mut self.packets, now);
            let packet = self.packets.get(handle);
            let hop = OfferedHop { slot: handle.place(), link: number, queue: link.waiting().0, packet };
            self.observer.hop_offered(now.at, &hop);
        }
        let uncounted = if O::HOPS { 0 } else { meter.peak() };
        let mut begun = None;
        let offer = link.offer(
            common,
            &mut self.packets,
            &mut self.events.places,
            now,
            handle,
            uncounted,
            |_, transmission| {
                begun = Some(transmission);
            },
        );
        if O::WATCHES && offer != Offer::Dropped(DropCause::Channel) {
            self.observer.link_event(now.at, LinkEvent::Enqueue, number, self.packets.get(handle));
        }
        if let Some(transmission) = &begun {
            note(meter, measured, &self.packets, transmission);
            if O::HOPS {
                let Transmission { packet, start, end, .. } = transmission;
                self.observer.hop_transmitted(packet.place(), *start, *end);
            }
            // Watched links make events of all other transmissions: this is the newcomer's, which a queue may have marked for it.
            if O::WATCHES && offer != Offer::Decided {
                self.observer.link_event(now.at, LinkEvent::Dequeue, number, self.packets.get(transmission.packet));
            }
        }
        meter.queue_seen(measured, now.at, link.waiting().0 as u32);
        if let Some(average) = common.average() {
            meter.red_average(measured, now.at, average);
            self.observer.average(now.at, number, average);
        }
        if self.departures {
            schedule_departure(link, common, number, &mut self.events);
        }
        schedule_arrival(link, number, &mut self.events);
        if offer == Offer::Decided {
            self.decided(now.at, number);
            if O::WATCHES
                && let Some(transmission) = &begun
            {
                self.observer.link_event(now.at, LinkEvent::Dequeue, number, self.packets.get(transmission.packet));
            }
        } else if offer != Offer::Accepted {
            self.not_just_accepted(now.at, number, handle, offer);
        }
    }

    /// A link's transmission ends.
    pub(crate) fn departure(&mut self, now: Moment, number: usize) {
        let Port { link, .. } = &mut self.ports[number];
        let common = &mut self.commons[link.common as usize];
        link.departure = Departure::Idle;
        if link.next_departure(common).is_some_and(|at| at <= now) {
            let mut begun = None;
            link.depart(common, &mut self.packets, &mut self.events.places, |_, transmission| {
                begun = Some(transmission);
            });
            if common.has_decided() {
                self.decided(now.at, number);
            }
            if let Some(transmission) = &begun {
                note(&mut self.ports[number].meter, &self.measured, &self.packets, transmission);
                if O::HOPS {
                    let Transmission { packet, start, end, .. } = transmission;
                    self.observer.hop_transmitted(packet.place(), *start, *end);
                }
                if O::WATCHES {
                    self.observer.link_event(now.at, LinkEvent::Dequeue, number, self.packets.get(transmission.packet));
                }
            }
        }
        let link = &mut self.ports[number].link;
        schedule_departure(link, &self.commons[link.common as usize], number, &mut self.events);
        schedule_arrival(link, number, &mut self.events);
    }

    /// A packet reaches the far end of a link: it is passed on, or returned if that was its last.
    #[inline]
    pub(crate) fn arrival(&mut self, now: Moment, number: usize) -> Option<Handle> {
        let link = &mut self.ports[number].link;
        link.arrival_pending = false;
        if link.is_plain() {
            let handle = link.arrive_plain(&mut self.packets)?;
            schedule_arrival(link, number, &mut self.events);
            self.packet_hops += 1;
            let packet = self.packets.get_mut(handle);
            packet.place += 1;
            let next = self.routes.link_at(packet.place);
            if next == Routes::END {
                return Some(handle);
            }
            let next = next as usize;
            if self.ports[next].link.is_plain() {
                self.offer_plain(now, next, handle);
            } else {
                self.offer_any(now, next, handle);
            }
            return None;
        }
        let delivery = link.arrive(&mut self.commons[link.common as usize], &mut self.packets, now);
        schedule_arrival(link, number, &mut self.events);
        let handle = match delivery? {
            Delivery::Arrived(handle) => handle,
            Delivery::Reordered(handle) => {
                self.ports[number].meter.reordered(&self.measured, now.at);
                handle
            }
            Delivery::Lost(handle) => {
                self.drop(now.at, number, handle, DropCause::Channel, LinkEvent::Drop);
                return None;
            }
        };
        self.packet_hops += 1;
        if O::WATCHES {
            self.observer.link_event(now.at, LinkEvent::Receive, number, self.packets.get(handle));
        }
        let packet = self.packets.get_mut(handle);
        packet.place += 1;
        if self.routes.link_at(packet.place) == Routes::END {
            // A host that takes time says first whether it has room.
            if O::HOPS && self.host_of(number).is_none() {
                self.came_to_end(now.at, handle);
            }
            return Some(handle);
        }
        self.came_to_end(now.at, handle);
        self.offer(now, handle);
        None
    }

    /// A packet has come to the far end of a link.
    #[inline]
    pub(crate) fn came_to_end(&mut self, now: Instant, handle: Handle) {
        if O::HOPS {
            self.observer.hop_ended(now, handle.place(), None);
        }
    }

    /// A packet goes on, on the route that starts at `place`.
    pub(crate) fn go_on(&mut self, now: Moment, handle: Handle, place: u32) {
        self.packets.get_mut(handle).place = place;
        self.offer(now, handle);
    }

    /// Where the route that starts at `place` ends.
    pub(crate) fn end_of_route(&self, mut place: u32) -> u32 {
        while self.routes.link_at(place) != Routes::END {
            place += 1;
        }
        place
    }

    pub(crate) fn packet_mut(&mut self, handle: Handle) -> &mut Packet {
        self.packets.get_mut(handle)
    }

    pub(crate) fn packet(&self, handle: Handle) -> &Packet {
        self.packets.get(handle)
    }

    /// The packet has reached its end and is no more. `goodput` bytes of it were of use.
    #[inline(always)]
    pub(crate) fn delivered(&mut self, now: Instant, handle: Handle, goodput: u32) {
        let packet = self.packets.get(handle);
        if self.copies && self.twins.arrives(packet.uid) {
            return self.arrived_again(now, handle);
        }
        if packet.forward {
            let received = flow_packet(packet);
            self.flow_meters[packet.flow.0 as usize].received(now, &received, goodput);
            if O::TELLS && received.deadline.is_some_and(|deadline| deadline < now) {
                self.tell_late(now, handle);
            }
        }
        self.ended.delivered += 1;
        self.packets.remove(handle);
    }
}

impl<O: Observer> Network<O> {
    /// A packet has come after its deadline: out of the way of those that have none.
    #[cold]
    #[inline(never)]
    fn tell_late(&mut self, now: Instant, handle: Handle) {
        let packet = self.packets.get(handle);
        if let Some(data) = packet.body.data() {
            self.observer.late(now, now.since(data.deadline), packet);
        }
    }
}

#[inline(always)]
fn flow_packet(packet: &Packet) -> FlowPacket {
    let (kind, deadline) = media(&packet.body);
    FlowPacket { sent_at: packet.sent, wire_bytes: packet.size, kind, deadline }
}

/// What a packet carries of media, and until when that is of use.
#[inline]
fn media(body: &Body) -> (MediaKind, Option<Instant>) {
    body.data().map_or((MediaKind::Data, None), |data| (data.kind, unless_far(data.deadline)))
}

pub(crate) fn unless_far(deadline: Instant) -> Option<Instant> {
    (deadline != Instant::FAR_FUTURE).then_some(deadline)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With thousands of links, memory is what takes the time.
    #[test]
    fn a_port_is_two_cache_lines_and_a_flow_meter_three() {
        assert_eq!((size_of::<Port>(), size_of::<FlowMeter>()), (128, 192));
    }
}
