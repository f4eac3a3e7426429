//! A set of deadlines with fast access to the first.

use headway_engine::{EventQueue, Moment, Ties};
use headway_units::Instant;
use std::collections::{BTreeMap, BTreeSet};

/// Deadlines by number, at most one per number.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    /// In order of time, then in the order in which they were set.
    ordered: BTreeSet<(Instant, u64, u32)>,
    of: BTreeMap<u32, Deadline>,
    /// Number of deadlines set so far.
    changes: u64,
    /// Numbers whose deadline was set since the last [`Self::place`].
    changed: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Deadline {
    due: Instant,
    change: u64,
    /// Time at which it was set, which is a term of ns-2's floating-point sum.
    set: Moment,
}

impl Deadlines {
    /// Sets or clears a deadline, replacing the previous one.
    pub(super) fn set(&mut self, number: u32, deadline: Option<Instant>) {
        let before = self.of.get(&number).copied();
        if before.map(|before| before.due) == deadline {
            return;
        }
        if let Some(Deadline { due, change, .. }) = before {
            self.ordered.remove(&(due, change, number));
            self.of.remove(&number);
        }
        if let Some(due) = deadline {
            self.changes += 1;
            self.ordered.insert((due, self.changes, number));
            self.of.insert(number, Deadline { due, change: self.changes, set: Moment::new(Instant::ZERO) });
            self.changed.push(number);
        }
    }

    /// Records that changed deadlines were set now, in the order of scheduling. Returns when the first of all was set.
    pub(super) fn place(&mut self, now: Moment, events: &mut EventQueue) -> Option<Moment> {
        for number in self.changed.drain(..) {
            if let Some(deadline) = self.of.get_mut(&number) {
                deadline.set = match events.ties {
                    Ties::Scheduled => Moment { turn: events.places.next(), ..now },
                    Ties::Drawn => now,
                };
            }
        }
        let (_, _, first) = self.ordered.first()?;
        self.of.get(first).map(|deadline| deadline.set)
    }

    pub(super) fn first(&self) -> Option<Instant> {
        self.ordered.first().map(|(due, ..)| *due)
    }

    /// Removes the first deadline that is due by `now`. Returns its number.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<u32> {
        let (_, _, number) = *self.ordered.first().filter(|(due, ..)| *due <= now)?;
        self.set(number, None);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with a linear search.
        #[test]
        fn the_earliest_deadline_is_first(steps in prop::collection::vec((0u32..6, prop::option::of(0u64..20)), 1..60)) {
            let (mut deadlines, mut all) = (Deadlines::default(), BTreeMap::new());
            let mut events = EventQueue::new(Ties::Scheduled);
            for (now, (number, deadline)) in steps.into_iter().enumerate() {
                let now = Instant::from_nanos(now as u64);
                let deadline = deadline.map(|after| Instant::from_nanos(now.as_nanos() + after));
                deadlines.set(number, deadline);
                if all.get(&number).map(|(due, _)| *due) != deadline {
                    all.remove(&number);
                    all.extend(deadline.map(|deadline| (number, (deadline, now))));
                }
                let first = all.values().min_by_key(|(due, set)| (*due, *set)).copied();
                prop_assert_eq!(deadlines.first(), first.map(|(due, _)| due));
                prop_assert_eq!(deadlines.place(Moment::new(now), &mut events).map(|set| set.at), first.map(|(_, set)| set));
                while let Some(number) = deadlines.take_due(now) {
                    prop_assert!(all.remove(&number).is_some_and(|(due, _)| due <= now));
                }
                prop_assert!(all.values().all(|(due, _)| *due > now));
            }
        }
    }
}
