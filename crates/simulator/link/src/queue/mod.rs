//! Queue disciplines. DropTail, RED and Early Random Drop decide about a packet when it arrives. CoDel, PIE, FQ-CoDel,
//! DualPI2, DRR, priority and CAKE decide when a packet departs.
//!
//! At each arrival a discipline gets the [`Backlog`], which never counts the packet in transmission, and returns a
//! [`Verdict`]. If it decides at arrival, the waiting packets are in the [`Port`](crate::Port), in order. If it
//! decides at departure, it holds the packets itself, in one or several lists. It may drop or mark some of them at
//! each arrival and departure ([`Decision`]).

mod by_class;
pub mod cake;
mod cobalt;
pub mod codel;
mod contract;
pub mod droptail;
pub mod drr;
pub mod dualpi2;
pub mod early_random_drop;
pub mod fq_codel;
pub mod pie;
pub mod priority;
pub mod red;
#[cfg(test)]
mod testing;

use crate::pool::{Handle, Item, Pool};
use crate::unmarked::Unmarked;
pub use contract::{Arrival, Backlog, Decision, Hosts, LinkProperties, Verdict};
use contract::{HoldingQueue, check_limit, mixed};
use headway_units::{Instant, Random, registry};
use std::collections::VecDeque;

registry! {
    /// The queue discipline and its options.
    options QueueOptions;
    /// A running queue discipline.
    machine Discipline;
    what "queue"; dispatch each;
    "droptail" => DropTail(droptail::Options, droptail::DropTail),
    "red" => Red(red::Options, Box<red::Red>),
    "codel" => Codel(codel::Options, Box<codel::Codel>),
    "pie" => Pie(pie::Options, Box<pie::Pie>),
    "fq-codel" => FqCodel(fq_codel::Options, Box<fq_codel::FqCodel>),
    "dualpi2" => DualPi2(dualpi2::Options, Box<dualpi2::DualPi2>),
    "drr" => Drr(drr::Options, Box<drr::Drr>),
    "priority" => Priority(priority::Options, Box<priority::Priority>),
    "cake" => Cake(cake::Options, Box<cake::Cake>),
    "early-random-drop" => EarlyRandomDrop(early_random_drop::Options, early_random_drop::EarlyRandomDrop),
}

/// `each!` for the disciplines that hold their packets.
macro_rules! holding {
    ($value:expr, $queue:ident => $body:expr, others => $others:expr) => {
        match $value {
            Discipline::DropTail(_) | Discipline::Red(_) | Discipline::EarlyRandomDrop(_) => $others,
            Discipline::Codel($queue) => $body,
            Discipline::Pie($queue) => $body,
            Discipline::FqCodel($queue) => $body,
            Discipline::DualPi2($queue) => $body,
            Discipline::Drr($queue) => $body,
            Discipline::Priority($queue) => $body,
            Discipline::Cake($queue) => $body,
        }
    };
}

impl Discipline {
    /// Starts the discipline that the options describe, at time zero and idle.
    #[must_use]
    pub fn new(options: &QueueOptions, facts: LinkProperties) -> Self {
        match options {
            QueueOptions::DropTail(options) => Self::DropTail(droptail::DropTail::new(options)),
            QueueOptions::Red(options) => Self::Red(Box::new(red::Red::new(options, facts))),
            QueueOptions::Codel(options) => Self::Codel(Box::new(codel::Codel::new(options))),
            QueueOptions::Pie(options) => Self::Pie(Box::new(pie::Pie::new(options))),
            QueueOptions::FqCodel(options) => Self::FqCodel(Box::new(fq_codel::FqCodel::new(options))),
            QueueOptions::DualPi2(options) => Self::DualPi2(Box::new(dualpi2::DualPi2::new(options, facts))),
            QueueOptions::Drr(options) => Self::Drr(Box::new(drr::Drr::new(options))),
            QueueOptions::Priority(options) => Self::Priority(Box::new(priority::Priority::new(options))),
            QueueOptions::Cake(options) => Self::Cake(Box::new(cake::Cake::new(options))),
            QueueOptions::EarlyRandomDrop(options) => {
                Self::EarlyRandomDrop(early_random_drop::EarlyRandomDrop::new(options))
            }
        }
    }

    /// Sets the pairs of hosts between which flows are sent. Only CAKE uses them.
    pub fn set_hosts(&mut self, hosts: &Hosts) {
        if let Self::Cake(cake) = self {
            cake.set_hosts(hosts);
        }
    }

