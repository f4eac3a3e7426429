//! Where a scenario's flows go, without running it.

use crate::routes::Routes;
use crate::simulation::setup::start;
use headway_scenario::Scenario;
use headway_units::Instant;

/// A flow's way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// When the flow starts in this run.
    pub start: Instant,
    /// The links that its data cross, in order: indices into [`Scenario::links`]. The detour that an attacker makes them take is left out.
    pub links: Vec<usize>,
}

/// The way of each flow, in the scenario's order; none of any flow if there is no way for one.
#[must_use]
pub fn ways(scenario: &Scenario) -> Option<Vec<Way>> {
    let links: Vec<_> = scenario.links.iter().map(|link| (link.from, link.to)).collect();
    let pairs: Vec<_> = scenario.flows.iter().map(|flow| (flow.from, flow.to)).collect();
    let (routes, places) = Routes::find(scenario.nodes.len(), &links, &pairs).ok()?;
    let of_flow = |(flow, place): (&headway_scenario::Flow, u32)| {
        let links = (place..).map(|place| routes.link_at(place)).take_while(|link| *link != Routes::END);
        Way { start: start(scenario, flow), links: links.map(|link| link as usize).collect() }
    };
    Some(scenario.flows.iter().zip(places).map(of_flow).collect())
}
