//! Outcomes of the datagrams of a [`MediaOutbox`](super::MediaOutbox), and payloads of those given up.

use super::positions::{Position, Positions};
use crate::{DeliveryOrder, DropCode};
use headway_media::{Media, Unsent};
use headway_units::{Duration, Instant, SendDrop, Seq48};
use std::collections::VecDeque;

/// Maximum number of payloads kept for polling. One call may give up a whole queue of a thousand.
const MAX_GIVEN_UP: usize = 1024;
/// Maximum number of outcomes kept for polling. One report may settle the 32,384 packets of two Ack Vector options.
const MAX_FATES: usize = 1 << 16;

/// Transmission or outcome of a datagram. Each transmission is reported as [`Sent`](Self::Sent). The last report is the
/// outcome: one of the other variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The datagram was sent in the packet with this number. With `resend` it may be sent again.
    Sent(Seq48),
    /// The send queue dropped the datagram: it was never sent, or was lost and not sent again.
    Unsent {
        /// Reason for which it was not sent (again).
        cause: SendDrop,
        /// Estimated time from the expiry of the datagram to its arrival, had it been sent; zero if it could still have
        /// arrived on time.
        lateness: Duration,
    },
    /// The datagram was received by the peer (RFC 4340 section 11.4), without a report that its data was dropped; or it
    /// was lost, and the peer received enough packets to restore it ([`Fec`](crate::Fec)).
    Delivered,
    /// The datagram was received by the peer, but not by its application (Data Dropped, RFC 4340 section 11.7):
    /// mostly [`DropCode::RECEIVE_BUFFER`], as the application did not read in time, or
    /// [`DropCode::APPLICATION_NOT_LISTENING`].
    Dropped(DropCode),
    /// The peer reported the datagram missing and three later packets received; with `resend`, it was then too late to
    /// send it again. A later arrival does not change this.
    Lost,
    /// The datagram was sent, and its outcome is unknown. The peer's reports no longer cover it, the peer sends no Ack
    /// Vectors, or the connection is closed.
    Unknown,
    /// The program [removed](super::MediaOutbox::drain) the datagram before it was sent.
    Withdrawn,
}

impl Fate {
    /// Returns whether this is the last report about the datagram.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        !matches!(self, Self::Sent(_))
    }
}

/// Datagram that will not arrive, as far as the sender knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GivenUp<T> {
    /// The datagram was never sent.
    Unsent(Unsent<T>),
    /// The datagram was sent and lost, and it is too late to send it again.
    Lost(Media<T>),
}

/// Payload with the number returned by [`MediaOutbox::push`](super::MediaOutbox::push).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pushed<T> {
    /// Number of the datagram, from 0 on.
    pub id: u64,
    /// Position of the datagram in its stream, the datagrams of its priority, if it was sent and may be sent again.
    pub position: Option<Position>,
    /// Payload that was pushed.
    pub payload: T,
}

/// Outcomes and payloads that have not been polled.
#[derive(Debug)]
pub(super) struct Outcomes<T> {
    given_up: VecDeque<GivenUp<T>>,
    fates: Option<VecDeque<(u64, Fate)>>,
    positions: Positions,
    has_dropped: bool,
}

impl<T> Outcomes<T> {
    pub(super) fn new() -> Self {
        Self { given_up: VecDeque::new(), fates: None, positions: Positions::default(), has_dropped: false }
    }
    pub(super) fn follow(&mut self) {
        self.fates.get_or_insert_default();
    }
    pub(super) const fn are_followed(&self) -> bool {
        self.fates.is_some()
    }

    /// Returns the position of a datagram for its transmission. If it cannot be sent again, later datagrams do not wait
    /// for it, nor for those that expire before `until`.
    pub(super) fn order(&mut self, media: &mut Media<Pushed<T>>, may_return: bool, until: Instant) -> DeliveryOrder {
        let Media { payload, priority, expires, .. } = media;
        let known = payload.position.filter(|position| self.positions.has_index(*position));
        let position = known.unwrap_or_else(|| self.positions.assign(*priority, *expires));
        payload.position = Some(position);
        if !may_return {
            self.positions.settle(position);
        }
        self.positions.order(position, until)
    }

    /// Records the final outcome of a datagram in flight.
    pub(super) fn settle(&mut self, id: u64, position: Option<Position>, fate: Fate) {
        self.record(id, fate);
        if let Some(position) = position {
            self.positions.settle(position);
        }
    }

    pub(super) fn record(&mut self, id: u64, fate: Fate) {
        if let Some(fates) = &mut self.fates {
            keep(fates, (id, fate), MAX_FATES);
        }
    }
    pub(super) fn unsent(&mut self, unsent: Unsent<Pushed<T>>) {
        let Unsent { media, cause, lateness } = unsent;
        self.has_dropped = true;
        self.settle(media.payload.id, media.payload.position, Fate::Unsent { cause, lateness });
        let media = media.map(|pushed| pushed.payload);
        keep(&mut self.given_up, GivenUp::Unsent(Unsent { media, cause, lateness }), MAX_GIVEN_UP);
    }
    /// Returns whether the queue has dropped a datagram since the last call.
    pub(super) const fn take_dropped(&mut self) -> bool {
        std::mem::replace(&mut self.has_dropped, false)
    }
    pub(super) fn lost(&mut self, media: Media<Pushed<T>>) {
        self.settle(media.payload.id, media.payload.position, Fate::Lost);
        keep(&mut self.given_up, GivenUp::Lost(media.map(|pushed| pushed.payload)), MAX_GIVEN_UP);
    }

    pub(super) fn poll_given_up(&mut self) -> Option<GivenUp<T>> {
        self.given_up.pop_front()
    }
    pub(super) fn poll_fate(&mut self) -> Option<(u64, Fate)> {
        self.fates.as_mut()?.pop_front()
    }
}

fn keep<E>(waiting: &mut VecDeque<E>, one: E, most: usize) {
    if waiting.len() == most {
        waiting.pop_front();
    }
    waiting.push_back(one);
}
