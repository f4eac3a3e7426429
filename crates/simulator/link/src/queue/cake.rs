//! The queues of CAKE (T. Hoeiland-Joergensen, D. Taht and J. Morton, "Piece of CAKE: A Comprehensive Queue Management
//! Solution for Home Gateways", IEEE LANMAN 2018; Linux `net/sched/sch_cake.c`). Packets are assigned to tins by DSCP.
//! Each tin has a queue for each flow, a scheduler that is fair to hosts and to their flows, and COBALT in each queue.
//!
//! ```text
//! arrival    DSCP -> tin; hash -> queue, sets of eight. A queue without packets joins the new queues, with a quantum.
//!            Above the limit, packets are dropped from the head of the queue with the most bytes
//! departure  which tin   with a bandwidth: the last that is within its threshold, else the one that is so first
//!                        without: weighted round robin, in bytes
//!            which queue one that decays, once; the first of the new queues; else of the old:
//!                        bytes spent -> bytes += a quantum, move it to the end of the old queues, repeat
//!                        a packet that COBALT releases departs: bytes -= its size. The last one is not dropped
//!                        empty -> the queue decays until the state of COBALT is initial, then it is freed; repeat
//! quantum    bytes per round / bulk flows of the host with more bulk flows (of the two hosts of the flow)
//! ```
//!
//! The link is its shaper: `bandwidth` is the rate of the link. Other features of CAKE (ACK filtering, DSCP washing,
//! `ingress`, `autorate-ingress`) are not implemented.

mod tin;
mod tins;
mod ways;

use super::{Arrival, Backlog, Decision, HoldingQueue, Hosts, Verdict, check_limit};
use crate::pool::{Handle, Item, Pool};
use headway_units::{Bytes, Dialect, DropCause, Duration, Instant, OptionError, QueueSize, Random, Rate};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::VecDeque;
use tin::Tin;
pub use tins::Tins;

/// Options of a queue of `kind = "cake"`. Options that tc-cake(8) has, too, have its names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Capacity of all queues together. (`memlimit` counts kernel buffers; this counts IP bytes, or packets.)
    pub limit: QueueSize,
    /// Rate, normally that of the link, from which the threshold rates of the tins are computed; 1kbps or more. If
    /// absent, the tins have no thresholds and are served by weighted round robin (`unlimited`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Rate>,
    /// How DSCPs are mapped to tins, the priority classes of CAKE.
    pub tins: Tins,
    /// Which packets have separate queues: those of different flows, hosts or pairs of hosts. Also selects the hosts
    /// between which CAKE is fair.
    pub isolation: Isolation,
    /// COBALT's target queueing delay; above 0s. With `bandwidth`, the target of a tin is at least 1.5 times the
    /// transmission time of a packet of size `mtu` at the tin's threshold rate.
    pub target: Duration,
    /// COBALT's interval before the first mark or drop (`rtt`); above 0s. A tin that raises its target raises the
    /// interval by as much, and to at least twice its target.
    pub interval: Duration,
    /// Whether the very first mark or drop of a queue waits for the interval, as later ones do; if not, it is
    /// immediate (Linux).
    pub first_waits: bool,
    /// Size of the largest expected packet, in IP bytes, 256B to 1MiB: determines the targets of the tins and the bytes
    /// per round of a flow.
    pub mtu: Bytes,
}

/// Which packets have separate queues, and between which hosts CAKE is fair (tc-cake(8), "FLOW ISOLATION PARAMETERS").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// One queue for all packets of a tin (priority class).
    Flowblind,
    /// A queue for each source host.
    Srchost,
    /// A queue for each destination host.
    Dsthost,
    /// A queue for each pair of source and destination host.
    Hosts,
    /// A queue for each flow.
    Flows,
    /// A queue for each flow, with fairness between source hosts.
    DualSrchost,
    /// A queue for each flow, with fairness between destination hosts.
    DualDsthost,
    /// A queue for each flow, with fairness between source hosts and between destination hosts.
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
            // sch->limit packets of an Ethernet frame each.
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
        // The quantum of a flow: a larger one would need many rounds.
        if !(256..=1 << 20).contains(&self.mtu.count()) {
            return wrong("mtu", "must be from 256B to 1MiB");
        }
        Ok(())
    }
}

