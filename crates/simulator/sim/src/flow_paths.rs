//! Paths of a scenario's flows, without running it.

use crate::routes::Routes;
use crate::simulation::setup::start;
use headway_scenario::Scenario;
use headway_units::Instant;

/// Start and path of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowPath {
    /// Start time of the flow in a run with the scenario's seed.
    pub start: Instant,
    /// Links of the path from the sender to the receiver, as indices into [`Scenario::links`], without detours through
    /// attackers.
    pub links: Vec<usize>,
}

/// Returns the path of each flow, in the scenario's order; `None` if any flow has no path.
#[must_use]
pub fn flow_paths(scenario: &Scenario) -> Option<Vec<FlowPath>> {
    let links: Vec<_> = scenario.links.iter().map(|link| (link.from, link.to)).collect();
    let pairs: Vec<_> = scenario.flows.iter().map(|flow| (flow.from, flow.to)).collect();
    let (routes, places) = Routes::find(scenario.nodes.len(), &links, &pairs).ok()?;
    let of_flow = |(flow, place): (&headway_scenario::Flow, u32)| {
        let links = (place..).map(|place| routes.link_at(place)).take_while(|link| *link != Routes::END);
        FlowPath { start: start(scenario, flow), links: links.map(|link| link as usize).collect() }
    };
    Some(scenario.flows.iter().zip(places).map(of_flow).collect())
}
