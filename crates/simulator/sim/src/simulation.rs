//! Execution of a scenario.

mod external;
mod record;
pub(crate) mod setup;

pub use record::Record;

use crate::attacker::Attacker;
use crate::fingerprint::Fingerprint;
use crate::flow::Flow;
use crate::network::accounts::Conservation;
use crate::network::{MAX_PACKETS, Network};
use crate::observe::Observer;
use crate::packet::Body;
use crate::series::Series;
use headway_engine::{Actor, Class, Moment};
use headway_link::Handle;
use headway_media::Source;
use headway_record::SeriesWriter;
use headway_scenario::Scenario;
use headway_units::{Bytes, Instant};

/// Error that ends a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The number of packets in the network exceeds the memory limit.
    #[error(
        "at {at}, {MAX_PACKETS} packets are in the network, the maximum: \
         lower a rate, a window, a queue's limit or a link's delay, or make packets larger"
    )]
    TooManyPackets {
        /// Time of the first refused packet.
        at: Instant,
    },
}

/// Error of [`simulate`].
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SimulationError {
    /// The scenario cannot be run.
    #[error(transparent)]
    Setup(#[from] setup::SetupError),
    /// The run ended early.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Runs a scenario to its end, without an observer, and returns its record.
///
/// # Errors
/// See [`SimulationError`].
pub fn simulate(scenario: &Scenario) -> Result<Record, SimulationError> {
    let mut simulation = Simulation::new(scenario, ())?;
    while !simulation.run(u64::MAX)? {}
    Ok(simulation.finish())
}

/// Number of the [`Class::Sample`] event at which the measurement begins; 0 is that of the series.
const MEASUREMENT: usize = 1;

/// Number of events between two checks of the step limit.
const EVENTS_PER_CHECK: u64 = 16;

/// A run in progress.
#[derive(Debug)]
pub struct Simulation<'a, O = ()> {
    scenario: &'a Scenario,
    now: Instant,
    end: Instant,
    done: bool,
    flows: Vec<Flow>,
    /// Indices of the flows whose endpoints are outside the simulation.
    external: Vec<usize>,
    attackers: Vec<Attacker>,
    network: Network<O>,
    series: Option<Series>,
    fingerprint: Fingerprint,
    events: u64,
    /// Total number of flows, links, and flows at links sampled for the series.
    samples: u64,
}

impl<'a, O: Observer> Simulation<'a, O> {
    /// Sets the sizes of a flow's backlog packets, which are repeated cyclically.
    pub(crate) fn set_backlog_sizes(&mut self, flow: usize, sizes: Vec<Bytes>) {
        if let Some(queue) = self.flows.get_mut(flow).and_then(|flow| flow.transport.ends_mut().send_queue()) {
            queue.set_backlog_sizes(sizes);
        }
    }

    /// Returns the simulated time that the run has reached.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Returns the number of times that a packet has arrived at the far end of a link so far.
    #[must_use]
    pub fn packet_hops(&self) -> u64 {
        self.network.packet_hops()
    }

    /// Returns the time series so far; `None` if the scenario records none. [Drain](SeriesWriter::drain) it regularly
    /// to limit its memory.
    pub fn series_mut(&mut self) -> Option<&mut SeriesWriter> {
        self.series.as_mut().map(|series| &mut series.writer)
    }

    /// Returns the observer of the run.
    pub fn observer_mut(&mut self) -> &mut O {
        self.network.observer()
    }

    /// Continues the run to its end, or for about `steps` steps. A step is an event, a sent packet, or a sample of a
    /// flow or link. Returns whether the end is reached. Events exactly at the end of the scenario's duration are
    /// excluded.
    ///
    /// # Errors
    /// See [`RunError`]. The record so far remains available and is marked incomplete.
    pub fn run(&mut self, steps: u64) -> Result<bool, RunError> {
        let limit = self.steps().saturating_add(steps);
        let end = Moment::before_all(self.end);
        while !self.done && self.steps() < limit && self.network.overflowed().is_none() {
            if !self.run_some(end) {
                self.end();
            }
        }
        match self.network.overflowed() {
            Some(at) => Err(RunError::TooManyPackets { at }),
            None => Ok(self.done),
        }
    }

    /// Ends the run.
    fn end(&mut self) {
        self.now = self.end;
        self.done = true;
        self.sample_end();
    }

    /// Runs a few events before `until`, fewer if they send many packets. Returns whether there may be more.
    /// Inlined into both of its callers: the call would cost 0.5 % of a packet-hop.
    #[inline(always)]
    fn run_some(&mut self, until: Moment) -> bool {
        let limit = self.network.sent_packets() + EVENTS_PER_CHECK;
        for _ in 0..EVENTS_PER_CHECK {
            let Some((at, actor)) = self.network.events().pop_before(until) else { return false };
            if self.network.prefetches() {
                self.fetch_ahead();
            }
            self.now = at.at;
            self.events += 1;
            self.fingerprint.add(at.at, actor);
            match actor.class() {
                Class::Arrival => self.packet_arrives(at, actor.number()),
                _ => self.act(at, actor),
            }
            if self.network.sent_packets() > limit {
                break;
            }
        }
        true
    }

    fn steps(&self) -> u64 {
        self.events + self.network.sent_packets() + self.samples
    }

    /// Prefetches the state of the next events, one stage per event: link, packet, its next state, and endpoint.
    fn fetch_ahead(&self) {
        let network = &self.network;
        for (ahead, actor) in network.ahead().into_iter().enumerate() {
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
                        flow.transport.fetch(forward);
                        if !forward {
                            network.fetch_start(flow.driver.forward);
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
                        flow.transport.fetch(false);
                    }
                }
                _ => {}
            }
        }
    }

    /// Handles the arrival of a packet at the far end of a link. Inlined, because most events are arrivals.
    #[inline(always)]
    fn packet_arrives(&mut self, now: Moment, link: usize) {
        if let Some(handle) = self.network.arrived(now, link) {
            match self.network.host_of(link) {
                None => self.arrived(now, handle),
                Some(host) => self.at_host(now, host, handle),
            }
        }
    }

    fn act(&mut self, now: Moment, actor: Actor) {
        let number = actor.number();
        match actor.class() {
            Class::Arrival => {}
            Class::Departure => self.network.ports.departed(now, number),
            Class::SenderTimer => {
                let due = self.flows[number].driver.sender_timer.fired();
                self.flows[number].on_sender_timer(now, due, &mut self.network);
            }
            Class::SinkTimer => {
                let due = self.flows[number].driver.sink_timer.fired();
                self.flows[number].on_sink_timer(now, due, &mut self.network);
            }
            Class::Source => {
                let due = self.flows[number].driver.source_timer.fired();
                self.flows[number].on_source(now, due, &mut self.network);
            }
            Class::Sample if number == MEASUREMENT => self.begin_measurement(),
            Class::Sample => self.sample(now),
            Class::Attacker => self.attackers[number].on_timer(now, &mut self.network),
            Class::Host => {
                self.network.host_fired(number);
                self.host_delivers(now, number);
            }
        }
    }

    /// Handles a packet at the end of its route, after any processing time of the host.
    #[inline(always)]
    fn arrived(&mut self, now: Moment, handle: Handle) {
        if !self.attackers.is_empty() && self.attacked(now, handle) {
            return;
        }
        let flow = self.network.packet(handle).flow.0 as usize;
        self.flows[flow].on_packet(now, handle, &mut self.network);
    }

    /// Handles a packet at the end of its route, at a host with processing time, unless an attacker intercepts it
    /// there.
    #[cold]
    fn at_host(&mut self, now: Moment, host: usize, handle: Handle) {
        let packet = self.network.packet(handle);
        if self.attackers.iter().any(|attacker| attacker.intercepts(packet).is_some()) {
            self.network.hop_ended(now.at, handle);
            return self.arrived_late(now, handle);
        }
        // A delivery that ends now is not postponed.
        self.host_delivers(now, host);
        self.network.enter_host(now, host, handle);
    }

    /// Handles the packet that a host has delivered by now, if any.
    #[cold]
    fn host_delivers(&mut self, now: Moment, host: usize) {
        if let Some(handle) = self.network.leave_host(now, host) {
            self.arrived_late(now, handle);
        }
    }

    #[inline(never)]
    fn arrived_late(&mut self, now: Moment, handle: Handle) {
        self.arrived(now, handle);
    }

    /// Handles a packet at the end of its route. Returns whether an attacker intercepted, sent or changed it.
    #[cold]
    fn attacked(&mut self, now: Moment, handle: Handle) -> bool {
        let packet = self.network.packet(handle);
        let flow = packet.flow.0 as usize;
        for attacker in &mut self.attackers {
            if let Some(direction) = attacker.intercepts(packet) {
                attacker.handle(now, direction, handle, &mut self.network);
                return true;
            }
        }
        let Body::Raw(raw) = &packet.body else { return false };
        let attacker = raw.attacker as usize;
        if let Some(outcome) = self.flows[flow].on_raw(now, handle, &mut self.network) {
            self.attackers[attacker].on_outcome(&outcome);
        }
        true
    }

    fn held(&self) -> usize {
        self.attackers.iter().map(Attacker::held).sum()
    }

    /// Saves the senders' counters at the start of the measurement.
    fn begin_measurement(&mut self) {
        for flow in &mut self.flows {
            if let Some(counters) = flow.transport.ends().counters() {
                flow.driver.counted_before = counters;
            }
            if let Source::Encoder(encoder) = &mut flow.driver.source {
                encoder.restart_counts();
            }
        }
    }

    fn sample(&mut self, now: Moment) {
        if let Some(series) = &mut self.series {
            series.sample(now, &self.flows, &mut self.network);
            self.samples += series.sampled();
            self.network.events().push(Moment::after_all(now.at + series.interval()), Actor::new(Class::Sample, 0));
        }
    }

    /// Takes the last sample, at the current end of the run. Events at exactly this time are excluded.
    fn sample_end(&mut self) {
        if let Some(series) = &mut self.series {
            series.sample(Moment::before_all(self.now), &self.flows, &mut self.network);
        }
    }

    /// Returns the counts of sent, delivered, dropped and in-flight packets so far.
    #[must_use]
    pub fn conservation(&self) -> Conservation {
        self.network.conservation(self.held())
    }
}
