//! The measured interval, shared by all meters of a run.

use headway_units::Instant;
use std::sync::Arc;

/// The measured interval of a run: statistics count only what happens in it. Both ends are inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// End of the warm-up.
    pub(crate) from: Instant,
    /// Planned end of the run.
    pub(crate) until: Instant,
}

impl Measured {
    /// Creates the measured interval `[from, until]`; `until` is the planned end of the run.
    #[must_use]
    pub fn between(from: Instant, until: Instant) -> Arc<Self> {
        Arc::new(Self { from, until })
    }

    /// Returns whether the interval contains `now`.
    #[must_use]
    #[inline]
    pub fn contains(&self, now: Instant) -> bool {
        self.from <= now && now <= self.until
    }

    /// Returns the length of the part of `[from, until)` in the interval, in ns.
    #[inline]
    pub(crate) fn overlap(&self, from: Instant, until: Instant) -> u64 {
        until.min(self.until).since(from.max(self.from)).as_nanos()
    }
}
