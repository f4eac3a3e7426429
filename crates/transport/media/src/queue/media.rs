//! What waits in a send queue, and what is told of it.

use super::QueueMethod;
use crate::Fragment;
use headway_units::{Bytes, Duration, Instant, MediaKind, SendDrop};

/// One packet's worth of data that waits to be sent, with the program's own `T`: its bytes, or a handle by which it finds them. The
/// queue never looks at it, and neither clones nor drops it while the packet waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Media<T = ()> {
    /// What the program wants back when the packet goes, or is thrown away. Nothing where only sizes matter.
    pub payload: T,
    /// The application's bytes in the packet, without headers.
    pub size: Bytes,
    /// What it is.
    pub kind: MediaKind,
    /// Which goes first where the queue may choose: 0 before 1 before 2.
    pub priority: u8,
    /// When the application handed it over.
    pub created: Instant,
    /// When it is of no more use to the receiver, if ever.
    pub expires: Option<Instant>,
    /// Which packet it is of which frame, of what the receiver plays as one. `None` where nobody knows of frames.
    pub fragment: Option<Fragment>,
    /// Its queueing method. `None`: that of its kind ([`Rules::methods`](crate::Rules::methods)), or of the queue.
    pub method: Option<QueueMethod>,
}

impl<T: AsRef<[u8]>> Media<T> {
    /// Bytes that were made `now`: data of priority 0, of use for ever, of no frame that is numbered. What is otherwise is said beside it:
    /// `Media { priority: 1, ..Media::new(now, bytes) }`.
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
    /// The same with another payload.
    #[must_use]
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Media<U> {
        let Self { payload, size, kind, priority, created, expires, fragment, method } = self;
        Media { payload: change(payload), size, kind, priority, created, expires, fragment, method }
    }

    /// How late it would come if it went now on a way that takes `travel`: nothing if it comes in time. To come at the very
    /// instant at which it expires is in time.
    #[must_use]
    pub fn lateness(&self, now: Instant, travel: Duration) -> Duration {
        self.expires.map_or(Duration::ZERO, |expires| (now + travel).since(expires))
    }

    /// Whether it is the last packet of its frame, as all are where nobody knows of frames.
    #[inline]
    #[must_use]
    pub fn ends_frame(&self) -> bool {
        self.fragment.is_none_or(|fragment| fragment.last)
    }
}

/// What a rate controller may know of what waits: the packet that would go, and how much there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextMedia {
    /// The data of the packet that would go.
    pub size: Bytes,
    /// The data of all that waits, that packet's included.
    pub waiting: Bytes,
    /// How long ago that packet was created.
    pub age: Duration,
    /// When it is of no more use, if ever.
    pub expires: Option<Instant>,
    /// Whether it is the last of its frame.
    pub ends_frame: bool,
}

/// A packet that was thrown away unsent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsent<T = ()> {
    /// The packet.
    pub media: Media<T>,
    /// Why.
    pub cause: SendDrop,
    /// How late it would have come, as far as the sender knew; nothing if it could still have come in time.
    pub lateness: Duration,
}

/// A packet that was sent and found lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost<'a, T = ()> {
    /// It goes back to the queue. If that has no room for it, it is [`Unsent`] next.
    Returns(&'a Media<T>),
    /// It could not come in time any more.
    Late(Media<T>),
}
