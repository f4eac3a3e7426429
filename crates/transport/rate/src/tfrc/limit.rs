//! `X_recv_set` and the limit it imposes on the rate (RFC 5348 section 4.3). Rates in bytes/s.

use headway_units::Instant;

/// Number of values kept (RFC 5348 section 8.2.2).
const KEPT: usize = 3;

/// Receive rates of the last two round trips.
#[derive(Clone, Debug)]
pub(crate) struct ReceiveRates {
    /// Rates with their times, newest last. The initial infinity has no time until the first report.
    set: Vec<(f64, Option<Instant>)>,
}

impl ReceiveRates {
    pub(crate) fn new() -> Self {
        let mut set = Vec::with_capacity(KEPT + 1);
        set.push((f64::INFINITY, None));
        Self { set }
    }

    /// Handles the first report: infinity expires two round trips after it.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.replace(now, f64::INFINITY);
    }

    /// Implements `Update X_recv_set()`, with `rtt` in s.
    pub(crate) fn update(&mut self, now: Instant, x_recv: f64, rtt: f64) {
        self.set.push((x_recv, Some(now)));
        // A clock of whole nanoseconds extends two round trips by up to 1 ns.
        self.set.retain(|(_, at)| at.is_none_or(|at| now.since(at).as_secs_f64() <= 2.0 * rtt + 1e-9));
        let surplus = self.set.len().saturating_sub(KEPT);
        self.set.drain(..surplus);
    }

    /// Implements `Maximize X_recv_set()`.
    pub(crate) fn maximize(&mut self, now: Instant, x_recv: f64) {
        let greatest = self.set.iter().map(|item| item.0).filter(|x| x.is_finite()).fold(x_recv, f64::max);
        self.replace(now, greatest);
    }

    pub(crate) fn halve(&mut self) {
        self.set.iter_mut().for_each(|item| item.0 /= 2.0);
    }

    pub(crate) fn replace(&mut self, now: Instant, x_recv: f64) {
        self.set.clear();
        self.set.push((x_recv, Some(now)));
    }

    pub(crate) fn max(&self) -> f64 {
        self.set.iter().map(|item| item.0).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// RFC 5348 section 4.3: the set starts with infinity, and values older than two round trips (of 100 ms) expire.
    #[test]
    fn values_expire_after_two_round_trips() {
        let mut set = ReceiveRates::new();
        set.update(ms(0), 10.0, 0.1);
        assert_eq!(set.max(), f64::INFINITY, "infinity has no time yet");
        set.begin(ms(0));
        set.update(ms(200), 10.0, 0.1);
        assert_eq!(set.max(), f64::INFINITY);
        set.update(ms(201), 20.0, 0.1);
        assert_eq!(set.max(), 20.0);
        set.update(ms(400), 5.0, 0.1);
        assert_eq!(set.max(), 20.0);
        set.update(ms(402), 6.0, 0.1);
        assert_eq!(set.max(), 6.0);
    }

    /// RFC 5348 section 8.2.2: at most three values.
    #[test]
    fn three_values_are_kept() {
        let mut set = ReceiveRates::new();
        set.begin(ms(0));
        for (n, max) in [(1, f64::INFINITY), (2, f64::INFINITY), (3, 9.0), (4, 8.0)] {
            set.update(ms(n), 10.0 - n as f64, 0.1);
            assert_eq!(set.max(), max, "{n}");
        }
    }

    /// "Maximize X_recv_set()": the maximum of the set and the new value, without infinity, replaces the set.
    #[test]
    fn maximize_keeps_the_maximum() {
        let mut set = ReceiveRates::new();
        set.begin(ms(0));
        set.maximize(ms(1), 7.0);
        assert_eq!(set.max(), 7.0);
        set.maximize(ms(150), 5.0);
        assert_eq!(set.max(), 7.0);
        set.update(ms(350), 1.0, 0.1);
        assert_eq!(set.max(), 7.0, "it has the time of the new value");
        set.halve();
        assert_eq!(set.max(), 3.5);
        set.replace(ms(400), 2.0);
        assert_eq!(set.max(), 2.0);
    }
}
