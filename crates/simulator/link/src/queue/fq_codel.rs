//! FQ-CoDel (RFC 8290): a queue for each flow by a hash, a round robin over the queues, and CoDel in each.
//!
//! ```text
//! arrival:    hash -> queue; an inactive one is appended to the new queues with credits = quantum. Above the limit,
//!             half of the queue with the most bytes is dropped from its head, at most drop_batch packets
//! departure:  the first of the new queues, else of the old:
//!             credits spent -> credits += quantum, move the queue to the end of the old queues, repeat
//!             a packet that CoDel releases departs: credits -= its size
//!             empty -> a new queue moves to the end of the old ones, an old one becomes inactive, repeat
//! ```
//!
//! Credits are spent at zero by section 3, and below zero by section 4.2. The default is zero, as in Linux 6.1 and
//! ns-3.37. A flow is identified by [`Item::flow`] instead of the five-tuple. The hash is salted, and is not
//! Jenkins's.

use super::codel::{self, AboveFor, AfterMark, CeThresholdMarks, Control, InverseSqrt, Params};
use super::{Arrival, Backlog, Decision, HoldingQueue, Verdict, check_limit, mixed};
use crate::pool::{Handle, Item, Pool};
use crate::sublist::Sublist;
use headway_units::{Bytes, Dialect, DropCause, Duration, Instant, OptionError, QueueSize, Random};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Options of a queue of `kind = "fq-codel"`. Options that RFC 8290 section 5.2 names have these names; options of
/// CoDel have those of `kind = "codel"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Capacity of all queues together, in packets (RFC 8290 section 5.2.3).
    pub limit: QueueSize,
    /// Number of queues, 1 to 65536 (RFC 8290 section 5.2.5).
    pub flows: u32,
    /// Bytes that each queue may send per round, 256B to 1MiB (RFC 8290 section 5.2.4).
    pub quantum: Bytes,
    /// Acceptable standing delay of each queue: CoDel drops nothing while at least one packet in each interval waits
    /// for a shorter time; above 0s.
    pub target: Duration,
    /// How long all packets of a queue must have waited at least `target` before one is dropped; above 0s.
    pub interval: Duration,
    /// Whether CoDel may drop once all packets of a queue have waited at least `target` for exactly `interval`, or only
    /// after a longer time than `interval`.
    pub above_for: AboveFor,
    /// CoDel drops nothing while at most this many bytes wait after the departing packet, in its queue or in all queues
    /// (`maxpacket_of`).
    pub maxpacket: Bytes,
    /// Which waiting bytes are compared with `maxpacket`.
    pub maxpacket_of: MaxpacketOf,
    /// Whether ECN-capable packets are marked instead of dropped (RFC 8290 section 5.2.6).
    pub ecn: bool,
    /// Waiting time above which departing packets are marked, in addition to the marks of CoDel (RFC 8290 section
    /// 5.2.7); `ce_threshold_marks` selects the packets. If absent: no additional marks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<Duration>,
    /// Which packets `ce_threshold` marks.
    pub ce_threshold_marks: CeThresholdMarks,
    /// Time from which CoDel counts the wait for the next mark or drop after a mark.
    pub after_mark: AfterMark,
    /// Whether an empty queue restarts the measurement of how long all its packets have waited at least `target`.
    pub empty_resets: bool,
    /// How CoDel computes 1 / sqrt(count), where count is its drop counter (RFC 8289 section 5.2).
    pub inverse_sqrt: InverseSqrt,
    /// Resolution of CoDel's times, 1ns to 1ms; times are rounded down to a multiple of it.
    pub tick: Duration,
    /// Maximum number of packets that are dropped at once from the queue with the most bytes when `limit` is exceeded,
    /// 1 to 65536 (RFC 8290 section 4.1).
    pub drop_batch: u32,
    /// Whether half of the packets or half of the bytes of the queue with the most bytes are dropped when `limit` is
    /// exceeded.
    pub drop_half_of: HalfOf,
    /// Which queue loses packets when `limit` is exceeded and two or more queues have the most bytes.
    pub drop_tie: DropTie,
    /// Whether CoDel counts packets that are dropped because `limit` is exceeded as its own drops (Linux).
    pub drop_counts: bool,
    /// Whether, in addition to the limit of all queues together, an arriving packet is dropped if its queue alone holds
    /// `limit` packets (ns-3).
    pub limit_each: bool,
    /// Byte credits (deficit) at which a queue has used its turn and moves to the end of the old queues.
    pub spent_at: DeficitExhausted,
    /// What happens to a queue in the list of new queues that is found empty at a departure.
    pub retire: Retire,
}

/// Bytes that CoDel compares with `maxpacket`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MaxpacketOf {
    /// CoDel compares the bytes in the queue of the departing packet with `maxpacket` (RFC 8290 section 4.2: CoDel runs
    /// on that queue).
    Queue,
    /// CoDel compares the bytes in all queues together with `maxpacket` (Linux).
    All,
}

