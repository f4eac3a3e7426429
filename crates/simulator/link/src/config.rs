//! The configuration of one direction of a link.

use crate::capacity::CapacityTrace;
use crate::changes::LinkChanges;
use crate::duplicate::DuplicateOptions;
use crate::ecn_rewrite::EcnRewrite;
use crate::in_flight::InFlight;
use crate::jitter::JitterOptions;
use crate::loss::{Loss, LossOptions, Place};
use crate::policer::PolicerOptions;
use crate::queue::{QueueOptions, droptail};
use crate::reorder::{self, ReorderOptions};
use crate::shaper::ShaperOptions;
use headway_units::{Bytes, Duration, Instant, Rate};
use std::sync::Arc;

/// The configuration of one direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Transmission rate, above zero; with `capacity` its mean.
    pub rate: Rate,
    /// Measured transmission opportunities, which replace `rate`.
    pub capacity: Option<Arc<CapacityTrace>>,
    /// Changes of rate and delay during a run; none with `capacity`. Queues are configured for `rate` and `delay`.
    pub changes: Option<Arc<LinkChanges>>,
    /// Propagation delay. Zero only if a packet takes at least a nanosecond to transmit: otherwise the order of events
    /// at the same time is undefined.
    pub delay: Duration,
    /// Largest packet, in IP bytes; larger packets are dropped. `None`: any size.
    pub mtu: Option<Bytes>,
    /// Lower-layer bytes that are transmitted with each packet. They add to its transmission time, but use no space in
    /// the queue.
    pub overhead: Bytes,
    /// The queue in front of the transmitter.
    pub queue: QueueOptions,
    /// Loss model of the channel; `None` for no losses.
    pub loss: Option<LossOptions>,
    /// Policer, which drops packets above a rate before the queue.
    pub policer: Option<PolicerOptions>,
    /// Shaper, which delays transmissions above a rate. Packets larger than its burst are dropped.
    pub shaper: Option<ShaperOptions>,
    /// Random delay in addition to `delay`.
    pub jitter: Option<JitterOptions>,
    /// Reordering: choice of the packets that overtake others.
    pub reorder: Option<ReorderOptions>,
    /// Duplication: probability with which packets are duplicated.
    pub duplicate: Option<DuplicateOptions>,
    /// Change of the ECN field of arriving packets, before the queue; `None` for none.
    pub ecn: Option<EcnRewrite>,
    /// Whether the simulator schedules an event at the end of each transmission even if it can compute the arrival of
    /// the packet without one. Results do not depend on it.
    pub two_events: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Framing {
    overhead: u64,
}

impl Framing {
    pub(crate) fn new(config: &Config) -> Self {
        Self { overhead: config.overhead.count() }
    }

    /// Returns the bytes that a packet of this size occupies on the wire.
    #[inline]
    pub(crate) fn on_wire(self, bytes: u32) -> u64 {
        u64::from(bytes) + self.overhead
    }
}

impl Config {
    /// Creates a direction with this rate, delay and queue, without loss, limits and other impairments.
    #[must_use]
    pub fn new(rate: Rate, delay: Duration, queue: QueueOptions) -> Self {
        Self {
            rate,
            capacity: None,
            changes: None,
            delay,
            mtu: None,
            overhead: Bytes::new(0),
            queue,
            loss: None,
            policer: None,
            shaper: None,
            jitter: None,
            reorder: None,
            duplicate: None,
            ecn: None,
            two_events: false,
        }
    }

    /// Returns whether links of this configuration may share one instance of queue and loss model, because neither has
    /// state. This needs a constant rate and delay, a DropTail queue that drops arriving packets and does not count
    /// packets in flight, and neither loss, policer, shaper, jitter, reordering, duplication nor a change of the ECN
    /// field.
    #[must_use]
    pub fn may_be_shared(&self) -> bool {
        let bare = self.loss.is_none() && self.policer.is_none() && self.duplicate.is_none() && self.ecn.is_none();
        let bare = bare && InFlight::new(&self.queue).is_none();
        let varies = self.capacity.is_some() || self.changes.is_some() || self.shaper.is_some();
        let bare = bare && !varies && self.jitter.is_none() && self.reorder.is_none();
        match &self.queue {
            QueueOptions::DropTail(options) => options.drop == droptail::Victim::Tail && bare,
            _ => false,
        }
    }

    /// Returns whether packets may overtake one another.
    #[must_use]
    pub fn overtakes(&self) -> bool {
        reorder::overtakes(self.jitter.as_ref(), self.reorder.as_ref())
    }

    /// Returns whether each packet needs two events: one at the end of its transmission and one at its arrival.
    #[must_use]
    pub fn needs_two_events(&self) -> bool {
        self.two_events || !self.queue.decides_at_arrival() || self.overtakes()
    }

    /// Returns the mean rate of the transmitter between two times, in bit/s. It includes `changes` or `capacity`, but
    /// not policer and shaper.
    #[must_use]
    pub fn mean_rate(&self, from: Instant, to: Instant) -> f64 {
        match (&self.capacity, &self.changes) {
            (Some(capacity), _) => capacity.mean_rate(from, to),
            (None, Some(changes)) => changes.mean_rate(self.rate, from, to),
            (None, None) => self.rate.bits_per_second() as f64,
        }
    }

    /// Returns the mean rate that can be sustained between two times, in bit/s: the smallest of the rates of
    /// transmitter, policer and shaper.
    #[must_use]
    pub fn sustained_rate(&self, from: Instant, to: Instant) -> f64 {
        let policer = self.policer.as_ref().map(|policer| policer.rate.bits_per_second() as f64);
        let shaper = self.shaper.as_ref().map(|shaper| shaper.mean_rate(from, to));
        [policer, shaper].into_iter().flatten().fold(self.mean_rate(from, to), f64::min)
    }

    /// Returns the propagation delay of a packet whose transmission ends at this time.
    #[must_use]
    pub fn delay_at(&self, at: Instant) -> Duration {
        self.changes.as_ref().map_or(self.delay, |changes| changes.delay_at(self.delay, at))
    }

    /// Returns whether the losses of the channel happen before the queue.
    #[must_use]
    pub fn has_loss_before_queue(&self) -> bool {
        self.loss.as_ref().is_some_and(|loss| Loss::new(loss).place() == Place::BeforeQueue)
    }
}
