//! Sorted, disjoint, non-adjacent ranges of segment numbers: the segments that a sink holds out of order, or that a
//! sender knows were received.

use std::ops::Range;

/// Set of numbers as ranges. Its size depends on the number of holes, not of segments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    parts: Vec<(u64, u64)>,
    total: u64,
}

impl Ranges {
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }
    pub(crate) fn total(&self) -> u64 {
        self.total
    }
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.parts.len()
    }
    pub(crate) fn clear(&mut self) {
        self.parts.clear();
        self.total = 0;
    }
    /// Returns one past the highest number.
    pub(crate) fn end(&self) -> Option<u64> {
        self.parts.last().map(|part| part.1)
    }
    pub(crate) fn first(&self) -> Option<Range<u64>> {
        self.parts.first().map(|part| part.0..part.1)
    }
    /// Returns the ranges in descending order.
    pub(crate) fn descending(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.parts.iter().rev().map(|part| part.0..part.1)
    }

    /// Returns the index of the first range that ends above `number`.
    fn index(&self, number: u64) -> usize {
        self.parts.partition_point(|part| part.1 <= number)
    }

    /// Returns the range that contains `number`.
    #[inline]
    pub(crate) fn holding(&self, number: u64) -> Option<Range<u64>> {
        let part = self.parts.get(self.index(number))?;
        (part.0 <= number).then_some(part.0..part.1)
    }

    /// Returns how many elements are below `number`.
    pub(crate) fn below(&self, number: u64) -> u64 {
        // Callers query near the top or the bottom, so the sum over the shorter side is short.
        let index = self.index(number);
        let inside = self.parts.get(index).map_or(0, |part| number.saturating_sub(part.0));
        if index <= self.parts.len() / 2 {
            inside + self.parts[..index].iter().map(|part| part.1 - part.0).sum::<u64>()
        } else {
            self.total - self.parts[index..].iter().map(|part| part.1 - part.0).sum::<u64>() + inside
        }
    }

    /// Adds a range and merges it with overlapping and adjacent ranges. Returns the number of new elements.
    pub(crate) fn add(&mut self, range: Range<u64>) -> u64 {
        if range.start >= range.end {
            return 0;
        }
        // From the first part that ends at or above the start to the last that starts at or below the end.
        let from = self.parts.partition_point(|part| part.1 < range.start);
        let to = from + self.parts[from..].partition_point(|part| part.0 <= range.end);
        let before = self.total;
        if from == to {
            self.parts.insert(from, (range.start, range.end));
            self.total += range.end - range.start;
        } else {
            let start = range.start.min(self.parts[from].0);
            let end = range.end.max(self.parts[to - 1].1);
            let held: u64 = self.parts[from..to].iter().map(|part| part.1 - part.0).sum();
            self.parts[from] = (start, end);
            self.parts.drain(from + 1..to);
            self.total += end - start - held;
        }
        self.total - before
    }

    /// Removes all numbers below `number`.
    pub(crate) fn remove_below(&mut self, number: u64) {
        if self.parts.first().is_none_or(|part| part.0 >= number) {
            return;
        }
        let index = self.index(number);
        let removed: u64 = self.parts[..index].iter().map(|part| part.1 - part.0).sum();
        self.parts.drain(..index);
        self.total -= removed;
        if let Some(part) = self.parts.first_mut()
            && part.0 < number
        {
            self.total -= number - part.0;
            part.0 = number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn ranges_are_a_set(steps in prop::collection::vec((0u64..60, 0u64..12, any::<bool>()), 1..60)) {
            let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
            for (start, length, forget) in steps {
                if forget && length < 2 {
                    ranges.remove_below(start);
                    set.retain(|&number| number >= start);
                } else {
                    let new = (start..start + length).filter(|number| set.insert(*number)).count();
                    prop_assert_eq!(ranges.add(start..start + length), new as u64);
                }
                prop_assert_eq!(ranges.total(), set.len() as u64);
                prop_assert_eq!(ranges.end(), set.last().map(|last| last + 1));
                for number in 0..80 {
                    prop_assert_eq!(ranges.holding(number).is_some(), set.contains(&number));
                    prop_assert_eq!(ranges.below(number), set.range(..number).count() as u64);
                }
                let parts: Vec<_> = ranges.descending().collect();
                prop_assert!(parts.windows(2).all(|pair| pair[1].end < pair[0].start));
                prop_assert_eq!(parts.len(), ranges.count());
                prop_assert_eq!(parts.last().cloned(), ranges.first());
            }
        }
    }
}
