//! Runs a scenario to its record.

use crate::attacker::{Attacker, AttackerRoutes};
use crate::event_queue::{Actor, MAX_ACTORS};
use crate::fingerprint::Fingerprint;
use crate::flow::{Flow, Timer, Transport, Udp};
use crate::network::{Conservation, MOST_PACKETS, Network};
use crate::observe::Observer;
use crate::packet::Body;
use crate::routes::Routes;
use crate::series::Series;
use crate::transport::dccp::Strangers;
use crate::transport::{agent, dccp as connection};
use headway_attack::AttackOptions;
use headway_link::Handle;
use headway_media::{Context, Source};
use headway_record::{FlowLabel, Interval, LinkLabel, SeriesWriter, Summary};
use headway_scenario::{Scenario, Start};
use headway_tcp::{Sender, Sink};
use headway_units::{Bytes, Class, Duration, FlowId, Instant, Moment, OptionError, Random, Registry, Ties};

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

/// Why a run cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// More packets are under way than the memory is meant for.
    #[error(
        "at {at} there are {MOST_PACKETS} packets under way, and no more can be kept: \
         lower a rate, a window, a queue's limit or a link's delay, or make packets larger"
    )]
    TooManyPackets {
        /// When.
        at: Instant,
    },
}

/// The number of the [`Class::Sample`] event at which measuring begins; 0 is that of the series.
const MEASUREMENT: usize = 1;

/// So many events come between two looks at whether to go on.
const EVENTS_AT_ONCE: u64 = 16;

/// A run in progress.
#[derive(Debug)]
pub struct Simulation<'a, O = ()> {
    scenario: &'a Scenario,
    now: Instant,
    end: Instant,
    done: bool,
    flows: Vec<Flow>,
    attackers: Vec<Attacker>,
    network: Network<O>,
    series: Option<Series>,
    fingerprint: Fingerprint,
    events: u64,
    /// Flows and links in all samples of the series.
    samples: u64,
}

