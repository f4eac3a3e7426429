//! The clock tracker of a receiver (SFDPS section 4.2): the one-way delay of each packet, with its error.
//!
//! The delay that two clocks show is the true one and what they differ by. [`FloorLine`] removes the skew. Timestamps in one direction cannot
//! separate the offset from the shortest delay `f`. A round trip bounds it, as in NTP (RFC 5905 section 8): `f` is between zero and the shortest
//! round trip, so half of that trip is at most half of it off. What a packet took more than the fastest one has no such error.

use super::floor_line::FloorLine;
use super::shortest_trip::ShortestTrip;
use headway_units::{Duration, Instant};

/// A change of the delay below this is no jump of a clock.
const LEAST_JUMP: Duration = Duration::from_millis(1);

/// How long a packet was under way, from its Timestamp to its arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneWayDelay {
    /// Half of the shortest round trip, and the time by which this packet was slower than the fastest one.
    pub estimate: Duration,
    /// The most by which the true delay differs: half of the shortest round trip, the uncertainty of the skew, and the resolution of the
    /// Timestamps.
    pub error: Duration,
}

impl OneWayDelay {
    /// The shortest delay that the error allows.
    #[must_use]
    pub const fn least(self) -> Duration {
        self.estimate.saturating_sub(self.error)
    }

    /// The longest delay that the error allows.
    #[must_use]
    pub fn most(self) -> Duration {
        self.estimate + self.error
    }
}

