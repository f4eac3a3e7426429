//! Who acts next.
//!
//! Order: by [`Moment`]; at one moment by [`Class`]; within a class by the number of the link or flow. Nothing depends on
//! when an event was put in, so a link that schedules early and one that schedules late give the same run.

use headway_units::{Instant, Moment};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What acts. The order of the variants is the order at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Class {
    /// A packet reaches the far end of a link.
    Arrival,
    /// A sender's timer.
    SenderTimer,
    /// A sink's timer.
    SinkTimer,
    /// A source writes.
    Source,
    /// A link ends a transmission: after everything that may still arrive.
    Departure,
    /// The series take a sample: it sees everything that happened at its instant.
    Sample,
}

impl Class {
    const ALL: [Self; 6] =
        [Self::Arrival, Self::SenderTimer, Self::SinkTimer, Self::Source, Self::Departure, Self::Sample];
}

/// An actor: its class, and which link or flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Actor(u32);

/// Numbers of links and flows stay below this.
pub(crate) const MAX_ACTORS: usize = 1 << NUMBER_BITS;
const NUMBER_BITS: u32 = 29;

impl Actor {
    /// The actor of this class with this number (below 2^29).
    pub(crate) fn new(class: Class, number: usize) -> Self {
        debug_assert!(number < MAX_ACTORS);
        Self((class as u32) << NUMBER_BITS | number as u32)
    }
    /// What it is.
    pub(crate) fn class(self) -> Class {
        Class::ALL[(self.0 >> NUMBER_BITS) as usize]
    }
    /// Which one.
    pub(crate) fn number(self) -> usize {
        (self.0 & ((1 << NUMBER_BITS) - 1)) as usize
    }
    pub(crate) fn code(self) -> u32 {
        self.0
    }
}

/// The pending events, at most a few for each link and flow.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Reverse<(Moment, Actor)>>,
}

impl EventQueue {
    pub(crate) fn push(&mut self, at: Moment, actor: Actor) {
        self.heap.push(Reverse((at, actor)));
    }

    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, _))| at.at)
    }

    pub(crate) fn pop(&mut self) -> Option<(Moment, Actor)> {
        self.heap.pop().map(|Reverse(event)| event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_by_class_and_then_by_number() {
        let mut queue = EventQueue::default();
        let at = Moment::new(Instant::from_millis(1));
        let order: Vec<_> = Class::ALL.iter().flat_map(|class| [(*class, 2), (*class, 7)]).collect();
        for (class, number) in order.iter().rev() {
            queue.push(at, Actor::new(*class, *number));
        }
        let earlier = Moment { sum_s: 0.000_999, ..at };
        queue.push(earlier, Actor::new(Class::Sample, 9));
        let popped: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|(_, a)| (a.class(), a.number())).collect();
        assert_eq!(popped[0], (Class::Sample, 9));
        assert_eq!(popped[1..], order);
    }

    #[test]
    fn the_largest_number_survives_packing() {
        let actor = Actor::new(Class::Sample, MAX_ACTORS - 1);
        assert_eq!((actor.class(), actor.number()), (Class::Sample, MAX_ACTORS - 1));
    }
}
