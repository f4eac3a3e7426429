//! Gaps in packet numbers.

use super::Seen;
use std::collections::VecDeque;

/// Maximum number of gaps whose packets may still be declared lost.
const MAX_GAPS: usize = 64;

/// Classified gaps. A filter classifies a gap when it appears; its packets are declared lost some packets later.
#[derive(Clone, Debug, Default)]
pub(super) struct Gaps {
    highest: Option<u64>,
    /// First and last missing packet, and whether they count as congestion.
    judged: VecDeque<(u64, u64, bool)>,
}

impl Gaps {
    pub(super) fn before(&mut self, seen: &Seen) -> u64 {
        let missing = self.highest.map_or(0, |highest| seen.number.saturating_sub(highest.saturating_add(1)));
        self.highest = Some(seen.number);
        missing
    }

    /// Records whether the `missing` packets immediately before this one count.
    pub(super) fn judge(&mut self, seen: &Seen, missing: u64, counts: bool) {
        if missing == 0 {
            return;
        }
        if self.judged.len() == MAX_GAPS {
            self.judged.pop_front();
        }
        self.judged.push_back((seen.number - missing, seen.number - 1, counts));
    }

    /// Returns whether a packet counts. Unknown packets do.
    pub(super) fn counts(&self, number: u64) -> bool {
        self.judged.iter().rev().find(|(first, last, _)| (*first..=*last).contains(&number)).is_none_or(|gap| gap.2)
    }
}
