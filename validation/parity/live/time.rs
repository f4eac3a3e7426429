//! How late it is in a run between real sockets.

use headway_net::Clock;
use headway_units::{Duration, Instant};
use std::sync::atomic::{AtomicBool, Ordering};

/// So long nothing looks whether the user wants to stop.
const PATIENCE: Duration = Duration::from_millis(100);

/// The time of the run, which is the link's.
#[derive(Debug)]
pub(crate) struct Time {
    clock: Clock,
    /// When the run ends.
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

    /// Nobody goes on.
    pub(crate) fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// Whether the run is over at `now`, or nobody wants to go on.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        now >= self.end || self.failed.load(Ordering::Relaxed)
    }

    /// How long to wait at `now` for what is due at `next`, before it is looked again.
    pub(crate) fn wait(&self, now: Instant, next: Option<Instant>) -> Duration {
        next.map_or(self.end, |next| next.min(self.end)).since(now).min(PATIENCE)
    }

    /// Waits for this instant; whether it has come before the end.
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
