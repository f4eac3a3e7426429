//! CAKE's queues (T. Hoeiland-Joergensen, D. Taht and J. Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for Home Gateways", IEEE LANMAN
//! 2018; Linux `net/sched/sch_cake.c`): tins by DSCP, in each of them a queue for each flow, served so that hosts are treated alike and among them their flows,
//! and COBALT in each queue.
//!
//! ```text
//! arrival    DSCP -> tin; hash -> queue, eight places a set. One without packets joins the new queues of the tin, with a turn's bytes.
//!            If more than the limit wait, the queue with most bytes is dropped from its head, until no more do
//! departure  which tin   with a bandwidth: the last that is within its threshold, else the one that is so first
//!                        without: by turns, with bytes by weight
//!            which queue one that decays, once; the first of the new queues; else of the old:
//!                        bytes spent -> bytes += a turn's, behind the old queues, and anew
//!                        what COBALT lets go leaves: bytes -= its size. The last packet of a queue is not dropped
//!                        nothing -> it decays until COBALT is at rest, and then it is gone; and anew
//! a turn     quantum / the flows of its host that have packets waiting, whichever of its two hosts has more
//! ```
//!
//! Its shaper is the link: `bandwidth` says what the link has. What CAKE does beside this (filtering acknowledgements, washing DSCPs, `ingress`,
//! `autorate-ingress`) is not here.

mod tin;
mod tins;
mod ways;

use super::{Arrival, Backlog, Decision, Holds, Hosts, Verdict, check_limit};
use crate::pool::{Handle, Item, Pool};
use headway_units::{Bytes, Dialect, DropCause, Duration, Instant, OptionError, QueueSize, Random, Rate};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::VecDeque;
use tin::Tin;
pub use tins::Tins;

/// Options of `kind = "cake"`. Names as in tc-cake(8) where it has one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// How much may wait in all queues together. (`memlimit` counts the kernel's buffers; this counts IP bytes, or packets.)
    pub limit: QueueSize,
    /// What the tins share, from 1kbps: the link's rate. Absent: they take turns by their weights (`unlimited`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Rate>,
    /// Into which tins packets go by their DSCPs (`besteffort`, `precedence`, `diffserv3`, `diffserv4`, `diffserv8`).
    pub tins: Tins,
    /// Who has queues of his own, and who is treated alike.
    pub isolation: Isolation,
    /// COBALT's: the wait that a queue may settle at; above 0s. 1.5 times what the largest packet takes, if that is more.
    pub target: Duration,
    /// COBALT's: how long the first mark or drop waits (`rtt`); above 0s. Twice the target, if that is more.
    pub interval: Duration,
    /// Whether the first mark or drop of a queue waits for the interval, as later ones do, or is due at once (Linux).
    pub first_waits: bool,
    /// The largest packet, in IP bytes, from 256B to 1MiB.
    pub mtu: Bytes,
}

/// Whom CAKE tells apart (tc-cake(8), "FLOW ISOLATION PARAMETERS").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Nobody: one queue.
    Flowblind,
    /// Where packets come from.
    Srchost,
    /// Where they go.
    Dsthost,
    /// Pairs of hosts.
    Hosts,
    /// Flows.
    Flows,
    /// Flows, and fair to the hosts that they come from.
    DualSrchost,
    /// Flows, and fair to the hosts that they go to.
    DualDsthost,
    /// Flows, and fair to the hosts at both ends.
    TripleIsolate,
}

impl Isolation {
    fn is_fair_to_sources(self) -> bool {
        matches!(self, Self::DualSrchost | Self::TripleIsolate)
    }

    fn is_fair_to_destinations(self) -> bool {
        matches!(self, Self::DualDsthost | Self::TripleIsolate)
    }
}