/// What a run leaves.
#[derive(Debug)]
pub struct Record<O = ()> {
    /// Metrics over the measured interval.
    pub summary: Summary,
    /// Values over time, if the scenario asks for them: what has not been taken yet.
    pub series: Option<SeriesWriter>,
    /// The order of the run's events.
    pub fingerprint: Fingerprint,
    /// Where all packets went.
    pub conservation: Conservation,
    /// Events that the run took.
    pub events: u64,
    /// Who watched.
    pub observer: O,
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
            flow.set_off(&mut network.events);
            flows.push(flow);
        }
        let of_attackers = places.get(2 * flows.len()..).unwrap_or_default();
        let attackers = attackers(scenario, of_attackers, &mut flows, &mut network);
        if !scenario.measure_from.is_zero() {
            let measure_from = Moment::after_all(Instant::ZERO + scenario.measure_from);
            network.events.push(measure_from, Actor::new(Class::Sample, MEASUREMENT));
        }
        let series = scenario.series.map(|interval| {
            network.events.push(Moment::after_all(Instant::ZERO + interval), Actor::new(Class::Sample, 0));
            Series::new(scenario, interval)
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

    /// The backlog of the flow with this number consists of packets of these sizes, again and again.
    pub(crate) fn set_backlog_sizes(&mut self, flow: usize, sizes: Vec<Bytes>) {
        if let Some(queue) = self.flows.get_mut(flow).and_then(Flow::send_queue) {
            queue.set_backlog_sizes(sizes);
        }
    }

    /// The time that the run has reached.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.now
    }

    /// How many packets have crossed a link so far.
    #[must_use]
    pub fn packet_hops(&self) -> u64 {
        self.network.packet_hops
    }

    /// The series so far, if the scenario asks for them: to be [drained](SeriesWriter::drain) now and then.
    pub fn series_mut(&mut self) -> Option<&mut SeriesWriter> {
        self.series.as_mut().map(Series::writer_mut)
    }

    /// Who watches.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.network.observer
    }

    /// Runs to the end, but not much longer than `steps` steps: events, packets sent, flows and links sampled. Returns whether the end is
    /// reached. What happens at the very end of the duration is no longer part of the run.
    ///
    /// # Errors
    /// See [`RunError`]. The record so far can be had, and is not complete.
    pub fn run(&mut self, steps: u64) -> Result<bool, RunError> {
        let enough = self.steps().saturating_add(steps);
        while !self.done && self.steps() < enough && self.network.overflowed().is_none() {
            self.run_some();
        }
        match self.network.overflowed() {
            Some(at) => Err(RunError::TooManyPackets { at }),
            None => Ok(self.done),
        }
    }

    /// A few events, fewer if they send many packets; or all to the end.
    fn run_some(&mut self) {
        let enough = self.network.sent_packets() + EVENTS_AT_ONCE;
        for _ in 0..EVENTS_AT_ONCE {
            let Some((at, actor)) = self.network.events.pop_before(self.end) else {
                self.now = self.end;
                self.done = true;
                return;
            };
            if self.network.is_far() {
                self.fetch_ahead();
            }
            self.now = at.at;
            self.events += 1;
            self.fingerprint.add(at.at, actor);
            self.act(at, actor);
            if self.network.sent_packets() > enough {
                return;
            }
        }
    }

    fn steps(&self) -> u64 {
        self.events + self.network.sent_packets() + self.samples
    }

    /// Fetches what the next events will need, one step for each each time: the link, its packet, what that needs, the flow's end.
    fn fetch_ahead(&self) {
        let network = &self.network;
        for (ahead, actor) in network.events.ahead().into_iter().enumerate() {
            let Some(actor) = actor else { return };
            let number = actor.number();
            match (actor.class(), ahead) {
                (Class::Arrival, 3) => network.fetch_port(number),
                (Class::Arrival, 2) => network.fetch_packet(number),
                (Class::Arrival, 1) => {
                    if let Some(flow) = network.fetch_next(number).and_then(|flow| self.flows.get(flow.0 as usize)) {
                        flow.fetch();
                    }
                }
                (Class::Arrival, _) => {
                    if let Some((flow, forward)) = network.fetch_last(number)
                        && let Some(flow) = self.flows.get(flow.0 as usize)
                    {
                        flow.fetch_end(forward);
                        if !forward {
                            network.fetch_start(flow.forward);
                        }
                    }
                }
                (Class::SenderTimer, 2) => {
                    if let Some(flow) = self.flows.get(number) {
                        flow.fetch();
                    }
                }
                (Class::SenderTimer, 0) => {
                    if let Some(flow) = self.flows.get(number) {
                        flow.fetch_end(false);
                    }
                }
                _ => {}
            }
        }
    }

    fn act(&mut self, now: Moment, actor: Actor) {
        let number = actor.number();
        match actor.class() {
            Class::Arrival => {
                if let Some(handle) = self.network.arrival(now, number) {
                    if !self.attackers.is_empty() && self.attacked(now, handle) {
                        return;
                    }
                    let flow = self.network.packet(handle).flow.0 as usize;
                    self.flows[flow].on_packet(now, handle, &mut self.network);
                }
            }
            Class::Departure => self.network.departure(now, number),
            Class::SenderTimer => {
                let due = self.flows[number].sender_timer.fired();
                self.flows[number].on_sender_timer(now, due, &mut self.network);
            }
            Class::SinkTimer => {
                let due = self.flows[number].sink_timer.fired();
                self.flows[number].on_sink_timer(now, due, &mut self.network);
            }
            Class::Source => {
                let due = self.flows[number].source_timer.fired();
                self.flows[number].on_source(now, due, &mut self.network);
            }
            Class::Sample if number == MEASUREMENT => self.begin_measurement(),
            Class::Sample => self.sample(now),
            Class::Attacker => self.attackers[number].on_timer(now, &mut self.network),
        }
    }

    /// A packet has come to the end of its route, in a run with attackers; whether it was one of theirs, or has come to one.
    #[cold]
    fn attacked(&mut self, now: Moment, handle: Handle) -> bool {
        let packet = self.network.packet(handle);
        let flow = packet.flow.0 as usize;
        for attacker in &mut self.attackers {
            if let Some(way) = attacker.stops(packet) {
                attacker.handle(now, way, handle, &mut self.network);
                return true;
            }
        }
        let Body::Raw(raw) = &packet.body else { return false };
        let attacker = raw.attacker as usize;
        if let Some(struck) = self.flows[flow].on_raw(now, handle, &mut self.network) {
            self.attackers[attacker].struck(&struck);
        }
        true
    }

    /// Packets that attackers hold back.
    fn held(&self) -> usize {
        self.attackers.iter().map(Attacker::held).sum()
    }

    /// What senders count by themselves is counted from here on.
    fn begin_measurement(&mut self) {
        for flow in &mut self.flows {
            if let Transport::Tcp { sender, .. } = &flow.transport {
                flow.counted_before = sender.counters();
            }
        }
    }

    fn sample(&mut self, now: Moment) {
        if let Some(series) = &mut self.series {
            series.sample(now, &self.flows, &mut self.network);
            self.samples += (self.scenario.flows.len() + self.scenario.links.len()) as u64;
            self.network.events.push(Moment::after_all(now.at + series.interval()), Actor::new(Class::Sample, 0));
        }
    }

    /// Where all packets went so far.
    #[must_use]
    pub fn conservation(&self) -> Conservation {
        self.network.conservation(self.held())
    }

    /// Closes the record, at the end of the run or wherever it stands.
    #[must_use]
    pub fn finish(mut self) -> Record<O> {
        let scenario = self.scenario;
        let end = self.now;
        if let Some(series) = &mut self.series {
            // Before anything that happens at the end itself, which is not part of the run.
            let before = Moment::before_all(end);
            series.sample(before, &self.flows, &mut self.network);
        }
        let flows: Vec<_> = self
            .flows
            .iter()
            .zip(&scenario.flows)
            .map(|(flow, described)| {
                let label = FlowLabel {
                    name: described.name.clone(),
                    from: scenario.nodes[described.from].clone(),
                    to: scenario.nodes[described.to].clone(),
                    kind: described.transport.kind().to_owned(),
                };
                let mut summary = self.network.flow_meters[flow.id.0 as usize].summary(label, end);
                if let Transport::Tcp { sender, .. } = &flow.transport {
                    let (counters, before) = (sender.counters(), flow.counted_before);
                    summary.retransmitted_packets = Some(counters.retransmitted - before.retransmitted);
                    summary.timeouts = Some(counters.timeouts - before.timeouts);
                }
                if let Transport::Dccp { client, .. } = &flow.transport {
                    summary.connection_failure = client.failure();
                }
                summary
            })
            .collect();
        let links = scenario
            .links
            .iter()
            .enumerate()
            .map(|(number, link)| {
                let label = LinkLabel {
                    name: link.name.clone(),
                    from: scenario.nodes[link.from].clone(),
                    to: scenario.nodes[link.to].clone(),
                };
                self.network.closed_meter(number, label, end, !self.done)
            })
            .collect();
        let summary = Summary {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            name: scenario.name.clone(),
            seed: scenario.seed,
            complete: self.done,
            // A run that was stopped before it was measured has measured nothing.
            interval: Interval {
                from: scenario.measure_from.min(end.since(Instant::ZERO)).as_secs_f64(),
                to: end.as_secs_f64(),
            },
            jain_index: Summary::fairness(&flows),
            flows,
            links,
            attackers: self.attackers.iter().map(Attacker::summary).collect(),
            packet_hops: self.network.packet_hops,
            fingerprint: format!("{:016x}", self.fingerprint.value()),
        };
        let conservation = self.conservation();
        Record {
            summary,
            series: self.series.map(Series::into_writer),
            fingerprint: self.fingerprint,
            conservation,
            events: self.events,
            observer: self.network.observer,
        }
    }
}

