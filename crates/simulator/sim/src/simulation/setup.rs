//! Setup of a run at time zero.

use super::{MEASUREMENT, Simulation};
use crate::addresses::address;
use crate::attacker::{Attacker, AttackerRoutes};
use crate::clocks::FlowClocks;
use crate::fingerprint::Fingerprint;
use crate::flow::{Driver, Flow};
use crate::network::Network;
use crate::observe::{CongestionEvents, Observer};
use crate::routes::Routes;
use crate::series::Series;
use crate::transport::{Setup, SpoofedPeers, Transport, answers, stream};
use headway_attack::AttackOptions;
use headway_engine::{Actor, Class, MAX_ACTORS, Moment, Ties, Timer};
use headway_media::{Context, Source};
use headway_scenario::{Scenario, Start};
use headway_units::{Clock, Duration, FlowId, Instant, OptionError};

/// Error that prevents a run. A scenario that was loaded from a file without errors causes none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// There is no route between two nodes that communicate.
    #[error("flow \"{flow}\": there is no route from \"{from}\" to \"{to}\"")]
    NoRoute {
        /// Name of the flow.
        flow: String,
        /// Node where the route starts.
        from: String,
        /// Node where the route should end.
        to: String,
    },
    /// The source of a flow cannot be started.
    #[error("flow \"{flow}\": source: {error}")]
    Source {
        /// Name of the flow.
        flow: String,
        /// Reason why the source cannot be started.
        error: OptionError,
    },
    /// Programs or the kernel's TCP send the packets of a flow, which [`Simulation::with_external`] permits.
    #[error("flow \"{flow}\" has real programs or the kernel's TCP at its ends: run the scenario with headway lab")]
    External {
        /// Name of the flow.
        flow: String,
    },
    /// The scenario has more links or flows than the event queue supports.
    #[error("the scenario has too many links or flows: expected fewer than {MAX_ACTORS} of each")]
    TooLarge,
}

impl<'a, O: Observer> Simulation<'a, O> {
    /// Creates a run of a scenario at time zero.
    ///
    /// # Errors
    /// See [`SetupError`].
    pub fn new(scenario: &'a Scenario, observer: O) -> Result<Self, SetupError> {
        if let Some(flow) = scenario.flows.iter().find(|flow| flow.transport.external().is_some()) {
            return Err(SetupError::External { flow: flow.name.clone() });
        }
        Self::with_external(scenario, observer)
    }

    /// Creates a run at time zero in which endpoints may be outside the simulation. The caller passes the time and the
    /// packets of these endpoints ([`advance`](Self::advance), [`inject`](Self::inject)).
    ///
    /// # Errors
    /// See [`SetupError`], except [`SetupError::External`].
    pub fn with_external(scenario: &'a Scenario, observer: O) -> Result<Self, SetupError> {
        if scenario.links.len().max(scenario.flows.len()) >= MAX_ACTORS {
            return Err(SetupError::TooLarge);
        }
        let links: Vec<_> = scenario.links.iter().map(|link| (link.from, link.to)).collect();
        let mut pairs: Vec<_> = scenario.flows.iter().flat_map(endpoint_pairs).collect();
        for attacker in &scenario.attackers {
            let (at, target) = (attacker.at, attacker.target);
            let flow = &scenario.flows[target];
            if attacker.on_path {
                // Packets of the flow are routed through the attacker.
                (pairs[2 * target].1, pairs[2 * target + 1].1) = (at, at);
            }
            pairs.extend([(at, flow.to), (at, flow.from), (flow.to, at)]);
        }
        let (routes, places) = Routes::find(scenario.nodes.len(), &links, &pairs).map_err(|no_route| {
            let of_attacker = no_route.pair.checked_sub(2 * scenario.flows.len());
            let flow = of_attacker.map_or(no_route.pair / 2, |pair| scenario.attackers[pair / 3].target);
            let flow = &scenario.flows[flow];
            let (from, to) = pairs[no_route.pair];
            SetupError::NoRoute {
                flow: flow.name.clone(),
                from: scenario.nodes[from].clone(),
                to: scenario.nodes[to].clone(),
            }
        })?;
        let mut network = Network::new(scenario, routes, observer);
        let mut flows = Vec::with_capacity(scenario.flows.len());
        for (number, flow) in scenario.flows.iter().enumerate() {
            let id = FlowId(number as u32);
            let mut flow = new_flow(scenario, flow, id, [places[2 * number], places[2 * number + 1]])?;
            if O::FLOW_EVENTS
                && let Some(queue) = flow.transport.ends_mut().send_queue()
            {
                queue.keep_unsent();
            }
            flow.arm_start(network.events());
            flows.push(flow);
        }
        let of_attackers = places.get(2 * flows.len()..).unwrap_or_default();
        let attackers = attackers(scenario, of_attackers, &mut flows, &mut network);
        if !scenario.measure_from.is_zero() {
            let measure_from = Moment::after_all(Instant::ZERO + scenario.measure_from);
            network.events().push(measure_from, Actor::new(Class::Sample, MEASUREMENT));
        }
        let series = scenario.series.map(|interval| {
            network.events().push(Moment::after_all(Instant::ZERO + interval), Actor::new(Class::Sample, 0));
            Series::new(scenario, &flows, interval)
        });
        Ok(Self {
            scenario,
            now: Instant::ZERO,
            end: Instant::ZERO + scenario.duration,
            done: false,
            external: external(scenario),
            flows,
            attackers,
            network,
            series,
            fingerprint: Fingerprint::default(),
            events: 0,
            samples: 0,
        })
    }
}

