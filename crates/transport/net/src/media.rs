//! What a program sends.

use headway_media::QueueMethod;
use headway_units::{Duration, MediaKind};

/// A datagram that is to go. `Media { priority: 1, ..Media::new(&bytes) }` is one of less urgency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Media<'a> {
    /// The bytes, as many as [`Connection::largest`](crate::Connection::largest) at most.
    pub payload: &'a [u8],
    /// What it is.
    pub kind: MediaKind,
    /// Which goes first: 0 before 1 before 2.
    pub priority: u8,
    /// After how long, from now on, it is of no more use to the receiver: it is not sent if it would arrive later. `None`: it
    /// waits for as long as it takes.
    pub expires: Option<Duration>,
    /// Its queueing method, such as `QueueMethod::named("sfdps1")?`: how it is ordered, what it does to a full queue, and what happens when it is late.
    /// `None`: the method that [`Options::queue`](crate::Options::queue) has for its kind, or the queue's own.
    pub method: Option<QueueMethod>,
}

impl<'a> Media<'a> {
    /// Data of the first priority, of use for ever.
    #[must_use]
    pub const fn new(payload: &'a [u8]) -> Self {
        Self { payload, kind: MediaKind::Data, priority: 0, expires: None, method: None }
    }
}
