//! At every so many nanoseconds.

use headway_units::{Duration, Instant, OptionError};

/// The shortest interval: a million packets a second.
const SHORTEST: Duration = Duration::from_micros(1);

/// Beats from a start to a stop.
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

    /// Whether a beat is due, which is then over.
    pub(crate) fn beats(&mut self, now: Instant) -> bool {
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

/// Whether the option `interval` can be worked with.
pub(crate) fn check(interval: Duration) -> Result<(), OptionError> {
    if interval < SHORTEST {
        return Err(OptionError::new("interval", format!("{interval} is too short: at least {SHORTEST}")));
    }
    Ok(())
}
