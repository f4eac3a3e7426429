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
    /// By link: whether the flow's packets start there, and whether they end there.
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
            scenario.flows.get(flow).map_or((false, false), |flow| (link.from == flow.from, link.to == flow.to))
        };
        let ends = scenario.links.iter().map(ends).collect();
        Self { flow, ends, uids: Vec::new(), all: Vec::new(), round_trips: Vec::new() }
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
            LinkEvent::Enqueue | LinkEvent::Lost if starts && self.all.len() < MOST_PACKETS => {
                self.uids.push(packet.uid);
                self.all.push(Opportunity { at: now, arrives: None });
            }
            LinkEvent::Receive if ends => {
                let index = self.uids.binary_search(&packet.uid).ok();
                if let Some(opportunity) = index.and_then(|index| self.all.get_mut(index)) {
                    opportunity.arrives = Some(now);
                }
            }
            _ => {}
        }
    }

    fn round_trip(&mut self, at: Instant, flow: usize, trip: RoundTrip) {
        if flow == self.flow {
            self.round_trips.push((at, trip));
        }
    }
}
