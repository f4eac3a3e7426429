//! Clock tracker of a receiver (SFDPS section 4.2): the one-way delay of each packet with its error.
//!
//! The measured delay includes the offset between the two clocks. [`FloorLine`] removes the skew. Timestamps in one
//! direction cannot separate the offset from the minimum delay `f`; a round trip bounds it, as in NTP (RFC 5905 section
//! 8). `f` is between zero and the minimum round-trip time, so half of that is off by at most half of it. The delay
//! above the minimum has no such error.

use super::floor_line::FloorLine;
use super::shortest_trip::ShortestTrip;
use headway_units::{Duration, Instant};

/// Change of the delay below which no clock step is assumed.
const MIN_STEP: Duration = Duration::from_millis(1);

/// One-way delay of a packet, from its timestamp to its arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneWayDelay {
    /// Estimated one-way delay: half of the minimum round-trip time, plus the packet's delay above the minimum one-way
    /// delay.
    pub estimate: Duration,
    /// Bound of the estimate's error in both directions: half of the minimum round-trip time, plus the uncertainty of
    /// the clock skew and the resolution of the timestamps.
    pub error: Duration,
}

impl OneWayDelay {
    /// Returns the lower bound of the one-way delay.
    #[must_use]
    pub const fn least(self) -> Duration {
        self.estimate.saturating_sub(self.error)
    }

    /// Returns the upper bound of the one-way delay.
    #[must_use]
    pub fn most(self) -> Duration {
        self.estimate + self.error
    }
}

/// Estimator of one-way delays from timestamps and round trips, over the last 120 half-second intervals with packets.
///
/// ```
/// use headway_rate::ClockTracker;
/// use headway_units::{Duration, Instant};
///
/// // The sender's clock is 7 s slow, the path takes 30 ms in each direction, and the second packet 5 ms more.
/// let mut tracker = ClockTracker::new(Duration::from_micros(10));
/// let ms = Instant::from_millis;
/// tracker.on_packet(ms(8030), ms(1000), Some(Duration::from_millis(60)));
/// let delay = tracker.on_packet(ms(8055), ms(1020), None).unwrap();
/// assert_eq!(delay.estimate, Duration::from_millis(35));
/// assert!(delay.error < Duration::from_millis(31));
/// ```
#[derive(Clone, Debug)]
pub struct ClockTracker {
    resolution: Duration,
    line: FloorLine,
    trips: ShortestTrip,
}

impl ClockTracker {
    /// Creates a tracker. `resolution` is the unit of the timestamps, which are rounded down.
    #[must_use]
    pub fn new(resolution: Duration) -> Self {
        Self { resolution, line: FloorLine::default(), trips: ShortestTrip::default() }
    }

    /// Adds a packet that arrived at `arrived` by the local clock and was sent at `sent` by the remote clock, and
    /// returns its one-way delay; `None` before the first round-trip time. `trip` is the round-trip time that ended
    /// with this packet, measured by the local clock, if any.
    pub fn on_packet(&mut self, arrived: Instant, sent: Instant, trip: Option<Duration>) -> Option<OneWayDelay> {
        let delay = arrived.as_nanos().wrapping_sub(sent.as_nanos()) as i64;
        self.restart_after_jump(arrived, delay, trip);
        let above = Duration::from_nanos(self.line.add(arrived, delay) as u64);
        if let Some(trip) = trip {
            self.trips.add(arrived, trip);
        }
        let half = self.trips.get()? / 2;
        let drift = Duration::from_nanos(self.line.uncertainty(arrived) as u64);
        Some(OneWayDelay { estimate: half + above, error: half + drift + self.resolution })
    }

    /// Returns the skew of the local clock against the remote one, as a ratio, positive if the local clock is faster;
    /// `None` before eight intervals with packets.
    #[must_use]
    pub fn skew(&self) -> Option<f64> {
        self.line.is_fitted().then(|| self.line.slope())
    }

