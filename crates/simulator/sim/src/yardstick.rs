//! Evaluation of send queues against an upper bound. The bound assumes knowledge of the future and uses the send
//! opportunities that the flow's rate controller has when it is saturated. Each queue is replayed over the same
//! opportunities.

use crate::clocks::FlowClocks;
use crate::observe::{Observer, RoundTrip};
use crate::opportunities::Opportunities;
use crate::send_queue::record_round_trip;
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

/// Recorded times at which a flow's rate controller permits a packet (send opportunities), and the packets of the
/// flow's application. Send queues are evaluated and compared over this data.
#[derive(Debug)]
pub struct SendQueueEvaluation {
    media: Vec<Media<usize>>,
    slots: Slots,
    round_trips: Vec<(Instant, RoundTrip)>,
    from: Instant,
}

/// Error that prevents the evaluation of a flow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum YardstickError {
    /// The scenario has no flow with this number.
    #[error("the scenario has no flow with this number")]
    NoFlow,
    /// The flow has no send queue.
    #[error("flow \"{0}\" has no send queue: only a transport with a rate controller has one")]
    NoSendQueue(String),
    /// The application writes no packet whose writing and expiry are both in the measured interval.
    #[error("flow \"{0}\" sends nothing with a lifetime within the measured interval: no packet can be late")]
    NoLifetime(String),
    /// The number of packets exceeds the memory limit.
    #[error("flow \"{0}\" sends more than {MAX_PACKETS} packets, the maximum: shorten the run or lower its rate")]
    TooManyPackets(String),
    /// The scenario cannot be set up.
    #[error("{0}")]
    Setup(#[from] SetupError),
    /// The run that records the send opportunities failed, or the run with a send queue.
    #[error("{0}")]
    Run(#[from] RunError),
    /// The source of the flow cannot be started.
    #[error("source: {0}")]
    Source(#[from] OptionError),
    /// The caller stopped the evaluation.
    #[error("stopped")]
    Stopped,
}

/// Maximum number of packets, a few hundred megabytes.
pub(crate) const MAX_PACKETS: usize = 2_000_000;
/// Number of steps between two calls of `keep_running`, about 10 ms.
const STEPS_PER_CHECK: u64 = 100_000;

/// Runs to the end, or until `keep_running` returns `false`.
pub(crate) fn run_out<O: Observer>(
    simulation: &mut Simulation<O>,
    keep_running: &impl Fn() -> bool,
) -> Result<(), YardstickError> {
    loop {
        if !keep_running() {
            return Err(YardstickError::Stopped);
        }
        if simulation.run(STEPS_PER_CHECK)? {
            return Ok(());
        }
    }
}

impl SendQueueEvaluation {
    /// Runs the scenario with a source for flow number `flow` that always has data to send, in packets of the sizes
    /// that its application writes, repeated cyclically. Records the controller's send opportunities from
    /// `measure_from` on. Only packets of the application that are written and expire in the measured interval count.
    ///
    /// # Errors
    /// See [`YardstickError`].
    pub fn new(scenario: &Scenario, flow: usize) -> Result<Self, YardstickError> {
        Self::new_while(scenario, flow, &|| true)
    }

    /// Does the same as [`new`](Self::new), until `keep_running` returns `false`.
    pub(crate) fn new_while(
        scenario: &Scenario,
        flow: usize,
        keep_running: &impl Fn() -> bool,
    ) -> Result<Self, YardstickError> {
        let mut media = Vec::new();
        each_counted(scenario, flow, |packet| {
            media.push(packet.map(|()| media.len()));
            if keep_running() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        if !keep_running() {
            return Err(YardstickError::Stopped);
        }
        let from = Instant::ZERO + scenario.measure_from;
        let saturated = saturated(scenario, flow);
        let mut simulation = Simulation::new(&saturated, Opportunities::new(&saturated, flow))?;
        simulation.set_backlog_sizes(flow, media.iter().map(|media| media.size).collect());
        run_out(&mut simulation, keep_running)?;
        let Opportunities { mut all, round_trips, .. } = simulation.finish().observer;
        if all.len() >= MAX_PACKETS {
            return Err(YardstickError::TooManyPackets(saturated.flows[flow].name.clone()));
        }
        all.retain(|opportunity| opportunity.at >= from);
        Ok(Self { media, slots: Slots::new(&all), round_trips, from })
    }

    /// Returns whether a flow can be evaluated: whether it has a send queue, and writes a packet that expires within
    /// the measured interval.
    #[must_use]
    pub fn fits(scenario: &Scenario, flow: usize) -> bool {
        let first = each_counted(scenario, flow, |_| ControlFlow::Break(()));
        matches!(first, Ok(()) | Err(YardstickError::TooManyPackets(_)))
    }

    /// Returns the number of packets of the application that count: those that it writes in the measured interval and
    /// that expire in it.
    #[must_use]
    pub fn offered(&self) -> usize {
        self.media.len()
    }

    /// Returns the kinds of media of each priority.
    #[must_use]
    pub fn kinds(&self) -> BTreeMap<u8, BTreeSet<MediaKind>> {
        let mut kinds = BTreeMap::<u8, BTreeSet<MediaKind>>::new();
        for media in &self.media {
            kinds.entry(media.priority).or_default().insert(media.kind);
        }
        kinds
    }

    /// Returns the number of send opportunities: packets that the controller sends in the measured interval when it
    /// always has data.
    #[must_use]
    pub fn opportunities(&self) -> usize {
        self.slots.as_slice().len()
    }

    /// Returns the upper bound of the number of packets on time over the send opportunities, for any send queue.
    #[must_use]
    pub fn bound(&self) -> UnitBound {
        unit_bound(&self.slots, &self.packets())
    }

    /// Replays a send queue over the send opportunities. The queue receives the round-trip times that the controller
    /// measured.
    #[must_use]
    pub fn replay(&self, options: &SendQueueOptions) -> Replayed {
        self.run(options, None)
    }

    /// Replays a send queue over the send opportunities. The queue knows the delay of the next packet in advance, so
    /// that errors of its estimates have no effect.
    #[must_use]
    pub fn replay_oracle(&self, options: &SendQueueOptions) -> Replayed {
        let mut options = options.clone();
        options.rules.travel = Travel::RoundTrip;
        options.rules.rtt_share = 0.5;
        options.rules.margin = 0.0;
        self.run(&options, Some(self.slots.as_slice()))
    }

    fn run(&self, options: &SendQueueOptions, known_slots: Option<&[Slot]>) -> Replayed {
        let (earlier, later) = self.round_trips.split_at(self.round_trips.partition_point(|(at, _)| *at < self.from));
        let mut queue = Replay { queue: SendQueue::new(options), media: &self.media, round_trips: later, known_slots };
        // With known delays, measured round trips are not used.
        if known_slots.is_none() {
            earlier.iter().for_each(|(_, trip)| record_round_trip(&mut queue.queue, trip));
        }
        // A queue sends each packet once.
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

struct Replay<'a> {
    queue: SendQueue<usize>,
    media: &'a [Media<usize>],
    round_trips: &'a [(Instant, RoundTrip)],
    /// Remaining opportunities with arrival times; `None` if delays are not known in advance.
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
            record_round_trip(&mut self.queue, trip);
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

/// Returns how the flow's writes are cut, if it has a send queue.
fn cut(flow: &Flow) -> Option<UdpOptions> {
    let setup = Setup { flow, id: FlowId(0), starts: [Instant::ZERO; 2], clocks_agree: true, seed: 0 };
    Transport::new(&setup).ends_mut().send_queue().map(|queue| queue.cut().clone())
}

/// Calls `take` for each counted packet of the flow's application, until it breaks.
fn each_counted(
    scenario: &Scenario,
    flow: usize,
    mut take: impl FnMut(Media) -> ControlFlow<()>,
) -> Result<(), YardstickError> {
    let flow = scenario.flows.get(flow).ok_or(YardstickError::NoFlow)?;
    // The source uses the clock of its node; all other times are true times.
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
                if packets > MAX_PACKETS {
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

fn saturated(scenario: &Scenario, flow: usize) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.series = None;
    if let Some(flow) = scenario.flows.get_mut(flow) {
        flow.source = Arc::new(SourceOptions::Ftp(FtpOptions::preset(Dialect::default())));
    }
    scenario
}
