//! A scenario as the simulator takes it: every preset filled in, every replica written out, every name resolved.

use crate::clock::ClockOptions;
use crate::dscp::FlowDscp;
use crate::e_model::EModelOptions;
use crate::transport::Transport;
use headway_attack::AttackOptions;
use headway_engine::Ties;
use headway_link::loss::{Loss, Place};
use headway_link::{
    CapacityTrace, DuplicateOptions, HostOptions, JitterOptions, LinkChanges, LossOptions, PolicerOptions,
    QueueOptions, ReorderOptions, ShaperOptions,
};
use headway_media::{SendQueueOptions, SourceOptions, Trace};
use headway_units::{Bytes, Duration, Instant, Rate};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// One run: plain data, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What the record calls it.
    pub name: String,
    /// How long it runs, more than zero.
    pub duration: Duration,
    /// Summaries count from here on; before `duration`.
    pub measure_from: Duration,
    /// The seed of every random stream.
    pub seed: u64,
    /// Who comes first of what is alike to the last bit.
    pub ties: Ties,
    /// The interval of the series; `None`: no series.
    pub series: Option<Duration>,
    /// Whether the record keeps how long each packet and frame took.
    pub distributions: bool,
    /// The nodes' names: those of `[[node]]` in file order, then those that links imply.
    pub nodes: Vec<String>,
    /// What receiving costs there, one a node; `None`: nothing.
    pub hosts: Vec<Option<HostOptions>>,
    /// The clock of each node, for those that have one of their own.
    pub clocks: Vec<Option<ClockOptions>>,
    /// One entry a direction, in file order; a duplex link gives its written direction, then the way back.
    pub links: Vec<Link>,
    /// In file order, replicas from 1.
    pub flows: Vec<Flow>,
    /// In file order.
    pub attackers: Vec<Attacker>,
}

/// One direction of a link: its name, its ends and its [options](LinkOptions), which it dereferences to.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// `"n1->n2"`: no two links have the same.
    pub name: String,
    /// Index into [`Scenario::nodes`].
    pub from: usize,
    /// Index into [`Scenario::nodes`].
    pub to: usize,
    /// Its options, which replicas share. A change is made to a copy.
    pub options: Arc<LinkOptions>,
}

impl Deref for Link {
    type Target = LinkOptions;

    #[inline]
    fn deref(&self) -> &LinkOptions {
        &self.options
    }
}

impl DerefMut for Link {
    fn deref_mut(&mut self) -> &mut LinkOptions {
        Arc::make_mut(&mut self.options)
    }
}

/// The options of one direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkOptions {
    /// More than zero.
    pub rate: Rate,
    /// When it transmits, where that was measured; `rate` is then the mean.
    pub capacity: Option<Arc<CapacityTrace>>,
    /// How rate and delay change while it runs.
    pub changes: Option<Arc<LinkChanges>>,
    /// Propagation, one way.
    pub delay: Duration,
    /// The largest packet (IP wire bytes); larger ones are dropped. `None`: any size.
    pub mtu: Option<Bytes>,
    /// Lower-layer bytes that each packet takes on this link besides its own.
    pub overhead: Bytes,
    /// What waits for the transmitter, and what is dropped.
    pub queue: Arc<QueueOptions>,
    /// What the channel loses.
    pub loss: Option<Arc<LossOptions>>,
    /// What is dropped before the queue for its rate.
    pub policer: Option<PolicerOptions>,
    /// What delays transmissions for its rate.
    pub shaper: Option<ShaperOptions>,
    /// How much longer than `delay` packets take.
    pub jitter: Option<JitterOptions>,
    /// Which packets overtake others.
    pub reorder: Option<ReorderOptions>,
    /// Which packets come twice.
    pub duplicate: Option<DuplicateOptions>,
    /// Whether the link must be simulated with a departure event of its own, besides the arrival.
    pub two_events: bool,
    /// Whether the record counts by flow there.
    pub by_flow: bool,
}

