//! The deadlines of many, of which the first is asked for again and again.

use headway_units::Instant;
use std::collections::{BTreeMap, BTreeSet};

/// One deadline each, by number. Only those that have one take room.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    ordered: BTreeSet<(Instant, u32)>,
    of: BTreeMap<u32, Instant>,
}

impl Deadlines {
    /// Sets one's deadline, in place of the one before.
    pub(super) fn set(&mut self, number: u32, deadline: Option<Instant>) {
        let before = match deadline {
            Some(deadline) => self.of.insert(number, deadline),
            None => self.of.remove(&number),
        };
        if before == deadline {
            return;
        }
        if let Some(before) = before {
            self.ordered.remove(&(before, number));
        }
        if let Some(deadline) = deadline {
            self.ordered.insert((deadline, number));
        }
    }

    /// The first of all.
    pub(super) fn first(&self) -> Option<Instant> {
        self.ordered.first().map(|(deadline, _)| *deadline)
    }

    /// Takes the first deadline that has come, and says whose it was.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<u32> {
        let (_, number) = *self.ordered.first().filter(|(deadline, _)| *deadline <= now)?;
        self.set(number, None);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// As a list that is looked through from end to end.
        #[test]
        fn the_first_is_the_first(steps in prop::collection::vec((0u32..6, prop::option::of(0u64..20)), 1..60)) {
            let (mut deadlines, mut all) = (Deadlines::default(), BTreeMap::new());
            for (now, (number, deadline)) in steps.into_iter().enumerate() {
                let deadline = deadline.map(|after| Instant::from_nanos(now as u64 + after));
                deadlines.set(number, deadline);
                all.remove(&number);
                all.extend(deadline.map(|deadline| (number, deadline)));
                prop_assert_eq!(deadlines.first(), all.values().min().copied());
                let now = Instant::from_nanos(now as u64);
                while let Some(number) = deadlines.take_due(now) {
                    prop_assert!(all.remove(&number).is_some_and(|deadline| deadline <= now));
                }
                prop_assert!(all.values().all(|deadline| *deadline > now));
            }
        }
    }
}
