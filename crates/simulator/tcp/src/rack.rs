//! Send times of the segments in flight, and RACK's loss detection before three duplicates (RFC 8985 section 6.2 step
//! 4; Linux 6.1 net/ipv4/tcp_recovery.c, `tcp_rack_reo_wnd` and `tcp_rack_detect_loss`, without its timer):
//!
//! ```text
//! lost:  the first missing segment, if a segment sent at least RACK.min_RTT / 4 later was received
//! ```

use headway_units::{Duration, Instant};
use std::collections::VecDeque;

/// First send times of the segments in flight, and the least round trip.
#[derive(Clone, Debug)]
pub(crate) struct SendTimes {
    /// First segment of each send time, and the time.
    sent: VecDeque<(u64, Instant)>,
    least_rtt: Duration,
}

impl SendTimes {
    pub(crate) const fn new() -> Self {
        Self { sent: VecDeque::new(), least_rtt: Duration::MAX }
    }

    /// Records the first transmission of `seq`.
    pub(crate) fn sent(&mut self, seq: u64, now: Instant) {
        if self.sent.back().is_none_or(|&(_, last)| last < now) {
            self.sent.push_back((seq, now));
        }
    }

    /// Records that all segments below `una` are acknowledged, with this round trip.
    pub(crate) fn acknowledged(&mut self, una: u64, rtt: Duration) {
        self.least_rtt = self.least_rtt.min(rtt);
        while self.sent.get(1).is_some_and(|&(first, _)| first <= una) {
            self.sent.pop_front();
        }
    }

    /// Returns when `seq` was first sent, if it is in flight.
    pub(crate) fn of(&self, seq: u64) -> Option<Instant> {
        let after = self.sent.partition_point(|&(first, _)| first <= seq);
        Some(self.sent.get(after.checked_sub(1)?)?.1)
    }

    /// Returns whether `missing` is lost, given the highest segment received.
    pub(crate) fn is_lost(&self, missing: u64, highest: u64) -> bool {
        let (Some(missing), Some(highest)) = (self.of(missing), self.of(highest)) else { return false };
        highest.since(missing) >= self.least_rtt / 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(events: &[(u64, u64)]) -> SendTimes {
        let mut times = SendTimes::new();
        times.acknowledged(0, Duration::from_micros(25_213));
        for &(seq, ms) in events {
            times.sent(seq, Instant::from_millis(ms));
        }
        times
    }

    /// From a capture of Linux 6.1 at 25.2 ms, with pairs sent 8 ms apart. A SACK of a segment sent 8 ms after the
    /// missing one starts the recovery; 6.3 ms are required. One sent 4 ms after it does not.
    #[test]
    fn the_reordering_window_is_a_quarter_of_the_least_round_trip() {
        let times = sent(&[(22, 77), (23, 77), (24, 77), (25, 85), (26, 85), (27, 89)]);
        assert!(times.is_lost(24, 25));
        assert!(!times.is_lost(25, 26));
        assert!(!times.is_lost(25, 27));
        assert!(times.is_lost(22, 27));
    }

    #[test]
    fn acknowledged_segments_are_removed() {
        let mut times = sent(&[(1, 1), (2, 9), (3, 17), (4, 25)]);
        times.acknowledged(3, Duration::from_secs(1));
        assert_eq!(times.sent.len(), 2);
        assert!(times.is_lost(3, 4), "the least round trip is still 25 ms");
        assert!(!times.is_lost(1, 4), "unknown");
    }
}
