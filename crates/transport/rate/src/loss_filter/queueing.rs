//! Queueing delay of a packet, from one-way delays between unsynchronized clocks.
//!
//! The delay above the recent minimum is caused by a queue; within that period the clocks drift little. A queue that
//! persisted throughout is part of the minimum, but the round-trip time, measured by one clock, includes it:
//!
//! ```text
//! above = delay - recent minimum delay
//! below = recent minimum round-trip time - minimum round-trip time
//! ```
//! `below` is equal for all recent packets, so it does not distinguish them. It may also be caused by a queue on the
//! reverse path, a longer path, or the smaller packets of the handshake.

use super::Seen;
use super::guarded::MEMORY;
use headway_units::{Duration, Instant};

const PERIODS: usize = 16;

/// Minimum delay and round-trip time in a period.
#[derive(Clone, Copy, Debug)]
struct Period {
    began: Instant,
    delay_ns: i64,
    rtt: Duration,
}

/// Minima of delays and round-trip times.
#[derive(Clone, Debug, Default)]
pub(super) struct Queueing {
    /// Ring of periods, the newest at `next - 1`.
    periods: [Option<Period>; PERIODS],
    next: usize,
    least_rtt: Option<Duration>,
}

/// Queueing delay of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Met {
    /// Delay above the recent minimum.
    pub(super) above: Duration,
    /// Persistent queueing delay, by the round-trip time.
    pub(super) below: Duration,
}

impl Queueing {
    pub(super) fn add(&mut self, seen: &Seen) -> Met {
        let rtt = seen.rtt.unwrap_or(Duration::ZERO);
        let least_rtt = self.least_rtt.map_or(rtt, |least| least.min(rtt));
        self.least_rtt = Some(least_rtt).filter(|rtt| !rtt.is_zero());
        let delay_ns = seen.delay_ns();
        let length = least_rtt * MEMORY / PERIODS as u64;
        match &mut self.periods[(self.next + PERIODS - 1) % PERIODS] {
            Some(newest) if seen.arrived.since(newest.began) < length => {
                newest.delay_ns = newest.delay_ns.min(delay_ns);
                newest.rtt = newest.rtt.min(rtt);
            }
            _ => {
                self.periods[self.next] = Some(Period { began: seen.arrived, delay_ns, rtt });
                self.next = (self.next + 1) % PERIODS;
            }
        }
        let recent = self.periods.iter().flatten();
        let (least_delay, recent_rtt) =
            recent.fold((delay_ns, rtt), |least, period| (least.0.min(period.delay_ns), least.1.min(period.rtt)));
        let above = delay_ns.wrapping_sub(least_delay).max(0) as u64;
        Met { above: Duration::from_nanos(above), below: recent_rtt.saturating_sub(least_rtt) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::seen;
    use super::*;

    fn seen_with(number: u64, sent: u64, arrived: u64, rtt_ms: u64) -> Seen {
        Seen { rtt: Some(Duration::from_millis(rtt_ms)), ..seen(number, sent, arrived) }
    }

    /// Delays of 5, 9 and 6 ms, with any clock offset.
    #[test]
    fn the_queueing_delay_is_relative_to_the_minimum() {
        for ahead in [0, 700_000] {
            let mut queueing = Queueing::default();
            let found = [(1000, 6000), (2000, 11_000), (3000, 9000)]
                .map(|(sent, arrived)| queueing.add(&seen_with(0, sent, arrived + ahead, 20)).above.as_nanos() / 1000);
            assert_eq!(found, [0, 4000, 1000]);
        }
    }

    /// The round-trip time reveals a queue of 30 ms that persists longer than the memory (256 round trips of 20 ms).
    #[test]
    fn a_standing_queue_is_found_by_the_round_trip() {
        let mut queueing = Queueing::default();
        let mut last = None;
        for number in 0..20_000 {
            let is_standing = number > 1000;
            let delay = if is_standing { 35_000 } else { 5000 };
            last = Some(queueing.add(&seen_with(
                number,
                1000 * number,
                1000 * number + delay,
                if is_standing { 50 } else { 20 },
            )));
        }
        assert_eq!(last, Some(Met { above: Duration::ZERO, below: Duration::from_millis(30) }));
    }

    /// A clock gains 100 ppm, a packet every 10 ms, no queue: 0.5 ms in the memory of 5 s.
    #[test]
    fn skew_accumulates_only_over_the_memory() {
        let mut queueing = Queueing::default();
        let most = (0..100_000).map(|n| queueing.add(&seen_with(n, 10_000 * n, 10_000 * n + 5000 + n, 20)).above).max();
        let most = most.unwrap();
        assert!(most > Duration::from_micros(400) && most < Duration::from_micros(560), "{most}");
    }
}
