//! Pacing of a window (Aggarwal, Savage and Anderson, "Understanding the Performance of TCP Pacing", INFOCOM 2000,
//! section 2): segments are spread over the round trip.
//!
//! ```text
//! gap = SRTT / cwnd      from start to start; zero before the first round-trip sample
//! ```

use headway_units::{Duration, Instant};

/// Time of the next paced segment.
#[derive(Debug)]
pub(super) struct Pace {
    next: Instant,
    /// Fraction of a nanosecond to add to `next`, below 1.
    fraction: f64,
}

impl Pace {
    pub(super) const fn new() -> Self {
        Self { next: Instant::ZERO, fraction: 0.0 }
    }

    /// Returns when the next segment may be sent, or `None` if now. Later segments are delayed after a late one; no
    /// burst catches up.
    pub(super) fn due(&mut self, now: Instant, srtt: Duration, cwnd: f64) -> Option<Instant> {
        if now < self.next {
            return Some(self.next);
        }
        let begun = if now == self.next { self.fraction } else { 0.0 };
        let gap_ns = begun + srtt.as_nanos() as f64 / cwnd.max(1.0);
        self.next = now + Duration::from_nanos(gap_ns as u64);
        self.fraction = gap_ns.fract();
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SRTT / cwnd = 100 ms / 7: the n-th segment is sent n x 100/7 ms after the first, to the nanosecond.
    #[test]
    fn fractions_of_a_nanosecond_accumulate() {
        let (mut pace, mut now) = (Pace::new(), Instant::from_secs(1));
        for n in 0..70_000 {
            assert!(now.as_nanos().abs_diff(1_000_000_000 + n * 100_000_000 / 7) <= 1, "{n}: {now}");
            assert_eq!(pace.due(now, Duration::from_millis(100), 7.0), None);
            now = pace.due(now, Duration::from_millis(100), 7.0).unwrap();
        }
    }

    /// Segments are not paced before the first round-trip sample, and no burst follows a pause.
    #[test]
    fn no_burst_catches_up() {
        let mut pace = Pace::new();
        assert_eq!([Duration::ZERO; 3].map(|srtt| pace.due(Instant::ZERO, srtt, 10.0)), [None; 3]);
        let late = Instant::from_secs(5);
        assert_eq!(pace.due(late, Duration::from_millis(100), 10.0), None);
        assert_eq!(pace.due(late, Duration::from_millis(100), 10.0), Some(late + Duration::from_millis(10)));
    }
}
