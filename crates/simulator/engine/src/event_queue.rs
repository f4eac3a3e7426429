//! The queue of pending events.
//!
//! The queue applies the order that [`Moment`] defines; events with equal moments are ordered by class and number of
//! the actor. The order of insertion into the queue has no influence: a link that inserts its events early and one that
//! inserts them late give the same run.

use crate::{Actor, Class, Moment, Places, Ties};
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
    /// Index of the next event of the same day in [`EventQueue::crowd`].
    next: u32,
}

impl Node {
    const EMPTY: Self = Self { at: Moment::before_all(Instant::ZERO), actor: Actor::FIRST, next: NONE };

    fn event(&self) -> Event {
        Event { at: self.at, actor: self.actor }
    }
}

const NONE: u32 = u32::MAX;

/// Pending events: a calendar queue (Brown, CACM 31(10), 1988), as in ns-2. Expects a few events per link and flow.
///
/// Time is divided into days of 2^`shift` ns. The ring holds the first event of each day and a short sorted list of the
/// others. A heap holds events after the last day of the ring and events of days whose list is full.
///
/// The queue is tuned periodically: the length of a day is adjusted to about one event per day, and the ring to about
/// one day per event. The next event is the earlier of the first event in the ring and the top of the heap. The tuning
/// therefore does not change a run. In the worst case, with all events in one day, the queue behaves as a binary heap.
#[derive(Debug)]
pub struct EventQueue {
    /// Rule for the order of simultaneous events.
    pub ties: Ties,
    /// Sequence number of the last scheduled event; the order of simultaneous events with [`Ties::Scheduled`].
    pub places: Places,
    /// Number of the earliest day that may have events.
    day: u64,
    shift: u32,
    /// First event of each day from `day` to `day + ring.len() - 1`, indexed by day number modulo the ring length.
    ring: Vec<Node>,
    /// One bit per place of the ring: whether the day has events.
    occupied: Vec<u64>,
    /// Events after the first of their day.
    crowd: Vec<Node>,
    /// Index of the first free place in `crowd`, and the number of places in use.
    free: u32,
    crowded: usize,
    heap: BinaryHeap<Reverse<Event>>,
    /// Time of the first event in the heap; `FAR_FUTURE` if the heap is empty.
    heap_due: Instant,
    /// Pops until the next tuning, pops between the last two tunings, and day of the last tuning.
    pops_left: u32,
    pops: u32,
    tuned_on: u64,
}

/// Maximum number of actors that [`EventQueue::ahead`] returns.
pub const AHEAD: usize = 4;

/// Bounds of the ring length, in days.
const MIN_DAYS: usize = 256;
const MAX_DAYS: usize = 1 << 18;
/// Maximum number of events in the list of a day.
const MAX_LIST_LENGTH: usize = 16;
/// Number of pops before the first tuning.
const FIRST_TUNING_POPS: u32 = 1024;

impl EventQueue {
    /// Creates an empty queue at time zero.
    #[must_use]
    pub fn new(ties: Ties) -> Self {
        Self {
            ties,
            places: Places::default(),
            day: 0,
            shift: 16,
            ring: vec![Node::EMPTY; MIN_DAYS],
            occupied: vec![0; MIN_DAYS / 64],
            crowd: Vec::new(),
            free: NONE,
            crowded: 0,
            heap: BinaryHeap::new(),
            heap_due: Instant::FAR_FUTURE,
            pops_left: FIRST_TUNING_POPS,
            pops: FIRST_TUNING_POPS,
            tuned_on: 0,
        }
    }

    /// Inserts an event. Its time must not be before the time of the last event removed.
    #[inline(always)]
    pub fn push(&mut self, at: Moment, actor: Actor) {
        let Moment { at, sum_s, turn } = at;
        let ahead = (at.as_nanos() >> self.shift).saturating_sub(self.day);
        let place = (self.day + ahead) as usize & (self.ring.len() - 1);
        let (word, bit) = (&mut self.occupied[place / 64], 1 << (place % 64));
        // Most days have no event yet.
        if ahead < self.ring.len() as u64 && *word & bit == 0 {
            *word |= bit;
            self.ring[place] = Node { at: Moment { at, sum_s, turn }, actor, next: NONE };
        } else {
            self.insert(at, sum_s, turn, actor);
        }
    }

