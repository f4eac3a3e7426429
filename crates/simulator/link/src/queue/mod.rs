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
use headway_units::{Bytes, DropCause, Dscp, Ecn, Instant, OptionError, QueueSize, Random, Rate, registry};
use std::collections::VecDeque;
use std::sync::Arc;

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

/// Of each flow the host that it comes from and the one that it goes to, by the number that an item's [`way`](Item::way) says.
pub type Hosts = Arc<[(u32, u32)]>;

/// What the discipline must know of its link.
#[derive(Clone, Copy, Debug)]
pub struct LinkFacts {
    /// At which its packets leave: the shaper's, if it has one that is slower.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: headway_units::Duration,
}

/// What waits when a packet arrives: without that packet, and without the one in transmission.
#[derive(Clone, Copy, Debug)]
pub struct Backlog {
    /// Waiting packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whether nothing is in transmission.
    pub idle: bool,
    /// If so, for how long, in s. Where this is a whole number of packet times, what RED makes of it hangs on its last bit,
    /// which is ns-2's: see [`Moment`](headway_engine::Moment).
    pub idle_s: f64,
}

/// A packet that asks to be let in.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// IP bytes.
    pub size: Bytes,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its DSCP.
    pub dscp: Dscp,
}

/// What becomes of the arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It waits its turn.
    Admit,
    /// It waits its turn, marked Congestion Experienced.
    Mark,
    /// It waits its turn, and of its class the packet that leaves next and was not marked yet is marked Congestion Experienced: it itself,
    /// if no other waits.
    MarkHead {
        /// The number of its class.
        class: u8,
    },
    /// It goes no further.
    Drop(DropCause),
    /// It was marked, and then there was no room for it.
    DropMarked(DropCause),
    /// It waits its turn (marked if `mark`), and another is dropped instead.
    AdmitAndEvict {
        /// Whether the newcomer is marked.
        mark: bool,
        /// Who goes: 0 is the next to leave, the newcomer is the last.
        place: usize,
        /// Why.
        cause: DropCause,
    },
}

/// What a queue has decided about a packet that waited, as it left or as another came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// To be marked Congestion Experienced.
    Marked(Handle),
    /// Dropped; it is on no link.
    Dropped {
        /// Which.
        packet: Handle,
        /// Since when it waited.
        enqueued: Instant,
        /// Why.
        cause: DropCause,
    },
}

/// A discipline that holds what waits, and decides at each departure what goes. Whoever drives it tells of each arrival and each departure at its own
/// instant; what must happen at certain instants in between is made up for then, before anything else: nothing changes a queue meanwhile.
pub(crate) trait Holds {
    /// Decides about a packet that arrives at `now`: it is admitted, admitted and marked, or dropped.
    fn admit(&mut self, now: Instant, backlog: &Backlog, arrival: Arrival, random: &mut Random) -> Verdict;

    /// Takes a packet that was admitted, and whose slot tells since when it waits. Others, or itself, may be dropped for it.
    fn hold<T: Item>(&mut self, now: Instant, packet: Handle, pool: &mut Pool<T>, told: &mut VecDeque<Decision>);

    /// The packet that leaves at `now`; `None` only if none waits, or none waits any more.
    fn dequeue<T: Item>(&mut self, now: Instant, pool: &mut Pool<T>, told: &mut VecDeque<Decision>) -> Option<Handle>;

    /// Packets and bytes that wait.
    fn waiting(&self) -> (u64, u64);

    /// Where the lists of its packets begin.
    fn heads(&self) -> Vec<Handle>;
}

impl Backlog {
    /// What a queue does that refuses what would bring more than `limit` to wait. What finds the transmitter idle does not wait.
    fn within(&self, limit: QueueSize, size: Bytes) -> Verdict {
        let fits = match limit {
            QueueSize::Packets(limit) => self.packets < limit,
            QueueSize::Bytes(limit) => self.bytes.saturating_add(size.count()) <= limit.count(),
        };
        if fits || self.idle { Verdict::Admit } else { Verdict::Drop(DropCause::QueueFull) }
    }
}

/// Spreads the numbers of flows over 64 bits, the highest most, by a salt that nobody knows: by it they are told apart.
fn mixed(number: u64, salt: u64) -> u64 {
    let mixed = (number ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// A queue has room for something.
fn check_limit(limit: QueueSize) -> Result<(), OptionError> {
    let wrong = |message| Err(OptionError::new("limit", message));
    match limit {
        QueueSize::Packets(0) => wrong("a queue of 0 packets passes nothing: write at least \"1packets\""),
        QueueSize::Bytes(bytes) if bytes.count() == 0 => {
            wrong("a queue of 0 bytes passes nothing: write at least \"1B\"")
        }
        _ => Ok(()),
    }
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
