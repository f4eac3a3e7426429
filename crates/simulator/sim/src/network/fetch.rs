//! Prefetches memory for upcoming events.

use super::Network;
use crate::observe::Observer;
use crate::routes::Routes;
use headway_engine::{AHEAD, Actor};
use headway_prefetch::{fetch, fetch_first};
use headway_units::FlowId;

/// Minimum number of ports for prefetching: with fewer, the state fits into the nearest caches.
const PREFETCH_MIN_PORTS: usize = 1024;

impl<O: Observer> Network<O> {
    /// Returns whether prefetching is worthwhile.
    #[inline(always)]
    pub(crate) fn prefetches(&self) -> bool {
        self.ports.len() >= PREFETCH_MIN_PORTS
    }

    pub(crate) fn ahead(&self) -> [Option<Actor>; AHEAD] {
        self.ports.events.ahead()
    }

    pub(crate) fn fetch_port(&self, number: usize) {
        if let Some(port) = self.ports.get(number) {
            fetch_first(port);
        }
    }

    /// Prefetches the next arriving packet of a link that is already in the cache.
    pub(crate) fn fetch_packet(&self, number: usize) {
        if let Some(handle) = self.ports.get(number).and_then(|port| port.first()) {
            fetch_first(self.ports.packets.get(handle));
        }
    }

    /// Prefetches what the next arriving packet accesses: its next link, or the meter of its flow at the end of the
    /// route. Returns the flow in the latter case. Link and packet must already be in the cache.
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

    /// Returns the flow and direction of the link's next packet if it arrives at the end of its route. Otherwise
    /// prefetches the last packet of its next link, after which it is queued.
    pub(crate) fn fetch_last(&self, number: usize) -> Option<(FlowId, bool)> {
        let packet = self.ports.packets.get(self.ports.get(number)?.first()?);
        let next = self.routes.link_at(packet.place + 1);
        if next == Routes::END {
            return Some((packet.flow, packet.forward));
        }
        fetch_first(self.ports.packets.get(self.ports.get(next as usize)?.last()?));
        None
    }

    pub(crate) fn fetch_start(&self, place: u32) {
        if let Some(port) = self.ports.get(self.routes.link_at(place) as usize) {
            fetch(port);
        }
    }
}