    /// Inserts an event on a day that already has events, or into the heap.
    ///
    /// The event is passed in parts so that it stays in registers. A structure stored in parts and loaded as a whole
    /// stalls store forwarding.
    #[inline(never)]
    fn insert(&mut self, at: Instant, sum_s: f64, turn: u64, actor: Actor) {
        let node = Node { at: Moment { at, sum_s, turn }, actor, next: NONE };
        let ahead = (at.as_nanos() >> self.shift).saturating_sub(self.day);
        if ahead >= self.ring.len() as u64 {
            return self.push_to_heap(node.event());
        }
        let place = (self.day + ahead) as usize & (self.ring.len() - 1);
        let is_before = |other: &Node| at < other.at.at || (at == other.at.at && node.event() < other.event());
        let first = self.ring[place];
        if is_before(&first) {
            let next = self.store(first);
            self.ring[place] = Node { next, ..node };
            return;
        }
        let (mut before, mut after) = (NONE, first.next);
        for _ in 1..MAX_LIST_LENGTH {
            let other = self.crowd.get(after as usize).filter(|other| !is_before(other));
            let Some(other) = other else {
                let number = self.store(Node { next: after, ..node });
                let before = self.crowd.get_mut(before as usize).unwrap_or(&mut self.ring[place]);
                before.next = number;
                return;
            };
            (before, after) = (after, other.next);
        }
        self.push_to_heap(node.event());
    }

    /// Removes and returns the next event if its moment is before `end`; else returns `None`.
    #[inline(always)]
    pub fn pop_before(&mut self, end: Moment) -> Option<(Moment, Actor)> {
        let mut place = self.next_in_ring();
        if place.is_none_or(|place| self.ring[place].at.at >= self.heap_due) {
            self.bring_first(end);
            place = self.next_in_ring();
        }
        let place = place?;
        let first = &mut self.ring[place];
        let Node { at, actor, next } = *first;
        if at >= end {
            return None;
        }
        if let Some(second) = self.crowd.get_mut(next as usize) {
            *first = *second;
            second.next = self.free;
            self.free = next;
            self.crowded -= 1;
        } else {
            self.occupied[place / 64] &= !(1 << (place % 64));
        }
        self.day = at.at.as_nanos() >> self.shift;
        self.pops_left -= 1;
        if self.pops_left == 0 {
            self.tune();
        }
        Some((at, actor))
    }

    /// Returns the moment of a packet that arrives at `now` from outside the simulation. Among simultaneous events it
    /// is ordered as an event of a source; with [`Ties::Scheduled`], by its sequence number.
    pub fn external_moment(&mut self, now: Instant) -> Moment {
        let sum_s = now.as_secs_f64();
        match self.ties {
            Ties::Scheduled => Moment::scheduled(sum_s, self.places.next()),
            Ties::Drawn => Moment::in_class(now, sum_s, Class::Source),
        }
    }

    /// Returns the time of the next event.
    #[must_use]
    pub fn next_at(&self) -> Option<Instant> {
        let in_ring = self.next_in_ring().map(|place| self.ring[place].at.at);
        let in_heap = self.heap.peek().map(|Reverse(event)| event.at.at);
        in_ring.into_iter().chain(in_heap).min()
    }

    /// Moves the first event of the heap into the ring if it is the earliest of all and before `end`. The current day
    /// becomes the day of this event, so the caller must remove it next.
    #[cold]
    #[inline(never)]
    fn bring_first(&mut self, end: Moment) {
        let in_ring = self.next_in_ring().map(|place| self.ring[place]);
        let Some(&Reverse(event)) = self.heap.peek() else { return };
        if event.at >= end || in_ring.is_some_and(|first| first.event() < event) {
            return;
        }
        self.heap.pop();
        self.heap_due = self.heap.peek().map_or(Instant::FAR_FUTURE, |Reverse(top)| top.at.at);
        // No event is on an earlier day.
        self.day = event.at.at.as_nanos() >> self.shift;
        let place = self.day as usize & (self.ring.len() - 1);
        let (word, bit) = (&mut self.occupied[place / 64], 1 << (place % 64));
        let is_only = *word & bit == 0;
        *word |= bit;
        let next = if is_only { NONE } else { self.store(self.ring[place]) };
        self.ring[place] = Node { at: event.at, actor: event.actor, next };
    }

