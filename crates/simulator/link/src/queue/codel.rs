//! CoDel (RFC 8289): drops from the head of the queue once all packets of an interval have waited at least a target.
//!
//! At each departure, with sojourn the time that the departing packet has waited and bytes what still waits after it:
//!
//! ```text
//! below       = sojourn < TARGET or bytes <= maxpacket
//! ok_to_drop  = not below since INTERVAL at least
//! not dropping: ok_to_drop -> drop one, dropping; count <- the drops of the last dropping state if it ended less than
//!               16 INTERVAL after its last drop was due, else 1; drop_next <- now + INTERVAL / sqrt(count)
//! dropping:     not ok_to_drop -> leave the state;  now >= drop_next -> drop one, count += 1,
//!               drop_next += INTERVAL / sqrt(count), repeat
//! ```
//!
//! Details that the RFC leaves open follow Linux 6.1 (`include/net/codel_impl.h`): with ECN, a packet is marked
//! instead of dropped and departs, so that there is at most one mark per departure; marks may have a separate
//! threshold.

use super::{Arrival, Backlog, Decision, HoldingQueue, Verdict, check_limit};
use crate::pool::{Handle, Item, Pool};
use crate::sublist::Sublist;
use headway_units::{Bytes, Dialect, DropCause, Duration, Ecn, Instant, OptionError, QueueSize, Random, unused_unless};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Options of a queue of `kind = "codel"`. `target`, `interval` and `maxpacket` are constants of RFC 8289 section 5.3.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Capacity of the queue; further packets are dropped, and CoDel does not count these drops (RFC 8289 section 5.4).
    pub limit: QueueSize,
    /// Acceptable standing queue delay: CoDel drops nothing while at least one packet in each interval waits for a
    /// shorter time; above 0s. (TARGET, RFC 8289 section 4.3.)
    pub target: Duration,
    /// How long all packets must have waited at least `target` before one is dropped: about the longest round-trip
    /// time; above 0s. (INTERVAL, RFC 8289 section 4.2.)
    pub interval: Duration,
    /// Whether CoDel may drop once all packets have waited at least `target` for exactly `interval`, or only after a
    /// longer time than `interval`.
    pub above_for: AboveFor,
    /// CoDel drops nothing while at most this many bytes wait after the departing packet (RFC 8289 section 5.6).
    pub maxpacket: Bytes,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Waiting time above which departing packets are marked, in addition to the marks of CoDel; `ce_threshold_marks`
    /// selects the packets. If absent: no additional marks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<Duration>,
    /// Which packets `ce_threshold` marks.
    pub ce_threshold_marks: CeThresholdMarks,
    /// Time from which CoDel counts the wait for the next mark or drop after a mark.
    pub after_mark: AfterMark,
    /// Whether an empty queue restarts the measurement of how long all packets have waited at least `target`.
    pub empty_resets: bool,
    /// How 1 / sqrt(count) is computed, where count is CoDel's drop counter (RFC 8289 section 5.2).
    pub inverse_sqrt: InverseSqrt,
    /// Resolution of CoDel's times, 1ns to 1ms; times are rounded down to a multiple of it.
    pub tick: Duration,
}

/// How long all packets must have waited at least the target before one is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AboveFor {
    /// All packets must have waited at least the target during the interval or longer (RFC 8289 section 5.6: `now >=
    /// first_above_time`).
    Interval,
    /// All packets must have waited at least the target for longer than the interval (Linux, ns-3: `now >
    /// first_above_time`).
    Longer,
}

/// Which packets `ce_threshold` marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CeThresholdMarks {
    /// `ce_threshold` marks all ECN-capable packets.
    Ect,
    /// `ce_threshold` marks the packets of L4S senders, ECT(1) (RFC 9331 section 4.1; Linux, `ce_threshold_selector
    /// 0x1/0x3`).
    Ect1,
    /// `ce_threshold` marks packets with ECT(1) or CE. CoDel itself ignores these packets, except just after a drop
    /// (ns-3, `UseL4s`).
    L4s,
}

