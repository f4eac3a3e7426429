//! The system's monotonic clock as an [`Instant`].

use headway_units::Instant;
use std::time::Duration;

/// Monotonic clock that counts from its creation. Clocks that are created separately have different zeros; a copy has
/// the zero of the original.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: std::time::Instant,
    own: Option<headway_units::Clock>,
}

impl Clock {
    /// Creates a clock that reads zero now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the source of time")]
    pub fn new() -> Self {
        Self { start: std::time::Instant::now(), own: None }
    }
    /// Returns this clock with the offset, skew, drift and granularity of `own`, to measure the effect of clock errors.
    #[must_use]
    pub const fn with_model(self, own: headway_units::Clock) -> Self {
        Self { own: Some(own), ..self }
    }
    /// Returns the time since the creation as this clock reads it: the [true time](Self::elapsed) unless it has a
    /// [model](Self::with_model).
    #[must_use]
    pub fn now(&self) -> Instant {
        let elapsed = self.elapsed();
        self.own.map_or(elapsed, |own| own.read(elapsed))
    }
    /// Returns the true time since the creation.
    #[must_use]
    pub fn elapsed(&self) -> Instant {
        Instant::from_nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
    /// Returns the true time since the creation at which the clock first reads `at` or more.
    #[must_use]
    pub fn elapsed_at(&self, at: Instant) -> Instant {
        self.own.map_or(at, |own| own.when_read(at))
    }
    /// Converts `at`, a time of this clock, to a standard [`Instant`](std::time::Instant). Returns the creation time of
    /// the clock if the result is out of range.
    #[must_use]
    pub fn system(&self, at: Instant) -> std::time::Instant {
        self.start.checked_add(Duration::from_nanos(self.elapsed_at(at).as_nanos())).unwrap_or(self.start)
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::{Drift, Duration};

    /// A clock that is 10 % fast reads 1.1 s after one second.
    #[test]
    fn the_true_time_of_a_reading_is_found() {
        let clock = Clock::new();
        let (offset, skew) = ("-3s".parse().unwrap(), "100000ppm".parse().unwrap());
        let fast = clock.with_model(headway_units::Clock::new(offset, skew, Drift::default(), Duration::ZERO));
        let zero = Instant::from_secs(1_000_000 - 3);
        assert_eq!(fast.elapsed_at(zero + Duration::from_millis(1100)), Instant::from_secs(1));
        let second = std::time::Duration::from_secs(1);
        assert_eq!(fast.system(zero + Duration::from_millis(1100)), clock.system(Instant::ZERO) + second);
        let (before, shown, after) = (fast.elapsed(), fast.now(), fast.elapsed());
        assert!(
            shown >= zero + before.since(Instant::ZERO) * 11 / 10
                && shown <= zero + after.since(Instant::ZERO) * 11 / 10
        );
        assert_eq!(clock.elapsed_at(Instant::from_secs(7)), Instant::from_secs(7));
    }
}
