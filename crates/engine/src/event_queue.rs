//! The pending events.
//!
//! Events are in the order of their [`Moment`]s; actors of one moment are in the order of their classes and numbers. When an event was inserted does not matter:
//! a link that schedules early and one that schedules late give the same run.

use crate::{Actor, Moment, Places, Ties};
use headway_units::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An event in the order of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at: Moment,
    actor: Actor,
}

/// An event in the list of its day.
#[derive(Clone, Copy, Debug)]
struct Node {
    at: Moment,
    actor: Actor,
    next: u32,
}

const NONE: u32 = u32::MAX;

/// The pending events, at most a few for each link and flow: a calendar queue (Brown, CACM 31(10), 1988), as ns-2's.
///
/// Time is cut into days of 2^`shift` ns. A ring of days holds, for each, a short list in order; what lies beyond the ring,
/// or on a day whose list is full, is in a heap. Now and then the days are made longer or shorter, so that a day has about
/// one event, and the ring larger, so that it has a day for each event. The next event is the first of the next day or
/// the top of the heap, whichever is earlier, however the days are cut: a run does not depend on the tuning. At worst,
/// with all in one day, this is a binary heap.
#[derive(Debug)]
pub struct EventQueue {
    /// The rule for events of the same time.
    pub ties: Ties,
    /// The order of scheduling.
    pub places: Places,
    /// No event is of an earlier day.
    day: u64,
    shift: u32,
    /// The days from `day` to `day + ring.len() - 1`, by their number modulo the length: the first node.
    ring: Vec<u32>,
    /// A bit for each place of the ring: whether anything is there.
    occupied: Vec<u64>,
    nodes: Vec<Node>,
    free: u32,
    heap: BinaryHeap<Reverse<Event>>,
    /// When the first event of the heap is due; far in the future if it is empty.
    heap_due: Instant,
    pending: usize,
    /// Pops until the days are looked at again, of how many since they were last, and what the day was then.
    pops_left: u32,
    pops: u32,
    tuned_on: u64,
}

/// How far ahead [`EventQueue::ahead`] looks.
pub const AHEAD: usize = 4;

const LEAST_DAYS: usize = 256;
const MOST_DAYS: usize = 1 << 18;
const LONGEST_LIST: usize = 16;
const FIRST_LOOK: u32 = 1024;

impl EventQueue {
    /// An empty queue at time zero.
    #[must_use]
    pub fn new(ties: Ties) -> Self {
        Self {
            ties,
            places: Places::default(),
            day: 0,
            shift: 16,
            ring: vec![NONE; LEAST_DAYS],
            occupied: vec![0; LEAST_DAYS / 64],
            nodes: Vec::new(),
            free: NONE,
            heap: BinaryHeap::new(),
            heap_due: Instant::FAR_FUTURE,
            pending: 0,
            pops_left: FIRST_LOOK,
            pops: FIRST_LOOK,
            tuned_on: 0,
        }
    }

    /// Inserts an event. Its time is not before that of the last event that was removed.
    #[inline]
    pub fn push(&mut self, at: Moment, actor: Actor) {
        self.pending += 1;
        let Moment { at, sum_s, turn } = at;
        let ahead = (at.as_nanos() >> self.shift).saturating_sub(self.day);
        let place = (self.day + ahead) as usize & (self.ring.len() - 1);
        // As a rule: a day without events, and a node that was free.
        if ahead < self.ring.len() as u64
            && let first @ &mut NONE = &mut self.ring[place]
            && let Some(node) = self.nodes.get_mut(self.free as usize)
        {
            *first = self.free;
            self.free = node.next;
            *node = Node { at: Moment { at, sum_s, turn }, actor, next: NONE };
            self.occupied[place / 64] |= 1 << (place % 64);
        } else {
            self.insert(at, sum_s, turn, actor);
        }
    }

    /// Takes the event in pieces, which travel in registers: a structure that is stored by parts and loaded as a whole
    /// right after makes the processor wait.
    fn insert(&mut self, at: Instant, sum_s: f64, turn: u64, actor: Actor) {
        let event = || Event { at: Moment { at, sum_s, turn }, actor };
        let ahead = (at.as_nanos() >> self.shift).saturating_sub(self.day);
        if ahead >= self.ring.len() as u64 {
            self.push_to_heap(event());
            return;
        }
        let place = (self.day + ahead) as usize & (self.ring.len() - 1);
        let mut before = NONE;
        let mut after = self.ring[place];
        let mut steps = 0;
        while after != NONE {
            let node = &self.nodes[after as usize];
            if at < node.at.at || (at == node.at.at && event() < (Event { at: node.at, actor: node.actor })) {
                break;
            }
            steps += 1;
            if steps == LONGEST_LIST {
                self.push_to_heap(event());
                return;
            }
            (before, after) = (after, node.next);
        }
        let number = self.take_node(Node { at: Moment { at, sum_s, turn }, actor, next: after });
        if before == NONE {
            self.ring[place] = number;
            self.occupied[place / 64] |= 1 << (place % 64);
        } else {
            self.nodes[before as usize].next = number;
        }
    }

    /// Removes the next event, if there is one before `end`.
    #[inline(always)]
    pub fn pop_before(&mut self, end: Instant) -> Option<(Moment, Actor)> {
        let mut place = self.next_in_ring();
        if self.heap_may_be_first(place) {
            self.bring_first();
            place = self.next_in_ring();
        }
        let place = place?;
        let number = self.ring[place];
        let Node { at, actor, next } = *self.nodes.get(number as usize)?;
        if at.at >= end {
            return None;
        }
        self.ring[place] = next;
        if next == NONE {
            self.occupied[place / 64] &= !(1 << (place % 64));
        }
        self.nodes[number as usize].next = self.free;
        self.free = number;
        self.popped(at.at);
        Some((at, actor))
    }