    /// Decides whether a packet that arrives at `now` is admitted, marked or dropped. For a discipline that decides at
    /// departure, the caller then calls [`enqueue`](Self::enqueue).
    #[inline]
    pub fn admit(&mut self, now: Instant, backlog: &Backlog, arrival: Arrival, random: &mut Random) -> Verdict {
        match self {
            Self::DropTail(queue) => queue.admit(now, backlog, arrival, random),
            Self::Red(queue) => queue.admit(now, backlog, arrival, random),
            _ => self.admit_to_other(now, backlog, arrival, random),
        }
    }

    /// Separate, so that DropTail and RED are inlined.
    #[cold]
    #[inline(never)]
    fn admit_to_other(&mut self, now: Instant, backlog: &Backlog, arrival: Arrival, random: &mut Random) -> Verdict {
        if let Self::EarlyRandomDrop(queue) = self {
            return queue.admit(now, backlog, arrival, random);
        }
        holding!(self, queue => queue.admit(now, backlog, arrival, random), others => Verdict::Admit)
    }

    /// Enqueues a packet that was [admitted](Self::admit); it waits from `now` on. If the queue exceeds its limit, this
    /// call drops the packet or others, and adds the drops to `decisions`. For disciplines that decide at departure.
    pub fn enqueue<T: Item>(
        &mut self,
        now: Instant,
        packet: Handle,
        pool: &mut Pool<T>,
        decisions: &mut VecDeque<Decision>,
    ) {
        if let Some(slot) = pool.slot_mut(packet) {
            slot.since = now;
        }
        holding!(self, queue => queue.enqueue(now, packet, pool, decisions), others => ());
    }

    /// Removes and returns the packet that departs at `now`; `None` if no packet waits or all were dropped. Adds drops
    /// and marks to `decisions`. For disciplines that decide at departure.
    pub fn dequeue<T: Item>(
        &mut self,
        now: Instant,
        pool: &mut Pool<T>,
        decisions: &mut VecDeque<Decision>,
    ) -> Option<Handle> {
        holding!(self, queue => queue.dequeue(now, pool, decisions), others => None)
    }

    /// Returns the numbers of waiting packets and bytes. For disciplines that decide at departure; (0, 0) for others.
    #[must_use]
    pub fn waiting(&self) -> (u64, u64) {
        holding!(self, queue => queue.waiting(), others => (0, 0))
    }

    /// Returns the heads of the lists of packets. For disciplines that decide at departure.
    pub(crate) fn heads(&self) -> Vec<Handle> {
        holding!(self, queue => queue.heads(), others => Vec::new())
    }

    /// Returns whether the arriving packet is certainly admitted without a mark while at most `waiting` (packets,
    /// bytes) wait. May be `false` although the packet would be admitted.
    #[must_use]
    #[inline]
    pub fn fits(&self, waiting: (u64, u64), arrival: Arrival) -> bool {
        match self {
            Self::DropTail(queue) => queue.fits(waiting, arrival.size),
            _ => false,
        }
    }

    /// Returns RED's average queue length, in packets (of mean size if RED counts bytes); `None` for other disciplines.
    #[must_use]
    #[inline]
    pub fn average(&self) -> Option<f64> {
        match self {
            Self::Red(queue) => queue.average(),
            _ => None,
        }
    }
}

impl QueueOptions {
    /// Returns how many packets may wait, if the queue only drops arriving packets that do not fit and counts packets.
    pub(crate) fn tail_drop_capacity(&self) -> Option<u32> {
        match self {
            Self::DropTail(options) => options.tail_drop_capacity(),
            _ => None,
        }
    }

    /// Returns whether the departure and the mark of each packet are known when it arrives. If not, the link needs an
    /// event at the end of each transmission.
    #[must_use]
    pub fn decides_at_arrival(&self) -> bool {
        match self {
            Self::DropTail(options) => options.drop == droptail::Victim::Tail,
            Self::Red(options) => options.drop == red::Victim::Tail && !red::mark_at_the_head(&options.classes),
            Self::EarlyRandomDrop(_) => true,
            _ => false,
        }
    }

    pub(crate) fn decides_at_departure(&self) -> bool {
        !matches!(self, Self::DropTail(_) | Self::Red(_) | Self::EarlyRandomDrop(_))
    }

    pub(crate) fn unmarked(&self) -> Option<Unmarked> {
        match self {
            Self::Red(options) if red::mark_at_the_head(&options.classes) => Some(Unmarked::new(&options.classes)),
            _ => None,
        }
    }
}
