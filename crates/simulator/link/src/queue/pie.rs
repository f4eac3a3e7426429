//! PIE (RFC 8033): drops arriving packets with a probability that a PI controller sets from the queueing delay.
//!
//! Every T_UPDATE, with the delay that is measured now and `old`, the delay of the last update (section 4.2):
//!
//! ```text
//! p = alpha (delay - QDELAY_REF) + beta (delay - old), divided by 2048, 512, 128, 32, 8, 2
//!     while drop_prob is below 1e-6, 1e-5, .. 0.1
//! drop_prob += p; times 0.98 if the queue is idle; not below 0, not above 1
//! burst_allowance -= T_UPDATE; not below 0
//! ```
//!
//! At an arrival (section 4.4, appendix A): MAX_BURST is allowed again if drop_prob is 0 and both delays are below
//! QDELAY_REF / 2. Nothing is dropped while any allowance is left, while the old delay is below QDELAY_REF / 2 and
//! drop_prob below 0.2, or while at most two mean packets wait. Otherwise the packet is dropped, or marked, with
//! probability drop_prob.
//!
//! Updates are due at each multiple of T_UPDATE since time zero, before other events of the same time. The queue
//! changes only at arrivals and departures, so that missed updates are caught up on then. With timestamps, an empty
//! queue has a delay of zero. Appendix A keeps the last delay, so that the probability of an idle link would rise;
//! this implementation follows Linux 6.1 and ns-3.37.

mod delay;

pub use delay::Delay;

use super::{Arrival, Backlog, Decision, HoldingQueue, Verdict, check_limit};
use crate::pool::{Handle, Item, Pool};
use crate::sublist::Sublist;
use delay::Gauge;
use headway_units::{
    Bytes, Dialect, DropCause, Duration, Ecn, Instant, OptionError, Probability, QueueSize, Random, unused_unless,
};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// How long [`Burst::AfterRest`] waits without congestion before the next burst (ns-3, `BURST_RESET_TIMEOUT`).
const REST: Duration = Duration::from_millis(1500);

/// Options of a queue of `kind = "pie"`. Options that RFC 8033 appendix A or B names have these names, in lower case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Capacity of the queue; further packets are dropped. (TAIL_DROP.)
    pub limit: QueueSize,
    /// Reference queueing delay; above 0s. (QDELAY_REF.)
    pub qdelay_ref: Duration,
    /// Time between updates of the drop probability, 100us to 10s. (T_UPDATE.)
    pub t_update: Duration,
    /// Duration of a burst during which nothing is dropped early. (MAX_BURST.)
    pub max_burst: Duration,
    /// When PIE allows a burst of duration `max_burst`, during which it drops nothing early.
    pub burst: Burst,
    /// Change of the drop probability at each update per second of queueing delay above `qdelay_ref`, above 0 to 1000
    /// Hz. Below a probability of 0.1, the change is divided by 2 to 2048 (RFC 8033 section 4.2).
    pub alpha: f64,
    /// Change of the drop probability at each update per second by which the queueing delay increased since the last
    /// update, 0 to 1000 Hz. Scaled as described for `alpha`.
    pub beta: f64,
    /// Mean packet size: nothing is dropped early while at most two of these wait. (MEAN_PKTSIZE, for which the RFC
    /// gives no value.)
    pub mean_pktsize: Bytes,
    /// Unit of the threshold of two mean packets up to which nothing is dropped early. Also determines whether the drop
    /// probability depends on the size of the arriving packet.
    pub unit: Unit,
    /// Whether ECN-capable packets are marked instead of dropped (RFC 8033 section 5.1).
    pub ecn: bool,
    /// Drop probability from which on ECN-capable packets are dropped instead of marked. (mark_ecnth, MAX_ECNTH.)
    pub mark_ecnth: Probability,
    /// Waiting time above which packets with ECT(1) or CE are marked at departure; PIE itself then neither drops nor
    /// marks packets with ECT(1) or CE (ns-3, `UseL4s`). If absent: PIE treats them like other packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<Duration>,
    /// How the queueing delay is measured.
    pub delay: Delay,
    /// Bytes per measurement of the departure rate, with `delay = "dequeue-rate"`; 1B to 64KiB. (DQ_THRESHOLD.)
    pub dq_threshold: Bytes,
    /// Whether early drops are spaced more evenly than at random (RFC 8033 section 5.4, accu_prob).
    pub derandomize: bool,
    /// Whether marks count as drops for the spacing of drops, so that each resets accu_prob.
    pub mark_resets: bool,
    /// Whether the drop probability rises by at most 0.02 per update once it is 0.1 (RFC 8033 section 5.5).
    pub cap_adjustment: bool,
    /// When the drop probability decays.
    pub decay: Decay,
    /// Fraction of the drop probability that is subtracted at each update at which it decays (`decay`).
    pub decay_by: Probability,
    /// Queueing delay above which each update adds another 0.02 to the drop probability (Linux). If absent: no update
    /// does; in dialect linux 250ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steep_above: Option<Duration>,
    /// Upper bound of the drop probability, 1 to 256. While the probability is above 1, every packet that is not exempt
    /// is dropped. (Linux bounds a 64-bit variable, in which 1 is 2^56.)
    pub drop_prob_max: f64,
    /// Which measurement of the queueing delay prevents early drops while it is below half of `qdelay_ref` and the drop
    /// probability is below 0.2.
    pub spared_by: SafeguardDelay,
    /// Whether PIE drops nothing early until a third of `limit` waits. It stops again when less waits, the drop
    /// probability is 0, and the current queueing delay and that of the last update are below half of `qdelay_ref` (RFC
    /// 8033 section 5.3).
    pub inactive_below: bool,
}

