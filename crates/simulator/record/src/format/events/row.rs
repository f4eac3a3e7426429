//! An event.

use headway_units::{DropCause, Duration, Instant, SendDrop};

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventKind {
    /// A link, a host or an attacker let a packet go no further.
    Drop,
    /// A sender heard nothing for too long.
    Timeout,
    /// A TCP sent a segment again for what acknowledgements said.
    FastRetransmit,
    /// A rate controller's sender learned of losses or marks that count as one event.
    LossEvent,
    /// A send queue threw data away.
    Unsent,
    /// A packet came after its deadline.
    Late,
}

impl EventKind {
    /// Every one, in order.
    pub const ALL: [Self; 6] =
        [Self::Drop, Self::Timeout, Self::FastRetransmit, Self::LossEvent, Self::Unsent, Self::Late];

    /// As written in the file.
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

/// Why it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventCause {
    /// A packet was dropped.
    Drop(DropCause),
    /// Data was never sent.
    Unsent(SendDrop),
}

impl EventCause {
    /// Its place among [`names`](Self::names).
    pub(super) const fn code(self) -> u8 {
        match self {
            Self::Drop(cause) => cause as u8,
            Self::Unsent(cause) => DropCause::ALL.len() as u8 + cause as u8,
        }
    }

    /// As written in the file.
    pub(super) fn names() -> impl Iterator<Item = &'static str> + Clone {
        DropCause::ALL.into_iter().map(DropCause::name).chain(SendDrop::ALL.into_iter().map(SendDrop::name))
    }
}

/// A row of `events.arrow`. Numbers are places in [`EventNames`](super::EventNames).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Instant,
    /// What.
    pub kind: EventKind,
    /// Where.
    pub entity: u32,
    /// Whose it is.
    pub flow: u32,
    /// What the packet is, if it is about one.
    pub media: Option<u8>,
    /// Why, if there is something to tell.
    pub cause: Option<EventCause>,
    /// The packet's number, if it has one.
    pub sequence: Option<u64>,
    /// Its IP bytes; of what was never sent, the application's.
    pub bytes: Option<u32>,
    /// How late it came, or would have come.
    pub late: Option<Duration>,
}
