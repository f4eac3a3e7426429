//! The shortest round trip of the same stretches of time from which [`FloorLine`](super::FloorLine) keeps the least delays.

use super::floor_line::{MOST, STRETCH};
use headway_units::{Duration, Instant};
use std::collections::VecDeque;

/// The shortest round trip of each stretch, the newest last.
#[derive(Clone, Debug, Default)]
pub(super) struct ShortestTrip {
    stretches: VecDeque<(i64, Duration)>,
    shortest: Option<Duration>,
}

impl ShortestTrip {
    pub(super) fn add(&mut self, arrived: Instant, trip: Duration) {
        let stretch = (arrived.as_nanos() as i64).div_euclid(STRETCH);
        match self.stretches.back_mut() {
            Some((last, shortest)) if *last == stretch => *shortest = trip.min(*shortest),
            _ => self.stretches.push_back((stretch, trip)),
        }
        if self.stretches.len() > MOST {
            self.stretches.pop_front();
        }
        self.shortest = self.stretches.iter().map(|(_, trip)| *trip).min();
    }

    pub(super) const fn get(&self) -> Option<Duration> {
        self.shortest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two trips in each stretch of half a second: the window holds 120 stretches, and the shortest trip of the first leaves it with the 121st.
    #[test]
    fn the_window_is_120_stretches() {
        let mut trips = ShortestTrip::default();
        assert_eq!(trips.get(), None);
        for number in 0..242 {
            let trip = Duration::from_millis(if number == 1 { 10 } else { 20 });
            trips.add(Instant::from_millis(250 * number), trip);
            let expected = if (1..240).contains(&number) { 10 } else { 20 };
            assert_eq!(trips.get(), Some(Duration::from_millis(expected)), "{number}");
        }
        assert_eq!(trips.stretches.len(), 120);
    }
}
