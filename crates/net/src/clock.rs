//! The system's monotonic clock, in the words of the core.

use headway_units::Instant;
use std::time::Duration;

/// Counts from its own beginning: two clocks of one program do not agree, a copy does.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: std::time::Instant,
}

impl Clock {
    /// A clock that stands at zero now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is where time comes from")]
    pub fn new() -> Self {
        Self { start: std::time::Instant::now() }
    }
    /// What it shows.
    #[must_use]
    pub fn now(&self) -> Instant {
        Instant::from_nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
    /// The same instant as the standard library has it; the last that it can hold, if it is beyond that.
    #[must_use]
    pub fn system(&self, at: Instant) -> std::time::Instant {
        self.start.checked_add(Duration::from_nanos(at.as_nanos())).unwrap_or(self.start)
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}
