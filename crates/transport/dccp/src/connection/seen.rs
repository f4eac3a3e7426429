//! Record of received packets, which detects duplicates and counts lost acknowledgements.

/// Number of later packets after which a missing one counts as lost (NUMDUPACK, RFC 4341 section 6.1.1).
const NUMDUPACK: usize = 3;
/// Maximum number of bits. Older packets count as duplicates.
const MAX_BITS: usize = 1 << 12;

#[derive(Clone, Debug)]
pub(crate) struct Seen {
    bits: Vec<u64>,
    newest: [u64; NUMDUPACK],
    lost: u64,
}

impl Seen {
    /// Creates a record of `depth` numbers below the greatest. The first number is 0.
    pub(crate) fn new(depth: u64) -> Self {
        Self { bits: vec![0; Self::words(depth)], newest: [0; NUMDUPACK], lost: 0 }
    }
    fn words(depth: u64) -> usize {
        usize::try_from(depth).unwrap_or(MAX_BITS).clamp(128, MAX_BITS).next_power_of_two() / 64
    }

    pub(crate) fn widen(&mut self, depth: u64) {
        if Self::words(depth) > self.bits.len() {
            let mut wider = Self { bits: vec![0; Self::words(depth)], ..*self };
            for number in wider.oldest()..=self.newest[0] {
                // A number without a bit may have been received, unless it is greater than the
                // third greatest received; it stays a duplicate. The greatest ones are known.
                let forgotten = number < self.oldest();
                let may_have_arrived = number <= self.newest[NUMDUPACK - 1] || self.newest.contains(&number);
                if if forgotten { may_have_arrived } else { self.get(number) } {
                    wider.set(number);
                }
            }
            *self = wider;
        }
    }

    const fn span(&self) -> u64 {
        self.bits.len() as u64 * 64
    }
    pub(crate) const fn oldest(&self) -> u64 {
        self.newest[0].saturating_sub(self.span() - 1)
    }
    const fn word(&self, number: u64) -> usize {
        (number / 64) as usize & (self.bits.len() - 1)
    }
    fn get(&self, number: u64) -> bool {
        self.bits[self.word(number)] >> (number % 64) & 1 == 1
    }
    fn set(&mut self, number: u64) {
        let word = self.word(number);
        self.bits[word] |= 1 << (number % 64);
    }
    fn clear(&mut self, number: u64) {
        let word = self.word(number);
        self.bits[word] &= !(1 << (number % 64));
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        (self.oldest()..=self.newest[0]).contains(&number) && self.get(number)
    }

    /// Records a packet. Returns whether it is the first with this number; unrecorded old numbers count as duplicates.
    #[inline]
    pub(crate) fn insert(&mut self, number: u64) -> bool {
        let [first, second, third] = self.newest;
        // Fast path: most packets arrive in order without losses.
        if number.checked_sub(first) == Some(1) && first - third == 2 {
            self.set(number);
            self.newest = [number, first, second];
            return true;
        }
        self.insert_any(number)
    }

    fn insert_any(&mut self, number: u64) -> bool {
        let newest = self.newest[0];
        if number > newest {
            if number - newest >= self.span() {
                self.bits.fill(0);
            } else {
                (newest + 1..number).for_each(|skipped| self.clear(skipped));
            }
        } else if number < self.oldest() || self.get(number) {
            return false;
        }
        self.set(number);
        self.rank(number);
        true
    }

    /// Updates the greatest numbers, and counts missing packets below the last of them as lost.
    fn rank(&mut self, number: u64) {
        let [first, second, before] = self.newest;
        self.newest = match number {
            _ if number > first => [number, first, second],
            _ if number > second => [first, number, second],
            _ if number > before => [first, second, number],
            _ => self.newest,
        };
        let after = self.newest[NUMDUPACK - 1];
        if after > before + 1 {
            let known = self.oldest().clamp(before + 1, after);
            let missing = (known..after).filter(|number| !self.get(*number)).count() as u64;
            self.lost = self.lost.saturating_add(known - (before + 1) + missing);
        }
    }

    pub(crate) fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn lost(numbers: &[u64]) -> u64 {
        let mut seen = Seen::new(25);
        numbers.iter().for_each(|number| assert!(seen.insert(*number)));
        seen.take_lost()
    }

