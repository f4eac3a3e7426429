//! What send queues could make of a flow: the clairvoyant bound over the opportunities that its rate controller has when there is
//! always something to send, and each queue replayed over the same opportunities.

use crate::clocks::FlowClocks;
use crate::observe::{Observer, RoundTrip};
use crate::opportunities::Opportunities;
use crate::send_queue::tell_round_trip;
use crate::simulation::setup::{SetupError, start};
use crate::simulation::{RunError, Simulation};
use crate::transport::{Setup, Transport, stream};
use headway_bound::{Packet, Replayed, Sender, Slot, Slots, UnitBound, replay, unit_bound};
use headway_media::{
    Context, Framing, FtpOptions, Media, SendQueue, SendQueueOptions, Source, SourceOptions, Travel, UdpOptions, Write,
};
use headway_scenario::{Flow, Scenario};
use headway_units::{Dialect, FlowId, Instant, MediaKind, OptionError, Options as _};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A flow's opportunities, and what its application hands over.
#[derive(Debug)]
pub struct Yardstick {
    /// Each with its index.
    media: Vec<Media<usize>>,
    slots: Slots,
    round_trips: Vec<(Instant, RoundTrip)>,
    from: Instant,
}

/// Why a flow cannot be measured so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum YardstickError {
    /// There is no flow of this number.
    #[error("there is no such flow")]
    NoFlow,
    /// It has no send queue.
    #[error("flow \"{0}\" has no send queue: only a transport with a rate controller has one")]
    NoSendQueue(String),
    /// Nothing that expires comes to its send queue in time to be counted.
    #[error(
        "flow \"{0}\" sends nothing with a lifetime that begins after measure_from and ends before the run: what comes to its \
         send queue is never late"
    )]
    NoLifetime(String),
    /// More packets than the memory is meant for.
    #[error(
        "flow \"{0}\" makes more than {MOST_PACKETS} packets, and all of them would have to be kept: shorten the run, or lower its rate"
    )]
    TooManyPackets(String),
    /// The scenario cannot be set up.
    #[error("{0}")]
    Setup(#[from] SetupError),
    /// The run failed.
    #[error("{0}")]
    Run(#[from] RunError),
    /// The source cannot be started.
    #[error("source: {0}")]
    Source(#[from] OptionError),
    /// Who asked for it wants it no more.
    #[error("stopped")]
    Stopped,
}

/// Packets of which all is kept: some hundred megabytes.
pub(crate) const MOST_PACKETS: usize = 2_000_000;
/// Steps between two looks at whether to go on: about ten milliseconds.
const SLICE: u64 = 100_000;

/// Runs to the end, as long as `go_on` says yes.
pub(crate) fn run_out<O: Observer>(
    simulation: &mut Simulation<O>,
    go_on: &impl Fn() -> bool,
) -> Result<(), YardstickError> {
    loop {
        if !go_on() {
            return Err(YardstickError::Stopped);
        }
        if simulation.run(SLICE)? {
            return Ok(());
        }
    }
}

impl Yardstick {
    /// Runs the scenario with flow number `flow` saturated, its packets having the sizes of its application's in turn, and notes what its
    /// controller lets go from `measure_from` on. What counts is handed over and expires from then to the end.
    ///
    /// # Errors
    /// See [`YardstickError`].
    pub fn new(scenario: &Scenario, flow: usize) -> Result<Self, YardstickError> {
        Self::new_while(scenario, flow, &|| true)
    }

    /// The same, as long as `go_on` says yes.
    pub(crate) fn new_while(
        scenario: &Scenario,
        flow: usize,
        go_on: &impl Fn() -> bool,
    ) -> Result<Self, YardstickError> {
        let mut media = Vec::new();
        each_counted(scenario, flow, |packet| {
            media.push(packet.map(|()| media.len()));
            if go_on() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        if !go_on() {
            return Err(YardstickError::Stopped);
        }
        let from = Instant::ZERO + scenario.measure_from;
        let saturated = saturated(scenario, flow);
        let mut simulation = Simulation::new(&saturated, Opportunities::new(&saturated, flow))?;
        simulation.set_backlog_sizes(flow, media.iter().map(|media| media.size).collect());
        run_out(&mut simulation, go_on)?;
        let Opportunities { mut all, round_trips, .. } = simulation.finish().observer;
        if all.len() >= MOST_PACKETS {
            return Err(YardstickError::TooManyPackets(saturated.flows[flow].name.clone()));
        }
        all.retain(|opportunity| opportunity.at >= from);
        Ok(Self { media, slots: Slots::new(&all), round_trips, from })
    }

    /// Whether a flow can be measured so: whether it has a send queue that packets with a lifetime come to.
    #[must_use]
    pub fn fits(scenario: &Scenario, flow: usize) -> bool {
        let first = each_counted(scenario, flow, |_| ControlFlow::Break(()));
        matches!(first, Ok(()) | Err(YardstickError::TooManyPackets(_)))
    }

    /// How many packets the application hands over.
    #[must_use]
    pub fn offered(&self) -> usize {
        self.media.len()
    }

    /// What the packets of each priority are.
    #[must_use]
    pub fn kinds(&self) -> BTreeMap<u8, BTreeSet<MediaKind>> {
        let mut kinds = BTreeMap::<u8, BTreeSet<MediaKind>>::new();
        for media in &self.media {
            kinds.entry(media.priority).or_default().insert(media.kind);
        }
        kinds
    }

    /// How many packets the controller lets go.
    #[must_use]
    pub fn opportunities(&self) -> usize {
        self.slots.as_slice().len()
    }

    /// The most that any send queue could have on time.
    #[must_use]
    pub fn bound(&self) -> UnitBound {
        unit_bound(&self.slots, &self.packets())
    }

    /// What a queue has on time over the same opportunities. It is told the round trips that the controller measured.
    #[must_use]
    pub fn replay(&self, options: &SendQueueOptions) -> Replayed {
        self.run(options, None)
    }

    /// The same, if the queue knew of each opportunity how long a packet would be on its way: what is missing then to the bound is not
    /// for want of an estimate.
    #[must_use]
    pub fn replay_knowing(&self, options: &SendQueueOptions) -> Replayed {
        let mut options = options.clone();
        options.rules.travel = Travel::RoundTrip;
        options.rules.rtt_share = 0.5;
        options.rules.margin = 0.0;
        self.run(&options, Some(self.slots.as_slice()))
    }

    fn run(&self, options: &SendQueueOptions, known_slots: Option<&[Slot]>) -> Replayed {
        let (earlier, later) = self.round_trips.split_at(self.round_trips.partition_point(|(at, _)| *at < self.from));
        let mut queue = Replay { queue: SendQueue::new(options), media: &self.media, round_trips: later, known_slots };
        // Who knows each way has no use for what was measured.
        if known_slots.is_none() {
            earlier.iter().for_each(|(_, trip)| tell_round_trip(&mut queue.queue, trip));
        }
        // A queue sends what it was given, once.
        replay(&self.slots, &self.packets(), &mut queue).unwrap_or_default()
    }

    fn packets(&self) -> Vec<Packet> {
        let packet = |media: &Media<usize>| {
            let Media { size, priority, created, expires, .. } = *media;
            Packet { priority, created, expires, size }
        };
        self.media.iter().map(packet).collect()
    }
}

/// A send queue over a trace.
struct Replay<'a> {
    queue: SendQueue<usize>,
    media: &'a [Media<usize>],
    round_trips: &'a [(Instant, RoundTrip)],
    /// Those to come, each with its packet's arrival, if that is to be known.
    known_slots: Option<&'a [Slot]>,
}

impl Replay<'_> {
    fn catch_up(&mut self, now: Instant) {
        if let Some(slots) = self.known_slots {
            if let Some(next) = slots.first() {
                self.queue.set_round_trip(next.arrives.since(next.at) * 2);
            }
            return;
        }
        while let Some(((_, trip), later)) = self.round_trips.split_first().filter(|((at, _), _)| *at <= now) {
            tell_round_trip(&mut self.queue, trip);
            self.round_trips = later;
        }
    }
}

impl Sender for Replay<'_> {
    fn arrive(&mut self, now: Instant, index: usize) {
        self.catch_up(now);
        if let Some(media) = self.media.get(index) {
            self.queue.enqueue(now, *media, &mut |_| {});
        }
    }

    fn opportunity(&mut self, now: Instant) -> Option<usize> {
        self.catch_up(now);
        self.known_slots = self.known_slots.map(|slots| slots.get(1..).unwrap_or_default());
        self.queue.dequeue(now, &mut |_| {}).map(|media| media.payload)
    }
}

/// How the flow's writes are cut, if it has a send queue.
fn cut(flow: &Flow) -> Option<UdpOptions> {
    let setup = Setup { flow, id: FlowId(0), starts: [Instant::ZERO; 2], clocks_agree: true, seed: 0 };
    Transport::new(&setup).ends_mut().send_queue().map(|queue| queue.cut().clone())
}

/// What counts of what the flow's application hands over, packet by packet, until `take` has enough.
fn each_counted(
    scenario: &Scenario,
    flow: usize,
    mut take: impl FnMut(Media) -> ControlFlow<()>,
) -> Result<(), YardstickError> {
    let flow = scenario.flows.get(flow).ok_or(YardstickError::NoFlow)?;
    // The source has its node's time, all else here the true one.
    let clock = FlowClocks::of(scenario, flow).map(|clocks| clocks.sender);
    let local = |at| clock.map_or(at, |clock| clock.local(at));
    let time = |at| clock.map_or(at, |clock| clock.when(at));
    let cut = cut(flow).ok_or_else(|| YardstickError::NoSendQueue(flow.name.clone()))?;
    let (from, end) = (Instant::ZERO + scenario.measure_from, Instant::ZERO + scenario.duration);
    let context = Context {
        start: local(start(scenario, flow)),
        stop: Some(local(flow.stop.unwrap_or(end))),
        random: stream(scenario.seed, flow, "source"),
        trace: flow.trace.clone(),
    };
    let mut source = Source::new(&flow.source, context)?;
    let (mut packets, mut counted, mut framing) = (0, false, Framing::default());
    while let Some(due) = source.poll_timeout().filter(|due| time(*due) < end) {
        while let Some(write) = source.poll(due) {
            let write = Write { created: time(write.created), expires: write.expires.map(time), ..write };
            for packet in write.packets(&cut, &mut framing) {
                packets += 1;
                if packets > MOST_PACKETS {
                    return Err(YardstickError::TooManyPackets(flow.name.clone()));
                }
                if packet.created < from || packet.expires.is_none_or(|expires| expires > end) {
                    continue;
                }
                counted = true;
                if take(packet).is_break() {
                    return Ok(());
                }
            }
        }
    }
    if counted { Ok(()) } else { Err(YardstickError::NoLifetime(flow.name.clone())) }
}

/// The same scenario, but the flow always has something to send.
fn saturated(scenario: &Scenario, flow: usize) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.series = None;
    if let Some(flow) = scenario.flows.get_mut(flow) {
        flow.source = Arc::new(SourceOptions::Ftp(FtpOptions::preset(Dialect::default())));
    }
    scenario
}
