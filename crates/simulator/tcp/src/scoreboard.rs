//! The segments that a sender knows were received, and their consequences (RFC 6675 sections 3 and 4).

use crate::ranges::Ranges;
use crate::segment::Segment;
use std::ops::Range;

/// The scoreboard of RFC 6675, in whole segments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    received: Ranges,
}

impl Scoreboard {
    /// Update(): processes an acknowledgement. Returns the segments newly reported as received, including those below
    /// its number. Ignores invalid blocks (below the number, or above the highest segment sent).
    pub(crate) fn update(&mut self, una: u64, max: u64, ack: &Segment) -> u64 {
        let mut received = 0;
        for block in ack.sack.iter(ack.seq) {
            if block.start > una && block.start > ack.seq && block.end <= max {
                received += self.received.add(block);
            }
        }
        if ack.seq > una {
            received += ack.seq - una - self.received.below(ack.seq);
            self.received.remove_below(ack.seq);
        }
        received
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.received.is_empty()
    }
    pub(crate) fn clear(&mut self) {
        self.received.clear();
    }
    /// Returns how many segments below `number` were received.
    pub(crate) fn received_below(&self, number: u64) -> u64 {
        if self.received.is_empty() { 0 } else { self.received.below(number) }
    }
    /// Returns `number`, or the next higher number not known to be received.
    pub(crate) fn skip_received(&self, number: u64) -> u64 {
        self.received.holding(number).map_or(number, |block| block.end)
    }
    /// Returns one past the highest segment received.
    pub(crate) fn highest(&self) -> u64 {
        self.received.end().unwrap_or(0)
    }
    /// Returns the highest missing segment below `max`.
    pub(crate) fn last_missing(&self, max: u64) -> u64 {
        let last = max.saturating_sub(1);
        self.received.holding(last).map_or(last, |block| block.start.saturating_sub(1))
    }

    /// IsLost(): returns the number below which missing segments are lost, with at least `threshold` higher segments
    /// received.
    pub(crate) fn lost_below(&self, threshold: u32) -> u64 {
        let mut wanted = u64::from(threshold);
        for Range { start, end } in self.received.descending() {
            if end - start >= wanted {
                return end - wanted;
            }
            wanted -= end - start;
        }
        0
    }

    /// SetPipe(): returns the segments in the network from `una` to below `max`: missing and not lost, plus missing
    /// below `resent`, which were sent again.
    pub(crate) fn pipe(&self, una: u64, max: u64, resent: u64, lost_below: u64) -> u64 {
        let missing = |range: Range<u64>| {
            if range.start >= range.end {
                return 0;
            }
            range.end - range.start - (self.received_below(range.end) - self.received_below(range.start))
        };
        missing(lost_below.max(una)..max) + missing(una..resent.min(max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::ack;
    use proptest::prelude::*;

    #[test]
    fn three_segments_above_make_a_loss() {
        let mut board = Scoreboard::default();
        assert_eq!(board.update(10, 20, &ack(10, &[(11, 13)])), 2);
        assert_eq!(board.lost_below(3), 0);
        assert_eq!(board.update(10, 20, &ack(10, &[(15, 16), (11, 13)])), 1);
        // 10 has 11, 12 and 15 above it; 13 and 14 have one segment above.
        assert_eq!((board.lost_below(3), board.lost_below(1)), (11, 15));
        assert_eq!(board.pipe(10, 20, 10, 11), 10 - 3 - 1);
        assert_eq!(board.pipe(10, 20, 11, 11), 10 - 3 - 1 + 1);
        assert_eq!((board.last_missing(20), board.last_missing(16)), (19, 14));
    }

    #[test]
    fn invalid_blocks_are_ignored() {
        let mut board = Scoreboard::default();
        assert_eq!(board.update(10, 20, &ack(10, &[(5, 8), (19, 22), (18, 17)])), 0);
        assert_eq!(board.update(10, 20, &ack(10, &[(10, 12)])), 0);
        assert!(board.is_empty());
    }

    proptest! {
        /// Compares with SetPipe() as defined by RFC 6675 section 4, segment by segment.
        #[test]
        fn pipe_is_the_sum_over_segments(
            blocks in prop::collection::vec((11u64..40, 1u64..6), 0..8), resent in 10u64..45, threshold in 1u32..4,
        ) {
            let mut board = Scoreboard::default();
            let max = 46;
            for (start, length) in blocks {
                board.update(10, max, &ack(10, &[(start, start + length)]));
            }
            let received = |s: u64| board.received.holding(s).is_some();
            let lost = |s: u64| (s + 1..max).filter(|&above| received(above)).count() >= threshold as usize;
            let mut pipe = 0;
            for s in (10..max).filter(|&s| !received(s)) {
                pipe += u64::from(!lost(s)) + u64::from(s < resent);
            }
            prop_assert_eq!(board.pipe(10, max, resent, board.lost_below(threshold)), pipe);
        }
    }
}
