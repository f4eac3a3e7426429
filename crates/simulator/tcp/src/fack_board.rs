//! The per-segment scoreboard of Linux 2.6 as implemented by ns-2's Agent/TCP/Linux (ns-2.35 tcp/scoreboard1.cc).
//!
//! ```text
//! fack:  the highest segment that any block reported; runs of equally marked segments cover all segments up to it
//! lost:  in flight, and at least four below fack
//!        resent, and either fack passed the first new segment after it or its fifth successor was received
//! ```
//! Each acknowledgement makes one pass over the runs, up to the last block unless something changed beyond it. Losses
//! after the end of the pass are found by a later acknowledgement.

use crate::segment::Segment;

/// `dupack_threshold + 1` of `UpdateScoreBoard`: number of higher segments that make a segment lost.
const REORDERING: u64 = 4;

/// State of the segments of a run (`SKB_FLAG_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    InFlight,
    Sacked,
    Lost,
    /// One segment, resent as retransmission number `order` when `next` was the next new segment.
    Resent {
        next: u64,
        order: i64,
    },
}

/// Segments from `start` to below `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    start: u64,
    end: u64,
    mark: Mark,
}

/// Changes reported by an acknowledgement (`FLAG_DATA_SACKED`, `FLAG_DATA_LOST`, `FLAG_UNSURE_TSTAMP`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) sacked: bool,
    pub(crate) lost: bool,
    /// Whether it covers a resent segment; then its round-trip sample is not used for window growth.
    pub(crate) resent: bool,
}

/// `ScoreBoard1`.
#[derive(Clone, Debug)]
pub(crate) struct FackBoard {
    runs: Vec<Run>,
    /// One past `fack_`.
    highest: u64,
    /// Start of the search for the next segment to resend (`nxt_to_retrx_`).
    cursor: Option<u64>,
    /// Number of the next retransmission, and of the latest retransmission received (`rtx_id_`, `acked_rtx_id_`).
    order: i64,
    arrived: i64,
    /// Segments lost and segments SACKed (`fack_out_`, `sack_out_`).
    lost: u64,
    sacked: u64,
}