/// A running CAKE queue.
#[derive(Debug)]
pub struct Cake {
    options: Options,
    hosts: Option<Hosts>,
    salt: u64,
    /// `None` before the first packet.
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

    /// Replaces the random stream of the queue by `random`, to reproduce the decisions of another implementation of
    /// CAKE.
    pub fn draw_from(&mut self, random: Random) {
        self.random = Some(random);
    }

    pub(super) fn set_hosts(&mut self, hosts: &Hosts) {
        self.hosts = Some(Hosts::clone(hosts));
    }

    /// Returns the hashes of a packet's queue, source host and destination host.
    fn hashes<T: Item>(&self, item: &T) -> (u64, u64, u64) {
        let flow = item.flow();
        let (number, forward) = item.host_pair();
        let known = self.hosts.as_ref().and_then(|hosts| hosts.get(number));
        // A flow without known hosts is its own host.
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

    /// Drops the head of the queue with the most bytes (`cake_drop`).
    fn drop_of_longest<T: Item>(&mut self, now: Instant, pool: &mut Pool<T>, decisions: &mut VecDeque<Decision>) {
        let lists = self.tins.iter().enumerate();
        let waiting =
            lists.flat_map(|(tin, of)| of.new.iter().chain(&of.old).map(move |flow| (tin, usize::from(*flow))));
        let bytes = |(tin, flow): (usize, usize)| self.tins[tin].flows[flow].queue.bytes();
        // The first of several, so that all machines have equal results.
        let Some((tin, flow)) = waiting.reduce(|most, next| if bytes(next) > bytes(most) { next } else { most }) else {
            return;
        };
        let tin = &mut self.tins[tin];
        let flow = &mut tin.flows[flow];
        let since = flow.queue.head(pool).map_or(now, |(since, _)| since);
        let Some((packet, size)) = flow.queue.pop(pool).map(|packet| (packet, size_of(packet, pool))) else { return };
        flow.control.overflowed(&tin.params, now);
        tin.bytes -= size;
        self.packets -= 1;
        self.bytes -= size;
        decisions.push_back(Decision::Dropped { packet, enqueued: since, cause: DropCause::QueueFull });
    }

    /// Returns the tin that is served next; at least one packet waits.
    fn choose_tin(&mut self, now: Instant) -> usize {
        if self.options.bandwidth.is_some() {
            let waits = |tin: &Tin| tin.next.saturating_sub(now.as_nanos());
            // The last of several that are within their thresholds.
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

impl HoldingQueue for Cake {
    fn admit(&mut self, _: Instant, backlog: &Backlog, arrival: Arrival, random: &mut Random) -> Verdict {
        if self.random.is_none() {
            self.salt = random.bits();
            self.random = Some(Random::new(random.bits(), "cake"));
        }
        // A packet that fits into an empty queue is admitted; other packets are dropped for it.
        Backlog { packets: 0, bytes: 0, ..*backlog }.within(self.options.limit, arrival.size)
    }

    fn enqueue<T: Item>(
        &mut self,
        now: Instant,
        packet: Handle,
        pool: &mut Pool<T>,
        decisions: &mut VecDeque<Decision>,
    ) {
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
        tin.on_arrival(flow, isolation, random);
        while self.over_limit() && self.packets > 1 {
            self.drop_of_longest(now, pool, decisions);
        }
    }

    fn dequeue<T: Item>(
        &mut self,
        now: Instant,
        pool: &mut Pool<T>,
        decisions: &mut VecDeque<Decision>,
    ) -> Option<Handle> {
        let isolation = self.options.isolation;
        let mut may_decay = true;
        while self.packets > 0 {
            self.current = self.choose_tin(now);
            let (Some(tin), Some(random)) = (self.tins.get_mut(self.current), &mut self.random) else { break };
            let list = tin.next_list(std::mem::take(&mut may_decay));
            let Some(flow) = tin.list(list).front().map(|flow| usize::from(*flow)) else { break };
            if tin.flows[flow].credits <= 0 {
                tin.list(list).pop_front();
                tin.move_to_old(flow, isolation, random);
                continue;
            }
            let (packets, bytes) = tin.flows[flow].queue.waiting();
            let packet = tin.serve(flow, now, pool, decisions, random);
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
