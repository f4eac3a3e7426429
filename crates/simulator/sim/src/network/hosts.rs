//! Hosts with processing time, between the last link of a route and the flow.

use super::Network;
use crate::observe::{Observer, Place};
use headway_engine::{Actor, Class, Moment, Ties};
use headway_link::{Handle, Host, Ports};
use headway_record::{HostMeter, HostSummary};
use headway_scenario::Scenario;
use headway_units::{DropCause, Instant, Random};

/// Hosts of a scenario. Both lists are empty without hosts.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    all: Vec<HostEntry>,
    /// Index of the host at the far end of each link, if any.
    of_link: Vec<Option<u32>>,
}

#[derive(Debug)]
struct HostEntry {
    node: usize,
    host: Host<Arrived>,
    meter: HostMeter,
    /// Distinguishes its events from those of other hosts, with drawn ties.
    salt: u32,
    /// Whether the event queue has an event of this host: at the end of its delivery, or earlier if the end was
    /// postponed.
    pending: bool,
}

#[derive(Clone, Copy, Debug)]
struct Arrived {
    packet: Handle,
    at: Instant,
}

impl Hosts {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let mut of_node = vec![None; scenario.nodes.len()];
        let mut all = Vec::new();
        let hosts = scenario.hosts.iter().zip(&scenario.nodes).zip(&mut of_node).enumerate();
        for (node, ((options, name), of_node)) in hosts {
            let Some(options) = options else { continue };
            *of_node = Some(all.len() as u32);
            let salt = Random::new(scenario.seed, &format!("host {name} ties")).bits() as u32;
            all.push(HostEntry { node, host: Host::new(options), meter: HostMeter::default(), salt, pending: false });
        }
        let of_link = |link: &headway_scenario::Link| of_node.get(link.to).copied().flatten();
        let of_link = if all.is_empty() { Vec::new() } else { scenario.links.iter().map(of_link).collect() };
        Self { all, of_link }
    }

    pub(super) fn packets(&self) -> usize {
        self.all.iter().map(|entry| entry.host.packets()).sum()
    }
}

impl<O: Observer> Network<O> {
    /// Returns the host with processing time at the far end of a link, if any.
    #[inline(always)]
    pub(crate) fn host_of(&self, link: usize) -> Option<usize> {
        self.hosts.of_link.get(link).copied().flatten().map(|host| host as usize)
    }

    /// Passes a packet at the end of its route to a host. Call [`leave_host`](Self::leave_host) first.
    pub(crate) fn enter_host(&mut self, now: Moment, number: usize, packet: Handle) {
        let HostEntry { node, host, meter, .. } = &mut self.hosts.all[number];
        meter.arrived(&self.measured, now.at);
        if let Err(place) = host.arrive(now.at, Arrived { packet, at: now.at }) {
            meter.dropped(&self.measured, now.at, place);
            if O::WATCHES {
                let Ports { packets, handler, .. } = &mut self.ports;
                handler.observer.host_event(now.at, false, packets.get(packet));
            }
            if O::HOPS {
                self.ports.handler.observer.hop_ended(now.at, packet.place(), Some(DropCause::Host));
            }
            let place = Place::Node(*node);
            self.take(now.at, place, packet, DropCause::Host);
        } else {
            self.hop_ended(now.at, packet);
        }
        self.schedule_host(now, number);
    }

    /// Handles the event of a host, which may be too early if the delivery was postponed.
    pub(crate) fn host_fired(&mut self, number: usize) {
        self.hosts.all[number].pending = false;
    }

    /// Returns the packet that a host has delivered by now, if any.
    pub(crate) fn leave_host(&mut self, now: Moment, number: usize) -> Option<Handle> {
        let HostEntry { host, meter, .. } = &mut self.hosts.all[number];
        let delivered = host.deliver(now.at);
        if let Some(Arrived { packet, at }) = delivered {
            meter.delivered(&self.measured, at, now.at, host.packets() == 0);
            if O::WATCHES {
                let Ports { packets, handler, .. } = &mut self.ports;
                handler.observer.host_event(now.at, true, packets.get(packet));
            }
        }
        self.schedule_host(now, number);
        delivered.map(|arrived| arrived.packet)
    }

    /// Schedules the end of a host's delivery. A pending event is never later; when it fires, it is rescheduled.
    fn schedule_host(&mut self, now: Moment, number: usize) {
        let HostEntry { host, salt, pending, .. } = &mut self.hosts.all[number];
        if *pending {
            return;
        }
        let Some(at) = host.poll_timeout() else { return };
        *pending = true;
        // Deliveries end at whole nanoseconds.
        let sum_s = at.as_secs_f64();
        let at = match self.ports.events.ties {
            Ties::Scheduled => Moment { at, sum_s, turn: self.ports.events.places.next() },
            Ties::Drawn => Moment::drawn(at, sum_s, 0.0, Class::Host, *salt),
        };
        // Not before now, including within the nanosecond.
        self.ports.events.push(at.max(now), Actor::new(Class::Host, number));
    }

    /// Returns the summaries of all hosts up to `end`, in the order of nodes, with names from `nodes`.
    pub(crate) fn closed_host_meters(&self, nodes: &[String], end: Instant) -> Vec<HostSummary> {
        let all = self.hosts.all.iter();
        all.map(|entry| entry.meter.summary(&self.measured, nodes[entry.node].clone(), end)).collect()
    }
}
