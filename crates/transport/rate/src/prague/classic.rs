//! Detector of a queue that marks ECT(1) as classic ECN (RFC 3168), for the fallback that RFC 9331 section 4.3 asks for.
//!
//! An L4S queue marks at about 1 ms, so that some packet with a mark waited for a short time. A classic queue marks when
//! its delay is above 5 ms and more. In each round with marks, the shortest queue delay of marked packets is compared
//! with 5 ms and the time of two packets at the sender's rate, which an L4S queue may hold at a low rate.

use crate::one_way::FloorLine;
use headway_units::Instant;

/// Queue delay below which no classic queue marks: the target of CoDel (RFC 8289), in ns.
const CLASSIC_DELAY_NS: f64 = 5e6;
/// Number of packets whose time is added.
const PACKETS: f64 = 2.0;
/// Score at which the fallback begins. It ends at 0. A long delay adds 1 and a short one subtracts [`SHORT`].
const CLASSIC: u32 = 40;
const SHORT: u32 = 4;

/// Detector of a classic queue.
#[derive(Debug, Default)]
pub(super) struct ClassicQueue {
    floor: FloorLine,
    since: Option<Instant>,
    /// Shortest queue delay of a marked packet in this round, in ns.
    shortest_ns: Option<f64>,
    score: u32,
    is_classic: bool,
}

impl ClassicQueue {
    /// Adds an arrival with the one-way delay in ns, by the receiver's clock.
    pub(super) fn on_arrival(&mut self, arrived: Instant, delay_ns: i64, marked: bool) {
        let queue_ns = self.floor.add(arrived, delay_ns);
        if marked {
            self.shortest_ns = Some(self.shortest_ns.map_or(queue_ns, |shortest| shortest.min(queue_ns)));
        }
    }

    /// Ends a round of `rtt_us` if it is over, in which a packet took `packet_us`. Returns whether the queue is classic.
    pub(super) fn on_report(&mut self, now: Instant, rtt_us: u64, packet_us: u64) -> bool {
        let since = *self.since.get_or_insert(now);
        if now.since(since).as_nanos() < 1000 * rtt_us {
            return self.is_classic;
        }
        self.since = Some(now);
        if let Some(shortest_ns) = self.shortest_ns.take() {
            let is_long = shortest_ns > CLASSIC_DELAY_NS + PACKETS * 1e3 * packet_us as f64;
            self.score = if is_long { (self.score + 1).min(CLASSIC) } else { self.score.saturating_sub(SHORT) };
            self.is_classic = self.score == CLASSIC || self.is_classic && self.score > 0;
        }
        self.is_classic
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds rounds of 25 ms with a packet without a queue, and a marked one that waited `queue_ms`, and returns whether
    /// the queue is classic after each.
    fn rounds(queue: &mut ClassicQueue, from: u64, count: u64, queue_ms: i64) -> Vec<bool> {
        let round = |round| {
            let at = Instant::from_millis(1000 + 25 * (from + round));
            queue.on_arrival(at, 0, false);
            queue.on_arrival(at, 1_000_000 * queue_ms, true);
            queue.on_report(at, 25_000, 2000)
        };
        (0..count).map(round).collect()
    }

    /// The threshold is 5 ms and two packets of 2 ms.
    #[test]
    fn marks_at_long_delays_begin_the_fallback_and_short_ones_end_it() {
        let mut queue = ClassicQueue::default();
        assert!(!rounds(&mut queue, 0, 400, 9).contains(&true));
        let classic = rounds(&mut queue, 400, 100, 10);
        assert_eq!(classic.iter().position(|classic| *classic), Some(39));
        let after = rounds(&mut queue, 500, 20, 1);
        assert_eq!(after.iter().position(|classic| !classic), Some(9));
    }

    /// A transient queue after a fall of the link's rate, as of half a second, does not begin the fallback.
    #[test]
    fn a_transient_is_not_a_classic_queue() {
        let mut queue = ClassicQueue::default();
        for cycle in 0..20 {
            assert!(!rounds(&mut queue, 40 * cycle, 20, 100).contains(&true));
            assert!(!rounds(&mut queue, 40 * cycle + 20, 20, 2).contains(&true));
        }
    }
}
