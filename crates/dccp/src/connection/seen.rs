//! Which of the peer's packets have come: to tell duplicates, and to count acknowledgements that were lost.

/// Received packets after which a missing one counts as lost (NUMDUPACK, RFC 4341 section 6.1.1).
const LATER: usize = 3;
/// Bits at most: beyond them a packet is too old to be told from a duplicate.
const MOST: usize = 1 << 12;

/// A bit for each of the newest numbers.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    bits: Vec<u64>,
    /// The greatest numbers that have come, the greatest first.
    newest: [u64; LATER],
    lost: u64,
}

impl Seen {
    /// For a window that reaches down so many numbers, the first of which is 0.
    pub(crate) fn new(behind: u64) -> Self {
        Self { bits: vec![0; Self::words(behind)], newest: [0; LATER], lost: 0 }
    }
    fn words(behind: u64) -> usize {
        usize::try_from(behind).unwrap_or(MOST).clamp(128, MOST).next_power_of_two() / 64
    }

    /// Makes room for a wider window.
    pub(crate) fn widen(&mut self, behind: u64) {
        if Self::words(behind) > self.bits.len() {
            let mut wider = Self { bits: vec![0; Self::words(behind)], ..*self };
            for number in self.oldest()..=self.newest[0] {
                if self.get(number) {
                    wider.set(number);
                }
            }
            *self = wider;
        }
    }

    const fn span(&self) -> u64 {
        self.bits.len() as u64 * 64
    }
    /// The oldest number that has a bit.
    const fn oldest(&self) -> u64 {
        (self.newest[0] + 1).saturating_sub(self.span())
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

    /// A packet has come; whether it is the first with this number. Too old ones count as duplicates.
    pub(crate) fn insert(&mut self, number: u64) -> bool {
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

    /// Keeps the greatest numbers in order, and judges what fell behind the last of them.
    fn rank(&mut self, number: u64) {
        let before = self.newest[LATER - 1];
        let mut number = number;
        for place in &mut self.newest {
            if number > *place {
                std::mem::swap(place, &mut number);
            }
        }
        let after = self.newest[LATER - 1];
        if after > before + 1 {
            let known = self.oldest().clamp(before + 1, after);
            let missing = (known..after).filter(|number| !self.get(*number)).count() as u64;
            self.lost = self.lost.saturating_add(known - (before + 1) + missing);
        }
    }

    /// How many were found lost since the last question.
    pub(crate) fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn duplicates_are_told() {
        let mut seen = Seen::new(25);
        assert!(seen.insert(0) && !seen.insert(0));
        assert!(seen.insert(5) && !seen.insert(5));
        assert!(seen.insert(3) && !seen.insert(3));
        seen.widen(1000);
        assert!(!seen.insert(5) && seen.insert(4));
        assert!(seen.insert(500));
        assert!(!seen.insert(4));
    }
}
