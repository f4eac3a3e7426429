//! The CCIDs under which the two controllers of a connection run.

use headway_units::{Duration, Instant};

/// A CCID may change this often (section 10.5).
const CCID_REST: Duration = Duration::from_secs(60);

/// Under which CCIDs controllers run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Running {
    /// That of our data, and that of the peer's.
    ccids: Option<(u8, u8)>,
    /// When one last changed after the handshake.
    changed: Option<Instant>,
}

impl Running {
    /// Whether any have run.
    pub(super) const fn is_some(&self) -> bool {
        self.ccids.is_some()
    }
    /// Whether they may not change again yet.
    pub(super) fn are_frozen(&self, now: Instant) -> bool {
        self.changed.is_some_and(|at| now.since(at) < CCID_REST)
    }
    /// Records the CCIDs from now on. Returns those before.
    pub(super) fn replace(&mut self, now: Instant, ccids: (u8, u8)) -> Option<(u8, u8)> {
        let before = self.ccids.replace(ccids);
        if before.is_some_and(|before| before != ccids) {
            self.changed = Some(now);
        }
        before
    }
}
