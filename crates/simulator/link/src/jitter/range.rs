//! The range of extra delays.

use headway_units::{Duration, OptionError};

/// Maximum of any additional delay, configured or drawn: the duration of the longest run.
pub(super) const MAX_DELAY: Duration = Duration::from_secs(1_000_000);

pub(super) fn check_positive(key: &'static str, value: Duration) -> Result<(), OptionError> {
    if value.is_zero() {
        let message = "a jitter of 0s has no effect; expected no jitter, or a value";
        return Err(OptionError::new(key, message).with_example("\"10ms\""));
    }
    if value > MAX_DELAY {
        return Err(OptionError::new(key, format!("{value} is out of range; expected at most {MAX_DELAY}")));
    }
    Ok(())
}

pub(super) fn nanos(duration: Duration) -> f64 {
    duration.as_nanos() as f64
}
