//! The range of extra delays.

use headway_units::{Duration, OptionError};

/// The most of any extra delay, written or drawn: as long as the longest run.
pub(super) const MOST: Duration = Duration::from_secs(1_000_000);

pub(super) fn check_positive(key: &'static str, value: Duration) -> Result<(), OptionError> {
    if value.is_zero() {
        let message = "a jitter of 0s is none: leave jitter out, or write one";
        return Err(OptionError::new(key, message).such_as("\"10ms\""));
    }
    if value > MOST {
        return Err(OptionError::new(key, format!("{value} is out of range: at most {MOST}")));
    }
    Ok(())
}

pub(super) fn nanos(duration: Duration) -> f64 {
    duration.as_nanos() as f64
}
