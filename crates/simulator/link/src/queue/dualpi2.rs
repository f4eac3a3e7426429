//! DualPI2 (RFC 9332 appendix A): two queues that share a link, one for L4S traffic and one for Classic, and one PI controller for both.
//!
//! ```text
//! every Tupdate:  curq = the longer wait of the two heads; p' += alpha (curq - target) + beta (curq - prevq), from 0 to 1
//!                 p_C = p'^2;  p_CL = k p'
//! from L:         p_L = max(ramp of its wait, p_CL): mark;  if p_CL has reached 1, drop by p_C, and mark the rest
//! from C:         p_C: mark ECT(0), drop Not-ECT; once it has reached 1 / k^2, drop all
//! ```
//!
//! Probabilities are spread evenly, not drawn: `recur` adds them up, and each whole is a mark or drop. Packets with ECT(1) or CE go to the L queue. Updates are due
//! at each multiple of Tupdate since time zero, before whatever else happens at that instant, and made up for when a packet comes or goes.
//!
//! The RFC leaves the scheduler open. `wrr` is that of the authors' Linux code: L goes first, and each of its bytes that goes while C waits gains C a credit of its weight; once that is
//! above zero C goes, which costs the rest of one for each byte. The credit is reset in favor of L when the link becomes idle (appendix A.1, the list of what the Linux code
//! adds): when a transmission ends and no packet waits. A queue that is empty only while its last packet is transmitted keeps its credit. The appendix counts a
//! packet that leaves as one of its queue: Th_len spares the last of L, and no more. What it says of a check at arrival is not modelled.
//!
//! **p_CL is bounded by 1.** Appendix A.1 bounds p' only, so that figure 6 line 4 gives up to k. p_CL is a probability (section 2.1), and line 21 of figure 2 sets the
//! maximum L4S marking probability p_Lmax to 1. An unbounded p_CL would make `recur` add up k - 1 for each packet of an overload, and L would be marked long after it.

use super::{Arrival, Backlog, Decision, Holds, LinkFacts, Verdict, check_limit};
use crate::pool::{Handle, Item, Pool};
use crate::sublist::Sublist;
use headway_units::{Bytes, Dialect, DropCause, Duration, Ecn, Instant, OptionError, QueueSize, Random, unused_unless};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Options of `kind = "dualpi2"`. Names as in RFC 9332 figure 2, in lower case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// How much may wait in both queues together; absent: what the link sends in 250 ms, of bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<QueueSize>,
    /// The wait aimed at in the Classic queue; above 0s.
    pub target: Duration,
    /// The longest round trip that the controller is to be stable for; above 0s.
    pub rtt_max: Duration,
    /// The time between updates, from 100us to 10s; absent: the shorter of `target` and `rtt_max` / 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub t_update: Option<Duration>,
    /// What a second of wait beyond the target adds to p' at each update, above 0 to 1000 Hz; absent: 0.1 Tupdate / RTT_max^2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// What a second of wait more than at the last update adds to p', from 0 to 1000 Hz; absent: 0.3 / RTT_max.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    /// The coupling factor, from 0.1 to 100: p_CL = k p'.
    pub k: f64,
    /// Up to this wait nothing is marked in the L queue for its own wait. (minTh.)
    pub min_th: Duration,
    /// So much longer everything is; above 0s.
    pub range: Duration,
    /// Nor is anything while no more packets than this are in the L queue, that which leaves included. (Th_len.)
    pub th_len: u32,
    /// Which queue goes.
    pub scheduler: Scheduler,
    /// The Classic queue's share while both wait, above 0 and below 1, with `scheduler = "wrr"`.
    pub classic_weight: f64,
    /// How much longer a Classic packet must have waited to go first, with `scheduler = "ts-fifo"`.
    pub tshift: Duration,
    /// While less than this waits, in both queues and before a packet leaves, nothing is marked or dropped by p_C or p_CL (Linux: two MTU).
    pub min_backlog: Bytes,
}

/// Which of the two queues goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// Weighted round robin.
    Wrr,
    /// The one whose head has waited longest, where that of the Classic queue counts `tshift` less.
    TsFifo,
}