/// Estimates one-way delays from Timestamps and round trips, within the last 120 half seconds that had packets.
///
/// ```
/// use headway_rate::ClockTracker;
/// use headway_units::{Duration, Instant};
///
/// // The sender's clock is 7 s behind, the path has 30 ms each way, and the second packet waits for 5 ms more.
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
    /// `resolution`: the unit of the Timestamps, which are rounded down.
    #[must_use]
    pub fn new(resolution: Duration) -> Self {
        Self { resolution, line: FloorLine::default(), trips: ShortestTrip::default() }
    }

    /// Adds a packet that arrived at `arrived` by this clock and was sent at `sent` by the other one. `trip`: the round trip that ended with this
    /// packet, by this clock alone. Returns the delay of the packet, or `None` before the first round trip.
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

    /// Returns how much this clock gains on the other one, as a ratio; `None` until eight half seconds have had packets.
    #[must_use]
    pub fn skew(&self) -> Option<f64> {
        self.line.is_fitted().then(|| self.line.slope())
    }

    /// Forgets older packets if a clock was set, or the path has changed. A packet that is much faster than all others shows it. So does a packet
    /// that was slower than the fastest one by more than its round trip was longer than the shortest one.
    fn restart_after_jump(&mut self, arrived: Instant, delay: i64, trip: Option<Duration>) {
        let Some(height) = self.line.height(arrived, delay) else { return };
        let shortest = self.trips.get();
        let slack = (shortest.unwrap_or_default() / 2).max(LEAST_JUMP);
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

    /// A packet: when it left, how long it was under way and how long the way back of its round trip was, if it ends one, all in us.
    #[derive(Clone, Copy, Debug)]
    struct Sent {
        at: u64,
        forth: u64,
        back: Option<u64>,
    }

    /// Brings a packet from one clock to the other, with a Timestamp in units of 10 us.
    fn bring(tracker: &mut ClockTracker, clocks: [Clock; 2], packet: Sent) -> Option<OneWayDelay> {
        let at = |micros: u64| Instant::from_secs(10) + Duration::from_micros(micros);
        let sent = clocks[0].read(at(packet.at)).as_nanos() / UNIT.as_nanos() * UNIT.as_nanos();
        let arrived = clocks[1].read(at(packet.at + packet.forth));
        let trip = packet.back.map(|back| arrived.since(clocks[1].read(at(packet.at - back))));
        tracker.on_packet(arrived, Instant::from_nanos(sent), trip)
    }

    /// Asserts that the true delay is within the stated error.
    fn assert_holds(packet: Sent, found: OneWayDelay) {
        let truth = Duration::from_micros(packet.forth);
        assert!(found.least() <= truth && truth <= found.most(), "{packet:?}: {found:?}");
    }

    /// Packets each 20 ms, each tenth with a round trip, over a path of 30 ms each way.
    fn steady(seconds: u64) -> impl Iterator<Item = Sent> {
        (1..seconds * 50).map(|number| Sent {
            at: 100_000 + 20_000 * number,
            forth: 30_000,
            back: (number % 10 == 0).then_some(30_000),
        })
    }

    /// A path of 30 ms each way between clocks that are hours and 200 ppm apart: 30 ms is half of the round trip. The error is the other half, and
    /// what RFC 5905 allows for drift: 500 ppm of the first 4 s, then 15 ppm of 60 s.
    #[test]
    fn a_symmetric_path_has_half_of_its_round_trip() {
        for [offset, skew] in [["0s", "0ppm"], ["5h", "100ppm"], ["-5h", "-100ppm"]] {
            let clocks = [clock(offset, skew), clock("0s", if offset == "5h" { "-100ppm" } else { "100ppm" })];
            let mut tracker = ClockTracker::new(UNIT);
            for packet in steady(60) {
                let Some(found) = bring(&mut tracker, clocks, packet) else {
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

    /// What a packet took more than the fastest one is exact: a queue of up to 99 ms, on a path whose two directions take 10 and 50 ms. Half of the
    /// round trip is 20 ms too long for all packets alike.
    #[test]
    fn asymmetry_moves_all_delays_by_as_much() {
        let mut tracker = ClockTracker::new(UNIT);
        for (number, packet) in steady(20).enumerate() {
            let queue = 1000 * (number as u64 * 37 % 100);
            let packet = Sent { forth: 10_000 + queue, back: packet.back.map(|_| 50_000), ..packet };
            let Some(found) = bring(&mut tracker, [clock("3s", "0ppm"), clock("0s", "0ppm")], packet) else { continue };
            assert_holds(packet, found);
            if packet.at > 3_000_000 {
                let off = found.estimate.as_secs_f64() - 1e-6 * packet.forth as f64;
                assert!((off - 0.02).abs() < 0.002, "{packet:?}: {found:?}");
            }
        }
    }

    /// A clock that is set an hour or 100 ms ahead or back: the next round trip shows it, at most 200 ms later here, and the delay is 30 ms again.
    #[test]
    fn a_clock_that_is_set_is_noticed_with_the_next_round_trip() {
        for jump in ["1h", "-1h", "100ms", "-100ms"] {
            let mut tracker = ClockTracker::new(UNIT);
            for packet in steady(40) {
                let sender = clock(if packet.at < 20_000_000 { "0s" } else { jump }, "0ppm");
                let found = bring(&mut tracker, [sender, clock("0s", "0ppm")], packet);
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
        /// Any offset, skews of up to 100 ppm, any path and random queues in both directions: the true delay is within the stated error.
        #[test]
        fn the_true_delay_is_within_the_error(
            offsets in [-100_000i64..100_000, -100_000i64..100_000], skews in [-100i64..=100, -100i64..=100],
            base in [0u64..200_000, 0u64..200_000],
            queues in prop::collection::vec((0u64..100, 0u64..100), 200..1000), busy in 1u64..1000,
        ) {
            let clocks = [0, 1].map(|end| clock(&format!("{}ms", offsets[end]), &format!("{}ppm", skews[end])));
            let mut tracker = ClockTracker::new(UNIT);
            let mut last = 0;
            for (number, (forth, back)) in queues.into_iter().enumerate() {
                let at = 1_000_000 + 50_000 * number as u64;
                // Packets arrive in order.
                let forth = (base[0] + forth * busy).max(last - last.min(at));
                last = at + forth;
                let packet = Sent { at, forth, back: (number % 5 == 0).then_some(base[1] + back * busy) };
                if let Some(found) = bring(&mut tracker, clocks, packet) {
                    assert_holds(packet, found);
                }
            }
        }

        /// Whatever arrives, in whatever order: no panic, and memory of 120 stretches.
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
