//! Segment size s, in bytes (RFC 5348 section 4.1).

use super::options::Segment;
use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub(crate) struct SegmentSize {
    rule: Segment,
    full: f64,
    /// Bytes and packets of the closed loss intervals that count, newest last; of the open one; and of all of them.
    closed: VecDeque<(u64, u64)>,
    open: (u64, u64),
    all: (u64, u64),
    smoothed: f64,
    largest: u64,
}

impl SegmentSize {
    pub(crate) fn new(rule: Segment, full: u64) -> Self {
        let full = full.max(1) as f64;
        let (closed, open, all) = Default::default();
        Self { rule, full, closed, open, all, smoothed: 0.0, largest: 0 }
    }

    /// Adds a packet of `bytes` that was sent or received.
    pub(crate) fn add(&mut self, bytes: u64) {
        let bytes = bytes.max(1);
        match self.rule {
            Segment::Full => {}
            Segment::Average => {
                self.open = (self.open.0.saturating_add(bytes), self.open.1 + 1);
                self.all = (self.all.0.saturating_add(bytes), self.all.1 + 1);
                self.largest = self.largest.max(bytes);
            }
            Segment::Smoothed if self.smoothed == 0.0 => self.smoothed = bytes as f64,
            // Whole bytes: exact in a float, and rounded down (net/dccp/ccids/lib/tfrc.h, `tfrc_ewma`).
            Segment::Smoothed => self.smoothed = ((9.0 * self.smoothed + bytes as f64) / 10.0).floor(),
        }
    }

    /// Handles a reported loss event: the mean covers the last four intervals.
    pub(crate) fn on_loss_event(&mut self) {
        if self.open.1 > 0 {
            self.closed.push_back(std::mem::take(&mut self.open));
        }
        if self.closed.len() > 4
            && let Some(oldest) = self.closed.pop_front()
        {
            self.all = (self.all.0.saturating_sub(oldest.0), self.all.1 - oldest.1);
        }
    }

    /// Returns s; the size of a full packet before the first packet.
    pub(crate) fn s(&self) -> f64 {
        let (bytes, packets) = self.all;
        match self.rule {
            Segment::Average if packets > 0 => bytes as f64 / packets as f64,
            Segment::Smoothed if self.smoothed > 0.0 => self.smoothed,
            Segment::Full | Segment::Average | Segment::Smoothed => self.full,
        }
    }

    /// Returns the largest segment in use, for the initial window (RFC 5348 section 4.2).
    pub(crate) fn largest(&self) -> f64 {
        match self.rule {
            Segment::Average if self.largest > 0 => self.largest as f64,
            Segment::Smoothed => self.s(),
            Segment::Full | Segment::Average => self.full,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5348 section 4.1: the mean over the last four loss intervals and the open one.
    #[test]
    fn the_mean_covers_four_intervals() {
        let mut size = SegmentSize::new(Segment::Average, 1000);
        assert_eq!((size.s(), size.largest()), (1000.0, 1000.0), "before the first");
        for interval in 1..=7_u64 {
            (0..2).for_each(|_| size.add(interval * 100));
            size.on_loss_event();
            size.on_loss_event(); // No effect without packets in between.
            let oldest = interval.saturating_sub(3).max(1);
            let mean = (oldest + interval) as f64 * 50.0;
            assert_eq!((size.s(), size.largest()), (mean, interval as f64 * 100.0), "{interval}");
        }
        size.add(0);
        assert_eq!(size.s(), (2.0 * (400.0 + 500.0 + 600.0 + 700.0) + 1.0) / 9.0, "no packet is smaller than a byte");
    }

    /// Linux: a moving average in whole bytes, a tenth for the newest. ns-2: a full packet, for any size.
    #[test]
    fn other_rules() {
        let mut size = SegmentSize::new(Segment::Smoothed, 1000);
        assert_eq!((size.s(), size.largest()), (1000.0, 1000.0));
        size.add(100);
        assert_eq!(size.s(), 100.0);
        size.add(205);
        assert_eq!((size.s(), size.largest()), (110.0, 110.0), "110.5");
        let mut size = SegmentSize::new(Segment::Full, 1000);
        size.add(100);
        assert_eq!((size.s(), size.largest()), (1000.0, 1000.0));
        assert_eq!(SegmentSize::new(Segment::Full, 0).s(), 1.0);
    }
}
