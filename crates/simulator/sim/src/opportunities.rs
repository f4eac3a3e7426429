//! When a flow's rate controller let packets go, and when they came.

use crate::observe::{LinkEvent, Observer, RoundTrip};
use crate::packet::{Body, Packet};
use crate::yardstick::MOST_PACKETS;
use headway_bound::Opportunity;
use headway_scenario::Scenario;
use headway_units::Instant;

/// Notes the opportunities of one flow that always has something to send.
#[derive(Debug)]
pub(crate) struct Opportunities {
    flow: usize,
    /// By link: whether the flow's packets start there, and whether they end there with their arrival.
    ends: Vec<(bool, bool)>,
    /// The packets' numbers in the run, in the order of sending.
    uids: Vec<u64>,
    pub(crate) all: Vec<Opportunity>,
    /// Each with when it was measured.
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

    /// What was not sent as an opportunity is none.
    fn arrives(&mut self, now: Instant, packet: &Packet) {
        let index = self.uids.binary_search(&packet.uid).ok();
        if let Some(opportunity) = index.and_then(|index| self.all.get_mut(index)) {
            // Of copies the first.
            opportunity.arrives.get_or_insert(now);
        }
    }
}

/// Whether it carries data.
fn has_data(body: &Body) -> bool {
    match body {
        Body::Numbered(datagram) => datagram.data.payload > 0,
        Body::Dccp(packet) => packet.data.payload > 0,
        Body::Datagram(_) | Body::Tcp(_) | Body::Report(_) | Body::Raw(_) => false,
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
                if starts && self.all.len() < MOST_PACKETS && self.uids.last() != Some(&packet.uid) =>
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

    /// 10 ms of link, 5 ms of host: an opportunity arrives when the host has delivered it, and never if it drops it.
    #[test]
    fn what_a_host_takes_is_part_of_the_way() {
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
        let ways: Vec<_> = all.iter().filter_map(|one| Some(one.arrives?.since(one.at))).collect();
        let flow = &record.summary.flows[0];
        assert_eq!(ways.len() as u64, flow.received_packets);
        let dropped = flow.lost_packets.of(DropCause::Host);
        assert!(dropped > 10 && all.len() - ways.len() == (dropped + flow.in_flight_packets) as usize);
        assert!(ways.iter().all(|way| *way > Duration::from_millis(15)), "{:?}", ways.iter().min());
    }
}