/// When the drop probability of PIE decays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Decay {
    /// The probability decays while the current delay and that of the last update are 0 (RFC 8033 section 4.2, appendix
    /// A).
    Zero,
    /// The probability decays while the current delay and that of the last update are below half of `qdelay_ref` (RFC
    /// 8033 appendix B).
    Half,
    /// The probability decays while the current delay and that of the last update are 0 and no packet waits (Linux).
    Empty,
}

/// Measurement of the queueing delay that prevents early drops while it is below half of `qdelay_ref` and the drop
/// probability is below 0.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SafeguardDelay {
    /// The queueing delay at the last update of the drop probability can prevent early drops (RFC 8033 section 4.1).
    Old,
    /// The queueing delay when the packet arrives can prevent its early drop (Linux).
    Current,
}

/// When PIE allows a burst of duration `max_burst`, during which it drops nothing early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Burst {
    /// A burst is allowed at the start, and at each arrival without congestion (RFC 8033 section 4.4). Without
    /// congestion, drop_prob is 0, and the current delay and that of the last update are below half of `qdelay_ref`.
    Uncongested,
    /// A burst is allowed at the first packet, and at the first packet after each 1.5 s without congestion. During the
    /// burst, drop_prob is 0 (ns-3, `m_burstState`).
    AfterRest,
    /// A burst is allowed at the start, and from each update without congestion, which also restarts the spacing of
    /// drops. Without congestion, drop_prob is 0, and the current delay and that of the last update are below half of
    /// `qdelay_ref`. Each departure subtracts the time since the last departure from the allowance (Linux).
    Departures,
}

/// Unit of the threshold of two mean packets up to which nothing is dropped early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// The threshold is in bytes, and all packets have the same drop probability (RFC 8033 section 4.1).
    Bytes,
    /// The threshold has the unit of `limit`. If `limit` is in packets, the threshold is two packets of any size. If it
    /// is in bytes, the threshold is two mean packets, and the drop probability is proportional to the size of the
    /// arriving packet (ns-3, `DropEarly`).
    Limit,
}

