//! HyStart (Ha and Rhee, "Hybrid Slow Start for High-Bandwidth and Long-Distance Networks", 2008; Linux 6.1
//! net/ipv4/tcp_cubic.c): ends slow start before the queue overflows. Checked once a round trip, for windows of at
//! least 16 segments:
//!
//! ```text
//! ACK train:  acknowledgements at most 2 ms apart span more than (minRTT + 1 ms) / 2 since the start of the round
//! delay:      after 8 samples, the round's least RTT > minRTT + clamp(minRTT/8, 4 ms, 16 ms)
//! ```
//! minRTT does not include the round trip of the SYN. The 1 ms allows for ACK aggregation (Linux uses less above 2
//! Gb/s).

use headway_units::{Duration, Instant};

/// Minimum window for the checks, in segments.
const LOW_WINDOW: f64 = 16.0;
const MIN_SAMPLES: u32 = 8;
const ACK_DELTA: Duration = Duration::from_millis(2);
const ACK_BUNCH: Duration = Duration::from_millis(1);
const DELAY_MIN: Duration = Duration::from_millis(4);
const DELAY_MAX: Duration = Duration::from_millis(16);

#[derive(Clone, Debug)]
pub(crate) struct HyStart {
    found: bool,
    round_start: Instant,
    last_ack: Instant,
    /// Number whose acknowledgement ends the round.
    round_end: u64,
    least: Duration,
    samples: u32,
}

impl HyStart {
    pub(crate) fn new() -> Self {
        Self {
            found: false,
            round_start: Instant::ZERO,
            last_ack: Instant::ZERO,
            round_end: 0,
            least: Duration::MAX,
            samples: 0,
        }
    }

    pub(crate) fn reset(&mut self) {
        *self = Self::new();
    }

    /// Handles an acknowledgement in slow start. Returns whether slow start should end. `una` is the first
    /// unacknowledged number, `max` one past the highest sent.
    pub(crate) fn on_ack(
        &mut self,
        now: Instant,
        una: u64,
        max: u64,
        cwnd: f64,
        rtt: Duration,
        min_rtt: Duration,
    ) -> bool {
        if self.found {
            return false;
        }
        if una > self.round_end {
            self.round_start = now;
            self.last_ack = now;
            self.round_end = max;
            self.least = Duration::MAX;
            self.samples = 0;
        }
        let enabled = cwnd >= LOW_WINDOW;
        if now.since(self.last_ack) <= ACK_DELTA {
            self.last_ack = now;
            if enabled && now.since(self.round_start) > (min_rtt + ACK_BUNCH) / 2 {
                self.found = true;
            }
        }
        self.least = self.least.min(rtt);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
        } else if enabled && self.least > min_rtt + (min_rtt / 8).clamp(DELAY_MIN, DELAY_MAX) {
            self.found = true;
        }
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN_RTT: Duration = Duration::from_millis(40);

    /// Feeds a round of acknowledgements `gap` apart with this `rtt`. Returns the number after which slow start ends.
    fn round(gap: Duration, rtt: Duration, count: u64) -> Option<u64> {
        let mut hystart = HyStart::new();
        let start = Instant::from_secs(1);
        (0..count).find(|&n| hystart.on_ack(start + gap * n, 100 + n, 100 + count, 32.0, rtt, MIN_RTT))
    }

    #[test]
    fn a_train_longer_than_half_the_round_trip_ends_slow_start() {
        // 21 gaps of 1 ms are the first to exceed 20.5 ms.
        assert_eq!(round(Duration::from_millis(1), MIN_RTT, 60), Some(21));
        assert_eq!(round(Duration::from_micros(2_100), MIN_RTT, 60), None);
    }

    #[test]
    fn delay_above_an_eighth_ends_slow_start_after_eight_samples() {
        let gap = Duration::from_millis(3);
        assert_eq!(round(gap, MIN_RTT + Duration::from_micros(5_001), 60), Some(8));
        assert_eq!(round(gap, MIN_RTT + Duration::from_millis(5), 60), None);
    }

    #[test]
    fn small_windows_stay_in_slow_start() {
        let mut hystart = HyStart::new();
        assert!((0..100).all(|n| !hystart.on_ack(Instant::from_millis(n), n, 200, 15.9, MIN_RTT * 3, MIN_RTT)));
    }
}
