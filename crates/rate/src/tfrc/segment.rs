//! The segment size s, in bytes (RFC 5348 section 4.1).

use super::options::Segment;
use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub(crate) struct SegmentSize {
    rule: Segment,
    full: f64,
    /// Bytes and packets of the loss intervals that count, the newest last; and of all of them.
    intervals: VecDeque<(f64, f64)>,
    all: (f64, f64),
    smoothed: f64,
    largest: f64,
}

impl SegmentSize {
    pub(crate) fn new(rule: Segment, full: u64) -> Self {
        let full = full.max(1) as f64;
        Self { rule, full, intervals: VecDeque::from([(0.0, 0.0)]), all: (0.0, 0.0), smoothed: 0.0, largest: 0.0 }
    }

    /// A packet of `bytes` went, or came.
    pub(crate) fn add(&mut self, bytes: u64) {
        let bytes = bytes.max(1) as f64;
        if let Some(newest) = self.intervals.back_mut() {
            *newest = (newest.0 + bytes, newest.1 + 1.0);
        }
        self.all = (self.all.0 + bytes, self.all.1 + 1.0);
        // Whole bytes: exact in a float, and rounded down (net/dccp/ccids/lib/tfrc.h, `tfrc_ewma`).
        self.smoothed = if self.smoothed == 0.0 { bytes } else { ((9.0 * self.smoothed + bytes) / 10.0).floor() };
        self.largest = self.largest.max(bytes);
    }

    /// A loss event has been reported: the mean is taken over the last four intervals.
    pub(crate) fn on_loss_event(&mut self) {
        if self.intervals.back().is_some_and(|newest| newest.1 > 0.0) {
            self.intervals.push_back((0.0, 0.0));
        }
        if self.intervals.len() > 5
            && let Some(oldest) = self.intervals.pop_front()
        {
            // Whole numbers: the difference is exact.
            self.all = (self.all.0 - oldest.0, self.all.1 - oldest.1);
        }
    }

    /// s; that of a full packet before the first.
    pub(crate) fn s(&self) -> f64 {
        let (bytes, packets) = self.all;
        match self.rule {
            Segment::Average if packets > 0.0 => bytes / packets,
            Segment::Smoothed if self.smoothed > 0.0 => self.smoothed,
            Segment::Full | Segment::Average | Segment::Smoothed => self.full,
        }
    }

    /// The largest segment in use, for the initial window (RFC 5348 section 4.2).
    pub(crate) fn largest(&self) -> f64 {
        match self.rule {
            Segment::Average if self.largest > 0.0 => self.largest,
            Segment::Smoothed => self.s(),
            Segment::Full | Segment::Average => self.full,
        }
    }
}
