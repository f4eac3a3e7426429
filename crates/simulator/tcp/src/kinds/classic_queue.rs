//! Detector of a queue that marks ECT(1) as classic ECN (RFC 3168), for the fallback that RFC 9331 section 4.3 asks for.
//!
//! An L4S queue marks at about 1 ms, so that some packet with a mark waited for a short time. A classic queue marks when
//! its delay is above 5 ms and more. In each round with marks, the shortest queue delay of an acknowledgement that
//! reports marks is compared with 5 ms and the time of two packets. The queue delay is the round-trip time above its
//! minimum in the last minute.

use crate::windowed_max::WindowedMax;
use headway_units::{Duration, Instant};

/// Queue delay below which no classic queue marks: the target of CoDel (RFC 8289).
const CLASSIC_DELAY_S: f64 = 5e-3;
/// Number of packets whose time is added.
const PACKETS: f64 = 2.0;
/// Score at which the fallback begins. It ends at 0. A long delay adds 1 and a short one subtracts [`SHORT`].
const CLASSIC: u32 = 40;
const SHORT: u32 = 4;
/// Time in which the minimum of the round-trip time is taken, in ns.
const FLOOR_NS: u64 = 60_000_000_000;

/// Detector of a classic queue.
#[derive(Clone, Debug)]
pub(crate) struct ClassicQueue {
    /// Largest 1/RTT.
    inverse: WindowedMax,
    /// Shortest queue delay with a mark in this round, in s.
    shortest_s: Option<f64>,
    score: u32,
    is_classic: bool,
}

impl Default for ClassicQueue {
    fn default() -> Self {
        Self { inverse: WindowedMax::new(FLOOR_NS), shortest_s: None, score: 0, is_classic: false }
    }
}

impl ClassicQueue {
    pub(crate) const fn is_classic(&self) -> bool {
        self.is_classic
    }

    /// Adds a round-trip sample, of an acknowledgement that reports marks or none.
    pub(crate) fn on_sample(&mut self, now: Instant, rtt: Duration, marked: bool) {
        let rtt_s = rtt.as_secs_f64().max(1e-9);
        self.inverse.add(now.as_nanos(), 1.0 / rtt_s);
        if marked {
            let queue_s = rtt_s - 1.0 / self.inverse.get();
            self.shortest_s = Some(self.shortest_s.map_or(queue_s, |shortest| shortest.min(queue_s)));
        }
    }

    /// Ends a round, in which a packet took `packet_s`.
    pub(crate) fn end_round(&mut self, packet_s: f64) {
        let Some(shortest_s) = self.shortest_s.take() else { return };
        let is_long = shortest_s > CLASSIC_DELAY_S + PACKETS * packet_s;
        self.score = if is_long { (self.score + 1).min(CLASSIC) } else { self.score.saturating_sub(SHORT) };
        self.is_classic = self.score == CLASSIC || self.is_classic && self.score > 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds rounds with an unmarked sample of 25 ms and a marked one with `queue_ms` more. Returns whether the queue is
    /// classic after each.
    fn rounds(queue: &mut ClassicQueue, from: u64, count: u64, queue_ms: u64) -> Vec<bool> {
        let round = |round| {
            let at = Instant::from_millis(1000 + 25 * (from + round));
            queue.on_sample(at, Duration::from_millis(25), false);
            queue.on_sample(at, Duration::from_millis(25 + queue_ms), true);
            queue.end_round(2e-3);
            queue.is_classic()
        };
        (0..count).map(round).collect()
    }

    /// The threshold is 5 ms and two packets of 2 ms.
    #[test]
    fn marks_at_long_delays_begin_the_fallback_and_short_ones_end_it() {
        let mut queue = ClassicQueue::default();
        assert!(!rounds(&mut queue, 0, 400, 8).contains(&true));
        let classic = rounds(&mut queue, 400, 100, 10);
        assert_eq!(classic.iter().position(|classic| *classic), Some(39));
        let after = rounds(&mut queue, 500, 20, 1);
        assert_eq!(after.iter().position(|classic| !classic), Some(9));
    }

    /// A round without marks changes nothing, and so does a transient queue of half a second.
    #[test]
    fn a_transient_is_not_a_classic_queue() {
        let mut queue = ClassicQueue::default();
        for cycle in 0..20 {
            assert!(!rounds(&mut queue, 40 * cycle, 20, 100).contains(&true));
            assert!(!rounds(&mut queue, 40 * cycle + 20, 20, 2).contains(&true));
        }
        rounds(&mut queue, 800, 40, 100);
        (0..100).for_each(|_| queue.end_round(2e-3));
        assert!(queue.is_classic());
    }

    /// The floor is the minimum of the last minute: after a change of the path, a longer round trip is not a queue.
    #[test]
    fn a_longer_path_is_not_a_queue_for_more_than_a_minute() {
        let mut queue = ClassicQueue::default();
        queue.on_sample(Instant::ZERO, Duration::from_millis(20), false);
        for second in 1..=61 {
            queue.on_sample(Instant::from_secs(second), Duration::from_millis(60), true);
        }
        queue.shortest_s = None;
        queue.on_sample(Instant::from_secs(62), Duration::from_millis(61), true);
        assert!(queue.shortest_s.is_some_and(|queue_s| queue_s < 2e-3), "{:?}", queue.shortest_s);
    }
}
