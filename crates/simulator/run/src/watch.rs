//! Progress and cancellation of runs.

use headway_units::Instant;

/// Receives the progress of runs and can stop them. Every method may be called from several threads.
pub trait Watch: Sync {
    /// Returns whether runs must stop. A run that is stopped keeps its data and is marked incomplete; no further run is
    /// started.
    fn stopped(&self) -> bool {
        false
    }

    /// Called when the record of a single run is complete on disk. The work that follows, such as findings, may be
    /// aborted at any time.
    fn recorded(&self) {}

    /// Called with the progress of a single run: the simulated time `now`, and the number of times that a packet has
    /// crossed a link.
    fn at(&self, now: Instant, packet_hops: u64) {
        let _ = (now, packet_hops);
    }

    /// Called when `more` further runs are about to be executed.
    fn runs(&self, more: usize) {
        let _ = more;
    }

    /// Called when one of several runs is complete.
    fn run_done(&self) {}
}

/// Ignores progress and never stops.
impl Watch for () {}
