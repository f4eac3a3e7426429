//! The reordering window (RFC 8985 section 6.2 step 4).

use headway_units::Duration;

/// Recoveries after which `reo_wnd_mult` returns to 1.
const PERSIST: u32 = 16;

#[derive(Clone, Debug)]
pub(super) struct Reordering {
    /// Whether a segment was delivered after a later one (`RACK.reordering_seen`).
    pub(super) seen: bool,
    /// `RACK.reo_wnd_mult`.
    pub(super) factor: u32,
    /// Recoveries until the factor returns to 1 (`RACK.reo_wnd_persist`).
    persist: u32,
    /// End of the round in which a D-SACK last raised the factor (`RACK.dsack_round`).
    round_end: Option<u64>,
}

impl Reordering {
    pub(super) const fn new() -> Self {
        Self { seen: false, factor: 1, persist: 0, round_end: None }
    }

    /// Raises the factor once per round with a D-SACK.
    pub(super) fn adapt(&mut self, una: u64, nxt: u64, duplicate: bool) {
        if self.round_end.is_some_and(|end| una >= end) {
            self.round_end = None;
        }
        if duplicate && self.round_end.is_none() {
            self.round_end = Some(nxt);
            self.factor = self.factor.saturating_add(1);
            self.persist = PERSIST;
        }
    }

    pub(super) fn recovery_ended(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.factor = 1;
        }
    }

    /// Returns the window. `certain`: in a recovery, or with enough segments received above a hole.
    pub(super) fn window(&self, min_rtt: Duration, srtt: Duration, certain: bool) -> Duration {
        if certain && !self.seen { Duration::ZERO } else { (min_rtt / 4 * u64::from(self.factor)).min(srtt) }
    }
}
