//! Detection of spurious reductions: by timestamps (Eifel, RFC 3522) or by reports of duplicates (D-SACK, RFC 3708).

use crate::growth::Window;
use crate::segment::Segment;
use headway_units::Instant;

/// Window to restore after a spurious recovery.
#[derive(Clone, Debug)]
pub(super) struct Undo {
    window: Window,
    /// Time of the first retransmission.
    first_resent: Option<Instant>,
    /// Retransmissions that were not reported as duplicates.
    resent: Vec<u64>,
}

impl Undo {
    pub(super) const fn new(window: Window) -> Self {
        Self { window, first_resent: None, resent: Vec::new() }
    }

    /// Records a retransmission of the recovery.
    pub(super) fn resent(&mut self, seq: u64, now: Instant) {
        self.resent.push(seq);
        self.first_resent.get_or_insert(now);
    }

    /// Returns whether the reduction was spurious. `echo`: timestamp echoed by an acknowledgement of new data in the
    /// recovery.
    pub(super) fn is_spurious(&mut self, duplicate: Option<u64>, echo: Option<Instant>) -> bool {
        let answers_earlier = echo.zip(self.first_resent).is_some_and(|(echo, first)| echo < first);
        answers_earlier || duplicate.is_some_and(|duplicate| self.is_last(duplicate))
    }

    /// Removes a retransmission that arrived twice. Returns whether it was the last one.
    fn is_last(&mut self, duplicate: u64) -> bool {
        let before = self.resent.len();
        self.resent.retain(|&seq| seq != duplicate);
        self.resent.is_empty() && before > 0
    }

    pub(super) fn restore(&self, window: &mut Window) {
        window.cwnd = window.cwnd.max(self.window.cwnd);
        window.ssthresh = window.ssthresh.max(self.window.ssthresh);
    }
}

/// Returns the segment that the first SACK block reports as received twice (D-SACK, RFC 2883 section 4).
pub(super) fn reported_duplicate(ack: &Segment) -> Option<u64> {
    let mut blocks = ack.sack.iter(ack.seq);
    let first = blocks.next()?;
    let within = blocks.next().is_some_and(|second| second.start <= first.start && first.end <= second.end);
    (first.end <= ack.seq || within).then_some(first.start)
}
