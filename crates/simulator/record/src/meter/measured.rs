//! The time that is measured, kept once for all meters of a run.

use headway_units::Instant;
use std::sync::Arc;

/// From when to when is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The warm-up is over.
    pub(crate) from: Instant,
    /// The run ends, if nobody stops it before.
    pub(crate) until: Instant,
}

impl Measured {
    /// From one instant to another.
    #[must_use]
    pub fn between(from: Instant, until: Instant) -> Arc<Self> {
        Arc::new(Self { from, until })
    }

    /// Whether this instant is within it.
    #[must_use]
    #[inline]
    pub fn holds(&self, now: Instant) -> bool {
        self.from <= now && now <= self.until
    }

    /// How much of `[from, until)` is within it, in ns.
    #[inline]
    pub(crate) fn shared(&self, from: Instant, until: Instant) -> u64 {
        until.min(self.until).since(from.max(self.from)).as_nanos()
    }
}