impl headway_units::Options for Options {
    fn preset(dialect: Dialect) -> Self {
        Self {
            // sch->limit packets of an Ethernet's.
            limit: QueueSize::Bytes(Bytes::new(10_240 * 1514)),
            bandwidth: None,
            tins: Tins::Diffserv3,
            isolation: Isolation::TripleIsolate,
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            first_waits: dialect != Dialect::Linux,
            mtu: Bytes::new(1514),
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        let wrong = |key, message| Err(OptionError::new(key, message));
        check_limit(self.limit)?;
        if self.target.is_zero() {
            return wrong("target", "must be above 0s; tc has \"5ms\"");
        }
        if self.interval.is_zero() {
            return wrong("interval", "must be above 0s; tc has \"100ms\"");
        }
        if self.bandwidth.is_some_and(|rate| rate.bits_per_second() < 1000) {
            return wrong("bandwidth", "must be at least 1kbps; without it the tins take turns by their weights");
        }
        // A flow's turn: what takes many of them takes long to serve.
        if !(256..=1 << 20).contains(&self.mtu.count()) {
            return wrong("mtu", "must be from 256B to 1MiB");
        }
        Ok(())
    }
}

/// A running CAKE.
#[derive(Debug)]
pub struct Cake {
    options: Options,
    hosts: Option<Hosts>,
    salt: u64,
    /// None before the first packet.
    random: Option<Random>,
    tins: Vec<Tin>,
    current: usize,
    packets: u64,
    bytes: u64,
}

impl Cake {
    pub(super) fn new(options: &Options) -> Self {
        let bandwidth = options.bandwidth.map(|rate| rate.bits_per_second() / 8);
        let shares = options.tins.shares();
        let tins = shares.iter().map(|share| {
            let rate = bandwidth.map(|rate| (0..share.sevenths).fold(rate, |rate, _| (rate * 7) >> 3) >> share.shift);
            Tin::new(options, rate, share.quantum)
        });
        Self {
            tins: tins.collect(),
            options: options.clone(),
            hosts: None,
            salt: 0,
            random: None,
            current: 0,
            packets: 0,
            bytes: 0,
        }
    }

    /// Draws from this stream from now on: for what is to decide as another CAKE did whose draws are known.
    pub fn draw_from(&mut self, random: Random) {
        self.random = Some(random);
    }

    pub(super) fn know_hosts(&mut self, hosts: &Hosts) {
        self.hosts = Some(Hosts::clone(hosts));
    }

    /// The hashes of a packet's queue, of where it comes from and of where it goes.
    fn hashes<T: Item>(&self, item: &T) -> (u64, u64, u64) {
        let flow = item.flow();
        let (number, forward) = item.way();
        let known = self.hosts.as_ref().and_then(|hosts| hosts.get(number));
        // Of whom no host is known is his own.
        let (from, to) = known.map_or((flow, flow), |(from, to)| (u64::from(*from), u64::from(*to)));
        let (from, to) = if forward { (from, to) } else { (to, from) };
        let (source, destination) = (ways::hash(from, self.salt), ways::hash(to, !self.salt));
        let queue = match self.options.isolation {
            Isolation::Flowblind => 0,
            Isolation::Srchost => source,
            Isolation::Dsthost => destination,
            Isolation::Hosts => source ^ destination,
            _ => ways::hash(flow, self.salt),
        };
        (queue, source, destination)
    }

    /// Of the queue with most bytes, the first packet (`cake_drop`).
    fn drop_of_longest<T: Item>(&mut self, now: Instant, pool: &mut Pool<T>, told: &mut VecDeque<Decision>) {
        let lists = self.tins.iter().enumerate();
        let waiting =
            lists.flat_map(|(tin, of)| of.new.iter().chain(&of.old).map(move |flow| (tin, usize::from(*flow))));
        let bytes = |(tin, flow): (usize, usize)| self.tins[tin].flows[flow].queue.bytes();
        // Of several any; the first is the same on every machine.
        let Some((tin, flow)) = waiting.reduce(|most, next| if bytes(next) > bytes(most) { next } else { most }) else {
            return;
        };
        let tin = &mut self.tins[tin];
        let flow = &mut tin.flows[flow];
        let since = flow.queue.head(pool).map_or(now, |(since, _)| since);
        let Some((packet, size)) = flow.queue.pop(pool).map(|packet| (packet, size_of(packet, pool))) else { return };
        flow.control.overflowed(&tin.law, now);
        tin.bytes -= size;
        self.packets -= 1;
        self.bytes -= size;
        told.push_back(Decision::Dropped { packet, enqueued: since, cause: DropCause::QueueFull });
    }

