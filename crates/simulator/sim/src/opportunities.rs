//! Send opportunities of a flow's rate controller, and arrivals of the packets sent.

use crate::observe::{LinkEvent, Observer, RoundTrip};
use crate::packet::{Body, Packet};
use crate::yardstick::MAX_PACKETS;
use headway_bound::Opportunity;
use headway_scenario::Scenario;
use headway_units::Instant;

/// Records the opportunities of one saturated flow.
#[derive(Debug)]
pub(crate) struct Opportunities {
    flow: usize,
    /// By link: whether the flow's packets enter the network there, and whether they leave it there.
    ends: Vec<(bool, bool)>,
    /// Numbers of the packets in the run, in the order of sending.
    uids: Vec<u64>,
    pub(crate) all: Vec<Opportunity>,
    /// Round-trip times, each with the time of its measurement.
    pub(crate) round_trips: Vec<(Instant, RoundTrip)>,
}

impl Opportunities {
    pub(crate) fn new(scenario: &Scenario, flow: usize) -> Self {
        let ends = |link: &headway_scenario::Link| {
            let at_once = scenario.hosts.get(link.to).is_none_or(Option::is_none);
            scenario
                .flows
                .get(flow)
                .map_or((false, false), |flow| (link.from == flow.from, link.to == flow.to && at_once))
        };
        let ends = scenario.links.iter().map(ends).collect();
        Self { flow, ends, uids: Vec::new(), all: Vec::new(), round_trips: Vec::new() }
    }

    /// Records an arrival, if the packet used a recorded opportunity.
    fn arrives(&mut self, now: Instant, packet: &Packet) {
        let index = self.uids.binary_search(&packet.uid).ok();
        if let Some(opportunity) = index.and_then(|index| self.all.get_mut(index)) {
            // The first of several copies counts.
            opportunity.arrives.get_or_insert(now);
        }
    }
}

fn has_data(body: &Body) -> bool {
    match body {
        Body::Numbered(datagram) => datagram.data.payload > 0,
        Body::Dccp(packet) => packet.data.payload > 0,
        Body::Datagram(_) | Body::Tcp(_) | Body::Report(_) | Body::Raw(_) | Body::External(_) => false,
    }
}

impl Observer for Opportunities {
    const WATCHES: bool = true;

    fn link_event(&mut self, now: Instant, event: LinkEvent, link: usize, packet: &Packet) {
        if packet.flow.0 as usize != self.flow || !packet.forward || !has_data(&packet.body) {
            return;
        }
        let (starts, ends) = self.ends.get(link).copied().unwrap_or_default();
        match event {
            LinkEvent::Enqueue | LinkEvent::Lost
                if starts && self.all.len() < MAX_PACKETS && self.uids.last() != Some(&packet.uid) =>
            {
                self.uids.push(packet.uid);
                self.all.push(Opportunity { at: now, arrives: None });
            }
            LinkEvent::Receive if ends => self.arrives(now, packet),
            _ => {}
        }
    }

    fn host_event(&mut self, now: Instant, delivered: bool, packet: &Packet) {
        if delivered && packet.flow.0 as usize == self.flow && packet.forward {
            self.arrives(now, packet);
        }
    }

    fn round_trip(&mut self, at: Instant, flow: usize, trip: RoundTrip) {
        if flow == self.flow {
            self.round_trips.push((at, trip));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simulation;
    use headway_units::{DropCause, Duration};

    /// A link delay of 10 ms and a host delay of 5 ms. Opportunities whose packets the host drops have no arrival.
    #[test]
    fn host_delay_is_part_of_the_path_delay() {
        let text = r#"
            duration = "10s"
            [[node]]
            name = "b"
            host = { arrival = "0s", delivery = "5ms", queue = "3packets" }
            [[link]]
            between = ["a", "b"]
            rate = "100Mbps"
            delay = "10ms"
            [[flow]]
            name = "f"
            from = "a"
            to = "b"
            transport = { kind = "tfrc" }
            source = { kind = "ftp" }
        "#;
        let scenario = headway_scenario::load("host.toml", text, &[], &headway_scenario::NoFiles).unwrap().scenario;
        let mut simulation = Simulation::new(&scenario, Opportunities::new(&scenario, 0)).unwrap();
        while !simulation.run(u64::MAX).unwrap() {}
        let record = simulation.finish();
        let all = &record.observer.all;
        let path_delays: Vec<_> = all.iter().filter_map(|one| Some(one.arrives?.since(one.at))).collect();
        let flow = &record.summary.flows[0];
        assert_eq!(path_delays.len() as u64, flow.received_packets);
        let dropped = flow.lost_packets.of(DropCause::Host);
        assert!(dropped > 10 && all.len() - path_delays.len() == (dropped + flow.in_flight_packets) as usize);
        assert!(path_delays.iter().all(|delay| *delay > Duration::from_millis(15)), "{:?}", path_delays.iter().min());
    }
}
