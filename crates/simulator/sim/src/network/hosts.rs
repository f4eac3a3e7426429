//! Hosts whose CPU takes time: between the last link of a packet's way and its flow.

use super::Network;
use crate::observe::{Observer, Place};
use headway_engine::{Actor, Class, Moment, Ties};
use headway_link::{Handle, Host, Ports};
use headway_record::{HostMeter, HostSummary};
use headway_scenario::Scenario;
use headway_units::{DropCause, Instant, Random};

/// Those of a scenario. Both lists are empty in one without.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    all: Vec<Busy>,
    /// For each link the host that it leads to.
    of_link: Vec<Option<u32>>,
}

#[derive(Debug)]
struct Busy {
    node: usize,
    host: Host<Arrived>,
    meter: HostMeter,
    /// Sets its events apart from those of other hosts, where ties are drawn.
    salt: u32,
    /// Whether an event of its own is in the event queue: at the end of its delivery or, if that was put off since, before.
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
            all.push(Busy { node, host: Host::new(options), meter: HostMeter::default(), salt, pending: false });
        }
        let of_link = |link: &headway_scenario::Link| of_node.get(link.to).copied().flatten();
        let of_link = if all.is_empty() { Vec::new() } else { scenario.links.iter().map(of_link).collect() };
        Self { all, of_link }
    }

    /// Packets that they have not delivered yet.
    pub(super) fn packets(&self) -> usize {
        self.all.iter().map(|busy| busy.host.packets()).sum()
    }
}

impl<O: Observer> Network<O> {
    /// The host that a link leads to, if what arrives there takes its time.
    #[inline(always)]
    pub(crate) fn host_of(&self, link: usize) -> Option<usize> {
        self.hosts.of_link.get(link).copied().flatten().map(|host| host as usize)
    }

    /// A packet that has come to the end of its way arrives at a host, from which everything that was due has been [taken](Self::leave_host).
    pub(crate) fn enter_host(&mut self, now: Moment, number: usize, packet: Handle) {
        let Busy { node, host, meter, .. } = &mut self.hosts.all[number];
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

    /// A host's own event has come, which may be too early by now.
    pub(crate) fn host_fired(&mut self, number: usize) {
        self.hosts.all[number].pending = false;
    }

    /// Takes the packet that a host has delivered by now, if there is one.
    pub(crate) fn leave_host(&mut self, now: Moment, number: usize) -> Option<Handle> {
        let Busy { host, meter, .. } = &mut self.hosts.all[number];
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

    /// Puts the end of a host's delivery into the event queue. An event that is there is not later, and is put off when it comes.
    fn schedule_host(&mut self, now: Moment, number: usize) {
        let Busy { host, salt, pending, .. } = &mut self.hosts.all[number];
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
        // Not before now, also within the nanosecond.
        self.ports.events.push(at.max(now), Actor::new(Class::Host, number));
    }

    /// What the hosts' meters say, closed at `end`, in the order of their nodes, which have these names.
    pub(crate) fn closed_host_meters(&self, nodes: &[String], end: Instant) -> Vec<HostSummary> {
        let all = self.hosts.all.iter();
        all.map(|busy| busy.meter.summary(&self.measured, nodes[busy.node].clone(), end)).collect()
    }
}
