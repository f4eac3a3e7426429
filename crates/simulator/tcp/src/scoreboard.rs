//! What a sender knows to have been received, and what follows from it (RFC 6675 sections 3 and 4).

use crate::ranges::Ranges;
use crate::segment::Segment;
use std::ops::Range;

/// The scoreboard of RFC 6675, in whole segments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    received: Ranges,
}

impl Scoreboard {
    /// Update(): takes in an acknowledgement, answers how many segments it newly reports as received, those below its
    /// number included. Blocks that make no sense (below the number, above what was sent) are ignored.
    pub(crate) fn update(&mut self, una: u64, max: u64, ack: &Segment) -> u64 {
        let mut news = 0;
        for block in ack.sack.iter(ack.seq) {
            if block.start > una && block.start > ack.seq && block.end <= max {
                news += self.received.add(block);
            }
        }
        if ack.seq > una {
            news += ack.seq - una - self.received.below(ack.seq);
            self.received.forget_below(ack.seq);
        }
        news
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.received.is_empty()
    }
    pub(crate) fn clear(&mut self) {
        self.received.clear();
    }
    /// Segments received, of those below `number`.
    pub(crate) fn received_below(&self, number: u64) -> u64 {
        if self.received.is_empty() { 0 } else { self.received.below(number) }
    }
    /// `number`, or the next above it that is not known to be received.
    pub(crate) fn skip_received(&self, number: u64) -> u64 {
        self.received.holding(number).map_or(number, |block| block.end)
    }
    /// One past the highest segment received.
    pub(crate) fn highest(&self) -> u64 {
        self.received.end().unwrap_or(0)
    }
    /// The highest of the missing segments below `max`.
    pub(crate) fn last_missing(&self, max: u64) -> u64 {
        let last = max.saturating_sub(1);
        self.received.holding(last).map_or(last, |block| block.start.saturating_sub(1))
    }

    /// IsLost(): missing segments below this number are lost, as at least `threshold` segments above were received.
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

    /// SetPipe(): segments in the network, of those from `una` to below `max`: the missing ones that are not lost, and
    /// those below `resent`, which were sent once more.
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
        // 10 has 11, 12 and 15 above; 13 and 14 have one.
        assert_eq!((board.lost_below(3), board.lost_below(1)), (11, 15));
        assert_eq!(board.pipe(10, 20, 10, 11), 10 - 3 - 1);
        assert_eq!(board.pipe(10, 20, 11, 11), 10 - 3 - 1 + 1);
        assert_eq!((board.last_missing(20), board.last_missing(16)), (19, 14));
    }

    #[test]
    fn nonsense_is_ignored() {
        let mut board = Scoreboard::default();
        assert_eq!(board.update(10, 20, &ack(10, &[(5, 8), (19, 22), (18, 17)])), 0);
        assert_eq!(board.update(10, 20, &ack(10, &[(10, 12)])), 0);
        assert!(board.is_empty());
    }

    proptest! {
        /// SetPipe() as RFC 6675 section 4 spells it, segment by segment.
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