    /// Stores an event that is not the first of its day.
    fn store(&mut self, node: Node) -> u32 {
        self.crowded += 1;
        let number = self.free;
        if let Some(place) = self.crowd.get_mut(number as usize) {
            self.free = place.next;
            *place = node;
            return number;
        }
        self.crowd.push(node);
        self.crowd.len() as u32 - 1
    }

    #[cold]
    fn push_to_heap(&mut self, event: Event) {
        self.heap_due = self.heap_due.min(event.at.at);
        self.heap.push(Reverse(event));
    }

    /// Returns the actors of up to [`AHEAD`] next events, in order of time, for prefetching. Events far in the future
    /// may be missing.
    #[must_use]
    pub fn ahead(&self) -> [Option<Actor>; AHEAD] {
        let mut found = [None; AHEAD];
        let Some(mut place) = self.next_in_ring() else { return found };
        let mut node = self.ring[place];
        for actor in &mut found {
            *actor = Some(node.actor);
            if let Some(next) = self.crowd.get(node.next as usize) {
                node = *next;
                continue;
            }
            place += 1;
            loop {
                let Some(days) = self.occupied.get(place / 64) else { return found };
                let days = days & (u64::MAX << (place % 64));
                if days != 0 {
                    place = place & !63 | days.trailing_zeros() as usize;
                    break;
                }
                place = (place | 63) + 1;
            }
            node = self.ring[place];
        }
        found
    }

    /// Returns the ring place of the first day that has an event.
    #[inline]
    fn next_in_ring(&self) -> Option<usize> {
        let first = self.day as usize & (self.ring.len() - 1);
        let words = self.occupied.len();
        let mut word = self.occupied[first / 64] & (u64::MAX << (first % 64));
        // The first word is visited twice: its bits before `first` are the last days of the ring.
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

    /// Adjusts the length of a day if days have far more or fewer than one event, and the ring if events outnumber
    /// days.
    #[cold]
    fn tune(&mut self) {
        let days = (self.day - self.tuned_on).max(1);
        let first_events = self.occupied.iter().map(|word| word.count_ones() as usize).sum::<usize>();
        let pending = first_events + self.crowded + self.heap.len();
        let wanted = pending.next_power_of_two().clamp(MIN_DAYS, MAX_DAYS);
        let length = if wanted > self.ring.len() || wanted * 8 < self.ring.len() { wanted } else { self.ring.len() };
        // Base-2 logarithm of the events per day.
        let crowd = i64::from(self.pops.ilog2()) - i64::from(days.ilog2());
        let shift = if crowd.abs() <= 1 { self.shift } else { (i64::from(self.shift) - crowd).clamp(0, 48) as u32 };
        if (shift, length) != (self.shift, self.ring.len()) {
            self.rebuild(shift, length);
        }
        self.tuned_on = self.day;
        self.pops = u32::try_from(2 * pending).unwrap_or(u32::MAX).max(4 * FIRST_TUNING_POPS);
        self.pops_left = self.pops;
    }

    fn rebuild(&mut self, shift: u32, length: usize) {
        let mut events: Vec<Event> = self.heap.drain().map(|Reverse(event)| event).collect();
        self.heap_due = Instant::FAR_FUTURE;
        for (place, first) in self.ring.iter().enumerate() {
            let mut node = (self.occupied[place / 64] >> (place % 64) & 1 == 1).then_some(first);
            while let Some(here) = node {
                events.push(here.event());
                node = self.crowd.get(here.next as usize);
            }
        }
        self.day = u64::try_from((u128::from(self.day) << self.shift) >> shift).unwrap_or(u64::MAX);
        self.shift = shift;
        self.ring = vec![Node::EMPTY; length];
        self.occupied = vec![0; length / 64];
        self.crowd.clear();
        (self.free, self.crowded) = (NONE, 0);
        for Event { at, actor } in events {
            self.push(at, actor);
        }
    }
}

#[cfg(test)]
mod tests;
