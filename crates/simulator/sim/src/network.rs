//! The network between the endpoints of flows: ports, routes, hosts, and the packets in transit.

pub(crate) mod accounts;
mod duplicates;
mod fates;
mod fetch;
mod hosts;
mod judged;

use crate::observe::{Observer, Place, RoundTrip};
use crate::packet::{Body, Envelope, Packet};
use crate::routes::Routes;
use crate::transport::ExternalPacket;
use fates::{Fates, flow_packet, media};
pub(crate) use fates::{MAX_PACKETS, finite_deadline};
use headway_engine::{EventQueue, Moment};
use headway_link::{Handle, Ports};
use headway_record::{FlowMeter, LossClassificationSummary, Measured, PhaseMeter};
use headway_scenario::{FlowDscp, Scenario};
use headway_units::{DropCause, Dscp, FlowId, Instant, MediaKind};
use hosts::Hosts;
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct Network<O> {
    pub(crate) ports: Ports<Packet, Fates<O>>,
    routes: Routes,
    hosts: Hosts,
    measured: Arc<Measured>,
    /// DSCPs of each flow; empty if all are the default.
    dscp: Vec<FlowDscp>,
    next_uid: u64,
    packet_hops: u64,
}

impl<O: Observer> Network<O> {
    pub(crate) fn new(scenario: &Scenario, routes: Routes, observer: O) -> Self {
        let measured = Measured::between(Instant::ZERO + scenario.measure_from, Instant::ZERO + scenario.duration);
        let mut ports = Ports::new(scenario.ties, &measured, Fates::new(scenario, &measured, observer));
        for link in &scenario.links {
            ports.add(&link.config, scenario.seed, &link.name, link.by_flow);
        }
        ports.set_hosts(&scenario.flows.iter().map(|flow| (flow.from as u32, flow.to as u32)).collect());
        let dscp: Vec<_> = scenario.flows.iter().map(|flow| flow.dscp).collect();
        Self {
            ports,
            routes,
            hosts: Hosts::new(scenario),
            measured,
            dscp: if dscp.iter().all(|dscp| *dscp == FlowDscp::default()) { Vec::new() } else { dscp },
            next_uid: 0,
            packet_hops: 0,
        }
    }

    #[inline(always)]
    pub(crate) fn events(&mut self) -> &mut EventQueue {
        &mut self.ports.events
    }

    #[inline(always)]
    pub(crate) fn observer(&mut self) -> &mut O {
        &mut self.ports.handler.observer
    }

    #[inline(always)]
    pub(crate) fn flow_meter(&mut self, flow: FlowId) -> &mut FlowMeter {
        &mut self.ports.handler.flow_meters[flow.0 as usize]
    }

    /// Returns the meter of a flow's phases, if the run has any.
    pub(crate) fn phase_meter(&self, flow: FlowId) -> Option<&PhaseMeter> {
        self.ports.handler.phases.get(flow.0 as usize)
    }

    pub(crate) fn flow_meters(&self) -> &[FlowMeter] {
        &self.ports.handler.flow_meters
    }

    #[inline(always)]
    pub(crate) fn copies(&self) -> bool {
        self.ports.handler.copies
    }

    #[inline(always)]
    pub(crate) fn fates(&mut self) -> &mut Fates<O> {
        &mut self.ports.handler
    }

    #[inline(always)]
    pub(crate) fn sent_packets(&self) -> u64 {
        self.next_uid
    }

    pub(crate) fn packet_hops(&self) -> u64 {
        self.packet_hops
    }

    /// Returns when a packet was first refused because of [`MAX_PACKETS`]. The run is invalid from then on.
    #[inline]
    pub(crate) fn overflowed(&self) -> Option<Instant> {
        self.ports.handler.overflowed
    }

    pub(crate) fn round_trip(&mut self, now: Instant, flow: FlowId, trip: RoundTrip) {
        self.flow_meter(flow).rtt(now, trip.sample);
        if O::WATCHES || O::FLOW_EVENTS {
            self.observer().round_trip(now, flow.0 as usize, trip);
        }
    }

