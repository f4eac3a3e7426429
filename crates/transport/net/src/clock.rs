//! The system's monotonic clock, in the words of the core.

use headway_units::Instant;
use std::time::Duration;

/// Counts from its own beginning: two clocks of one program do not agree, a copy does.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: std::time::Instant,
    own: Option<headway_units::Clock>,
}

impl Clock {
    /// A clock that stands at zero now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is where time comes from")]
    pub fn new() -> Self {
        Self { start: std::time::Instant::now(), own: None }
    }
    /// The same, but it shows what a node's own clock shows, with its offset, skew, drift and granularity: for who measures what wrong clocks do.
    #[must_use]
    pub const fn shown_by(self, own: headway_units::Clock) -> Self {
        Self { own: Some(own), ..self }
    }
    /// What it shows.
    #[must_use]
    pub fn now(&self) -> Instant {
        let elapsed = self.elapsed();
        self.own.map_or(elapsed, |own| own.read(elapsed))
    }
    /// How long it has gone, whatever it shows.
    #[must_use]
    pub fn elapsed(&self) -> Instant {
        Instant::from_nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
    /// How long it has gone when it shows `at`, or more, for the first time.
    #[must_use]
    pub fn elapsed_at(&self, at: Instant) -> Instant {
        self.own.map_or(at, |own| own.when_read(at))
    }
    /// The instant at which it shows `at` as the standard library has it; the last that it can hold, if it is beyond that.
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

    /// By a clock that is a tenth too fast a deadline in 1.1 s of its own is there after a second; before, it shows less.
    #[test]
    fn a_wrong_clock_knows_when_it_will_show_what() {
        let clock = Clock::new();
        let (offset, skew) = ("-3s".parse().unwrap(), "100000ppm".parse().unwrap());
        let fast = clock.shown_by(headway_units::Clock::new(offset, skew, Drift::default(), Duration::ZERO));
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
