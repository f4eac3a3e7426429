//! Asking for memory ahead of the events that will need it.

use super::Network;
use crate::observe::Observer;
use crate::routes::Routes;
use headway_engine::{AHEAD, Actor};
use headway_prefetch::{fetch, fetch_first};
use headway_units::FlowId;

/// From so many ports on, what events need does not fit into a processor's nearest caches: it is fetched ahead of them.
const FAR: usize = 1024;

impl<O: Observer> Network<O> {
    /// Whether what the next events need is likely to be far away.
    #[inline(always)]
    pub(crate) fn is_far(&self) -> bool {
        self.ports.len() >= FAR
    }

    /// The actors of the next events.
    pub(crate) fn ahead(&self) -> [Option<Actor>; AHEAD] {
        self.ports.events.ahead()
    }

    /// Fetches a link at whose far end a packet will arrive.
    pub(crate) fn fetch_port(&self, number: usize) {
        if let Some(port) = self.ports.get(number) {
            fetch_first(port);
        }
    }

    /// Fetches that packet: the link is at hand.
    pub(crate) fn fetch_packet(&self, number: usize) {
        if let Some(handle) = self.ports.get(number).and_then(|port| port.first()) {
            fetch_first(self.ports.packets.get(handle));
        }
    }

    /// Fetches what the packet will need next, as it is at hand: another link, or the meter of the flow that is returned, whose end it reaches.
    pub(crate) fn fetch_next(&self, number: usize) -> Option<FlowId> {
        let packet = self.ports.packets.get(self.ports.get(number)?.first()?);
        let next = self.routes.link_at(packet.place + 1);
        if next != Routes::END {
            fetch(self.ports.get(next as usize)?);
            return None;
        }
        fetch_first(&packet.body);
        fetch(self.ports.handler.flow_meters.get(packet.flow.0 as usize)?);
        Some(packet.flow)
    }

    /// The flow whose end the next packet of this link reaches, and which end, if it does. Else fetches the packet that it will be queued
    /// behind.
    pub(crate) fn fetch_last(&self, number: usize) -> Option<(FlowId, bool)> {
        let packet = self.ports.packets.get(self.ports.get(number)?.first()?);
        let next = self.routes.link_at(packet.place + 1);
        if next == Routes::END {
            return Some((packet.flow, packet.forward));
        }
        fetch_first(self.ports.packets.get(self.ports.get(next as usize)?.last()?));
        None
    }

    /// Fetches the link that a route starts with.
    pub(crate) fn fetch_start(&self, place: u32) {
        if let Some(port) = self.ports.get(self.routes.link_at(place) as usize) {
            fetch(port);
        }
    }
}