impl FackBoard {
    pub(crate) fn new() -> Self {
        Self { runs: vec![], highest: 0, cursor: None, order: 0, arrived: -1, lost: 0, sacked: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }
    /// Returns the number of segments that left the network: received, or lost and not resent.
    pub(crate) fn left_network(&self) -> u64 {
        self.lost + self.sacked
    }

    /// `ClearScoreBoard`.
    pub(crate) fn clear(&mut self) {
        self.runs.clear();
        (self.highest, self.cursor, self.order, self.arrived, self.lost, self.sacked) = (0, None, 0, -1, 0, 0);
    }

    /// Returns the lowest lost segment from the cursor on (`GetNextRetran`).
    pub(crate) fn next_lost(&self) -> Option<u64> {
        let from = self.cursor?;
        self.runs.iter().find(|run| run.end > from && run.mark == Mark::Lost).map(|run| run.start)
    }

    /// Marks the next lost segment as resent, where `next` is the next new segment (`MarkRetran`).
    pub(crate) fn resend(&mut self, next: u64) {
        let Some(index) = self.next_lost().and_then(|lost| self.runs.iter().position(|run| run.start == lost)) else {
            return;
        };
        self.split(index, self.runs[index].start + 1);
        self.runs[index].mark = Mark::Resent { next, order: self.order };
        self.order += 1;
        self.count();
    }

    /// Marks all segments lost except SACKed ones, after a timeout (`MarkLoss`).
    pub(crate) fn lose_all(&mut self, una: u64, next: u64) {
        let known = self.runs.last().map_or(una, |run| run.end);
        if known < next {
            self.runs.push(Run { start: known, end: next, mark: Mark::InFlight });
        }
        for run in &mut self.runs {
            if run.mark != Mark::Sacked {
                run.mark = Mark::Lost;
            }
        }
        self.runs.dedup_by(|run, before| {
            let joins = before.mark == Mark::Lost && run.mark == Mark::Lost;
            if joins {
                before.end = run.end;
            }
            joins
        });
        self.cursor = self.runs.iter().find(|run| run.mark == Mark::Lost).map(|run| run.start);
        (self.order, self.arrived) = (0, -1);
        self.count();
    }

    /// Processes an acknowledgement whose `seq` is the first missing segment (`UpdateScoreBoard`). Ignores invalid
    /// blocks and blocks above the highest segment sent.
    pub(crate) fn update(&mut self, max: u64, ack: &Segment) -> Changes {
        let una = ack.seq;
        let (mut full_pass, resent) = self.remove_below(una);
        if self.runs.is_empty() {
            self.clear();
            full_pass = false;
        }
        // A block may begin one below `una`; older ones are ignored.
        let mut blocks: Vec<_> = ack
            .sack
            .iter(una)
            .filter(|block| block.start + 1 >= una && block.start < block.end && block.end <= max)
            .collect();
        blocks.sort_by_key(|block| block.start);
        if let Some(last) = blocks.last()
            && self.highest < last.end
        {
            self.highest = last.end;
            full_pass = true;
        }
        if blocks.is_empty() && !full_pass {
            self.count();
            return Changes { resent, ..Changes::default() };
        }
        if self.runs.is_empty() && una < self.highest {
            self.runs.push(Run { start: una, end: self.highest, mark: Mark::InFlight });
        }
        let changes = self.mark(&blocks, full_pass);
        self.count();
        Changes { resent, ..changes }
    }

    /// Removes acknowledged runs (`CleanRtxQueue`). Returns whether a newer retransmission than any before was
    /// received, and whether any retransmission was.
    fn remove_below(&mut self, una: u64) -> (bool, bool) {
        let (mut later, mut resent) = (false, false);
        let count = self.runs.partition_point(|run| run.end <= una);
        for run in self.runs.drain(..count) {
            if let Mark::Resent { order, .. } = run.mark {
                resent = true;
                if order > self.arrived {
                    (self.arrived, later) = (order, true);
                }
            }
        }
        if let Some(first) = self.runs.first_mut() {
            first.start = first.start.max(una);
        }
        (later, resent)
    }

    fn mark(&mut self, blocks: &[std::ops::Range<u64>], mut full_pass: bool) -> Changes {
        let mut changes = Changes::default();
        let (mut index, mut block) = (0, 0);
        self.cursor = None;
        while index < self.runs.len() && (block < blocks.len() || full_pass) {
            let Run { start, end, mark } = self.runs[index];
            if mark != Mark::Sacked {
                while blocks.get(block).is_some_and(|block| block.end <= start) {
                    block += 1;
                }
                let near = blocks.get(block).filter(|block| block.start < end);
                match near {
                    Some(block) if block.start <= start => {
                        self.split(index, block.end);
                        if let Mark::Resent { order, .. } = mark {
                            (self.arrived, full_pass) = (order, true);
                        }
                        self.runs[index].mark = Mark::Sacked;
                        changes.sacked = true;
                    }
                    _ => {
                        if let Some(block) = near {
                            self.split(index, block.start);
                        }
                        changes.lost |= self.mark_if_lost(index);
                    }
                }
            }
            index = self.join_with_before(index) + 1;
            if let Some(last) = self.runs.get(index - 1)
                && index == self.runs.len()
                && last.end < self.highest
            {
                self.runs.push(Run { start: last.end, end: self.highest, mark: Mark::InFlight });
            }
        }
        changes
    }

    /// Marks the run, or its lower part, as lost if it is. Returns whether the mark is new.
    fn mark_if_lost(&mut self, index: usize) -> bool {
        let Run { start, mark, .. } = self.runs[index];
        let lost = match mark {
            Mark::Sacked => return false,
            Mark::Lost => false,
            Mark::Resent { next, order } => {
                if next >= self.highest && order + REORDERING as i64 >= self.arrived {
                    return false;
                }
                true
            }
            Mark::InFlight => {
                let lost_below = self.highest.saturating_sub(REORDERING);
                if start >= lost_below {
                    return false;
                }
                self.split(index, lost_below);
                true
            }
        };
        self.runs[index].mark = Mark::Lost;
        self.cursor.get_or_insert(start);
        lost
    }

    /// Splits a run at `at`, if that is inside it.
    fn split(&mut self, index: usize, at: u64) {
        let run = self.runs[index];
        if run.start < at && at < run.end {
            self.runs[index].end = at;
            self.runs.insert(index + 1, Run { start: at, ..run });
        }
    }

    /// Merges a run with its predecessor if both have the same mark. Returns its index.
    fn join_with_before(&mut self, index: usize) -> usize {
        let mark = self.runs[index].mark;
        if index == 0 || matches!(mark, Mark::Resent { .. }) || self.runs[index - 1].mark != mark {
            return index;
        }
        self.runs[index - 1].end = self.runs[index].end;
        self.runs.remove(index);
        index - 1
    }

    fn count(&mut self) {
        let of = |mark| self.runs.iter().filter(|run| run.mark == mark).map(|run| run.end - run.start).sum();
        (self.lost, self.sacked) = (of(Mark::Lost), of(Mark::Sacked));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::ack;
    use proptest::prelude::*;

    /// Returns whether segments were SACKed and lost, how many left the network, and the next segment to resend.
    fn after(board: &mut FackBoard, seq: u64, blocks: &[(u64, u64)]) -> (bool, bool, u64, Option<u64>) {
        let Changes { sacked, lost, .. } = board.update(100, &ack(seq, blocks));
        (sacked, lost, board.left_network(), board.next_lost())
    }

    /// `UpdateScoreBoard`: segment 10 is lost once 14 is received, independent of 11 to 13. A second hole is lost once
    /// 17 is received. A cumulative acknowledgement removes the runs below it.
    #[test]
    fn a_segment_four_below_the_highest_block_is_lost() {
        let mut board = FackBoard::new();
        assert_eq!(after(&mut board, 10, &[(11, 12)]), (true, false, 1, None));
        assert_eq!(after(&mut board, 10, &[(11, 14)]), (true, false, 3, None));
        assert_eq!(after(&mut board, 10, &[(14, 15), (11, 12)]), (true, true, 5, Some(10)));
        assert_eq!(after(&mut board, 10, &[(14, 15), (11, 12)]), (false, false, 5, Some(10)));
        let mut board = FackBoard::new();
        assert_eq!(after(&mut board, 10, &[(14, 15)]), (true, true, 2, Some(10)));
        assert_eq!(after(&mut board, 10, &[(14, 18)]), (true, true, 8, Some(10)));
        assert_eq!(after(&mut board, 12, &[(14, 18)]), (false, false, 6, Some(12)));
        assert_eq!(after(&mut board, 18, &[]), (false, false, 0, None));
        assert!(board.is_empty());
    }

    /// `MarkRetran`: a resent segment is in the network again. It is lost again when a block reports data first sent
    /// after it.
    #[test]
    fn a_retransmission_is_lost_when_later_data_has_arrived() {
        let mut board = FackBoard::new();
        after(&mut board, 10, &[(12, 16)]);
        assert_eq!((board.left_network(), board.next_lost()), (6, Some(10)));
        board.resend(20);
        assert_eq!((board.left_network(), board.next_lost()), (5, Some(11)));
        board.resend(21);
        assert_eq!((board.left_network(), board.next_lost()), (4, None));
        assert_eq!(after(&mut board, 10, &[(12, 20)]), (true, false, 8, None));
        assert_eq!(after(&mut board, 10, &[(12, 21)]), (true, true, 10, Some(10)));
        assert_eq!(after(&mut board, 10, &[(12, 22)]), (true, true, 12, Some(10)));
    }

    /// A retransmission is also lost when its fifth successor was received (`acked_rtx_id_`). The pass has already
    /// visited it then, so the next acknowledgement reports the loss.
    #[test]
    fn a_retransmission_is_lost_when_its_fifth_successor_has_arrived() {
        let mut board = FackBoard::new();
        after(&mut board, 10, &[(19, 20)]);
        for hole in 10..16 {
            assert_eq!(board.next_lost(), Some(hole));
            board.resend(30);
        }
        assert_eq!(after(&mut board, 10, &[(14, 15), (19, 20)]), (true, false, 2, None));
        assert_eq!(after(&mut board, 10, &[(14, 16), (19, 20)]), (true, false, 3, None));
        assert_eq!(after(&mut board, 10, &[(14, 16), (19, 20)]), (false, true, 4, Some(10)));
    }

    /// `MarkLoss`: a timeout marks everything lost except SACKed segments, including resent segments.
    #[test]
    fn a_timeout_marks_all_but_sacked_segments_lost() {
        let mut board = FackBoard::new();
        board.lose_all(10, 14);
        assert_eq!((board.left_network(), board.next_lost()), (4, Some(10)));
        board.clear();
        after(&mut board, 10, &[(12, 16)]);
        board.resend(20);
        board.lose_all(10, 20);
        assert_eq!((board.left_network(), board.next_lost()), (10, Some(10)));
        for hole in [10, 11, 16, 17, 18, 19] {
            assert_eq!(board.next_lost(), Some(hole));
            board.resend(20);
        }
        assert_eq!((board.left_network(), board.next_lost()), (4, None));
    }

    proptest! {
        /// For any input, runs are contiguous from `una` on, and no more segments left the network than were sent.
        #[test]
        fn the_runs_have_no_gaps(
            steps in prop::collection::vec((0u64..4, prop::collection::vec((0u64..30, 0u64..9), 0..4), 0u8..6), 1..60),
        ) {
            let (mut board, mut una, mut next) = (FackBoard::new(), 10, 40);
            for (further, blocks, step) in steps {
                match step {
                    0 => board.lose_all(una, next),
                    1 => board.resend(next),
                    _ => {
                        una += further;
                        next = next.max(una) + further;
                        let blocks: Vec<_> = blocks.iter().map(|&(start, length)| (una + start, una + start + length)).collect();
                        board.update(next, &ack(una, &blocks));
                    }
                }
                prop_assert!(board.runs.first().is_none_or(|run| run.start == una));
                prop_assert!(board.runs.iter().all(|run| run.start < run.end && run.end <= next));
                prop_assert!(board.runs.windows(2).all(|pair| pair[0].end == pair[1].start));
                prop_assert!(board.left_network() <= next - una);
                prop_assert!(board.next_lost().is_none_or(|lost| una <= lost && lost < next));
            }
        }
    }
}