/// Time from which CoDel counts the wait for the next mark or drop after a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AfterMark {
    /// The wait is counted from the time when the mark was due, as after a drop (RFC 8289 section 5.5, Linux).
    Due,
    /// The wait is counted from the time when the packet was marked (ns-3).
    Set,
}

/// How 1 / sqrt(count) is computed, where count is CoDel's drop counter (RFC 8289 section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InverseSqrt {
    /// 1 / sqrt(count) is computed exactly; times are rounded to the tick.
    Exact,
    /// 1 / sqrt(count) is approximated in 16 bits, by one Newton step per drop or mark (Linux, `codel_Newton_step`).
    Newton,
}

impl headway_units::Options for Options {
    fn preset(dialect: Dialect) -> Self {
        let ns3 = dialect == Dialect::Ns3;
        // ns-3's is a port of Linux's.
        let linux = ns3 || dialect == Dialect::Linux;
        Self {
            limit: if ns3 { QueueSize::Bytes(Bytes::new(1_500_000)) } else { QueueSize::Packets(1000) },
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            above_for: if linux { AboveFor::Longer } else { AboveFor::Interval },
            // ns-3 drops nothing while less than 1500 B wait.
            maxpacket: Bytes::new(if ns3 { 1499 } else { 1500 }),
            ecn: false,
            ce_threshold: None,
            ce_threshold_marks: CeThresholdMarks::Ect,
            after_mark: if ns3 { AfterMark::Set } else { AfterMark::Due },
            empty_resets: !linux,
            inverse_sqrt: if linux { InverseSqrt::Newton } else { InverseSqrt::Exact },
            // Linux shifts nanoseconds by CODEL_SHIFT, 10.
            tick: Duration::from_nanos(if linux { 1024 } else { 1 }),
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        check_limit(self.limit)?;
        check_threshold(self.ce_threshold, self.ce_threshold_marks)?;
        check_times(self.target, self.interval, self.tick)
    }

    fn unused(&self) -> Vec<OptionError> {
        unused_of_marks(self.ecn, self.ce_threshold)
    }
}

/// Returns the keys about marks that have no effect with these values of `ecn` and `ce_threshold`.
pub(super) fn unused_of_marks(ecn: bool, threshold: Option<Duration>) -> Vec<OptionError> {
    let after_mark = unused_unless(ecn, "after_mark", "ecn = true");
    let chosen = unused_unless(threshold.is_some(), "ce_threshold_marks", "ce_threshold");
    after_mark.into_iter().chain(chosen).collect()
}

/// Checks that `l4s`, which exempts packets from CoDel, has a threshold for them.
pub(super) fn check_threshold(threshold: Option<Duration>, marks: CeThresholdMarks) -> Result<(), OptionError> {
    if marks == CeThresholdMarks::L4s && threshold.is_none() {
        let message =
            "\"l4s\" exempts packets with ECT(1) or CE from CoDel; expected a ce_threshold for them, such as \"1ms\"";
        return Err(OptionError::new("ce_threshold_marks", message));
    }
    Ok(())
}

pub(super) fn check_times(target: Duration, interval: Duration, tick: Duration) -> Result<(), OptionError> {
    if target.is_zero() {
        return Err(OptionError::new("target", "must be above 0s; the RFC has \"5ms\""));
    }
    if interval.is_zero() {
        return Err(OptionError::new("interval", "must be above 0s; the RFC has \"100ms\""));
    }
    if tick.is_zero() || tick > Duration::from_millis(1) {
        return Err(OptionError::new("tick", "must be from 1ns to 1ms"));
    }
    Ok(())
}

/// The parameters that all CoDel queues of a discipline share. Times in ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Params {
    tick: u64,
    target: u64,
    interval: u64,
    above_for: AboveFor,
    maxpacket: u64,
    ecn: bool,
    ce_threshold: Option<u64>,
    ce_threshold_marks: CeThresholdMarks,
    after_mark: AfterMark,
    empty_resets: bool,
    inverse_sqrt: InverseSqrt,
}

