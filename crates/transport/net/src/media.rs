//! A datagram that the program sends.

use headway_media::QueueMethod;
use headway_units::{Duration, MediaKind};

/// Datagram to send. `Media { priority: 1, ..Media::new(&bytes) }` has a lower priority than the default, 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Media<'a> {
    /// Bytes of the datagram, at most [`Connection::largest`](crate::Connection::largest).
    pub payload: &'a [u8],
    /// Kind of the media.
    pub kind: MediaKind,
    /// Priority; 0 is sent before 1, and 1 before 2.
    pub priority: u8,
    /// Lifetime, from the call of [`Connection::send`](crate::Connection::send). The default send queue drops a
    /// datagram that would arrive later; if all queued datagrams would be late, it sends the one that expires last.
    /// `None`: the datagram does not expire.
    pub expires: Option<Duration>,
    /// Queueing method, such as `QueueMethod::named("sfdps1")?`: the order, the discard rule of a full queue and the
    /// rule for late datagrams. `None`: the method that [`Options::queue`](crate::Options::queue) has for this kind of
    /// media, or else that of the queue. Must be `None` with the default queue, `sure-first`.
    pub method: Option<QueueMethod>,
}

impl<'a> Media<'a> {
    /// Creates a datagram of kind Data and priority 0 that does not expire.
    #[must_use]
    pub const fn new(payload: &'a [u8]) -> Self {
        Self { payload, kind: MediaKind::Data, priority: 0, expires: None, method: None }
    }
}