    /// Discards older packets after a clock step or a path change: if a packet is much faster than all others, or if
    /// its delay above the minimum exceeds its round-trip time above the minimum.
    fn restart_after_jump(&mut self, arrived: Instant, delay: i64, trip: Option<Duration>) {
        let Some(height) = self.line.height(arrived, delay) else { return };
        let shortest = self.trips.get();
        let slack = (shortest.unwrap_or_default() / 2).max(MIN_STEP);
        let longest = trip.zip(shortest).map(|(trip, shortest)| (trip.saturating_sub(shortest) + slack).as_nanos());
        if longest.is_some_and(|longest| height > longest as f64) {
            (self.line, self.trips) = Default::default();
        } else if height < -(slack.as_nanos() as f64) {
            self.line = FloorLine::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::{Clock, Drift};
    use proptest::prelude::*;

    const UNIT: Duration = Duration::from_micros(10);

    fn clock(offset: &str, skew: &str) -> Clock {
        Clock::new(offset.parse().unwrap(), skew.parse().unwrap(), Drift::default(), Duration::ZERO)
    }

    /// Packet with its sending time, one-way delay, and reverse delay if it ends a round trip, all in us.
    #[derive(Clone, Copy, Debug)]
    struct Sent {
        at: u64,
        forward: u64,
        back: Option<u64>,
    }

    /// Delivers a packet between two clocks, with a timestamp in units of 10 us.
    fn deliver(tracker: &mut ClockTracker, clocks: [Clock; 2], packet: Sent) -> Option<OneWayDelay> {
        let at = |micros: u64| Instant::from_secs(10) + Duration::from_micros(micros);
        let sent = clocks[0].read(at(packet.at)).as_nanos() / UNIT.as_nanos() * UNIT.as_nanos();
        let arrived = clocks[1].read(at(packet.at + packet.forward));
        let trip = packet.back.map(|back| arrived.since(clocks[1].read(at(packet.at - back))));
        tracker.on_packet(arrived, Instant::from_nanos(sent), trip)
    }

    /// Asserts that the true delay is within the stated error.
    fn assert_holds(packet: Sent, found: OneWayDelay) {
        let truth = Duration::from_micros(packet.forward);
        assert!(found.least() <= truth && truth <= found.most(), "{packet:?}: {found:?}");
    }

    /// Returns packets every 20 ms, every tenth with a round trip, over 30 ms in each direction.
    fn steady(seconds: u64) -> impl Iterator<Item = Sent> {
        (1..seconds * 50).map(|number| Sent {
            at: 100_000 + 20_000 * number,
            forward: 30_000,
            back: (number % 10 == 0).then_some(30_000),
        })
    }

    /// A path of 30 ms in each direction between clocks that are 5 h and 200 ppm apart. The estimate is 30 ms; the
    /// error is half of the round trip plus the drift of RFC 5905: 500 ppm for the first 4 s, then 15 ppm of 60 s.
    #[test]
    fn a_symmetric_path_takes_half_of_the_round_trip() {
        for [offset, skew] in [["0s", "0ppm"], ["5h", "100ppm"], ["-5h", "-100ppm"]] {
            let clocks = [clock(offset, skew), clock("0s", if offset == "5h" { "-100ppm" } else { "100ppm" })];
            let mut tracker = ClockTracker::new(UNIT);
            for packet in steady(60) {
                let Some(found) = deliver(&mut tracker, clocks, packet) else {
                    assert!(packet.at <= 300_000, "{packet:?}");
                    continue;
                };
                let off = found.estimate.as_secs_f64() - 0.03;
                assert!(off.abs() < if packet.at < 5_000_000 { 0.001 } else { 0.0001 }, "{packet:?}: {found:?}");
                assert!(found.error < Duration::from_micros(32_200), "{packet:?}: {found:?}");
                assert_holds(packet, found);
            }
            let expected = match offset {
                "5h" => -200.0,
                "0s" => 100.0,
                _ => 200.0,
            };
            let found = tracker.skew().unwrap() * 1e6;
            assert!((found - expected).abs() < 1.0, "{offset}: {found}");
        }
    }

    /// The delay above the minimum is exact. On a path of 10 and 50 ms the asymmetry adds 20 ms to all estimates.
    #[test]
    fn asymmetry_shifts_all_delays_equally() {
        let mut tracker = ClockTracker::new(UNIT);
        for (number, packet) in steady(20).enumerate() {
            let queue = 1000 * (number as u64 * 37 % 100);
            let packet = Sent { forward: 10_000 + queue, back: packet.back.map(|_| 50_000), ..packet };
            let Some(found) = deliver(&mut tracker, [clock("3s", "0ppm"), clock("0s", "0ppm")], packet) else {
                continue;
            };
            assert_holds(packet, found);
            if packet.at > 3_000_000 {
                let off = found.estimate.as_secs_f64() - 1e-6 * packet.forward as f64;
                assert!((off - 0.02).abs() < 0.002, "{packet:?}: {found:?}");
            }
        }
    }

    /// The next round trip, within 200 ms, reveals a step of 1 h or 100 ms in either direction.
    #[test]
    fn a_clock_step_is_detected_at_the_next_round_trip() {
        for jump in ["1h", "-1h", "100ms", "-100ms"] {
            let mut tracker = ClockTracker::new(UNIT);
            for packet in steady(40) {
                let sender = clock(if packet.at < 20_000_000 { "0s" } else { jump }, "0ppm");
                let found = deliver(&mut tracker, [sender, clock("0s", "0ppm")], packet);
                if !(20_000_000..20_210_000).contains(&packet.at) && packet.at > 300_000 {
                    let found = found.unwrap();
                    assert_holds(packet, found);
                    let off = found.estimate.as_secs_f64() - 0.03;
                    assert!(off.abs() < 0.001, "{jump}, {packet:?}: {found:?}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn the_true_delay_is_within_the_error(
            offsets in [-100_000i64..100_000, -100_000i64..100_000], skews in [-100i64..=100, -100i64..=100],
            base in [0u64..200_000, 0u64..200_000],
            queues in prop::collection::vec((0u64..100, 0u64..100), 200..1000), busy in 1u64..1000,
        ) {
            let clocks = [0, 1].map(|end| clock(&format!("{}ms", offsets[end]), &format!("{}ppm", skews[end])));
            let mut tracker = ClockTracker::new(UNIT);
            let mut last = 0;
            for (number, (forward, back)) in queues.into_iter().enumerate() {
                let at = 1_000_000 + 50_000 * number as u64;
                // Packets arrive in order.
                let forward = (base[0] + forward * busy).max(last - last.min(at));
                last = at + forward;
                let packet = Sent { at, forward, back: (number % 5 == 0).then_some(base[1] + back * busy) };
                if let Some(found) = deliver(&mut tracker, clocks, packet) {
                    assert_holds(packet, found);
                }
            }
        }

        /// Any input in any order causes no panic and a skew of at most 500 ppm.
        #[test]
        fn any_packets_are_harmless(packets in prop::collection::vec((any::<u64>(), any::<u64>(), prop::option::of(any::<u64>())), 0..400)) {
            let mut tracker = ClockTracker::new(UNIT);
            for (arrived, sent, trip) in packets {
                let trip = trip.map(Duration::from_nanos);
                if let Some(found) = tracker.on_packet(Instant::from_nanos(arrived), Instant::from_nanos(sent), trip) {
                    prop_assert!(found.least() <= found.estimate && found.estimate <= found.most());
                }
                prop_assert!(tracker.skew().is_none_or(|skew| skew.abs() <= 500e-6));
            }
        }
    }
}