/// The routes that a flow needs: towards its sink, and back. UDP sends nothing back: a route from a node to itself is
/// no links.
fn ways(flow: &headway_scenario::Flow) -> [(usize, usize); 2] {
    let back = match *flow.transport {
        headway_scenario::Transport::Udp(_) => (flow.from, flow.from),
        headway_scenario::Transport::Tcp(_)
        | headway_scenario::Transport::Agent(_)
        | headway_scenario::Transport::Dccp(_) => (flow.to, flow.from),
    };
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
        let path = described.on_path.then(|| [flow.forward, flow.reverse].map(|place| network.end_of_route(place)));
        let routes = AttackerRoutes { to_server: places[0], to_client: places[1], path };
        // What answers made-up addresses goes to whoever makes them up: a flow has one flood at most.
        let floods = matches!(described.attack, AttackOptions::Flood(_));
        if let Transport::Dccp { server, .. } = &mut flow.transport
            && (floods || server.strangers.is_none())
        {
            let [client, own] = [described_flow.from, described_flow.to].map(connection::address);
            server.strangers = Some(Box::new(Strangers::new(client, own, places[2])));
        }
        let mut attacker = Attacker::new(scenario, number, routes);
        attacker.set_off(network);
        attackers.push(attacker);
    }
    attackers
}