    /// Whether the first event of the heap may be earlier than what is first in the ring.
    #[inline(always)]
    fn heap_may_be_first(&self, place: Option<usize>) -> bool {
        let Some(node) = place.and_then(|place| self.nodes.get(self.ring[place] as usize)) else { return true };
        node.at.at >= self.heap_due
    }

    /// Moves the first event of the heap into the ring if it is the first of all.
    #[cold]
    #[inline(never)]
    fn bring_first(&mut self) {
        let in_ring = self.next_in_ring().and_then(|place| self.nodes.get(self.ring[place] as usize));
        let first = in_ring.map(|node| Event { at: node.at, actor: node.actor });
        let Some(&Reverse(event)) = self.heap.peek() else { return };
        if first.is_some_and(|first| first < event) {
            return;
        }
        self.heap.pop();
        self.heap_due = self.heap.peek().map_or(Instant::FAR_FUTURE, |Reverse(top)| top.at.at);
        // Nothing is of an earlier day.
        self.day = event.at.at.as_nanos() >> self.shift;
        let place = self.day as usize & (self.ring.len() - 1);
        let number = self.take_node(Node { at: event.at, actor: event.actor, next: self.ring[place] });
        self.ring[place] = number;
        self.occupied[place / 64] |= 1 << (place % 64);
    }

    /// Stores a node where there is room.
    fn take_node(&mut self, node: Node) -> u32 {
        let number = self.free;
        if number == NONE {
            self.nodes.push(node);
            return self.nodes.len() as u32 - 1;
        }
        self.free = self.nodes[number as usize].next;
        self.nodes[number as usize] = node;
        number
    }

    #[cold]
    fn push_to_heap(&mut self, event: Event) {
        self.heap_due = self.heap_due.min(event.at.at);
        self.heap.push(Reverse(event));
    }

    /// Returns the actors of the next events, as far as they are in the ring.
    #[must_use]
    pub fn ahead(&self) -> [Option<Actor>; AHEAD] {
        let mut found = [None; AHEAD];
        let Some(mut place) = self.next_in_ring() else { return found };
        let mut number = self.ring[place];
        for actor in &mut found {
            while number == NONE {
                place += 1;
                let Some(days) = self.occupied.get(place / 64) else { return found };
                let days = days & (u64::MAX << (place % 64));
                if days == 0 {
                    place |= 63;
                    continue;
                }
                place = place & !63 | days.trailing_zeros() as usize;
                number = self.ring[place];
            }
            let Some(node) = self.nodes.get(number as usize) else { return found };
            *actor = Some(node.actor);
            number = node.next;
        }
        found
    }

    #[inline(always)]
    fn popped(&mut self, at: Instant) {
        self.day = at.as_nanos() >> self.shift;
        self.pending -= 1;
        self.pops_left -= 1;
        if self.pops_left == 0 {
            self.tune();
        }
    }

    /// The place of the first day that has an event.
    #[inline]
    fn next_in_ring(&self) -> Option<usize> {
        let first = self.day as usize & (self.ring.len() - 1);
        let words = self.occupied.len();
        let mut word = self.occupied[first / 64] & (u64::MAX << (first % 64));
        // The first word is looked at twice: what lies before `first` in it comes last.
        for step in 0..=words {
            let index = (first / 64 + step) & (words - 1);
            if step > 0 {
                word = self.occupied[index];
            }
            if word != 0 {
                return Some(index * 64 + word.trailing_zeros() as usize);
            }
        }
        None
    }

    /// Cuts the days anew if they have far more or fewer than one event, or if there are more events than days.
    #[cold]
    fn tune(&mut self) {
        let days = (self.day - self.tuned_on).max(1);
        let wanted = self.pending.next_power_of_two().clamp(LEAST_DAYS, MOST_DAYS);
        let length = if wanted > self.ring.len() || wanted * 8 < self.ring.len() { wanted } else { self.ring.len() };
        // Events a day, as a power of two.
        let crowd = i64::from(self.pops.ilog2()) - i64::from(days.ilog2());
        let shift = if crowd.abs() <= 1 { self.shift } else { (i64::from(self.shift) - crowd).clamp(0, 48) as u32 };
        if (shift, length) != (self.shift, self.ring.len()) {
            self.recut(shift, length);
        }
        self.tuned_on = self.day;
        self.pops = u32::try_from(2 * self.pending).unwrap_or(u32::MAX).max(4 * FIRST_LOOK);
        self.pops_left = self.pops;
    }

    fn recut(&mut self, shift: u32, length: usize) {
        let mut events: Vec<Event> = self.heap.drain().map(|Reverse(event)| event).collect();
        self.heap_due = Instant::FAR_FUTURE;
        for mut number in self.ring.drain(..) {
            while number != NONE {
                let node = self.nodes[number as usize];
                events.push(Event { at: node.at, actor: node.actor });
                number = node.next;
            }
        }
        self.day = u64::try_from((u128::from(self.day) << self.shift) >> shift).unwrap_or(u64::MAX);
        self.shift = shift;
        self.ring = vec![NONE; length];
        self.occupied = vec![0; length / 64];
        self.nodes.clear();
        self.free = NONE;
        for Event { at: Moment { at, sum_s, turn }, actor } in events {
            self.insert(at, sum_s, turn, actor);
        }
    }
}

#[cfg(test)]
mod tests;
