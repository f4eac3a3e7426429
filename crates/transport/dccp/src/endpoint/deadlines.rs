//! Deadlines of connections: an indexed binary heap, which updates a deadline without a search or an allocation.

use headway_units::Instant;

const NO_PLACE: u32 = u32::MAX;

/// Heap with the earliest deadline first; equal deadlines are ordered by index.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    heap: Vec<(Instant, u32)>,
    places: Vec<u32>,
}

impl Deadlines {
    pub(super) fn first(&self) -> Option<Instant> {
        self.heap.first().map(|(at, _)| *at)
    }

    /// Removes a deadline that has passed, and returns its index.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<u32> {
        let (_, index) = *self.heap.first().filter(|(at, _)| *at <= now)?;
        self.set(index, None);
        Some(index)
    }

    /// Sets, replaces or removes the deadline of an index.
    pub(super) fn set(&mut self, index: u32, at: Option<Instant>) {
        if self.places.len() <= index as usize {
            self.places.resize(index as usize + 1, NO_PLACE);
        }
        let place = self.places[index as usize];
        match at {
            Some(at) if place == NO_PLACE => {
                self.heap.push((at, index));
                self.rise(self.heap.len() - 1);
            }
            Some(at) => self.replace(place as usize, (at, index)),
            None if place == NO_PLACE => {}
            None => {
                self.places[index as usize] = NO_PLACE;
                let last = self.heap.pop();
                if let Some(last) = last.filter(|(_, other)| *other != index) {
                    self.replace(place as usize, last);
                }
            }
        }
    }

    fn replace(&mut self, place: usize, deadline: (Instant, u32)) {
        self.heap[place] = deadline;
        let place = self.rise(place);
        self.sink(place);
    }

    fn rise(&mut self, mut place: usize) -> usize {
        while place > 0 && self.heap[place] < self.heap[(place - 1) / 2] {
            self.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
        self.places[self.heap[place].1 as usize] = place as u32;
        place
    }

    fn sink(&mut self, mut place: usize) {
        while let Some(least) =
            (2 * place + 1..self.heap.len().min(2 * place + 3)).min_by_key(|child| self.heap[*child])
            && self.heap[least] < self.heap[place]
        {
            self.swap(place, least);
            place = least;
        }
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.heap.swap(one, other);
        for place in [one, other] {
            self.places[self.heap[place].1 as usize] = place as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Compared with an ordered set of all deadlines.
        #[test]
        fn agrees_with_a_set(steps in prop::collection::vec((0u32..12, prop::option::of(0u64..20), any::<bool>()), 1..300)) {
            let (mut deadlines, mut set) = (Deadlines::default(), BTreeSet::new());
            for (index, at, due) in steps {
                let at = at.map(Instant::from_millis);
                if due {
                    let now = at.unwrap_or(Instant::from_millis(10));
                    let first = set.first().copied().filter(|(at, _)| *at <= now);
                    prop_assert_eq!(deadlines.take_due(now), first.map(|(_, index)| index));
                    first.map(|first| set.remove(&first));
                } else {
                    deadlines.set(index, at);
                    set.retain(|(_, other)| *other != index);
                    set.extend(at.map(|at| (at, index)));
                }
                prop_assert_eq!(deadlines.first(), set.first().map(|(at, _)| *at));
            }
        }
    }
}
