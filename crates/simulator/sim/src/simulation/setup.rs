//! From a scenario to a run at time zero.

use super::{MEASUREMENT, Simulation};
use crate::addresses::address;
use crate::attacker::{Attacker, AttackerRoutes};
use crate::clocks::FlowClocks;
use crate::fingerprint::Fingerprint;
use crate::flow::{Driver, Flow};
use crate::network::Network;
use crate::observe::{Observer, Setbacks};
use crate::routes::Routes;
use crate::series::Series;
use crate::transport::{Setup, Strangers, Transport, answers, stream};
use headway_attack::AttackOptions;
use headway_engine::{Actor, Class, MAX_ACTORS, Moment, Ties, Timer};
use headway_media::{Context, Source};
use headway_scenario::{Scenario, Start};
use headway_units::{Clock, Duration, FlowId, Instant, OptionError};

/// Why a scenario cannot be run. A checked scenario file leaves none of these.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// No links lead from one node to the other.
    #[error("flow \"{flow}\": there is no route from \"{from}\" to \"{to}\"")]
    NoRoute {
        /// The flow.
        flow: String,
        /// Where it starts.
        from: String,
        /// Where it should go.
        to: String,
    },
    /// The source cannot be started.
    #[error("flow \"{flow}\": source: {error}")]
    Source {
        /// The flow.
        flow: String,
        /// Why.
        error: OptionError,
    },
    /// More links or flows than the event queue can name.
    #[error("the scenario has more than {MAX_ACTORS} links or flows")]
    TooLarge,
}

impl<'a, O: Observer> Simulation<'a, O> {
    /// Sets a scenario up at time zero.
    ///
    /// # Errors
    /// See [`SetupError`].
    pub fn new(scenario: &'a Scenario, observer: O) -> Result<Self, SetupError> {
        if scenario.links.len().max(scenario.flows.len()) >= MAX_ACTORS {
            return Err(SetupError::TooLarge);
        }
        let links: Vec<_> = scenario.links.iter().map(|link| (link.from, link.to)).collect();
        let mut pairs: Vec<_> = scenario.flows.iter().flat_map(ways).collect();
        for attacker in &scenario.attackers {
            let (at, target) = (attacker.at, attacker.target);
            let flow = &scenario.flows[target];
            if attacker.on_path {
                // Its packets come here first, and go on from here.
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
            if O::TELLS
                && let Some(queue) = flow.transport.ends_mut().send_queue()
            {
                queue.tells_unsent();
            }
            flow.set_off(network.events());
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

/// The routes that a flow needs: towards its sink, and back. Where nothing goes back, a route from a node to itself is no
/// links.
fn ways(flow: &headway_scenario::Flow) -> [(usize, usize); 2] {
    let back = if answers(&flow.transport) { (flow.to, flow.from) } else { (flow.from, flow.from) };
    [(flow.from, flow.to), back]
}

/// The attackers with their routes, of which each has three: to the server, to the client, and from the server.
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
        // What answers made-up addresses goes to whoever makes them up: a flow has one flood at most.
        let floods = matches!(described.attack, AttackOptions::Flood(_));
        if let Some((_, server)) = flow.transport.ends_mut().connection()
            && (floods || server.strangers.is_none())
        {
            let [client, own] = [described_flow.from, described_flow.to].map(address);
            server.strangers = Some(Box::new(Strangers::new(client, own, places[2])));
        }
        let mut attacker = Attacker::new(scenario, number, routes);
        attacker.set_off(network);
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

/// What a flow begins with, wherever it runs.
#[derive(Debug)]
pub struct Beginning {
    /// When it starts in this run, in true time.
    pub start: Instant,
    /// The clocks of its ends, if one of them has its own. Else both go by the true time.
    pub clocks: Option<FlowClocks>,
    /// Its source, by the clock of the sending end.
    pub source: Source,
}

impl Beginning {
    /// That of this flow of the scenario.
    ///
    /// # Errors
    /// The source cannot be started.
    pub fn of(scenario: &Scenario, flow: &headway_scenario::Flow) -> Result<Self, SetupError> {
        let (start, clocks) = (start(scenario, flow), FlowClocks::of(scenario, flow));
        // Its first tick is not before its start.
        let of_source = |at| clocks.map_or(at, |clocks| clocks.sender.local(at));
        // By the order of scheduling the stop is an event, which cancels all later ones.
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
    let Beginning { start, clocks, source } = Beginning::of(scenario, flow)?;
    let read = |clock: fn(&FlowClocks) -> &Clock| clocks.as_ref().map_or(start, |clocks| clock(clocks).read(start));
    let starts = [read(|clocks| &clocks.sender), read(|clocks| &clocks.receiver)];
    let setup = Setup { flow, id, starts, clocks_agree: clocks.is_none(), seed: scenario.seed };
    let transport = Transport::new(&setup);
    let transport = match clocks {
        Some(clocks) => transport.clocked(clocks),
        None => transport,
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
        told: Setbacks::default(),
        frames: None,
        source_timer: Timer::default(),
        sender_timer: Timer::default(),
        sink_timer: Timer::default(),
    };
    Ok(Flow { transport, driver })
}