    /// RFC 4341 section 6.1.1: lost after at least three packets with greater numbers.
    #[test]
    fn lost_after_three_later_ones() {
        assert_eq!(lost(&[1, 3, 4]), 0);
        assert_eq!(lost(&[1, 3, 4, 5]), 1);
        assert_eq!(lost(&[1, 3, 4, 2, 5]), 0);
        assert_eq!(lost(&[10, 11]), 0);
        assert_eq!(lost(&[10, 11, 12]), 9);
        let far = 1_000_000_000_000;
        assert_eq!(lost(&[far, far + 1, far + 2]), far - 1);
    }

    #[test]
    fn duplicates_are_detected() {
        let mut seen = Seen::new(25);
        assert!(seen.insert(0) && !seen.insert(0));
        assert!(seen.insert(5) && !seen.insert(5));
        assert!(seen.insert(3) && !seen.insert(3));
        seen.widen(1000);
        assert!(!seen.insert(5) && seen.insert(4));
        assert!(seen.insert(500));
        assert!(!seen.insert(4));
    }

    /// Packet 66 is the second greatest, and has no bit once 194 has arrived. It remains a duplicate in a wider window.
    #[test]
    fn the_greatest_stay_duplicates() {
        let mut seen = Seen::new(25);
        assert!([66, 7, 194].into_iter().all(|number| seen.insert(number)));
        seen.widen(512);
        assert!([66, 7, 194, 5].into_iter().all(|number| !seen.insert(number)));
        assert!(seen.insert(8) && seen.insert(65));
    }

    /// A window of 100 packets uses 128 bits, one of 1000 uses 1024. The minimum is two words, the maximum 64.
    #[test]
    fn the_record_is_as_long_as_the_window() {
        for (depth, kept) in [(0, 128), (25, 128), (128, 128), (129, 256), (1000, 1024), (1 << 40, 4096)] {
            for widened in [false, true] {
                let mut seen = Seen::new(if widened { 25 } else { depth });
                assert!(seen.insert(9_999));
                seen.widen(depth);
                assert!(seen.insert(10_000));
                assert!(!seen.insert(10_000 - kept), "{depth}: too old");
                assert!(seen.insert(10_001 - kept), "{depth}: the oldest");
                assert!(!seen.insert(10_001 - kept) && !seen.insert(9_999), "{depth}: again");
            }
        }
    }

    proptest! {
        /// Compared with a set of all received numbers: duplicates, and packets missing when a
        /// third later one arrived, in a window that is widened in between.
        #[test]
        fn agrees_with_a_set(numbers in prop::collection::vec((0u64..300, any::<bool>()), 1..200), widened_at: prop::sample::Index) {
            let (mut seen, mut all, mut judged, mut lost, mut kept) = (Seen::new(25), BTreeSet::new(), 0, 0, 128);
            let widened_at = widened_at.index(numbers.len());
            let mut base = 0;
            for (at, (number, moves_on)) in numbers.iter().enumerate() {
                if at == widened_at {
                    // Numbers that were forgotten before stay unknown.
                    let (newest, third) = (all.last().copied().unwrap_or(0), all.iter().rev().nth(2).copied().unwrap_or(0));
                    all.extend(0..(newest + 1_u64).saturating_sub(kept).min(third + 1));
                    seen.widen(512);
                    kept = 512;
                }
                let number = base + number;
                base += u64::from(*moves_on) * 7;
                let newest = all.last().copied().unwrap_or(0);
                let old = number + kept <= newest;
                prop_assert_eq!(seen.contains(number), !old && all.contains(&number), "{}", number);
                prop_assert_eq!(seen.insert(number), !old && !all.contains(&number), "{}", number);
                if !old {
                    all.insert(number);
                }
                let third = all.iter().rev().nth(2).copied().unwrap_or(0);
                let oldest = (all.last().copied().unwrap_or(0) + 1).saturating_sub(kept);
                lost += (judged + 1..third).filter(|number| *number < oldest || !all.contains(number)).count() as u64;
                judged = judged.max(third);
            }
            prop_assert_eq!(seen.take_lost(), lost);
            prop_assert_eq!(seen.take_lost(), 0);
        }
    }
}