impl Params {
    pub(super) fn new(options: &Options) -> Self {
        let tick = options.tick.as_nanos().max(1);
        let ticks = |time: Duration| time.as_nanos() / tick;
        Self {
            tick,
            target: ticks(options.target),
            interval: ticks(options.interval),
            above_for: options.above_for,
            maxpacket: options.maxpacket.count(),
            ecn: options.ecn,
            ce_threshold: options.ce_threshold.map(ticks),
            ce_threshold_marks: options.ce_threshold_marks,
            after_mark: options.after_mark,
            empty_resets: options.empty_resets,
            inverse_sqrt: options.inverse_sqrt,
        }
    }

    fn ticks(&self, at: Instant) -> u64 {
        at.as_nanos() / self.tick
    }

    fn marks(&self, ecn: Ecn) -> bool {
        self.ecn && ecn.is_capable()
    }

    /// Returns whether only the threshold applies to a packet.
    fn passes(&self, ecn: Ecn) -> bool {
        self.ce_threshold_marks == CeThresholdMarks::L4s && matches!(ecn, Ecn::Ect1 | Ecn::Ce)
    }

    /// Returns whether a packet is marked because its sojourn time is above the threshold.
    fn marks_at_threshold(&self, sojourn: u64, ecn: Ecn, passed: bool) -> bool {
        let chosen = match self.ce_threshold_marks {
            CeThresholdMarks::Ect => ecn.is_capable(),
            CeThresholdMarks::Ect1 => ecn == Ecn::Ect1,
            CeThresholdMarks::L4s => passed,
        };
        chosen && self.ce_threshold.is_some_and(|threshold| sojourn > threshold)
    }
}

/// The state of one queue (RFC 8289 section 5.2). Times in ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Control {
    /// When the sojourn time will have been above TARGET for INTERVAL; `None` if it was below.
    first_above_time: Option<u64>,
    drop_next: u64,
    count: u32,
    lastcount: u32,
    dropping: bool,
    /// 1 / sqrt(count) in units of 2^-16, for Newton's method.
    rec_inv_sqrt: u16,
}

impl Default for Control {
    fn default() -> Self {
        Self { first_above_time: None, drop_next: 0, count: 0, lastcount: 0, dropping: false, rec_inv_sqrt: u16::MAX }
    }
}

/// The result of `dodequeue` of RFC 8289 section 5.6.
#[derive(Clone, Copy)]
struct Next {
    packet: Option<Handle>,
    ecn: Ecn,
    since: Instant,
    /// In ticks.
    sojourn: u64,
    ok_to_drop: bool,
}

