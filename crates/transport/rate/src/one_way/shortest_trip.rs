//! Minimum round-trip time over the intervals of [`FloorLine`](super::FloorLine).

use super::floor_line::{INTERVAL_NS, MAX_INTERVALS};
use headway_units::{Duration, Instant};
use std::collections::VecDeque;

/// Minimum of each interval, newest last.
#[derive(Clone, Debug, Default)]
pub(super) struct ShortestTrip {
    intervals: VecDeque<(i64, Duration)>,
    shortest: Option<Duration>,
}

impl ShortestTrip {
    pub(super) fn add(&mut self, arrived: Instant, trip: Duration) {
        let interval = (arrived.as_nanos() as i64).div_euclid(INTERVAL_NS);
        match self.intervals.back_mut() {
            Some((last, shortest)) if *last == interval => *shortest = trip.min(*shortest),
            _ => self.intervals.push_back((interval, trip)),
        }
        if self.intervals.len() > MAX_INTERVALS {
            self.intervals.pop_front();
        }
        self.shortest = self.intervals.iter().map(|(_, trip)| *trip).min();
    }

    pub(super) const fn get(&self) -> Option<Duration> {
        self.shortest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With two samples per interval, the minimum of the first interval expires with the 121st.
    #[test]
    fn the_window_is_120_intervals() {
        let mut trips = ShortestTrip::default();
        assert_eq!(trips.get(), None);
        for number in 0..242 {
            let trip = Duration::from_millis(if number == 1 { 10 } else { 20 });
            trips.add(Instant::from_millis(250 * number), trip);
            let expected = if (1..240).contains(&number) { 10 } else { 20 };
            assert_eq!(trips.get(), Some(Duration::from_millis(expected)), "{number}");
        }
        assert_eq!(trips.intervals.len(), 120);
    }
}