/// What is dropped of the queue with the most bytes when `limit` is exceeded: half of its packets or half of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HalfOf {
    /// The queue with the most bytes loses half of its packets, at most `drop_batch` (RFC 8290 section 4.1).
    Packets,
    /// The queue with the most bytes loses half of its bytes, at most `drop_batch` packets (Linux, ns-3).
    Bytes,
}

/// Queue that loses packets when `limit` is exceeded and two or more queues have the most bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DropTie {
    /// Of the queues with the most bytes, the one with the lowest index loses packets. The index depends on the hash of
    /// the flow (Linux).
    LowestNumber,
    /// Of the queues with the most bytes, the one that received its first packet of the run first loses packets (ns-3).
    Oldest,
}

/// Byte credits (deficit) at which a queue has used its turn and moves to the end of the old queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeficitExhausted {
    /// A queue has used its turn at zero byte credits or below.
    Zero,
    /// A queue has used its turn below zero byte credits.
    BelowZero,
}

/// What happens to a queue in the list of new queues that is found empty at a departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Retire {
    /// An empty new queue moves to the end of the old queues, and becomes inactive when it is found empty there (RFC
    /// 8290 section 4.2).
    BehindOld,
    /// An empty new queue moves to the end of the old queues, or becomes inactive immediately if there are no old
    /// queues (Linux).
    AtOnceIfAlone,
}

impl headway_units::Options for Options {
    fn preset(dialect: Dialect) -> Self {
        let (linux, ns3) = (dialect == Dialect::Linux, dialect == Dialect::Ns3);
        let codel::Options {
            target,
            interval,
            above_for,
            maxpacket,
            ce_threshold,
            ce_threshold_marks,
            after_mark,
            empty_resets,
            inverse_sqrt,
            tick,
            ..
        } = codel::Options::preset(dialect);
        Self {
            limit: QueueSize::Packets(10_240),
            flows: 1024,
            // ns-3 uses the MTU of the device, by default 1500 B.
            quantum: Bytes::new(if ns3 { 1500 } else { 1514 }),
            target,
            interval,
            above_for,
            maxpacket,
            maxpacket_of: if linux { MaxpacketOf::All } else { MaxpacketOf::Queue },
            ecn: true,
            ce_threshold,
            ce_threshold_marks,
            after_mark,
            empty_resets,
            inverse_sqrt,
            tick,
            drop_batch: 64,
            drop_half_of: if linux || ns3 { HalfOf::Bytes } else { HalfOf::Packets },
            drop_tie: if ns3 { DropTie::Oldest } else { DropTie::LowestNumber },
            drop_counts: linux,
            limit_each: ns3,
            spent_at: DeficitExhausted::Zero,
            retire: if linux { Retire::AtOnceIfAlone } else { Retire::BehindOld },
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        let wrong = |key, message| Err(OptionError::new(key, message));
        check_limit(self.limit)?;
        if matches!(self.limit, QueueSize::Bytes(_)) {
            return wrong("limit", "counts packets; expected a value such as \"10240packets\"");
        }
        if !(1..=1 << 16).contains(&self.flows) {
            return wrong("flows", "must be from 1 to 65536");
        }
        if !(256..=1 << 20).contains(&self.quantum.count()) {
            return wrong("quantum", "must be from 256B to 1MiB");
        }
        if !(1..=1 << 16).contains(&self.drop_batch) {
            return wrong("drop_batch", "must be from 1 to 65536");
        }
        codel::check_threshold(self.ce_threshold, self.ce_threshold_marks)?;
        codel::check_times(self.target, self.interval, self.tick)
    }

    fn unused(&self) -> Vec<OptionError> {
        codel::unused_of_marks(self.ecn, self.ce_threshold)
    }
}

impl Options {
    fn codel(&self) -> codel::Options {
        codel::Options {
            limit: self.limit,
            target: self.target,
            interval: self.interval,
            above_for: self.above_for,
            maxpacket: self.maxpacket,
            ecn: self.ecn,
            ce_threshold: self.ce_threshold,
            ce_threshold_marks: self.ce_threshold_marks,
            after_mark: self.after_mark,
            empty_resets: self.empty_resets,
            inverse_sqrt: self.inverse_sqrt,
            tick: self.tick,
        }
    }
}

#[derive(Debug, Default)]
struct Flow {
    queue: Sublist,
    control: Control,
    credits: i64,
    /// Whether it is one of the new or old queues.
    active: bool,
    /// Number of queues that had received a packet before this one received its first.
    age: Option<u32>,
}

/// A running FQ-CoDel queue.
#[derive(Debug)]
pub struct FqCodel {
    options: Options,
    params: Params,
    limit: u64,
    quantum: i64,
    salt: Option<u64>,
    flows: Vec<Flow>,
    used: u32,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    packets: u64,
    bytes: u64,
}

impl FqCodel {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            params: Params::new(&options.codel()),
            limit: match options.limit {
                QueueSize::Packets(packets) => packets,
                // Rejected by `check`.
                QueueSize::Bytes(bytes) => bytes.count(),
            },
            quantum: options.quantum.count() as i64,
            salt: None,
            flows: Vec::new(),
            used: 0,
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
            options: options.clone(),
        }
    }

    fn number(&self, flow: u64) -> u32 {
        let mixed = mixed(flow, self.salt.unwrap_or_default());
        ((u128::from(mixed) * u128::from(self.options.flows)) >> 64) as u32
    }

    /// Drops packets of the queue with the most bytes (RFC 8290 section 4.1).
    fn drop_batch<T: Item>(&mut self, pool: &mut Pool<T>, decisions: &mut VecDeque<Decision>) {
        let most = self.flows.iter().map(|flow| flow.queue.bytes()).max().unwrap_or_default();
        let mut longest = self.flows.iter_mut().filter(|flow| flow.queue.bytes() == most);
        let flow = match self.options.drop_tie {
            DropTie::LowestNumber => longest.next(),
            DropTie::Oldest => longest.min_by_key(|flow| flow.age),
        };
        let Some(flow) = flow else { return };
        let (packets, bytes) = flow.queue.waiting();
        let mut dropped = 0;
        loop {
            let since = flow.queue.head(pool).map_or(Instant::ZERO, |(since, _)| since);
            let Some(packet) = flow.queue.pop(pool) else { break };
            decisions.push_back(Decision::Dropped { packet, enqueued: since, cause: DropCause::QueueFull });
            dropped += 1;
            let is_half = match self.options.drop_half_of {
                HalfOf::Packets => u64::from(dropped) >= packets / 2,
                HalfOf::Bytes => bytes - flow.queue.bytes() >= bytes / 2,
            };
            if is_half || dropped >= self.options.drop_batch {
                break;
            }
        }
        if self.options.drop_counts {
            flow.control.count_as_dropped(dropped);
        }
        let (left, left_bytes) = flow.queue.waiting();
        self.packets -= packets - left;
        self.bytes -= bytes - left_bytes;
    }
}

