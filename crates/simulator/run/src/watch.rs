//! Who watches runs: how far they are, and whether they are to stop.

use headway_units::Instant;

/// Is told how far runs are, and asked whether to go on. Every method may be called from several threads.
pub trait Watch: Sync {
    /// Whether to stop: a run then keeps what it has, and says that it is not complete; no other is begun.
    fn stopped(&self) -> bool {
        false
    }

    /// The record of a run that is alone is complete: what follows may be given up at any time.
    fn recorded(&self) {}

    /// A run that is alone has come to this time, and so many packets have crossed a link.
    fn at(&self, now: Instant, packet_hops: u64) {
        let _ = (now, packet_hops);
    }

    /// So many runs are to be done, beside those that were told of.
    fn runs(&self, more: usize) {
        let _ = more;
    }

    /// One run of many is done.
    fn run_done(&self) {}
}

/// Nobody.
impl Watch for () {}
