//! Who acts next.
//!
//! Order: by time; at one instant by [`Class`]; within a class by the number of the link or flow, xored with a hash of
//! the seed and of the [`TOSS`] in which the instant lies. Nothing depends on when an event was put in, so a link that
//! schedules early and one that schedules late give the same run.
//!
//! Why the hash: flows behind one bottleneck lock in phase, and their packets meet at it at the same nanosecond again
//! and again. A fixed order would let one flow win each time (with eight clients of a star the first got twice the
//! rate of the last). In ns-2 the last bit of its times decides, and decides the same way for as long as the flows
//! stay locked, a few round trips. So the hash is a coin that holds for a while. How long matters by a few per cent
//! where everything is in phase; `docs/src/engine.md` has the numbers.

use headway_units::{Duration, Instant};
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

/// For how long the coin holds: 67 ms.
const TOSS: Duration = Duration::from_nanos(1 << 26);

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
#[derive(Debug)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Reverse<(Instant, Actor)>>,
    seed: u64,
}

impl EventQueue {
    pub(crate) fn new(seed: u64) -> Self {
        Self { heap: BinaryHeap::new(), seed }
    }

    /// Shuffles the numbers of the actors at this instant; a second time, it brings them back.
    fn shuffled(&self, at: Instant, actor: Actor) -> Actor {
        // Constants of SplitMix64 (Steele, Lea and Flood 2014).
        let toss = (at.as_nanos() / TOSS.as_nanos()) ^ self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = toss.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        Actor(actor.0 ^ (mixed >> (64 - NUMBER_BITS)) as u32)
    }

    pub(crate) fn push(&mut self, at: Instant, actor: Actor) {
        self.heap.push(Reverse((at, self.shuffled(at, actor))));
    }

    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    pub(crate) fn pop(&mut self) -> Option<(Instant, Actor)> {
        self.heap.pop().map(|Reverse((at, actor))| (at, self.shuffled(at, actor)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(queue: &mut EventQueue) -> Vec<(Class, usize)> {
        std::iter::from_fn(|| queue.pop()).map(|(_, actor)| (actor.class(), actor.number())).collect()
    }

    #[test]
    fn ties_go_by_class() {
        let mut queue = EventQueue::new(1);
        let at = Instant::from_millis(1);
        for class in Class::ALL.iter().rev() {
            queue.push(at, Actor::new(*class, 7));
        }
        queue.push(Instant::ZERO, Actor::new(Class::Sample, 0));
        let mut order = vec![(Class::Sample, 0)];
        order.extend(Class::ALL.map(|class| (class, 7)));
        assert_eq!(drain(&mut queue), order);
    }

    /// Whichever way they are put in, those of a class come in one order at an instant; over many tosses each of eight is
    /// first about as often as the others.
    #[test]
    fn ties_within_a_class_favour_nobody() {
        let mut first = [0u32; 8];
        for toss in 0..8_000 {
            let at = Instant::ZERO + TOSS * toss;
            let put = |numbers: &mut dyn Iterator<Item = usize>| {
                let mut queue = EventQueue::new(1);
                numbers.for_each(|number| queue.push(at, Actor::new(Class::Arrival, number)));
                drain(&mut queue)
            };
            let order = put(&mut (0..8));
            assert_eq!(order, put(&mut (0..8).rev()));
            first[order[0].1] += 1;
        }
        // Chi-square with 7 degrees of freedom: 24.3 is the 0.1 % point.
        let chi: f64 = first.iter().map(|&n| (f64::from(n) - 1000.0) * (f64::from(n) - 1000.0) / 1000.0).sum();
        assert!(chi < 24.3, "{first:?}");
    }

    #[test]
    fn the_largest_number_survives_packing() {
        let actor = Actor::new(Class::Sample, MAX_ACTORS - 1);
        assert_eq!((actor.class(), actor.number()), (Class::Sample, MAX_ACTORS - 1));
    }
}
