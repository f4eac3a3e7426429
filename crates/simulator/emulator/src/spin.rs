//! How long before a departure a thread polls instead of sleeping.

use headway_units::Duration;

/// Range of the time. A timer of an idle machine is late by 0.1 to 0.25 ms, since its processor has to wake up.
const MIN: Duration = Duration::from_micros(50);
const MAX: Duration = Duration::from_micros(400);
const INITIAL: Duration = Duration::from_micros(150);
/// Increase after a timer that is late by more than the time, and decrease after one that is not. Their ratio makes 1 in
/// 101 timers too late.
const INCREASE: Duration = Duration::from_micros(20);
const DECREASE: Duration = Duration::from_nanos(200);

/// Estimate of the 99th percentile of the lateness of timers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spin {
    time: Duration,
}

impl Spin {
    pub(crate) fn new() -> Self {
        Self { time: INITIAL }
    }

    /// Returns the time before a departure for which the thread polls.
    pub(crate) fn time(self) -> Duration {
        self.time
    }

    /// Accounts for a timer that woke the thread this much too late.
    pub(crate) fn observe(&mut self, late: Duration) {
        self.time = if late > self.time {
            (self.time + INCREASE).min(MAX)
        } else {
            self.time.saturating_sub(DECREASE).max(MIN)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One in 200 timers is late by 1 ms, the others by 180 to 199 us.
    #[test]
    fn the_time_is_the_99th_percentile_of_the_lateness() {
        let mut spin = Spin::new();
        for number in 0..20_000 {
            let late = if number % 200 == 0 { 1000 } else { 180 + number % 20 };
            spin.observe(Duration::from_micros(late));
        }
        let time = spin.time();
        assert!((Duration::from_micros(185)..Duration::from_micros(225)).contains(&time), "{time}");
    }

    #[test]
    fn the_time_has_limits() {
        let mut spin = Spin::new();
        (0..100).for_each(|_| spin.observe(Duration::from_millis(5)));
        assert_eq!(spin.time(), MAX);
        (0..10_000).for_each(|_| spin.observe(Duration::ZERO));
        assert_eq!(spin.time(), MIN);
    }
}
