//! The time of a run between real sockets.

use headway_net::Clock;
use headway_units::{Duration, Instant};
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum time of a wait, after which threads check whether the run has failed.
const MAX_WAIT: Duration = Duration::from_millis(100);

/// Time of the run, which is that of the link.
#[derive(Debug)]
pub(crate) struct Time {
    clock: Clock,
    /// End of the run.
    pub(crate) end: Instant,
    failed: AtomicBool,
}

impl Time {
    pub(crate) const fn new(clock: Clock, end: Instant) -> Self {
        Self { clock, end, failed: AtomicBool::new(false) }
    }

    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Stops all threads after an error.
    pub(crate) fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// Returns whether the run has ended by `now` or failed.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        now >= self.end || self.failed.load(Ordering::Relaxed)
    }

    /// Returns the time to wait from `now` for an event at `next`, at most [`MAX_WAIT`].
    pub(crate) fn wait(&self, now: Instant, next: Option<Instant>) -> Duration {
        next.map_or(self.end, |next| next.min(self.end)).since(now).min(MAX_WAIT)
    }

    /// Waits until `until`. Returns whether the run continues then.
    pub(crate) fn sleep(&self, until: Instant) -> bool {
        loop {
            let now = self.now();
            if self.is_over(now) || now >= until {
                return !self.is_over(now);
            }
            std::thread::park_timeout(std::time::Duration::from_nanos(self.wait(now, Some(until)).as_nanos()));
        }
    }
}