/// One of the flow's random streams.
pub(crate) fn stream(scenario: &Scenario, flow: &headway_scenario::Flow, what: &str) -> Random {
    Random::new(scenario.seed, &format!("flow {} {what}", flow.name))
}

/// When the flow starts in this run.
pub(crate) fn start(scenario: &Scenario, flow: &headway_scenario::Flow) -> Instant {
    match flow.start {
        Start::At(at) => at,
        Start::Uniform(from, to) => {
            let width = (to - from).as_nanos();
            Instant::ZERO + from + Duration::from_nanos(stream(scenario, flow, "start").below(width))
        }
    }
}

/// Whether a source ends by its own clock. By the order of scheduling the stop is an event, which cancels what comes after it.
const fn stops_itself(scenario: &Scenario, transport: &headway_scenario::Transport) -> bool {
    use headway_scenario::Transport as T;
    matches!(scenario.ties, Ties::Drawn) || matches!(transport, T::Agent(_) | T::Dccp(_))
}

fn new_flow(
    scenario: &Scenario,
    flow: &headway_scenario::Flow,
    id: FlowId,
    [forward, reverse]: [u32; 2],
) -> Result<Flow, SetupError> {
    let stream = |what: &str| stream(scenario, flow, what);
    let start = start(scenario, flow);
    let stop = flow.stop.filter(|_| stops_itself(scenario, &flow.transport));
    let context = Context { start, stop, random: stream("source"), trace: flow.trace.clone() };
    let source =
        Source::new(&flow.source, context).map_err(|error| SetupError::Source { flow: flow.name.clone(), error })?;
    let transport = match &*flow.transport {
        headway_scenario::Transport::Udp(options) => Transport::Udp(Box::new(Udp::new(options))),
        headway_scenario::Transport::Tcp(options) => {
            Transport::Tcp { sender: Sender::new(options, stream("sender")), sink: Box::new(Sink::new(options)) }
        }
        headway_scenario::Transport::Agent(options) => {
            let (sender, receiver) = agent::pair(options, &flow.send_queue, start, stream("sender"));
            Transport::Agent { sender: Box::new(sender), receiver: Box::new(receiver) }
        }
        headway_scenario::Transport::Dccp(options) => {
            let (client, server) = connection::pair(options, &flow.send_queue, id, start, stream);
            Transport::Dccp { client: Box::new(client), server: Box::new(server) }
        }
    };
    Ok(Flow {
        id,
        forward,
        reverse,
        start,
        stop: flow.stop,
        stop_place: 0,
        salt: stream("ties").bits() as u32,
        source,
        transport,
        counted_before: headway_tcp::Counters::default(),
        source_timer: Timer::default(),
        sender_timer: Timer::default(),
        sink_timer: Timer::default(),
    })
}