    /// Sends a packet along the route that starts at `place`. Inlined to write the packet only once, into its slot.
    #[inline(always)]
    pub(crate) fn inject(&mut self, now: Moment, flow: FlowId, place: u32, forward: bool, envelope: Envelope) {
        if self.ports.packets.alive() >= MAX_PACKETS {
            self.fates().overflowed.get_or_insert(now.at);
            return;
        }
        let uid = self.next_uid;
        self.next_uid += 1;
        let Envelope { size, ecn, body } = envelope;
        let dscp = self.dscp.get(flow.0 as usize).map_or(Dscp::CS0, |dscp| dscp.of(media(&body).0));
        let packet = Packet { uid, flow, size, ecn, dscp, forward, place, sent: now.at, body };
        if forward {
            self.flow_meter(flow).sent(&flow_packet(&packet));
        }
        let handle = self.ports.packets.insert(packet);
        self.offer(now, handle);
    }

    /// Sends a packet of an endpoint outside the simulation, with its own DSCP.
    #[cold]
    pub(crate) fn inject_external(&mut self, now: Moment, place: u32, packet: ExternalPacket) {
        let ExternalPacket { flow, forward, ecn, dscp, bytes, .. } = packet;
        let (flow, size) = (FlowId(flow as u32), bytes.len() as u32);
        if self.ports.packets.alive() >= MAX_PACKETS {
            self.fates().overflowed.get_or_insert(now.at);
            return;
        }
        let uid = self.next_uid;
        self.next_uid += 1;
        let body = Body::External(bytes);
        let packet = Packet { uid, flow, size, ecn, dscp, forward, place, sent: now.at, body };
        if forward {
            self.flow_meter(flow).sent(&flow_packet(&packet));
            self.flow_meter(flow).written(MediaKind::Data, None);
        }
        let handle = self.ports.packets.insert(packet);
        self.offer(now, handle);
    }

    #[inline(never)]
    fn offer(&mut self, now: Moment, handle: Handle) {
        let number = self.routes.link_at(self.packet(handle).place) as usize;
        self.ports.offer(now, number, handle);
    }

    /// Handles an arrival at the far end of a link: offers the packet to the next port, or returns it at the route's
    /// end.
    #[inline(always)]
    pub(crate) fn arrived(&mut self, now: Moment, number: usize) -> Option<Handle> {
        let handle = self.ports.arrived(now, number)?;
        self.packet_hops += 1;
        let packet = self.ports.packets.get_mut(handle);
        packet.place += 1;
        let next = self.routes.link_at(packet.place);
        if next == Routes::END {
            // At a host with processing time, the hop ends when the host accepts the packet.
            if O::HOPS && self.host_of(number).is_none() {
                self.hop_ended(now.at, handle);
            }
            return Some(handle);
        }
        self.hop_ended(now.at, handle);
        self.ports.offer(now, next as usize, handle);
        None
    }

    #[inline]
    pub(crate) fn hop_ended(&mut self, now: Instant, handle: Handle) {
        if O::HOPS {
            self.observer().hop_ended(now, handle.place(), None);
        }
    }

    /// Forwards a packet along the route that starts at `place`.
    pub(crate) fn forward(&mut self, now: Moment, handle: Handle, place: u32) {
        self.packet_mut(handle).place = place;
        self.offer(now, handle);
    }

    pub(crate) fn end_of_route(&self, mut place: u32) -> u32 {
        while self.routes.link_at(place) != Routes::END {
            place += 1;
        }
        place
    }

    pub(crate) fn packet_mut(&mut self, handle: Handle) -> &mut Packet {
        self.ports.packets.get_mut(handle)
    }

    #[inline]
    pub(crate) fn packet(&self, handle: Handle) -> &Packet {
        self.ports.packets.get(handle)
    }

    /// Counts and removes a packet at the end of its route. `goodput` is its number of new application bytes.
    #[inline(always)]
    pub(crate) fn delivered(&mut self, now: Instant, handle: Handle, goodput: u32) {
        let Ports { packets, handler, .. } = &mut self.ports;
        handler.delivered(now, packets.get(handle), goodput);
        packets.remove(handle);
    }

    /// Removes a packet dropped by a host or an attacker. The record counts the latter as a loss in the channel.
    pub(crate) fn take(&mut self, now: Instant, place: Place, handle: Handle, cause: DropCause) {
        let Ports { packets, handler, .. } = &mut self.ports;
        handler.lost(now, place, packets.get(handle), cause);
        packets.remove(handle);
    }

    pub(crate) fn judged_summary(&self, flow: FlowId) -> Option<LossClassificationSummary> {
        self.ports.handler.judged_summary(flow)
    }

    pub(crate) fn into_observer(self) -> O {
        self.ports.handler.observer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With thousands of flows, memory access dominates the run time.
    #[test]
    fn a_flow_meter_is_three_cache_lines() {
        assert_eq!(size_of::<FlowMeter>(), 192);
    }
}