impl Control {
    /// Returns the packet that departs `now` (RFC 8289 section 5.5). Appends the packets that are dropped before it,
    /// and its mark, to `decisions`. `others` are bytes in other queues that count toward `maxpacket`.
    pub(super) fn dequeue<T: Item>(
        &mut self,
        params: &Params,
        now: Instant,
        queue: &mut Sublist,
        others: u64,
        pool: &mut Pool<T>,
        decisions: &mut VecDeque<Decision>,
    ) -> Option<Handle> {
        let now = params.ticks(now);
        let head = pool.slot(queue.first()).map(|slot| slot.item.ecn());
        if head.is_none() && !params.empty_resets {
            self.dropping = false;
            return None;
        }
        let passes = head.is_some_and(|ecn| params.passes(ecn));
        let first_above_time = self.first_above_time;
        let mut next = self.dodequeue(params, now, queue, others, pool);
        let mut marked = false;
        if passes {
            self.first_above_time = first_above_time;
        } else if self.dropping {
            if !next.ok_to_drop {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                self.newton_step(params);
                if params.marks(next.ecn) {
                    marked = true;
                    let from = if params.after_mark == AfterMark::Due { self.drop_next } else { now };
                    self.drop_next = self.control_law(params, from);
                    break;
                }
                next.drop(decisions);
                next = self.dodequeue(params, now, queue, others, pool);
                if next.ok_to_drop {
                    self.drop_next = self.control_law(params, self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if next.ok_to_drop {
            if params.marks(next.ecn) {
                marked = true;
            } else {
                next.drop(decisions);
                next = self.dodequeue(params, now, queue, others, pool);
            }
            self.dropping = true;
            let delta = self.count.wrapping_sub(self.lastcount);
            if delta > 1 && now.saturating_sub(self.drop_next) < params.interval.saturating_mul(16) {
                self.count = delta;
                self.newton_step(params);
            } else {
                self.count = 1;
                self.rec_inv_sqrt = u16::MAX;
            }
            self.drop_next = self.control_law(params, now);
            self.lastcount = self.count;
        }
        let packet = next.packet?;
        if marked || params.marks_at_threshold(next.sojourn, next.ecn, passes) {
            decisions.push_back(Decision::Marked(packet));
        }
        Some(packet)
    }

    /// Removes the head of the queue and checks its sojourn time (RFC 8289 section 5.6).
    fn dodequeue<T: Item>(
        &mut self,
        params: &Params,
        now: u64,
        queue: &mut Sublist,
        others: u64,
        pool: &mut Pool<T>,
    ) -> Next {
        let packet = queue.pop(pool);
        let slot = packet.and_then(|packet| pool.slot(packet));
        let Some(slot) = slot else {
            self.first_above_time = None;
            return Next { packet: None, ecn: Ecn::NotEct, since: Instant::ZERO, sojourn: 0, ok_to_drop: false };
        };
        let sojourn = now.saturating_sub(params.ticks(slot.since));
        let mut ok_to_drop = false;
        if sojourn < params.target || queue.bytes().saturating_add(others) <= params.maxpacket {
            self.first_above_time = None;
        } else {
            let from = *self.first_above_time.get_or_insert(now.saturating_add(params.interval));
            ok_to_drop = match params.above_for {
                AboveFor::Interval => now >= from,
                AboveFor::Longer => now > from,
            };
        }
        Next { packet, ecn: slot.item.ecn(), since: slot.since, sojourn, ok_to_drop }
    }

    /// Returns when the next drop is due after one at `from`.
    fn control_law(&self, params: &Params, from: u64) -> u64 {
        let wait = match params.inverse_sqrt {
            InverseSqrt::Exact => (params.interval as f64 / f64::from(self.count.max(1)).sqrt() + 0.5) as u64,
            InverseSqrt::Newton => ((u128::from(params.interval) * u128::from(self.rec_inv_sqrt)) >> 16) as u64,
        };
        from.saturating_add(wait)
    }

    /// Counts packets of the queue that were dropped for another reason as drops of CoDel.
    pub(super) fn count_as_dropped(&mut self, packets: u32) {
        self.count = self.count.saturating_add(packets);
    }

    /// Computes x <- x (3 - count x^2) / 2, in the integer widths of Linux.
    fn newton_step(&mut self, params: &Params) {
        if params.inverse_sqrt == InverseSqrt::Exact {
            return;
        }
        let inverse = u64::from(self.rec_inv_sqrt) << 16;
        let squared = (inverse * inverse) >> 32;
        // After a jump of count the difference may be negative; the result wraps, as in Linux.
        let value = (3_u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(squared)) >> 2;
        self.rec_inv_sqrt = ((value.wrapping_mul(inverse) >> 31) as u32 >> 16) as u16;
    }
}

#[cfg(test)]
impl Control {
    pub(super) const fn count(&self) -> u32 {
        self.count
    }
}

impl Next {
    fn drop(&self, decisions: &mut VecDeque<Decision>) {
        if let Some(packet) = self.packet {
            decisions.push_back(Decision::Dropped { packet, enqueued: self.since, cause: DropCause::Early });
        }
    }
}

/// A running CoDel queue.
#[derive(Debug)]
pub struct Codel {
    limit: QueueSize,
    params: Params,
    control: Control,
    queue: Sublist,
}

impl Codel {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            limit: options.limit,
            params: Params::new(options),
            control: Control::default(),
            queue: Sublist::default(),
        }
    }
}

impl HoldingQueue for Codel {
    fn admit(&mut self, _: Instant, backlog: &Backlog, arrival: Arrival, _: &mut Random) -> Verdict {
        backlog.within(self.limit, arrival.size)
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
        self.control.dequeue(&self.params, now, &mut self.queue, 0, pool, decisions)
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