impl HoldingQueue for FqCodel {
    fn admit(&mut self, _: Instant, _: &Backlog, _: Arrival, random: &mut Random) -> Verdict {
        self.salt.get_or_insert_with(|| random.bits());
        Verdict::Admit
    }

    fn enqueue<T: Item>(
        &mut self,
        now: Instant,
        packet: Handle,
        pool: &mut Pool<T>,
        decisions: &mut VecDeque<Decision>,
    ) {
        if self.flows.is_empty() {
            self.flows.resize_with(self.options.flows as usize, Flow::default);
        }
        let Some(item) = pool.slot(packet).map(|slot| &slot.item) else { return };
        let (number, size) = (self.number(item.flow()), item.size());
        let flow = &mut self.flows[number as usize];
        if self.options.limit_each && flow.queue.waiting().0 >= self.limit {
            decisions.push_back(Decision::Dropped { packet, enqueued: now, cause: DropCause::QueueFull });
            return;
        }
        self.packets += 1;
        self.bytes += u64::from(size);
        flow.queue.push(packet, pool);
        if !flow.active {
            (flow.active, flow.credits) = (true, self.quantum);
            if flow.age.is_none() {
                flow.age = Some(self.used);
                self.used += 1;
            }
            self.new.push_back(number);
        }
        if self.packets > self.limit {
            self.drop_batch(pool, decisions);
        }
    }

    fn dequeue<T: Item>(
        &mut self,
        now: Instant,
        pool: &mut Pool<T>,
        decisions: &mut VecDeque<Decision>,
    ) -> Option<Handle> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let number = *list.front()?;
            let flow = &mut self.flows[number as usize];
            let is_spent = match self.options.spent_at {
                DeficitExhausted::Zero => flow.credits <= 0,
                DeficitExhausted::BelowZero => flow.credits < 0,
            };
            if is_spent {
                flow.credits += self.quantum;
                list.pop_front();
                self.old.push_back(number);
                continue;
            }
            let (packets, bytes) = flow.queue.waiting();
            let others = if self.options.maxpacket_of == MaxpacketOf::All { self.bytes - bytes } else { 0 };
            let packet = flow.control.dequeue(&self.params, now, &mut flow.queue, others, pool, decisions);
            let (left, left_bytes) = flow.queue.waiting();
            self.packets -= packets - left;
            self.bytes -= bytes - left_bytes;
            if let Some(packet) = packet {
                let size = pool.slot(packet).map_or(0, |slot| slot.item.size());
                flow.credits -= i64::from(size);
                return Some(packet);
            }
            list.pop_front();
            if is_new && (self.options.retire == Retire::BehindOld || !self.old.is_empty()) {
                self.old.push_back(number);
            } else {
                flow.active = false;
            }
        }
    }

    fn waiting(&self) -> (u64, u64) {
        (self.packets, self.bytes)
    }

    fn heads(&self) -> Vec<Handle> {
        self.flows.iter().map(|flow| flow.queue.first()).filter(|first| *first != Handle::NONE).collect()
    }
}

#[cfg(test)]
mod tests;
