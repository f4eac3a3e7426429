//! Where a connection takes its data from.

use headway_units::Instant;

/// The application's data, bound as late as possible: which datagram goes is decided at the instant at which the controller
/// lets one go.
pub trait Outbox {
    /// Bytes of the datagram that would go now, or `None` if there is none. Zero bytes are a datagram too.
    fn next_len(&mut self, now: Instant) -> Option<usize>;

    /// Takes that datagram out. What is longer than [`next_len`](Self::next_len) said is cut off.
    fn take(&mut self, now: Instant) -> &[u8];
}

/// An application without data.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoData;

impl Outbox for NoData {
    fn next_len(&mut self, _: Instant) -> Option<usize> {
        None
    }
    fn take(&mut self, _: Instant) -> &[u8] {
        &[]
    }
}
