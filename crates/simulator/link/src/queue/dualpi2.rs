//! DualPI2 (RFC 9332 appendix A): a queue for L4S and one for Classic traffic, with a common PI controller.
//!
//! ```text
//! every Tupdate:  curq = the longer sojourn time of the two heads
//!                 p' += alpha (curq - target) + beta (curq - prevq), from 0 to 1
//!                 p_C = p'^2;  p_CL = k p'
//! from L:         p_L = max(ramp of its sojourn time, p_CL): mark;  if p_CL is 1, drop by p_C, and mark the others
//! from C:         p_C: mark ECT(0), drop Not-ECT; once it has reached 1 / k^2, drop all
//! ```
//!
//! Probabilities are spread evenly instead of drawn: `recur` sums them up, and marks or drops a packet at each whole
//! number. Packets with ECT(1) or CE are in the L queue. Updates are due at each multiple of Tupdate since time zero,
//! before other events of the same time. They are caught up on at arrivals and departures.
//!
//! The RFC leaves the scheduler open. `wrr` is that of the authors' Linux code. L is served first. Each byte that L
//! sends while C waits adds the weight of C to a credit. While the credit is above zero, C is served, and each byte of
//! C subtracts one minus the weight. When the link becomes idle (a transmission ends and no packet waits), the credit
//! is reset in favor of L (appendix A.1, the list of additions of the Linux code). A queue that is empty only during
//! the transmission of its last packet keeps its credit. In the appendix a departing packet counts as part of its
//! queue, so that Th_len exempts only the last packet of L. The optional check at arrival is not modelled.
//!
//! **p_CL is bounded by 1.** Appendix A.1 bounds p' only, so that figure 6 line 4 yields up to k. But p_CL is a
//! probability (section 2.1), and line 21 of figure 2 sets the maximum L4S marking probability p_Lmax to 1. With an
//! unbounded p_CL, `recur` would accumulate k - 1 for each packet of an overload, and L would be marked long after it.

use super::{Arrival, Backlog, Decision, HoldingQueue, LinkProperties, Verdict, check_limit};
use crate::pool::{Handle, Item, Pool};
use crate::sublist::Sublist;
use headway_units::{Bytes, Dialect, DropCause, Duration, Ecn, Instant, OptionError, QueueSize, Random, unused_unless};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Options of a queue of `kind = "dualpi2"`. Parameters of RFC 9332 figure 2 have their names from there, in snake case
/// (`t_update` for Tupdate).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Capacity of both queues together. If absent: the bytes that the link sends in 250 ms, at least 3000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<QueueSize>,
    /// Target queueing delay of the Classic queue; above 0s.
    pub target: Duration,
    /// Longest round-trip time for which the controller is stable; above 0s.
    pub rtt_max: Duration,
    /// Time between updates of the base probability, 100us to 10s. If absent: the smaller of `target` and `rtt_max` /
    /// 3; in dialect linux 16ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub t_update: Option<Duration>,
    /// Change of the base probability p' at each update, per second of queueing delay above the target; above 0 to 1000
    /// Hz. If absent: 0.1 `t_update` / `rtt_max`^2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Change of the base probability p' at each update, per second by which the queueing delay increased since the
    /// last update; 0 to 1000 Hz. If absent: 0.3 / `rtt_max`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    /// Coupling factor, 0.1 to 100: packets of the L4S queue are marked with probability p_CL = k p', at most 1, where
    /// p' is the base probability of the controller.
    pub k: f64,
    /// Queueing delay up to which the native AQM of the L4S queue marks nothing. (minTh.)
    pub min_th: Duration,
    /// Width of the ramp of delays above `min_th`, at the end of which the native AQM of the L4S queue marks
    /// everything; above 0s.
    pub range: Duration,
    /// Number of packets in the L4S queue, with the departing one, up to which its native AQM marks nothing. (Th_len.)
    pub th_len: u32,
    /// Rule that selects the queue that is served next.
    pub scheduler: Scheduler,
    /// With `scheduler = "wrr"`: share of the sent bytes that the Classic queue gets while both queues have packets,
    /// above 0 and below 1.
    pub classic_weight: f64,
    /// With `scheduler = "ts-fifo"`: time by which the first Classic packet must have waited longer than the first L4S
    /// packet to be served before it.
    pub tshift: Duration,
    /// Bytes in both queues together, with the departing packet, below which the controller marks and drops nothing
    /// (p_C and p_CL are 0; Linux: two MTU).
    pub min_backlog: Bytes,
}

