//! CoDel (RFC 8289): drops from the front as long as no packet of the last while has waited less than a target.
//!
//! At each departure, with sojourn the time that the packet at the front has waited and bytes what waits behind it:
//!
//! ```text
//! below       = sojourn < TARGET or bytes <= maxpacket
//! ok_to_drop  = not below since INTERVAL at least
//! not dropping: ok_to_drop -> drop one, dropping; count <- the drops of the last time if that ended less than
//!               16 INTERVAL after its last drop was due, else 1; drop_next <- now + INTERVAL / sqrt(count)
//! dropping:     not ok_to_drop -> no longer;  now >= drop_next -> drop one, count += 1,
//!               drop_next += INTERVAL / sqrt(count), and again
//! ```
//!
//! What the RFC does not say is as Linux 6.1 has it (`include/net/codel_impl.h`): with ECN a mark stands for a drop and the packet leaves, so that
//! there is at most one a departure; and a threshold for marks beside the rest.

use super::{Arrival, Backlog, Decision, Holds, Verdict, check_limit};
use crate::pool::{Handle, Item, Pool};
use crate::sublist::Sublist;
use headway_units::{Bytes, Dialect, DropCause, Duration, Ecn, Instant, OptionError, QueueSize, Random, unused_unless};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Options of `kind = "codel"`. Names as in RFC 8289 section 5.3, in lower case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// How much may wait; what comes beyond that is dropped, and CoDel does not count it (section 5.4).
    pub limit: QueueSize,
    /// The least wait that a queue may settle at; above 0s. (TARGET, section 4.3.)
    pub target: Duration,
    /// For how long no packet may have waited less before one is dropped: about the longest round trip; above 0s. (INTERVAL, section 4.2.)
    pub interval: Duration,
    /// Whether so long is enough.
    pub above_for: AboveFor,
    /// A queue that holds no more than this behind the packet that leaves is left alone (section 5.6).
    pub maxpacket: Bytes,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// ECN-capable packets that have waited longer are marked, whatever the rest decides; absent: none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<Duration>,
    /// Which of them.
    pub ce_threshold_marks: CeThresholdMarks,
    /// From when the next mark or drop is counted behind a mark.
    pub after_mark: AfterMark,
    /// Whether a queue that is found empty forgets since when its packets waited too long.
    pub empty_resets: bool,
    /// How 1 / sqrt(count) is computed.
    pub inverse_sqrt: InverseSqrt,
    /// Times are counted in whole ones of this, from 1ns to 1ms.
    pub tick: Duration,
}

/// For how long every packet must have waited as long as the target before one is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AboveFor {
    /// For the interval (section 5.6: `now >= first_above_time`).
    Interval,
    /// For longer (Linux, ns-3: `now > first_above_time`).
    Longer,
}

/// Which packets `ce_threshold` marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CeThresholdMarks {
    /// All that are ECN-capable.
    Ect,
    /// Those of L4S senders, ECT(1) (RFC 9331 section 4.1; Linux, `ce_threshold_selector 0x1/0x3`).
    Ect1,
    /// Those of L4S senders and those that are CE, for whom that is all: they are no business of the rest, but behind a packet that it drops (ns-3, `UseL4s`).
    L4s,
}

/// From when the next mark or drop is counted behind a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AfterMark {
    /// From when the mark was due, as behind a drop (section 5.5, Linux).
    Due,
    /// From when it was set (ns-3).
    Set,
}

/// How 1 / sqrt(count) is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InverseSqrt {
    /// To the tick.
    Exact,
    /// In 16 bits, by a step of Newton's at each drop (Linux, `codel_Newton_step`).
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
            // ns-3 spares a queue with less than 1500 B.
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

