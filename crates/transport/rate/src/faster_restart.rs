//! Faster Restart for TFRC (draft-ietf-dccp-tfrc-faster-restart-06, July 2008, expired; never an RFC). RFC 5622 section 5.1
//! looks forward to it.
//!
//! A sender that was idle or data-limited comes back to a rate that it had reached before faster than slow start would
//! let it. The draft has expired; its idea, as its presentation at IETF 70 sums it up, is done so (the ages and the form of
//! the limit are choices made here):
//!
//! - `recover_rate` is twice the initial rate: an idle time costs no more than that.
//! - `X_fast_max` is the highest receive rate reported since the last loss event. A loss event forgets it. It counts in
//!   full for 10 minutes, then falls in a straight line to nothing at 30 minutes.
//! - Up to `X_fast_max` the rate may quadruple in a round trip: `recv_limit = max(2 max(X_recv_set),
//!   min(4 max(X_recv_set), X_fast_max))`, and slow start multiplies by 4 as long as X is below it.
//! - In data-limited times `recv_limit` is `X_fast_max` at least.
//!
//! The equation stays a limit throughout.

use headway_units::Instant;

/// Until when `X_fast_max` counts in full, and when it is gone, in s.
const DECAY: (f64, f64) = (600.0, 1800.0);

/// `X_fast_max` in bytes/s, and when it was reached.
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

    /// `recv_limit`, from that of RFC 5348 and the greatest of `X_recv_set`.
    pub(crate) fn limit(&self, now: Instant, limit: f64, greatest: f64, data_limited: bool) -> f64 {
        let fast = self.x_fast_max(now);
        limit.max(if data_limited { fast } else { fast.min(4.0 * greatest) })
    }

    /// What slow start multiplies by.
    pub(crate) fn factor(&self, now: Instant, x: f64) -> f64 {
        let fast = self.x_fast_max(now);
        if x < fast { (fast / x).clamp(2.0, 4.0) } else { 2.0 }
    }
}
