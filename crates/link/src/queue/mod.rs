//! Queue disciplines that decide about a packet when it arrives: DropTail and RED.
//!
//! Each sees what waits ([`Backlog`], which never counts the packet in transmission) and answers with a [`Verdict`].
//! The packets themselves stay in the [`Link`](crate::Link).

pub mod droptail;
pub mod red;

use crate::unmarked::Unmarked;
use headway_units::{Bytes, DropCause, Dscp, Ecn, Instant, Random, Rate, registry};

registry! {
    /// Which packets a queue takes.
    options QueueOptions;
    /// A running queue discipline.
    machine Discipline;
    what "queue"; dispatch each;
    "droptail" => DropTail(droptail::Options, droptail::DropTail),
    "red" => Red(red::Options, Box<red::Red>),
}

/// What the discipline must know of its link.
#[derive(Clone, Copy, Debug)]
pub struct LinkFacts {
    /// Transmission rate.
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
    /// which is ns-2's: see [`Moment`](headway_units::Moment).
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

impl Discipline {
    /// Starts the discipline that the options describe, at time zero and idle.
    #[must_use]
    pub fn new(options: &QueueOptions, facts: LinkFacts) -> Self {
        match options {
            QueueOptions::DropTail(options) => Self::DropTail(droptail::DropTail::new(options)),
            QueueOptions::Red(options) => Self::Red(Box::new(red::Red::new(options, facts))),
        }
    }

    /// Decides about a packet that arrives at `now`.
    #[inline]
    pub fn admit(&mut self, now: Instant, backlog: &Backlog, arrival: Arrival, random: &mut Random) -> Verdict {
        each!(self, discipline => discipline.admit(now, backlog, arrival, random))
    }

    /// Whether a packet is let in unmarked for sure if no more than so many packets and bytes wait.
    #[must_use]
    #[inline]
    pub fn fits(&self, waiting: (u64, u64), arrival: Arrival) -> bool {
        match self {
            Self::DropTail(queue) => queue.fits(waiting, arrival.size),
            Self::Red(_) => false,
        }
    }

    /// The average queue that the discipline keeps, if it keeps one, in packets (where it counts bytes, in packets of
    /// its mean size).
    #[must_use]
    #[inline]
    pub fn average(&self) -> Option<f64> {
        each!(self, discipline => discipline.average())
    }
}

impl QueueOptions {
    /// Whether every packet's fate is settled when it arrives: its departure, and its mark. If not, the link needs an event
    /// at the end of each transmission.
    #[must_use]
    pub fn decides_at_arrival(&self) -> bool {
        match self {
            Self::DropTail(options) => options.drop == droptail::Victim::Tail,
            Self::Red(options) => options.drop == red::Victim::Tail && !red::mark_at_the_head(&options.classes),
        }
    }

    /// The packets that may be marked while they wait, if any may be.
    pub(crate) fn unmarked(&self) -> Option<Unmarked> {
        match self {
            Self::Red(options) if red::mark_at_the_head(&options.classes) => Some(Unmarked::new(&options.classes)),
            _ => None,
        }
    }
}
