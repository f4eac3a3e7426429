//! A segment tree over a row of numbers and entries: range sums, least prefix sums and largest entries.

use std::ops::Range;

/// Aggregate of a range of the row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) sum: i128,
    /// Least prefix sum over prefixes of at least one number.
    pub(crate) least: i128,
    /// Largest entry and its place; (0, 0) if there is none.
    pub(crate) largest: (u64, usize),
}

impl Part {
    /// Aggregate of the empty range. `least` exceeds any sum of 2^62 numbers of 64 bits.
    const NONE: Self = Self { sum: 0, least: i128::MAX / 2, largest: (0, 0) };

    fn then(self, next: Self) -> Self {
        Self {
            sum: self.sum + next.sum,
            least: self.least.min(self.sum + next.least),
            largest: self.largest.max(next.largest),
        }
    }
}

/// Row with point updates and range queries, each in O(log n).
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Complete binary tree with its root at 1 and its leaves from `leaves` on.
    parts: Vec<Part>,
    leaves: usize,
}

impl Row {
    pub(crate) fn new(length: usize) -> Self {
        let leaves = length.next_power_of_two();
        let mut parts = vec![Part::NONE; 2 * leaves];
        for leaf in &mut parts[leaves..leaves + length] {
            leaf.least = 0;
        }
        let mut row = Self { parts, leaves };
        for node in (1..leaves).rev() {
            row.refresh(node);
        }
        row
    }

    pub(crate) fn add(&mut self, place: usize, amount: i128) {
        let leaf = &mut self.parts[self.leaves + place];
        leaf.sum += amount;
        leaf.least = leaf.sum;
        self.climb(place);
    }

    /// Sets the entry at a place; 0 removes it.
    pub(crate) fn enter(&mut self, place: usize, size: u64) {
        self.parts[self.leaves + place].largest = (size, place);
        self.climb(place);
    }

    pub(crate) fn over(&self, range: Range<usize>) -> Part {
        let (mut from, mut to) = (self.leaves + range.start, self.leaves + range.end);
        let (mut left, mut right) = (Part::NONE, Part::NONE);
        while from < to {
            if from % 2 == 1 {
                left = left.then(self.parts[from]);
                from += 1;
            }
            if to % 2 == 1 {
                to -= 1;
                right = self.parts[to].then(right);
            }
            from /= 2;
            to /= 2;
        }
        left.then(right)
    }

    fn climb(&mut self, place: usize) {
        let mut node = (self.leaves + place) / 2;
        while node > 0 {
            self.refresh(node);
            node /= 2;
        }
    }

    fn refresh(&mut self, node: usize) {
        self.parts[node] = self.parts[2 * node].then(self.parts[2 * node + 1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn aggregates_equal_a_linear_scan(
            numbers in prop::collection::vec((-50i64..50, 0u64..9), 1..20),
            from in 0usize..20,
            to in 0usize..20,
        ) {
            let mut row = Row::new(numbers.len());
            for (place, &(amount, size)) in numbers.iter().enumerate() {
                row.add(place, 100);
                row.add(place, i128::from(amount) - 100);
                row.enter(place, size);
            }
            let from = from % numbers.len();
            let to = from + 1 + to % (numbers.len() - from);
            let (mut sum, mut least, mut largest) = (0, i64::MAX, 0);
            for &(amount, size) in &numbers[from..to] {
                sum += amount;
                least = least.min(sum);
                largest = largest.max(size);
            }
            let part = row.over(from..to);
            prop_assert_eq!((part.sum, part.least, part.largest.0), (sum.into(), least.into(), largest));
            prop_assert!(largest == 0 || numbers[part.largest.1].1 == largest);
            prop_assert_eq!(row.over(from..from).sum, 0);
        }
    }
}
