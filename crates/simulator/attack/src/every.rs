//! Periodic events.

use headway_units::{Duration, Instant, OptionError};

/// Minimum interval: a million packets per second.
const MIN_INTERVAL: Duration = Duration::from_micros(1);

#[derive(Clone, Debug)]
pub(crate) struct Every {
    next: Instant,
    interval: Duration,
    stop: Instant,
}

impl Every {
    pub(crate) const fn new(start: Instant, stop: Instant, interval: Duration) -> Self {
        Self { next: start, interval, stop }
    }

    /// Returns whether an event is due, and advances to the next one.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        let due = self.next <= now && self.next < self.stop;
        if due {
            self.next += self.interval;
        }
        due
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        (self.next < self.stop).then_some(self.next)
    }
}

pub(crate) fn check(interval: Duration) -> Result<(), OptionError> {
    if interval < MIN_INTERVAL {
        return Err(OptionError::new("interval", format!("{interval} is too short: at least {MIN_INTERVAL}")));
    }
    Ok(())
}
