//! Runs a scenario to its record.

mod record;
pub(crate) mod setup;

pub use record::Record;

use crate::attacker::Attacker;
use crate::fingerprint::Fingerprint;
use crate::flow::Flow;
use crate::network::accounts::Conservation;
use crate::network::{MOST_PACKETS, Network};
use crate::observe::Observer;
use crate::packet::Body;
use crate::series::Series;
use headway_engine::{Actor, Class, Moment};
use headway_link::Handle;
use headway_record::SeriesWriter;
use headway_scenario::Scenario;
use headway_units::{Bytes, Instant};

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
    /// Flows, links, and flows at links in all samples of the series.
    samples: u64,
}

impl<'a, O: Observer> Simulation<'a, O> {
    /// The backlog of the flow with this number consists of packets of these sizes, again and again.
    pub(crate) fn set_backlog_sizes(&mut self, flow: usize, sizes: Vec<Bytes>) {
        if let Some(queue) = self.flows.get_mut(flow).and_then(|flow| flow.transport.ends_mut().send_queue()) {
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
        self.network.packet_hops()
    }

    /// The series so far, if the scenario asks for them: to be [drained](SeriesWriter::drain) now and then.
    pub fn series_mut(&mut self) -> Option<&mut SeriesWriter> {
        self.series.as_mut().map(|series| &mut series.writer)
    }

    /// Who watches.
    pub fn observer_mut(&mut self) -> &mut O {
        self.network.observer()
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
            let Some((at, actor)) = self.network.events().pop_before(Moment::before_all(self.end)) else {
                self.now = self.end;
                self.done = true;
                self.sample_end();
                return;
            };
            if self.network.is_far() {
                self.fetch_ahead();
            }
            self.now = at.at;
            self.events += 1;
            self.fingerprint.add(at.at, actor);
            match actor.class() {
                Class::Arrival => self.packet_arrives(at, actor.number()),
                _ => self.act(at, actor),
            }
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

    /// A packet arrives at the far end of a link. Inlined, since most events are arrivals.
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

    /// A packet has come to the end of its route, and costs whoever is there no time any more.
    #[inline(always)]
    fn arrived(&mut self, now: Moment, handle: Handle) {
        if !self.attackers.is_empty() && self.attacked(now, handle) {
            return;
        }
        let flow = self.network.packet(handle).flow.0 as usize;
        self.flows[flow].on_packet(now, handle, &mut self.network);
    }

    /// A packet has come to the end of its route, where a host takes time. One that is led by way of an attacker does not end there.
    #[cold]
    fn at_host(&mut self, now: Moment, host: usize, handle: Handle) {
        let packet = self.network.packet(handle);
        if self.attackers.iter().any(|attacker| attacker.stops(packet).is_some()) {
            self.network.hop_ended(now.at, handle);
            return self.arrived_late(now, handle);
        }
        // A delivery that ends now is not put off.
        self.host_delivers(now, host);
        self.network.enter_host(now, host, handle);
    }

    /// What a host has delivered by now goes on.
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
            if let Some(counters) = flow.transport.ends().counters() {
                flow.driver.counted_before = counters;
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

    /// Takes the last sample, at the present end of the run. Events at the end itself are not part of the run.
    fn sample_end(&mut self) {
        if let Some(series) = &mut self.series {
            series.sample(Moment::before_all(self.now), &self.flows, &mut self.network);
        }
    }

    /// Where all packets went so far.
    #[must_use]
    pub fn conservation(&self) -> Conservation {
        self.network.conservation(self.held())
    }
}