/// Rule that selects which of the two queues, L4S and Classic, is served next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// The two queues are served by weighted round robin.
    Wrr,
    /// The queue whose head packet has waited longest is served, with `tshift` subtracted for the Classic queue.
    TsFifo,
}

impl headway_units::Options for Options {
    fn preset(dialect: Dialect) -> Self {
        let linux = dialect == Dialect::Linux;
        Self {
            limit: None,
            target: Duration::from_millis(15),
            rtt_max: Duration::from_millis(100),
            // In Linux, a multiple of 4 ms (appendix A.1).
            t_update: linux.then_some(Duration::from_millis(16)),
            alpha: None,
            beta: None,
            k: 2.0,
            min_th: Duration::from_micros(800),
            range: Duration::from_micros(400),
            th_len: 1,
            scheduler: Scheduler::Wrr,
            classic_weight: 1.0 / 16.0,
            tshift: Duration::from_millis(50),
            min_backlog: Bytes::new(if linux { 2 * MTU } else { 0 }),
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        let wrong = |key, message| Err(OptionError::new(key, message));
        self.limit.map_or(Ok(()), check_limit)?;
        if self.target.is_zero() {
            return wrong("target", "must be above 0s; the RFC has \"15ms\"");
        }
        if self.rtt_max.is_zero() {
            return wrong("rtt_max", "must be above 0s; the RFC has \"100ms\"");
        }
        let t_update = self.update_interval();
        if t_update < Duration::from_micros(100) || t_update > Duration::from_secs(10) {
            return wrong("t_update", "must be from 100us to 10s, also if target and rtt_max determine it");
        }
        if self.alpha.is_some_and(|alpha| !(alpha > 0.0 && alpha <= 1000.0)) {
            return wrong("alpha", "must be above 0 and at most 1000");
        }
        if self.beta.is_some_and(|beta| !(0.0..=1000.0).contains(&beta)) {
            return wrong("beta", "must be from 0 to 1000");
        }
        if !(0.1..=100.0).contains(&self.k) {
            return wrong("k", "must be from 0.1 to 100; the RFC has 2");
        }
        if self.range.is_zero() {
            return wrong("range", "must be above 0s; \"1ns\" gives a step");
        }
        if !(self.classic_weight > 0.0 && self.classic_weight < 1.0) {
            return wrong("classic_weight", "must be above 0 and below 1; the RFC has 1/16, 0.0625");
        }
        Ok(())
    }

    fn unused(&self) -> Vec<OptionError> {
        [
            unused_unless(self.scheduler == Scheduler::Wrr, "classic_weight", "scheduler = \"wrr\""),
            unused_unless(self.scheduler == Scheduler::TsFifo, "tshift", "scheduler = \"ts-fifo\""),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl Options {
    fn update_interval(&self) -> Duration {
        self.t_update.unwrap_or_else(|| self.target.min(self.rtt_max / 3))
    }
}

/// Bytes that a queue in bytes must have space for at each arrival, so that large packets have no disadvantage; unit of
/// the Linux defaults and of the scheduler (figure 3).
const MTU: u64 = 1500;

#[derive(Debug, Default)]
struct Queue {
    list: Sublist,
    count: f64,
}

impl Queue {
    /// Returns whether the next packet is chosen, for events of this likelihood (figure 4).
    fn recur(&mut self, likelihood: f64) -> bool {
        self.count += likelihood;
        if self.count > 1.0 {
            self.count -= 1.0;
            return true;
        }
        false
    }

    /// Returns the sojourn time of the head; 0 if the queue is empty.
    fn time<T: Item>(&self, now: Instant, pool: &Pool<T>) -> Duration {
        self.list.head(pool).map_or(Duration::ZERO, |(since, _)| now.since(since))
    }
}

/// The base controller (figures 2, 6 and 8).
#[derive(Clone, Copy, Debug, PartialEq)]
struct Base {
    alpha: f64,
    beta: f64,
    k: f64,
    /// In s, as all times in this struct.
    target: f64,
    prevq: f64,
    /// p'.
    p: f64,
}

impl Base {
    fn update(&mut self, curq: f64) {
        let p = self.p + self.alpha * (curq - self.target) + self.beta * (curq - self.prevq);
        self.p = p.clamp(0.0, 1.0);
        self.prevq = curq;
    }

    /// Returns the coupled probability of marks of L, bounded by p_Lmax (figure 2 line 21).
    fn p_cl(&self) -> f64 {
        (self.k * self.p).min(1.0)
    }

    fn p_c(&self) -> f64 {
        self.p * self.p
    }

    fn p_c_max(&self) -> f64 {
        (1.0 / (self.k * self.k)).min(1.0)
    }
}

/// A running DualPI2 queue.
#[derive(Debug)]
pub struct DualPi2 {
    options: Options,
    limit: QueueSize,
    base: Base,
    l: Queue,
    c: Queue,
    /// Weighted bytes that C may send; C is served while it is above zero.
    credit: f64,
    t_update: Duration,
    next_update: Instant,
}

impl DualPi2 {
    pub(super) fn new(options: &Options, facts: LinkProperties) -> Self {
        let (t_update, rtt_max) = (options.update_interval(), options.rtt_max.as_secs_f64());
        let base = Base {
            alpha: options.alpha.unwrap_or(0.1 * t_update.as_secs_f64() / (rtt_max * rtt_max)),
            beta: options.beta.unwrap_or(0.3 / rtt_max),
            k: options.k,
            target: options.target.as_secs_f64(),
            prevq: 0.0,
            p: 0.0,
        };
        // A quarter of a second.
        let buffer = || QueueSize::Bytes(Bytes::new((facts.rate.bits_per_second() / 32).max(2 * MTU)));
        let mut queue = Self {
            limit: options.limit.unwrap_or_else(buffer),
            base,
            l: Queue::default(),
            c: Queue::default(),
            credit: 0.0,
            t_update,
            next_update: Instant::ZERO + t_update,
            options: options.clone(),
        };
        queue.reset_credit();
        queue
    }

    fn reset_credit(&mut self) {
        self.credit = MTU as f64 * (2.0 * self.options.classic_weight - 1.0);
    }

    /// Catches up on the updates that were due until now. The queues have not changed since then.
    fn update_until<T: Item>(&mut self, now: Instant, pool: &Pool<T>) {
        while self.next_update <= now {
            let before = self.base;
            let curq = self.l.time(self.next_update, pool).max(self.c.time(self.next_update, pool));
            self.base.update(curq.as_secs_f64());
            self.next_update += self.t_update;
            // While both queues are empty, if an update changes nothing, the next ones do not either.
            if self.base == before && self.waiting().0 == 0 {
                let missed = now.since(self.next_update).as_nanos() / self.t_update.as_nanos();
                self.next_update += self.t_update * missed;
                if self.next_update <= now {
                    self.next_update += self.t_update;
                }
            }
        }
    }

    /// Returns the probability of the native AQM of L at this sojourn time (figure 5).
    fn laqm(&self, wait: Duration) -> f64 {
        let beyond = wait.saturating_sub(self.options.min_th).as_secs_f64();
        (beyond / self.options.range.as_secs_f64()).min(1.0)
    }

    /// Returns whether L is served. At least one of the queues has a packet.
    fn serves_l<T: Item>(&self, now: Instant, pool: &Pool<T>) -> bool {
        if self.l.list.packets() == 0 || self.c.list.packets() == 0 {
            return self.c.list.packets() == 0;
        }
        match self.options.scheduler {
            Scheduler::Wrr => self.credit <= 0.0,
            Scheduler::TsFifo => self.l.time(now, pool) + self.options.tshift >= self.c.time(now, pool),
        }
    }
}

impl HoldingQueue for DualPi2 {
    fn admit(&mut self, _: Instant, backlog: &Backlog, arrival: Arrival, _: &mut Random) -> Verdict {
        // In bytes, a packet is admitted if a packet of one MTU would fit (figure 3 line 2).
        backlog.within(self.limit, arrival.size.max(Bytes::new(MTU)))
    }

    fn enqueue<T: Item>(&mut self, now: Instant, packet: Handle, pool: &mut Pool<T>, _: &mut VecDeque<Decision>) {
        self.update_until(now, pool);
        let is_l4s = pool.slot(packet).is_some_and(|slot| matches!(slot.item.ecn(), Ecn::Ect1 | Ecn::Ce));
        let queue = if is_l4s { &mut self.l } else { &mut self.c };
        queue.list.push(packet, pool);
    }

    /// Returns the next packet (figure 7).
    fn dequeue<T: Item>(
        &mut self,
        now: Instant,
        pool: &mut Pool<T>,
        decisions: &mut VecDeque<Decision>,
    ) -> Option<Handle> {
        self.update_until(now, pool);
        let (p_cl, p_c) = (self.base.p_cl(), self.base.p_c());
        loop {
            let (packets, bytes) = self.waiting();
            if packets == 0 {
                self.reset_credit();
                return None;
            }
            let is_spared = bytes < self.options.min_backlog.count();
            let (p_cl, p_c) = if is_spared { (0.0, 0.0) } else { (p_cl, p_c) };
            let is_l = self.serves_l(now, pool);
            let other_waits = if is_l { self.c.list.packets() > 0 } else { self.l.list.packets() > 0 };
            let native = if is_l && self.l.list.packets() > u64::from(self.options.th_len) {
                self.laqm(self.l.time(now, pool))
            } else {
                0.0
            };
            let queue = if is_l { &mut self.l } else { &mut self.c };
            let packet = queue.list.pop(pool)?;
            let slot = pool.slot(packet)?;
            let (ecn, since, size) = (slot.item.ecn(), slot.since, f64::from(slot.item.size()));
            let (dropped, marked) = if is_l && p_cl < 1.0 {
                (false, queue.recur(f64::max(native, p_cl)))
            } else if is_l {
                let dropped = queue.recur(p_c);
                // With p_CL = 1 the recursion adds and subtracts 1 per packet: all packets that are not dropped are
                // marked.
                (dropped, !dropped)
            } else {
                let chosen = queue.recur(p_c);
                let dropped = chosen && (!ecn.is_capable() || p_c >= self.base.p_c_max());
                (dropped, chosen && !dropped)
            };
            if dropped {
                decisions.push_back(Decision::Dropped { packet, enqueued: since, cause: DropCause::Early });
                continue;
            }
            if marked {
                decisions.push_back(Decision::Marked(packet));
            }
            if other_waits {
                let weight = self.options.classic_weight;
                self.credit += size * if is_l { weight } else { weight - 1.0 };
            }
            return Some(packet);
        }
    }

    fn waiting(&self) -> (u64, u64) {
        (self.l.list.packets() + self.c.list.packets(), self.l.list.bytes() + self.c.list.bytes())
    }

    fn heads(&self) -> Vec<Handle> {
        vec![self.l.list.first(), self.c.list.first()]
    }
}

#[cfg(test)]
mod tests;
