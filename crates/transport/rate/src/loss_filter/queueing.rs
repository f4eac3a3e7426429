//! The queueing delay on the way of a packet, from one-way delays of two clocks that may differ.
//!
//! How far a delay is above the least of late is a queue's; in that time clocks gain little on each other. But a queue that has stood all the while is in that
//! least delay, too. The round trip knows of it, which is of one clock:
//!
//! ```text
//! above = delay - least delay of late
//! below = least round trip of late - least round trip
//! ```
//! What is below is the same for all packets of late, and says nothing of one beside another. It is a queue's on the way back as well, a longer path's, or what
//! small packets of the handshake were faster.

use super::Seen;
use super::guarded::MEMORY;
use headway_units::{Duration, Instant};

/// "Of late" is so many stretches.
const STRETCHES: usize = 16;

/// The least delay and the least round trip in a stretch of time.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    began: Instant,
    delay_ns: i64,
    rtt: Duration,
}

/// What is least.
#[derive(Clone, Debug, Default)]
pub(super) struct Queueing {
    /// The newest at `next - 1`.
    stretches: [Option<Stretch>; STRETCHES],
    next: usize,
    least_rtt: Option<Duration>,
}

/// The queue that a packet has met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Met {
    /// What its delay has above the least of late.
    pub(super) above: Duration,
    /// What has stood all the while, as far as the round trip knows.
    pub(super) below: Duration,
}

impl Queueing {
    /// A packet has come.
    pub(super) fn add(&mut self, seen: &Seen) -> Met {
        let rtt = seen.rtt.unwrap_or(Duration::ZERO);
        let least_rtt = self.least_rtt.map_or(rtt, |least| least.min(rtt));
        self.least_rtt = Some(least_rtt).filter(|rtt| !rtt.is_zero());
        let delay_ns = seen.delay_ns();
        let length = least_rtt * MEMORY / STRETCHES as u64;
        match &mut self.stretches[(self.next + STRETCHES - 1) % STRETCHES] {
            Some(newest) if seen.came.since(newest.began) < length => {
                newest.delay_ns = newest.delay_ns.min(delay_ns);
                newest.rtt = newest.rtt.min(rtt);
            }
            _ => {
                self.stretches[self.next] = Some(Stretch { began: seen.came, delay_ns, rtt });
                self.next = (self.next + 1) % STRETCHES;
            }
        }
        let late = self.stretches.iter().flatten();
        let (least_delay, least_of_late) =
            late.fold((delay_ns, rtt), |least, stretch| (least.0.min(stretch.delay_ns), least.1.min(stretch.rtt)));
        let above = delay_ns.wrapping_sub(least_delay).max(0) as u64;
        Met { above: Duration::from_nanos(above), below: least_of_late.saturating_sub(least_rtt) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::seen;
    use super::*;

    fn seen_with(number: u64, sent: u64, came: u64, rtt_ms: u64) -> Seen {
        Seen { rtt: Some(Duration::from_millis(rtt_ms)), ..seen(number, sent, came) }
    }

    /// Delays of 5, 9 and 6 ms, whatever the clocks differ by.
    #[test]
    fn it_is_what_the_delay_has_above_the_least() {
        for ahead in [0, 700_000] {
            let mut queueing = Queueing::default();
            let found = [(1000, 6000), (2000, 11_000), (3000, 9000)]
                .map(|(sent, came)| queueing.add(&seen_with(0, sent, came + ahead, 20)).above.as_nanos() / 1000);
            assert_eq!(found, [0, 4000, 1000]);
        }
    }

    /// A queue of 30 ms that stands for longer than delays are remembered (256 round trips of 20 ms) is known by the round trip.
    #[test]
    fn a_standing_queue_stays_one() {
        let mut queueing = Queueing::default();
        let mut last = None;
        for number in 0..20_000 {
            let stands = number > 1000;
            let delay = if stands { 35_000 } else { 5000 };
            last = Some(queueing.add(&seen_with(
                number,
                1000 * number,
                1000 * number + delay,
                if stands { 50 } else { 20 },
            )));
        }
        assert_eq!(last, Some(Met { above: Duration::ZERO, below: Duration::from_millis(30) }));
    }

    /// A clock that gains 100 ppm, a packet each 10 ms, no queue: the memory of 5 s holds half a millisecond of it.
    #[test]
    fn skew_adds_up_over_the_memory_alone() {
        let mut queueing = Queueing::default();
        let most = (0..100_000).map(|n| queueing.add(&seen_with(n, 10_000 * n, 10_000 * n + 5000 + n, 20)).above).max();
        let most = most.unwrap();
        assert!(most > Duration::from_micros(400) && most < Duration::from_micros(560), "{most}");
    }
}