impl headway_units::Options for Options {
    fn preset(dialect: Dialect) -> Self {
        let (linux, ns3) = (dialect == Dialect::Linux, dialect == Dialect::Ns3);
        Self {
            limit: QueueSize::Packets(if ns3 { 25 } else { 1000 }),
            qdelay_ref: Duration::from_millis(15),
            t_update: Duration::from_millis(15),
            max_burst: Duration::from_millis(150),
            burst: match dialect {
                Dialect::Ns3 => Burst::AfterRest,
                Dialect::Linux => Burst::Departures,
                _ => Burst::Uncongested,
            },
            alpha: 0.125,
            beta: 1.25,
            mean_pktsize: Bytes::new(if ns3 { 1000 } else { 1500 }),
            unit: if ns3 { Unit::Limit } else { Unit::Bytes },
            ecn: false,
            mark_ecnth: Probability::new(0.1).unwrap_or(Probability::ZERO),
            ce_threshold: None,
            delay: Delay::Timestamp,
            dq_threshold: Bytes::new(1 << 14),
            derandomize: linux,
            mark_resets: !ns3,
            cap_adjustment: linux || ns3,
            decay: if linux { Decay::Empty } else { Decay::Zero },
            // Linux subtracts a 64th of the probability, in integers.
            decay_by: Probability::new(if linux { 1.0 / 64.0 } else { 0.02 }).unwrap_or(Probability::ZERO),
            steep_above: linux.then_some(Duration::from_millis(250)),
            drop_prob_max: if linux { 256.0 } else { 1.0 },
            spared_by: if linux { SafeguardDelay::Current } else { SafeguardDelay::Old },
            inactive_below: false,
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        check_limit(self.limit)?;
        let wrong = |key, message| Err(OptionError::new(key, message));
        if self.qdelay_ref.is_zero() {
            return wrong("qdelay_ref", "must be above 0s; the RFC has \"15ms\"");
        }
        if self.t_update < Duration::from_micros(100) || self.t_update > Duration::from_secs(10) {
            return wrong("t_update", "must be from 100us to 10s; the RFC has \"15ms\"");
        }
        if !(self.alpha > 0.0 && self.alpha <= 1000.0) {
            return wrong("alpha", "must be above 0 and at most 1000");
        }
        if !(0.0..=1000.0).contains(&self.beta) {
            return wrong("beta", "must be from 0 to 1000");
        }
        if !(1.0..=256.0).contains(&self.drop_prob_max) {
            return wrong("drop_prob_max", "must be from 1 to 256");
        }
        if self.unit == Unit::Limit && self.mean_pktsize.count() == 0 {
            return wrong("mean_pktsize", "must be above 0B with unit = \"limit\"");
        }
        if !(1..=1 << 16).contains(&self.dq_threshold.count()) {
            return wrong("dq_threshold", "must be from 1B to 64KiB; the RFC has \"16KiB\"");
        }
        Ok(())
    }

    fn unused(&self) -> Vec<OptionError> {
        [
            unused_unless(self.ecn, "mark_ecnth", "ecn = true"),
            unused_unless(self.ecn && self.derandomize, "mark_resets", "ecn = true and derandomize = true"),
            unused_unless(self.delay == Delay::DequeueRate, "dq_threshold", "delay = \"dequeue-rate\""),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// The controller of the drop probability, without packets (RFC 8033 section 4.2).
#[derive(Clone, Copy, Debug, PartialEq)]
struct Control {
    drop_prob: f64,
    /// Delay of the last update, in s.
    qdelay_old: f64,
    /// In ns.
    burst_allowance: u64,
    phase: Phase,
}

/// State of [`Burst::AfterRest`].
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The next packet begins a burst.
    Ready,
    /// A burst is allowed, or there was no update without congestion since then.
    Begun,
    /// Number of consecutive updates without congestion since then.
    Resting(u64),
}

impl Control {
    fn new(options: &Options) -> Self {
        let burst_allowance = match options.burst {
            Burst::Uncongested | Burst::Departures => options.max_burst.as_nanos(),
            Burst::AfterRest => 0,
        };
        Self { drop_prob: 0.0, qdelay_old: 0.0, burst_allowance, phase: Phase::Ready }
    }

    fn is_uncongested(&self, delay: f64, qdelay_ref: f64) -> bool {
        let half = qdelay_ref / 2.0;
        self.drop_prob == 0.0 && delay < half && self.qdelay_old < half
    }
}

/// A running PIE queue.
#[derive(Debug)]
pub struct Pie {
    options: Options,
    qdelay_ref: f64,
    control: Control,
    gauge: Gauge,
    accu_prob: f64,
    active: bool,
    next_update: Instant,
    /// Last departure since the allowance was renewed, for [`Burst::Departures`].
    last_departure: Option<Instant>,
    queue: Sublist,
}

impl Pie {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            qdelay_ref: options.qdelay_ref.as_secs_f64(),
            control: Control::new(options),
            gauge: Gauge::new(options.delay, options.dq_threshold.count()),
            accu_prob: 0.0,
            active: !options.inactive_below,
            next_update: Instant::ZERO + options.t_update,
            last_departure: None,
            queue: Sublist::default(),
            options: options.clone(),
        }
    }

    fn update_until(&mut self, now: Instant) {
        while self.next_update <= now {
            let before = self.control;
            if self.active {
                self.calculate_drop_prob();
            }
            self.next_update += self.options.t_update;
            // If an update changes nothing, the next ones do not either: nothing arrives or departs in between.
            if self.control == before {
                let missed = now.since(self.next_update).as_nanos() / self.options.t_update.as_nanos();
                self.next_update += self.options.t_update * missed;
                if self.next_update <= now {
                    self.next_update += self.options.t_update;
                }
            }
        }
    }

    /// Updates the drop probability (RFC 8033 section 4.2, `calculate_drop_prob` of appendix A).
    fn calculate_drop_prob(&mut self) {
        let Self { options, qdelay_ref, control, .. } = self;
        let (packets, bytes) = self.queue.waiting();
        let delay = self.gauge.delay(bytes);
        let mut p = options.alpha * (delay - *qdelay_ref) + options.beta * (delay - control.qdelay_old);
        p /= match control.drop_prob {
            prob if prob < 1e-6 => 2048.0,
            prob if prob < 1e-5 => 512.0,
            prob if prob < 1e-4 => 128.0,
            prob if prob < 1e-3 => 32.0,
            prob if prob < 1e-2 => 8.0,
            prob if prob < 1e-1 => 2.0,
            _ => 1.0,
        };
        if options.cap_adjustment && control.drop_prob >= 0.1 {
            p = p.min(0.02);
        }
        if options.steep_above.is_some_and(|above| delay > above.as_secs_f64()) {
            p += 0.02;
        }
        if options.burst == Burst::AfterRest && control.burst_allowance > 0 {
            control.drop_prob = 0.0;
        } else {
            control.drop_prob += p;
        }
        let decays = match options.decay {
            Decay::Zero => delay == 0.0 && control.qdelay_old == 0.0,
            Decay::Half => delay < *qdelay_ref / 2.0 && control.qdelay_old < *qdelay_ref / 2.0,
            Decay::Empty => delay == 0.0 && control.qdelay_old == 0.0 && packets == 0,
        };
        if decays {
            control.drop_prob *= 1.0 - options.decay_by.value();
        }
        control.drop_prob = control.drop_prob.clamp(0.0, options.drop_prob_max);
        let is_uncongested = control.is_uncongested(delay, *qdelay_ref);
        if options.burst != Burst::Departures {
            control.burst_allowance = control.burst_allowance.saturating_sub(options.t_update.as_nanos());
        }
        match options.burst {
            Burst::Uncongested => {}
            Burst::AfterRest => {
                control.phase = match control.phase {
                    Phase::Begun if is_uncongested && control.burst_allowance == 0 => Phase::Resting(0),
                    Phase::Resting(_) if !is_uncongested => Phase::Resting(0),
                    Phase::Resting(updates) if updates >= REST.as_nanos() / options.t_update.as_nanos() => Phase::Ready,
                    Phase::Resting(updates) => Phase::Resting(updates + 1),
                    phase => phase,
                };
            }
            Burst::Departures if is_uncongested => {
                control.burst_allowance = options.max_burst.as_nanos();
                (self.last_departure, self.accu_prob) = (None, 0.0);
            }
            Burst::Departures => {}
        }
        control.qdelay_old = delay;
    }

    /// Returns whether the arriving packet is part of an allowed burst (RFC 8033 section 4.4).
    fn allows_burst(&mut self, waiting: u64) -> bool {
        let Self { options, qdelay_ref, control, gauge, .. } = self;
        if options.burst == Burst::Uncongested && control.is_uncongested(gauge.delay(waiting), *qdelay_ref) {
            control.burst_allowance = options.max_burst.as_nanos();
        }
        let is_allowed = control.burst_allowance > 0;
        // The packet that begins a burst is not part of it.
        if options.burst == Burst::AfterRest && !is_allowed && control.phase == Phase::Ready {
            (control.burst_allowance, control.phase) = (options.max_burst.as_nanos(), Phase::Begun);
        }
        is_allowed
    }

    /// Returns whether an arriving packet of this size is to be dropped (`drop_early` of appendices A and B).
    fn drop_early(&mut self, backlog: &Backlog, size: Bytes, random: &mut Random) -> bool {
        let Control { drop_prob, qdelay_old, .. } = self.control;
        let delay = match self.options.spared_by {
            SafeguardDelay::Old => qdelay_old,
            SafeguardDelay::Current => self.gauge.delay(backlog.bytes),
        };
        let is_spared = delay < self.qdelay_ref / 2.0 && drop_prob < 0.2;
        let mean = self.options.mean_pktsize.count();
        let (is_short, weight) = match (self.options.unit, self.options.limit) {
            (Unit::Limit, QueueSize::Packets(_)) => (backlog.packets <= 2, 1.0),
            (unit, _) => {
                let weight = if unit == Unit::Limit { size.count() as f64 / mean as f64 } else { 1.0 };
                (backlog.bytes <= mean.saturating_mul(2), weight)
            }
        };
        if is_spared || is_short {
            return false;
        }
        if self.options.derandomize {
            if drop_prob == 0.0 {
                self.accu_prob = 0.0;
            }
            self.accu_prob += drop_prob;
            if self.accu_prob < 0.85 {
                return false;
            }
            if self.accu_prob >= 8.5 {
                return true;
            }
        }
        random.uniform() < drop_prob * weight
    }

    /// Returns the threshold for a packet that only the threshold applies to.
    fn threshold(&self, ecn: Ecn) -> Option<Duration> {
        self.options.ce_threshold.filter(|_| matches!(ecn, Ecn::Ect1 | Ecn::Ce))
    }

    /// Switches PIE on or off (RFC 8033 section 5.3) after an arrival; `waiting` is in bytes.
    fn switch(&mut self, waiting: u64, packets: u64, now: Instant) {
        let is_third = match self.options.limit {
            QueueSize::Packets(limit) => packets >= limit / 3,
            QueueSize::Bytes(limit) => waiting >= limit.count() / 3,
        };
        if !self.active && is_third {
            self.active = true;
            self.control = Control::new(&self.options);
            (self.accu_prob, self.last_departure) = (0.0, None);
            self.gauge.begin(now);
            self.next_update = now + self.options.t_update;
        }
        let is_over = self.control.is_uncongested(self.gauge.delay(waiting), self.qdelay_ref);
        // A queue that was switched on because of its length would otherwise be switched off at once.
        if is_over && !is_third {
            self.active = false;
        }
    }
}

impl HoldingQueue for Pie {
    fn admit(&mut self, now: Instant, backlog: &Backlog, arrival: Arrival, random: &mut Random) -> Verdict {
        self.update_until(now);
        let mut verdict = backlog.within(self.options.limit, arrival.size);
        if verdict != Verdict::Admit {
            self.accu_prob = 0.0;
        } else if self.active
            && self.threshold(arrival.ecn).is_none()
            && !self.allows_burst(backlog.bytes)
            && self.drop_early(backlog, arrival.size, random)
        {
            let marks = self.options.ecn && self.control.drop_prob < self.options.mark_ecnth.value();
            let capable = marks && arrival.ecn.is_capable();
            verdict = if capable { Verdict::Mark } else { Verdict::Drop(DropCause::Early) };
            // The RFC resets accu_prob at a drop (appendix B); by default a mark resets it, too.
            if !capable || self.options.mark_resets {
                self.accu_prob = 0.0;
            }
        }
        if self.options.inactive_below {
            let more = u64::from(matches!(verdict, Verdict::Admit | Verdict::Mark));
            self.switch(backlog.bytes + more * arrival.size.count(), backlog.packets + more, now);
        }
        verdict
    }

