//! Faster Restart for TFRC (draft-ietf-dccp-tfrc-faster-restart-06, July 2008, expired; never an RFC), anticipated by
//! RFC 5622 section 5.1.
//!
//! After an idle or data-limited period a sender returns to a rate that it had reached before, faster than by slow
//! start. This module implements the idea as summarized in the presentation at IETF 70; the ages and the form of the
//! limit are choices of this implementation:
//!
//! - `recover_rate` is twice the initial rate, the lower bound after an idle period.
//! - `X_fast_max` is the highest receive rate reported since the last loss event, which resets it. It applies in full
//!   for 10 minutes, then decreases linearly to zero at 30 minutes.
//! - Up to `X_fast_max` the rate may quadruple in a round trip: `recv_limit = max(2 max(X_recv_set), min(4
//!   max(X_recv_set), X_fast_max))`, and slow start multiplies by up to 4 while X is below it.
//! - In data-limited periods `recv_limit` is at least `X_fast_max`.
//!
//! The throughput equation remains a limit.

use headway_units::Instant;

/// Ages of `X_fast_max` at which its decrease starts and ends, in s.
const DECAY: (f64, f64) = (600.0, 1800.0);

/// `X_fast_max` in bytes/s and the time at which it was reached.
#[derive(Clone, Debug)]
pub(crate) struct FasterRestart {
    x_fast_max: Option<(f64, Instant)>,
}

impl FasterRestart {
    pub(crate) fn new() -> Self {
        Self { x_fast_max: None }
    }

    pub(crate) fn on_report(&mut self, now: Instant, x_recv: f64, new_loss: bool) {
        if new_loss {
            self.x_fast_max = None;
        }
        if x_recv >= self.x_fast_max(now) {
            self.x_fast_max = Some((x_recv, now));
        }
    }

    fn x_fast_max(&self, now: Instant) -> f64 {
        self.x_fast_max.map_or(0.0, |(x, at)| {
            let age = now.since(at).as_secs_f64();
            x * ((DECAY.1 - age) / (DECAY.1 - DECAY.0)).clamp(0.0, 1.0)
        })
    }

    /// Returns `recv_limit`, from that of RFC 5348 and the maximum of `X_recv_set`.
    pub(crate) fn limit(&self, now: Instant, limit: f64, greatest: f64, data_limited: bool) -> f64 {
        let fast = self.x_fast_max(now);
        limit.max(if data_limited { fast } else { fast.min(4.0 * greatest) })
    }

    /// Returns the factor of slow start per round trip.
    pub(crate) fn factor(&self, now: Instant, x: f64) -> f64 {
        let fast = self.x_fast_max(now);
        if x < fast { (fast / x).clamp(2.0, 4.0) } else { 2.0 }
    }
}
