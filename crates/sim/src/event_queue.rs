//! Who acts next.
//!
//! Order: by time; at one instant by [`Class`], then by the number of the link or flow. Nothing depends on when an
//! event was put in, so a link that schedules early and one that schedules late give the same run.

use headway_units::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What acts. The order of the variants is the order at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Class {
    /// A link ends a transmission.
    Departure,
    /// A packet reaches the far end of a link.
    Arrival,
    /// A sender's timer.
    SenderTimer,
    /// A sink's timer.
    SinkTimer,
    /// A source writes.
    Source,
    /// The series take a sample: it sees everything that happened at its instant.
    Sample,
}

impl Class {
    const ALL: [Self; 6] =
        [Self::Departure, Self::Arrival, Self::SenderTimer, Self::SinkTimer, Self::Source, Self::Sample];
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
    heap: BinaryHeap<Reverse<(Instant, Actor)>>,
}

impl EventQueue {
    pub(crate) fn push(&mut self, at: Instant, actor: Actor) {
        self.heap.push(Reverse((at, actor)));
    }

    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    pub(crate) fn pop(&mut self) -> Option<(Instant, Actor)> {
        self.heap.pop().map(|Reverse(event)| event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_by_class_and_then_by_number() {
        let mut queue = EventQueue::default();
        let at = Instant::from_millis(1);
        let order = [
            (Class::Departure, 7),
            (Class::Arrival, 2),
            (Class::Arrival, 3),
            (Class::SenderTimer, 0),
            (Class::SinkTimer, 0),
            (Class::Source, 0),
            (Class::Sample, 0),
        ];
        for (class, number) in order.iter().rev() {
            queue.push(at, Actor::new(*class, *number));
        }
        queue.push(Instant::ZERO, Actor::new(Class::Sample, 0));
        let popped: Vec<_> = std::iter::from_fn(|| queue.pop()).skip(1).map(|(_, a)| (a.class(), a.number())).collect();
        assert_eq!(popped, order);
    }

    #[test]
    fn the_largest_number_survives_packing() {
        let actor = Actor::new(Class::Sample, MAX_ACTORS - 1);
        assert_eq!((actor.class(), actor.number()), (Class::Sample, MAX_ACTORS - 1));
    }
}
