//! Queue disciplines: those that decide about a packet when it arrives (DropTail, RED), and those that hold what waits and see it off
//! (CoDel, PIE, FQ-CoDel, DualPI2, DRR, priority, CAKE).
//!
//! Each sees what waits when a packet comes ([`Backlog`], which never counts the packet in transmission) and answers with a [`Verdict`]. What waits for
//! one that decides at arrival stays in the [`Port`](crate::Port), in order. One that decides at departure holds its packets itself, in one list or
//! several, and may drop or mark some of them each time that one leaves or comes ([`Decision`]).

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
pub use contract::{Arrival, Backlog, Decision, Hosts, LinkFacts, Verdict};
use contract::{Holds, check_limit, mixed};
use headway_units::{Instant, Random, registry};
use std::collections::VecDeque;

registry! {
    /// Which packets a queue takes.
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

/// `each!` of those that hold their packets.
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
    pub fn new(options: &QueueOptions, facts: LinkFacts) -> Self {
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

    /// Tells who talks to whom, if the discipline is fair to hosts.
    pub fn know_hosts(&mut self, hosts: &Hosts) {
        if let Self::Cake(cake) = self {
            cake.know_hosts(hosts);
        }
    }

    /// Decides about a packet that arrives at `now`.
    #[inline]
    pub fn admit(&mut self, now: Instant, backlog: &Backlog, arrival: Arrival, random: &mut Random) -> Verdict {
        match self {
            Self::DropTail(queue) => queue.admit(now, backlog, arrival, random),
            Self::Red(queue) => queue.admit(now, backlog, arrival, random),
            _ => self.admit_to_other(now, backlog, arrival, random),
        }
    }

    /// Out of the way of the others.
    #[cold]
    #[inline(never)]
    fn admit_to_other(&mut self, now: Instant, backlog: &Backlog, arrival: Arrival, random: &mut Random) -> Verdict {
        if let Self::EarlyRandomDrop(queue) = self {
            return queue.admit(now, backlog, arrival, random);
        }
        holding!(self, queue => queue.admit(now, backlog, arrival, random), others => Verdict::Admit)
    }

    /// Of one that decides at departure: takes a packet that was admitted, and that waits from `now` on. Others, or itself, may be dropped for it.
    pub fn hold<T: Item>(&mut self, now: Instant, packet: Handle, pool: &mut Pool<T>, told: &mut VecDeque<Decision>) {
        if let Some(slot) = pool.slot_mut(packet) {
            slot.since = now;
        }
        holding!(self, queue => queue.hold(now, packet, pool, told), others => ());
    }

    /// Of one that decides at departure: the packet that leaves at `now`. `None` only if none waits, or none waits any more.
    pub fn dequeue<T: Item>(
        &mut self,
        now: Instant,
        pool: &mut Pool<T>,
        told: &mut VecDeque<Decision>,
    ) -> Option<Handle> {
        holding!(self, queue => queue.dequeue(now, pool, told), others => None)
    }

    /// Of one that decides at departure: packets and bytes that wait.
    #[must_use]
    pub fn waiting(&self) -> (u64, u64) {
        holding!(self, queue => queue.waiting(), others => (0, 0))
    }

    /// Of one that decides at departure: where the lists of its packets begin.
    pub(crate) fn heads(&self) -> Vec<Handle> {
        holding!(self, queue => queue.heads(), others => Vec::new())
    }

    /// Whether a packet is let in unmarked for sure if no more than so many packets and bytes wait.
    #[must_use]
    #[inline]
    pub fn fits(&self, waiting: (u64, u64), arrival: Arrival) -> bool {
        match self {
            Self::DropTail(queue) => queue.fits(waiting, arrival.size),
            _ => false,
        }
    }

    /// The average queue that the discipline keeps, if it keeps one, in packets (where it counts bytes, in packets of
    /// its mean size).
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
    /// How many packets may wait, if the queue only drops the packets that do not fit and counts in packets.
    pub(crate) fn room_of_tail_drop(&self) -> Option<u32> {
        match self {
            Self::DropTail(options) => options.room_of_tail_drop(),
            _ => None,
        }
    }

    /// Whether every packet's fate is settled when it arrives: its departure, and its mark. If not, the link needs an event
    /// at the end of each transmission.
    #[must_use]
    pub fn decides_at_arrival(&self) -> bool {
        match self {
            Self::DropTail(options) => options.drop == droptail::Victim::Tail,
            Self::Red(options) => options.drop == red::Victim::Tail && !red::mark_at_the_head(&options.classes),
            Self::EarlyRandomDrop(_) => true,
            _ => false,
        }
    }

    /// Whether the queue holds its packets itself, and decides at each departure which goes.
    pub(crate) fn decides_at_departure(&self) -> bool {
        !matches!(self, Self::DropTail(_) | Self::Red(_) | Self::EarlyRandomDrop(_))
    }

    /// The packets that may be marked while they wait, if any may be.
    pub(crate) fn unmarked(&self) -> Option<Unmarked> {
        match self {
            Self::Red(options) if red::mark_at_the_head(&options.classes) => Some(Unmarked::new(&options.classes)),
            _ => None,
        }
    }
}