/// What `l4s` takes out of CoDel the threshold has to mark: there must be one.
pub(super) fn check_threshold(threshold: Option<Duration>, marks: CeThresholdMarks) -> Result<(), OptionError> {
    if marks == CeThresholdMarks::L4s && threshold.is_none() {
        let message = "\"l4s\" takes what is ECT(1) or CE from CoDel, and leaves it to ce_threshold: write that, too, such as \"1ms\"";
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

/// What queues by CoDel have in common that are alike: times in ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
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

impl Law {
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

    /// Whether a packet that would be dropped is marked instead.
    fn marks(&self, ecn: Ecn) -> bool {
        self.ecn && ecn.is_capable()
    }

    /// Whether the threshold is all that a packet has to fear.
    fn passes(&self, ecn: Ecn) -> bool {
        self.ce_threshold_marks == CeThresholdMarks::L4s && matches!(ecn, Ecn::Ect1 | Ecn::Ce)
    }

    /// Whether a packet that leaves after so long is marked for that.
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
    /// When the wait will have been above TARGET for INTERVAL; `None`: it was below.
    first_above_time: Option<u64>,
    drop_next: u64,
    count: u32,
    lastcount: u32,
    dropping: bool,
    /// 1 / sqrt(count) in units of 2^-16, where Newton computes it.
    rec_inv_sqrt: u16,
}

impl Default for Control {
    fn default() -> Self {
        Self { first_above_time: None, drop_next: 0, count: 0, lastcount: 0, dropping: false, rec_inv_sqrt: u16::MAX }
    }
}

/// What `dodequeue` of RFC 8289 section 5.6 returns.
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
    /// Takes the packet that leaves `now` (RFC 8289 section 5.5), and tells of those that it drops before it, and of a mark. `others` are the bytes that
    /// wait elsewhere and count beside those of this queue.
    pub(super) fn dequeue<T: Item>(
        &mut self,
        law: &Law,
        now: Instant,
        queue: &mut Sublist,
        others: u64,
        pool: &mut Pool<T>,
        told: &mut VecDeque<Decision>,
    ) -> Option<Handle> {
        let now = law.ticks(now);
        let head = pool.slot(queue.first()).map(|slot| slot.item.ecn());
        if head.is_none() && !law.empty_resets {
            self.dropping = false;
            return None;
        }
        let passes = head.is_some_and(|ecn| law.passes(ecn));
        let first_above_time = self.first_above_time;
        let mut next = self.dodequeue(law, now, queue, others, pool);
        let mut marked = false;
        if passes {
            self.first_above_time = first_above_time;
        } else if self.dropping {
            if !next.ok_to_drop {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                self.newton_step(law);
                if law.marks(next.ecn) {
                    marked = true;
                    let from = if law.after_mark == AfterMark::Due { self.drop_next } else { now };
                    self.drop_next = self.control_law(law, from);
                    break;
                }
                next.drop(told);
                next = self.dodequeue(law, now, queue, others, pool);
                if next.ok_to_drop {
                    self.drop_next = self.control_law(law, self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if next.ok_to_drop {
            if law.marks(next.ecn) {
                marked = true;
            } else {
                next.drop(told);
                next = self.dodequeue(law, now, queue, others, pool);
            }
            self.dropping = true;
            let delta = self.count.wrapping_sub(self.lastcount);
            if delta > 1 && now.saturating_sub(self.drop_next) < law.interval.saturating_mul(16) {
                self.count = delta;
                self.newton_step(law);
            } else {
                self.count = 1;
                self.rec_inv_sqrt = u16::MAX;
            }
            self.drop_next = self.control_law(law, now);
            self.lastcount = self.count;
        }
        let packet = next.packet?;
        if marked || law.marks_at_threshold(next.sojourn, next.ecn, passes) {
            told.push_back(Decision::Marked(packet));
        }
        Some(packet)
    }

    /// RFC 8289 section 5.6.
    fn dodequeue<T: Item>(
        &mut self,
        law: &Law,
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
        let sojourn = now.saturating_sub(law.ticks(slot.since));
        let mut ok_to_drop = false;
        if sojourn < law.target || queue.bytes().saturating_add(others) <= law.maxpacket {
            self.first_above_time = None;
        } else {
            let from = *self.first_above_time.get_or_insert(now.saturating_add(law.interval));
            ok_to_drop = match law.above_for {
                AboveFor::Interval => now >= from,
                AboveFor::Longer => now > from,
            };
        }
        Next { packet, ecn: slot.item.ecn(), since: slot.since, sojourn, ok_to_drop }
    }

    /// When the next drop is due after one at `from`.
    fn control_law(&self, law: &Law, from: u64) -> u64 {
        let wait = match law.inverse_sqrt {
            InverseSqrt::Exact => (law.interval as f64 / f64::from(self.count.max(1)).sqrt() + 0.5) as u64,
            InverseSqrt::Newton => ((u128::from(law.interval) * u128::from(self.rec_inv_sqrt)) >> 16) as u64,
        };
        from.saturating_add(wait)
    }

    /// Packets of the queue were dropped for another reason; it is as if CoDel had.
    pub(super) fn count_as_dropped(&mut self, packets: u32) {
        self.count = self.count.saturating_add(packets);
    }

    /// x <- x (3 - count x^2) / 2, in the widths of Linux.
    fn newton_step(&mut self, law: &Law) {
        if law.inverse_sqrt == InverseSqrt::Exact {
            return;
        }
        let inverse = u64::from(self.rec_inv_sqrt) << 16;
        let squared = (inverse * inverse) >> 32;
        // Where count has jumped the difference may be negative; Linux takes what is left of it, and so do we.
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
    fn drop(&self, told: &mut VecDeque<Decision>) {
        if let Some(packet) = self.packet {
            told.push_back(Decision::Dropped { packet, enqueued: self.since, cause: DropCause::Early });
        }
    }
}

/// A running CoDel queue.
#[derive(Debug)]
pub struct Codel {
    limit: QueueSize,
    law: Law,
    control: Control,
    queue: Sublist,
}

impl Codel {
    pub(super) fn new(options: &Options) -> Self {
        Self { limit: options.limit, law: Law::new(options), control: Control::default(), queue: Sublist::default() }
    }
}

impl Holds for Codel {
    fn admit(&mut self, _: Instant, backlog: &Backlog, arrival: Arrival, _: &mut Random) -> Verdict {
        backlog.within(self.limit, arrival.size)
    }

    fn hold<T: Item>(&mut self, _: Instant, packet: Handle, pool: &mut Pool<T>, _: &mut VecDeque<Decision>) {
        self.queue.push(packet, pool);
    }

    fn dequeue<T: Item>(&mut self, now: Instant, pool: &mut Pool<T>, told: &mut VecDeque<Decision>) -> Option<Handle> {
        self.control.dequeue(&self.law, now, &mut self.queue, 0, pool, told)
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