    fn enqueue<T: Item>(&mut self, _: Instant, packet: Handle, pool: &mut Pool<T>, _: &mut VecDeque<Decision>) {
        self.queue.push(packet, pool);
    }

    fn dequeue<T: Item>(
        &mut self,
        now: Instant,
        pool: &mut Pool<T>,
        decisions: &mut VecDeque<Decision>,
    ) -> Option<Handle> {
        self.update_until(now);
        let (since, size) = self.queue.head(pool)?;
        let packet = self.queue.pop(pool)?;
        match pool.slot(packet).and_then(|slot| self.threshold(slot.item.ecn())) {
            Some(threshold) if now.since(since) > threshold => decisions.push_back(Decision::Marked(packet)),
            Some(_) => {}
            None => self.gauge.departed(now, since, size, self.queue.bytes()),
        }
        if self.options.burst == Burst::Departures {
            let before = self.last_departure.replace(now);
            let took = before.map_or(0, |before| now.since(before).as_nanos());
            self.control.burst_allowance = self.control.burst_allowance.saturating_sub(took);
        }
        Some(packet)
    }

    fn waiting(&self) -> (u64, u64) {
        self.queue.waiting()
    }

    fn heads(&self) -> Vec<Handle> {
        vec![self.queue.first()]
    }
}

#[cfg(test)]
mod tests;
