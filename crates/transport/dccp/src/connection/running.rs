//! CCIDs of the running controllers.

use headway_units::{Duration, Instant};

/// Minimum time between changes of a CCID (section 10.5).
const CCID_REST: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Running {
    ccids: Option<(u8, u8)>,
    changed: Option<Instant>,
}

impl Running {
    pub(super) const fn is_some(&self) -> bool {
        self.ccids.is_some()
    }
    pub(super) fn are_frozen(&self, now: Instant) -> bool {
        self.changed.is_some_and(|at| now.since(at) < CCID_REST)
    }
    pub(super) fn replace(&mut self, now: Instant, ccids: (u8, u8)) -> Option<(u8, u8)> {
        let before = self.ccids.replace(ccids);
        if before.is_some_and(|before| before != ccids) {
            self.changed = Some(now);
        }
        before
    }
}