impl headway_units::Options for Options {
    fn preset(dialect: Dialect) -> Self {
        let linux = dialect == Dialect::Linux;
        Self {
            limit: None,
            target: Duration::from_millis(15),
            rtt_max: Duration::from_millis(100),
            // In the kernel a multiple of 4 ms (appendix A.1).
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
            return wrong("t_update", "must be from 100us to 10s, also where it follows from target and rtt_max");
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
            return wrong("range", "must be above 0s; a step is \"1ns\"");
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

/// What has room below the limit or nothing has, so that large packets are not worse off (figure 3); and what Linux and the scheduler count in.
const MTU: u64 = 1500;

#[derive(Debug, Default)]
struct Queue {
    list: Sublist,
    /// What `recur` has added up.
    count: f64,
}

impl Queue {
    /// Whether it is this packet's turn, of those that come with this likelihood (figure 4).
    fn recur(&mut self, likelihood: f64) -> bool {
        self.count += likelihood;
        if self.count > 1.0 {
            self.count -= 1.0;
            return true;
        }
        false
    }

    /// How long its head has waited; 0 if it is empty.
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
    /// In s, as all times here.
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

    /// Returns the probability of marks that L is coupled with, bounded by p_Lmax (figure 2 line 21).
    fn p_cl(&self) -> f64 {
        (self.k * self.p).min(1.0)
    }

    /// That of Classic drops or marks.
    fn p_c(&self) -> f64 {
        self.p * self.p
    }

    /// From this p_C on it is an overload.
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
    /// Bytes that C may send, weighted; above zero it goes.
    credit: f64,
    t_update: Duration,
    next_update: Instant,
}

impl DualPi2 {
    pub(super) fn new(options: &Options, facts: LinkFacts) -> Self {
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

    /// Resets the credit in favor of L.
    fn reset_credit(&mut self) {
        self.credit = MTU as f64 * (2.0 * self.options.classic_weight - 1.0);
    }

    /// Makes up for the updates that were due until now: of the queues as they are, since nothing came or went.
    fn update_until<T: Item>(&mut self, now: Instant, pool: &Pool<T>) {
        while self.next_update <= now {
            let before = self.base;
            let curq = self.l.time(self.next_update, pool).max(self.c.time(self.next_update, pool));
            self.base.update(curq.as_secs_f64());
            self.next_update += self.t_update;
            // While both are empty, what one update does not change the next will not.
            if self.base == before && self.waiting().0 == 0 {
                let missed = now.since(self.next_update).as_nanos() / self.t_update.as_nanos();
                self.next_update += self.t_update * missed;
                if self.next_update <= now {
                    self.next_update += self.t_update;
                }
            }
        }
    }

    /// The native AQM of L, after a wait (figure 5).
    fn laqm(&self, wait: Duration) -> f64 {
        let beyond = wait.saturating_sub(self.options.min_th).as_secs_f64();
        (beyond / self.options.range.as_secs_f64()).min(1.0)
    }

    /// Whether L goes, of two of which one at least holds a packet.
    fn l_goes<T: Item>(&self, now: Instant, pool: &Pool<T>) -> bool {
        if self.l.list.packets() == 0 || self.c.list.packets() == 0 {
            return self.c.list.packets() == 0;
        }
        match self.options.scheduler {
            Scheduler::Wrr => self.credit <= 0.0,
            Scheduler::TsFifo => self.l.time(now, pool) + self.options.tshift >= self.c.time(now, pool),
        }
    }
}

impl Holds for DualPi2 {
    fn admit(&mut self, _: Instant, backlog: &Backlog, arrival: Arrival, _: &mut Random) -> Verdict {
        // In bytes, there is room for a packet if one of an MTU has room (figure 3 line 2).
        backlog.within(self.limit, arrival.size.max(Bytes::new(MTU)))
    }

    fn hold<T: Item>(&mut self, now: Instant, packet: Handle, pool: &mut Pool<T>, _: &mut VecDeque<Decision>) {
        self.update_until(now, pool);
        let is_l4s = pool.slot(packet).is_some_and(|slot| matches!(slot.item.ecn(), Ecn::Ect1 | Ecn::Ce));
        let queue = if is_l4s { &mut self.l } else { &mut self.c };
        queue.list.push(packet, pool);
    }

    /// Figure 7.
    fn dequeue<T: Item>(&mut self, now: Instant, pool: &mut Pool<T>, told: &mut VecDeque<Decision>) -> Option<Handle> {
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
            let is_l = self.l_goes(now, pool);
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
                // The recursion of p_CL = 1 adds 1 to a count above 0, marks and takes 1 back: every packet that is not dropped is marked.
                (dropped, !dropped)
            } else {
                let chosen = queue.recur(p_c);
                let dropped = chosen && (!ecn.is_capable() || p_c >= self.base.p_c_max());
                (dropped, chosen && !dropped)
            };
            if dropped {
                told.push_back(Decision::Dropped { packet, enqueued: since, cause: DropCause::Early });
                continue;
            }
            if marked {
                told.push_back(Decision::Marked(packet));
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
