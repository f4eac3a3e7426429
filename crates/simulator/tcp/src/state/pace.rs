//! Pacing: segments are spread over time (Aggarwal, Savage and Anderson, "Understanding the Performance of TCP Pacing",
//! INFOCOM 2000, section 2), one by one or in bursts as a host with segmentation offload sends them.
//!
//! ```text
//! gap = 1 / rate             from segment to segment; rate = cwnd / SRTT, or that of the window growth
//! a burst of n segments at one time is followed by n gaps
//! ```

use headway_units::{Duration, Instant};

/// Time of the next paced segment.
#[derive(Debug)]
pub(super) struct Pace {
    next: Instant,
    /// Fraction of a nanosecond to add to `next`, below 1.
    fraction: f64,
    /// Time of the current burst, and the segments that may still be sent then.
    burst_at: Instant,
    left: u32,
}

impl Pace {
    pub(super) const fn new() -> Self {
        Self { next: Instant::ZERO, fraction: 0.0, burst_at: Instant::ZERO, left: 0 }
    }

    /// Returns the time from which on the next segment may be sent if no burst is begun.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Returns when the next segment may be sent, or `None` if now.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        (now < self.next && (self.left == 0 || now != self.burst_at)).then_some(self.next)
    }

    /// Counts a segment that is due `now`. A burst has at most `burst` segments. Later segments are delayed after a late
    /// one; no burst catches up.
    pub(super) fn sent(&mut self, now: Instant, gap_ns: f64, burst: u32) {
        if now < self.next {
            self.left -= 1;
            self.advance(self.next, gap_ns);
            return;
        }
        (self.burst_at, self.left) = (now, burst.saturating_sub(1));
        if now != self.next {
            self.fraction = 0.0;
        }
        self.advance(now, gap_ns);
    }

    fn advance(&mut self, from: Instant, gap_ns: f64) {
        let gap_ns = self.fraction + gap_ns;
        let whole = gap_ns as u64;
        self.next = from + Duration::from_nanos(whole);
        self.fraction = gap_ns - whole as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends a segment if it is due. Otherwise returns when it is.
    fn send(pace: &mut Pace, now: Instant, gap_ns: f64, burst: u32) -> Option<Instant> {
        let due = pace.due(now);
        if due.is_none() {
            pace.sent(now, gap_ns, burst);
        }
        due
    }

    /// SRTT / cwnd = 100 ms / 7: the n-th segment is sent n x 100/7 ms after the first, to the nanosecond.
    #[test]
    fn fractions_of_a_nanosecond_accumulate() {
        let (mut pace, mut now) = (Pace::new(), Instant::from_secs(1));
        for n in 0..70_000 {
            assert!(now.as_nanos().abs_diff(1_000_000_000 + n * 100_000_000 / 7) <= 1, "{n}: {now}");
            assert_eq!(send(&mut pace, now, 1e8 / 7.0, 1), None);
            now = pace.due(now).unwrap();
        }
    }

    /// Segments are not paced before the first round-trip sample, and no burst follows a pause.
    #[test]
    fn no_burst_catches_up() {
        let mut pace = Pace::new();
        assert_eq!([0.0; 3].map(|gap| send(&mut pace, Instant::ZERO, gap, 1)), [None; 3]);
        let late = Instant::from_secs(5);
        assert_eq!(send(&mut pace, late, 1e7, 1), None);
        assert_eq!(pace.due(late), Some(late + Duration::from_millis(10)));
    }

    /// Three segments at once are followed by three gaps; what a burst does not use is not kept for later.
    #[test]
    fn a_burst_is_followed_by_its_gaps() {
        let (mut pace, start) = (Pace::new(), Instant::from_secs(1));
        let mut due = |at: Instant| send(&mut pace, at, 1e7, 3);
        assert_eq!([due(start), due(start), due(start)], [None; 3]);
        let next = start + Duration::from_millis(30);
        assert_eq!(due(start), Some(next));
        assert_eq!(due(next), None);
        let after = next + Duration::from_millis(10);
        assert_eq!(due(next + Duration::from_millis(1)), Some(after));
    }
}
