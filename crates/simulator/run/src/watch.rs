//! Progress and cancellation of runs.

use headway_units::Instant;

/// Receives the progress of runs and can stop them. Every method may be called from several threads.
pub trait Watch: Sync {
    /// Returns whether runs must stop. A stopped run keeps its data and is marked incomplete; no further run is
    /// started.
    fn stopped(&self) -> bool {
        false
    }

    /// Called when the record of a single run is complete on disk. The work that follows, such as findings, may be
    /// aborted at any time.
    fn recorded(&self) {}

    /// Reports the progress of a single run: the simulated time, and the number of link crossings of packets so far.
    fn at(&self, now: Instant, packet_hops: u64) {
        let _ = (now, packet_hops);
    }

    /// Reports that the caller will execute `more` further runs.
    fn runs(&self, more: usize) {
        let _ = more;
    }

    /// Reports that one of several runs is done.
    fn run_done(&self) {}
}

/// Ignores progress and never stops.
impl Watch for () {}