/// Returns the indices of the flows whose endpoints are outside the simulation.
fn external(scenario: &Scenario) -> Vec<usize> {
    let flows = scenario.flows.iter().enumerate();
    flows.filter(|(_, flow)| flow.transport.external().is_some()).map(|(number, _)| number).collect()
}

/// Returns the endpoints of a flow's routes, to its sink and back. Without feedback, the second route is empty.
fn endpoint_pairs(flow: &headway_scenario::Flow) -> [(usize, usize); 2] {
    let back = if answers(&flow.transport) { (flow.to, flow.from) } else { (flow.from, flow.from) };
    [(flow.from, flow.to), back]
}

/// Creates the attackers. Each has three routes: to the server, to the client, and from the server.
fn attackers<O: Observer>(
    scenario: &Scenario,
    places: &[u32],
    flows: &mut [Flow],
    network: &mut Network<O>,
) -> Vec<Attacker> {
    let mut attackers = Vec::with_capacity(scenario.attackers.len());
    for ((number, described), places) in scenario.attackers.iter().enumerate().zip(places.chunks_exact(3)) {
        let (described_flow, flow) = (&scenario.flows[described.target], &mut flows[described.target]);
        let path = described
            .on_path
            .then(|| [flow.driver.forward, flow.driver.reverse].map(|place| network.end_of_route(place)));
        let routes = AttackerRoutes { to_server: places[0], to_client: places[1], path };
        // Replies to spoofed addresses go to the node of the flood; a flow has at most one flood.
        let floods = matches!(described.attack, AttackOptions::Flood(_));
        if let Some((_, server)) = flow.transport.ends_mut().connection()
            && (floods || server.spoofed_peers.is_none())
        {
            let [client, own] = [described_flow.from, described_flow.to].map(address);
            server.spoofed_peers = Some(Box::new(SpoofedPeers::new(client, own, places[2])));
        }
        let mut attacker = Attacker::new(scenario, number, routes);
        attacker.arm_start(network);
        attackers.push(attacker);
    }
    attackers
}

pub(crate) fn start(scenario: &Scenario, flow: &headway_scenario::Flow) -> Instant {
    match flow.start {
        Start::At(at) => at,
        Start::Uniform(from, to) => {
            let width = (to - from).as_nanos();
            Instant::ZERO + from + Duration::from_nanos(stream(scenario.seed, flow, "start").below(width))
        }
    }
}

/// Start, clocks and source of a flow, for simulated and real transports.
#[derive(Debug)]
pub struct FlowStart {
    /// Start time in this run, in true time.
    pub start: Instant,
    /// Clocks of the flow's endpoints; `None` if both use true time.
    pub clocks: Option<FlowClocks>,
    /// Source of the flow's data. Its times are those of the sender's clock.
    pub source: Source,
}

impl FlowStart {
    /// Creates the start state of a flow of the scenario.
    ///
    /// # Errors
    /// Returns [`SetupError::Source`] if the source cannot be started.
    pub fn new(scenario: &Scenario, flow: &headway_scenario::Flow) -> Result<Self, SetupError> {
        let (start, clocks) = (start(scenario, flow), FlowClocks::of(scenario, flow));
        // The first tick of the clock is not before the start.
        let of_source = |at| clocks.map_or(at, |clocks| clocks.sender.local(at));
        // With scheduled ties, the stop is an event that cancels all later ones.
        let by_own_clock = matches!(scenario.ties, Ties::Drawn) || flow.transport.controller().is_some();
        let stop = flow.stop.filter(|_| by_own_clock).map(of_source);
        let random = stream(scenario.seed, flow, "source");
        let context = Context { start: of_source(start), stop, random, trace: flow.trace.clone() };
        let source = Source::new(&flow.source, context);
        let source = source.map_err(|error| SetupError::Source { flow: flow.name.clone(), error })?;
        Ok(Self { start, clocks, source })
    }
}

fn new_flow(
    scenario: &Scenario,
    flow: &headway_scenario::Flow,
    id: FlowId,
    [forward, reverse]: [u32; 2],
) -> Result<Flow, SetupError> {
    let FlowStart { start, clocks, source } = FlowStart::new(scenario, flow)?;
    let read = |clock: fn(&FlowClocks) -> &Clock| clocks.as_ref().map_or(start, |clocks| clock(clocks).read(start));
    let starts = [read(|clocks| &clocks.sender), read(|clocks| &clocks.receiver)];
    let setup = Setup { flow, id, starts, clocks_agree: clocks.is_none(), seed: scenario.seed };
    let transport = Transport::new(&setup);
    let transport = match clocks {
        // Programs and the kernel have their own clock.
        Some(clocks) if flow.transport.external().is_none() => transport.clocked(clocks),
        _ => transport,
    };
    let driver = Driver {
        id,
        forward,
        reverse,
        start,
        stop: flow.stop,
        stop_place: 0,
        salt: setup.stream("ties").bits() as u32,
        source,
        counted_before: headway_tcp::Counters::default(),
        reported_events: CongestionEvents::default(),
        frames: None,
        source_timer: Timer::default(),
        sender_timer: Timer::default(),
        sink_timer: Timer::default(),
    };
    Ok(Flow { transport, driver })
}