impl LinkOptions {
    /// Its mean rate from one instant to another, in bit/s.
    #[must_use]
    pub fn mean_rate(&self, from: Instant, to: Instant) -> f64 {
        match (&self.capacity, &self.changes) {
            (Some(capacity), _) => capacity.mean_rate(from, to),
            (None, Some(changes)) => changes.mean_rate(self.rate, from, to),
            (None, None) => self.rate.bits_per_second() as f64,
        }
    }

    /// The most that it passes on from one instant to another for longer than a burst, in bit/s: no more than its policer and its shaper let.
    #[must_use]
    pub fn lasting_rate(&self, from: Instant, to: Instant) -> f64 {
        let policer = self.policer.as_ref().map(|policer| policer.rate.bits_per_second() as f64);
        let shaper = self.shaper.as_ref().map(|shaper| shaper.mean_rate(from, to));
        [policer, shaper].into_iter().flatten().fold(self.mean_rate(from, to), f64::min)
    }

    /// The delay of what leaves at this instant.
    #[must_use]
    pub fn delay_at(&self, at: Instant) -> Duration {
        self.changes.as_ref().map_or(self.delay, |changes| changes.delay_at(self.delay, at))
    }

    /// Whether what its channel loses never comes to the queue.
    #[must_use]
    pub fn loses_before_queue(&self) -> bool {
        self.loss.as_deref().is_some_and(|loss| Loss::new(loss).place() == Place::BeforeQueue)
    }

    /// What a link does that is made of this.
    #[must_use]
    pub fn config(&self, ties: Ties) -> headway_link::Config {
        headway_link::Config {
            rate: self.rate,
            capacity: self.capacity.clone(),
            changes: self.changes.clone(),
            delay: self.delay,
            mtu: self.mtu,
            overhead: self.overhead,
            queue: (*self.queue).clone(),
            loss: self.loss.as_deref().cloned(),
            policer: self.policer,
            shaper: self.shaper.clone(),
            jitter: self.jitter.clone(),
            reorder: self.reorder.clone(),
            duplicate: self.duplicate,
            two_events: self.two_events,
            ties,
        }
    }
}

/// One sender and its receiver. Replicas share their options.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// No two flows have the same.
    pub name: String,
    /// The sender: index into [`Scenario::nodes`].
    pub from: usize,
    /// The receiver: index into [`Scenario::nodes`], another one.
    pub to: usize,
    /// When the source starts.
    pub start: Start,
    /// Nothing new is sent from here on; after the start.
    pub stop: Option<Instant>,
    /// ns-2's flow id, in its traces; without one they have the flow's number, from 1.
    pub fid: Option<u32>,
    /// The DSCP of its packets and of what answers them.
    pub dscp: FlowDscp,
    /// The codec by which its speech is rated.
    pub e_model: EModelOptions,
    /// What carries the packets.
    pub transport: Arc<Transport>,
    /// What waits for the transport's rate controller; without one it is not used.
    pub send_queue: Arc<SendQueueOptions>,
    /// What the application sends.
    pub source: Arc<SourceOptions>,
    /// What the source plays from its file; flows may share it.
    pub trace: Option<Arc<Trace>>,
}

/// Somebody who harms a DCCP flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Attacker {
    /// No two attackers have the same.
    pub name: String,
    /// Where it sits: index into [`Scenario::nodes`], neither end of its target.
    pub at: usize,
    /// Whom it attacks: index into [`Scenario::flows`], a DCCP flow.
    pub target: usize,
    /// Whether the target's packets are led by way of its node; for each flow there is at most one such attacker.
    pub on_path: bool,
    /// When it begins.
    pub start: Instant,
    /// When it stops; after the start.
    pub stop: Option<Instant>,
    /// What it does.
    pub attack: AttackOptions,
}

/// When a flow starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Then.
    At(Instant),
    /// Uniform in [first, second), drawn from the flow's own random stream.
    Uniform(Duration, Duration),
}

impl Start {
    /// The first instant at which it may be.
    #[must_use]
    pub fn earliest(&self) -> Instant {
        match *self {
            Self::At(start) => start,
            Self::Uniform(first, _) => Instant::ZERO + first,
        }
    }
}
