//! Events and their kinds and causes.

use headway_units::{DropCause, Duration, Instant, SendDrop};

/// Kind of acknowledgements and reports, which have no kind of media.
pub const FEEDBACK: &str = "feedback";

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventKind {
    /// A link, a host or an attacker dropped a packet.
    Drop,
    /// The retransmission or no-feedback timer of a sender expired.
    Timeout,
    /// A TCP retransmitted a segment because of acknowledgements.
    FastRetransmit,
    /// The sender of a rate controller received a report of a new loss event (losses or marks).
    LossEvent,
    /// A send queue discarded a packet before it was sent.
    Unsent,
    /// A packet arrived after its deadline.
    Late,
}

impl EventKind {
    /// All kinds, in the order of their codes.
    pub const ALL: [Self; 6] =
        [Self::Drop, Self::Timeout, Self::FastRetransmit, Self::LossEvent, Self::Unsent, Self::Late];

    /// Returns the name of this kind of event in `events.arrow`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Timeout => "timeout",
            Self::FastRetransmit => "fast-retransmit",
            Self::LossEvent => "loss-event",
            Self::Unsent => "unsent",
            Self::Late => "late",
        }
    }
}

/// Cause for which a packet was dropped, or was discarded before it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventCause {
    /// Cause for which a link, a host or an attacker dropped a packet.
    Drop(DropCause),
    /// Cause for which a send queue discarded a packet.
    Unsent(SendDrop),
}

impl EventCause {
    /// Returns the index of the name in [`names`](Self::names).
    pub(super) const fn code(self) -> u8 {
        match self {
            Self::Drop(cause) => cause as u8,
            Self::Unsent(cause) => DropCause::ALL.len() as u8 + cause as u8,
        }
    }

    /// Returns the names of all causes in the file.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> + Clone {
        DropCause::ALL.into_iter().map(DropCause::name).chain(SendDrop::ALL.into_iter().map(SendDrop::name))
    }
}

/// A row of `events.arrow`. Numbers are indices of [`EventNames`](super::EventNames).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time of the event.
    pub at: Instant,
    /// Kind of the event.
    pub kind: EventKind,
    /// Index of the entity at which the event occurred: a flow, link direction or node.
    pub entity: u32,
    /// Index of the flow that the event concerns.
    pub flow: u32,
    /// Index of the packet's kind (a kind of media, or feedback) in [`EventNames`](super::EventNames); `None` if the
    /// event concerns no packet.
    pub media: Option<u8>,
    /// Cause of a [`Drop`](EventKind::Drop) or [`Unsent`](EventKind::Unsent); `None` for other events.
    pub cause: Option<EventCause>,
    /// Sequence number of the packet; for a fast retransmit, that of the retransmitted segment. `None` if there is
    /// none.
    pub sequence: Option<u64>,
    /// Size of the packet in bytes, with the IP header; for an unsent packet, size of the application's data. `None` if
    /// the event concerns no packet.
    pub bytes: Option<u32>,
    /// Time by which a late packet missed its deadline, or an unsent one would have missed it if it had been sent (0 if
    /// it would not); `None` for other events.
    pub late: Option<Duration>,
}
