//! The packets of a send queue, and reports about them.

use super::QueueMethod;
use crate::Fragment;
use headway_units::{Bytes, Duration, Instant, MediaKind, SendDrop};

/// Packet that waits to be sent, with a payload `T` of the program: its bytes or a handle. The queue never inspects,
/// clones or drops the payload while the packet waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Media<T = ()> {
    /// Payload, returned to the program when the packet is sent or dropped. `()` if only sizes matter.
    pub payload: T,
    /// Size of the application's data, without headers.
    pub size: Bytes,
    /// Kind of media.
    pub kind: MediaKind,
    /// Priority; 0 is the most urgent.
    pub priority: u8,
    /// Time at which the application created the packet.
    pub created: Instant,
    /// Time after which the receiver cannot use the packet; `None` if there is no such time.
    pub expires: Option<Instant>,
    /// Frame and position of the packet in it. `None` if frames are not used.
    pub fragment: Option<Fragment>,
    /// Queueing method. `None` for the method of its kind of media ([`Rules::methods`](crate::Rules::methods)), or else
    /// of the queue.
    pub method: Option<QueueMethod>,
}

impl<T: AsRef<[u8]>> Media<T> {
    /// Creates a packet of data with priority 0, without expiry, frame or method. Set other fields with struct update
    /// syntax: `Media { priority: 1, ..Media::new(now, bytes) }`.
    #[must_use]
    pub fn new(now: Instant, payload: T) -> Self {
        let size = Bytes::new(payload.as_ref().len() as u64);
        Self {
            payload,
            size,
            kind: MediaKind::Data,
            priority: 0,
            created: now,
            expires: None,
            fragment: None,
            method: None,
        }
    }
}

impl<T> Media<T> {
    /// Returns the packet with its payload replaced by the result of `change`.
    #[must_use]
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Media<U> {
        let Self { payload, size, kind, priority, created, expires, fragment, method } = self;
        Media { payload: change(payload), size, kind, priority, created, expires, fragment, method }
    }

    /// Returns how long after its expiry the packet would arrive if it were sent now with a path delay of `travel`;
    /// zero if on time. An arrival exactly at the expiry is on time.
    #[must_use]
    pub fn lateness(&self, now: Instant, travel: Duration) -> Duration {
        self.expires.map_or(Duration::ZERO, |expires| (now + travel).since(expires))
    }

    /// Returns whether the packet is the last of its frame; true if frames are not used.
    #[inline]
    #[must_use]
    pub fn ends_frame(&self) -> bool {
        self.fragment.is_none_or(|fragment| fragment.last)
    }
}

/// Information about a send queue for a rate controller: the next packet and the amount of waiting data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextMedia {
    /// Size of the data in the next packet, without headers.
    pub size: Bytes,
    /// Size of the data in all waiting packets, including the next one, without headers.
    pub waiting: Bytes,
    /// Time since the application created the next packet.
    pub age: Duration,
    /// Time after which the receiver cannot use the next packet; `None` if there is no such time.
    pub expires: Option<Instant>,
    /// Whether the next packet is the last one of its frame.
    pub ends_frame: bool,
}

/// Packet that the send queue dropped instead of sending it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsent<T = ()> {
    /// The packet.
    pub media: Media<T>,
    /// Cause of the drop.
    pub cause: SendDrop,
    /// Estimated time from the expiry of the packet to its arrival, had it been sent; zero if it could still have
    /// arrived on time.
    pub lateness: Duration,
}

/// Packet that was sent and that reports show lost: whether it is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost<'a, T = ()> {
    /// The packet is enqueued again, to be sent again. If the full queue refuses it, it is reported as [`Unsent`] next.
    Returns(&'a Media<T>),
    /// The packet can no longer arrive on time and is not enqueued.
    Late(Media<T>),
}
