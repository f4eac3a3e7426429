//! Gaps in the numbers, as they are seen.

use super::Seen;
use std::collections::VecDeque;

/// Gaps whose packets may still be declared lost.
const MOST: usize = 64;

/// What a filter has judged of gaps before anybody asks: a packet is declared lost some packets after the gap is seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Gaps {
    highest: Option<u64>,
    /// The first and the last that are missing, and whether they count.
    judged: VecDeque<(u64, u64, bool)>,
}

impl Gaps {
    /// How many packets are missing right before this one.
    pub(super) fn before(&mut self, seen: &Seen) -> u64 {
        let missing = self.highest.map_or(0, |highest| seen.number.saturating_sub(highest.saturating_add(1)));
        self.highest = Some(seen.number);
        missing
    }

    /// The `missing` packets right before this one count, or do not.
    pub(super) fn judge(&mut self, seen: &Seen, missing: u64, counts: bool) {
        if missing == 0 {
            return;
        }
        if self.judged.len() == MOST {
            self.judged.pop_front();
        }
        self.judged.push_back((seen.number - missing, seen.number - 1, counts));
    }

    /// Whether a packet counts; one of which nothing is known does.
    pub(super) fn counts(&self, number: u64) -> bool {
        self.judged.iter().rev().find(|(first, last, _)| (*first..=*last).contains(&number)).is_none_or(|gap| gap.2)
    }
}