    /// The tin whose turn it is; some packet waits in one of them.
    fn choose_tin(&mut self, now: Instant) -> usize {
        if self.options.bandwidth.is_some() {
            let waits = |tin: &Tin| tin.next.saturating_sub(now.as_nanos());
            // Of several that are within their thresholds the last.
            let active = self.tins.iter().enumerate().filter(|(_, tin)| tin.active > 0);
            let next = active.min_by_key(|(number, tin)| (waits(tin), Reverse(*number)));
            return next.map_or(0, |(number, _)| number);
        }
        loop {
            let tin = &mut self.tins[self.current];
            if tin.credits >= 0 && tin.active > 0 {
                return self.current;
            }
            if tin.credits <= 0 {
                tin.credits += tin.quantum;
            }
            self.current = (self.current + 1) % self.tins.len();
        }
    }

    fn over_limit(&self) -> bool {
        match self.options.limit {
            QueueSize::Packets(limit) => self.packets > limit,
            QueueSize::Bytes(limit) => self.bytes > limit.count(),
        }
    }
}

fn size_of<T: Item>(packet: Handle, pool: &Pool<T>) -> u64 {
    pool.slot(packet).map_or(0, |slot| u64::from(slot.item.size()))
}

impl Holds for Cake {
    fn admit(&mut self, _: Instant, backlog: &Backlog, arrival: Arrival, random: &mut Random) -> Verdict {
        if self.random.is_none() {
            self.salt = random.bits();
            self.random = Some(Random::new(random.bits(), "cake"));
        }
        // What has room in an empty queue has it at the expense of others.
        Backlog { packets: 0, bytes: 0, ..*backlog }.within(self.options.limit, arrival.size)
    }

    fn hold<T: Item>(&mut self, now: Instant, packet: Handle, pool: &mut Pool<T>, told: &mut VecDeque<Decision>) {
        let Some(item) = pool.slot(packet).map(|slot| &slot.item) else { return };
        let (hashes, size, isolation) = (self.hashes(item), u64::from(item.size()), self.options.isolation);
        let Some(random) = &mut self.random else { return };
        let tin = &mut self.tins[self.options.tins.of(item.dscp())];
        if tin.flows.is_empty() {
            tin.begin(self.options.first_waits);
        }
        let flow = tin.queue_of(hashes, isolation);
        if tin.bytes == 0 {
            tin.next = tin.next.max(now.as_nanos());
        }
        tin.flows[flow].queue.push(packet, pool);
        tin.bytes += size;
        self.packets += 1;
        self.bytes += size;
        tin.came(flow, isolation, random);
        while self.over_limit() && self.packets > 1 {
            self.drop_of_longest(now, pool, told);
        }
    }

    fn dequeue<T: Item>(&mut self, now: Instant, pool: &mut Pool<T>, told: &mut VecDeque<Decision>) -> Option<Handle> {
        let isolation = self.options.isolation;
        let mut may_decay = true;
        while self.packets > 0 {
            self.current = self.choose_tin(now);
            let (Some(tin), Some(random)) = (self.tins.get_mut(self.current), &mut self.random) else { break };
            let list = tin.next_list(std::mem::take(&mut may_decay));
            let Some(flow) = tin.list(list).front().map(|flow| usize::from(*flow)) else { break };
            if tin.flows[flow].credits <= 0 {
                tin.list(list).pop_front();
                tin.go_behind(flow, isolation, random);
                continue;
            }
            let (packets, bytes) = tin.flows[flow].queue.waiting();
            let packet = tin.serve(flow, now, pool, told, random);
            let (left, left_bytes) = tin.flows[flow].queue.waiting();
            self.packets -= packets - left;
            self.bytes -= bytes - left_bytes;
            if packet.is_some() {
                return packet;
            }
            tin.list(list).pop_front();
            tin.found_empty(flow, isolation, now);
        }
        None
    }

    fn waiting(&self) -> (u64, u64) {
        (self.packets, self.bytes)
    }

    fn heads(&self) -> Vec<Handle> {
        let flows = self.tins.iter().flat_map(|tin| &tin.flows);
        flows.map(|flow| flow.queue.first()).filter(|first| *first != Handle::NONE).collect()
    }
}

#[cfg(test)]
mod tests;
