//! `X_recv_set`, and the limit that it puts on the rate (RFC 5348 section 4.3). Rates in bytes/s.

use headway_units::Instant;

/// Values kept (RFC 5348 section 8.2.2).
const KEPT: usize = 3;

/// Receive rates of the last two round trips.
#[derive(Clone, Debug)]
pub(crate) struct ReceiveRates {
    /// The newest last. Infinity stands there without a time until the first report gives it one.
    set: Vec<(f64, Option<Instant>)>,
}

impl ReceiveRates {
    pub(crate) fn new() -> Self {
        Self { set: vec![(f64::INFINITY, None)] }
    }

    /// The first report: Infinity goes two round trips after it.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.set = vec![(f64::INFINITY, Some(now))];
    }

    /// `Update X_recv_set()`: `rtt` in s.
    pub(crate) fn update(&mut self, now: Instant, x_recv: f64, rtt: f64) {
        self.set.push((x_recv, Some(now)));
        // A clock of whole nanoseconds makes two round trips up to one longer.
        self.set.retain(|(_, at)| at.is_none_or(|at| now.since(at).as_secs_f64() <= 2.0 * rtt + 1e-9));
        let surplus = self.set.len().saturating_sub(KEPT);
        self.set.drain(..surplus);
    }

    /// `Maximize X_recv_set()`.
    pub(crate) fn maximize(&mut self, now: Instant, x_recv: f64) {
        let greatest = self.set.iter().map(|item| item.0).filter(|x| x.is_finite()).fold(x_recv, f64::max);
        self.set = vec![(greatest, Some(now))];
    }

    pub(crate) fn halve(&mut self) {
        self.set.iter_mut().for_each(|item| item.0 /= 2.0);
    }

    /// Leaves one value.
    pub(crate) fn replace(&mut self, now: Instant, x_recv: f64) {
        self.set = vec![(x_recv, Some(now))];
    }

    /// The greatest.
    pub(crate) fn max(&self) -> f64 {
        self.set.iter().map(|item| item.0).fold(0.0, f64::max)
    }
}
