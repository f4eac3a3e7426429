//! Who sees what goes through a proxy.

use super::emulator::Way;
use headway_units::{DropCause, Instant};

/// A datagram on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Which of the proxy's doors it goes through: 0 is the first.
    pub door: usize,
    /// Which way it goes.
    pub way: Way,
    /// What it counts on the link.
    pub bytes: u32,
    /// When it came to the link.
    pub came: Instant,
}

/// Hears what becomes of each datagram, in the order in which it happens, by the proxy's clock.
pub trait Watch {
    /// It has come to the link.
    fn came(&mut self, seen: &Seen);
    /// It has been sent on at `now`.
    fn left(&mut self, now: Instant, seen: &Seen);
    /// The link has dropped it at `at`.
    fn dropped(&mut self, at: Instant, seen: &Seen, cause: DropCause);
}

/// Nobody does.
impl Watch for () {
    fn came(&mut self, _: &Seen) {}
    fn left(&mut self, _: Instant, _: &Seen) {}
    fn dropped(&mut self, _: Instant, _: &Seen, _: DropCause) {}
}
