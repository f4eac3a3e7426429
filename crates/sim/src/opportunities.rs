//! When a flow's rate controller let packets go, and when they came.

use crate::observe::{LinkEvent, Observer};
use crate::packet::{Body, Packet};
use headway_media::bound::Opportunity;
use headway_scenario::Scenario;
use headway_units::{Duration, Instant};

/// A round trip that a controller measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundTrip {
    pub(crate) at: Instant,
    pub(crate) sample: Duration,
    pub(crate) smoothed: Option<Duration>,
}

/// Notes the opportunities of one flow that always has something to send.
#[derive(Debug)]
pub(crate) struct Opportunities {
    flow: usize,
    /// By link: whether the flow's packets start there, and whether they end there.
    ends: Vec<(bool, bool)>,
    /// The packets' numbers in the run, in the order of sending.
    uids: Vec<u64>,
    pub(crate) all: Vec<Opportunity>,
    pub(crate) round_trips: Vec<RoundTrip>,
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
        Body::Numbered(datagram) => datagram.payload > 0,
        Body::Dccp(packet) => packet.payload > 0,
        Body::Datagram(_) | Body::Tcp(_) | Body::Report(_) => false,
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
            LinkEvent::Enqueue if starts => {
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

    fn round_trip(&mut self, at: Instant, flow: usize, sample: Duration, smoothed: Option<Duration>) {
        if flow == self.flow {
            self.round_trips.push(RoundTrip { at, sample, smoothed });
        }
    }
}
