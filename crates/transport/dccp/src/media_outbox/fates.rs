//! What became of each datagram of a [`MediaOutbox`](super::MediaOutbox), for programs that ask, and the payloads of those that were given up.

use crate::DropCode;
use headway_media::{Media, Unsent};
use headway_units::{Duration, SendDrop, Seq48};
use std::collections::VecDeque;

/// Payloads that are kept for whoever asks what was given up: more than one call gives up. A queue that throws away keeps a thousand.
const MOST_GIVEN_UP: usize = 1024;
/// Fates that are kept for whoever asks: one report may settle the 32,384 packets of which two Ack Vector options tell.
const MOST_FATES: usize = 1 << 16;

/// What has happened to a datagram. Each has one end, which is the last that is told of it: all but [`Sent`](Self::Sent) are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It went on the packet of this number. With `resend` it may go again, under another.
    Sent(Seq48),
    /// It never went, or was lost and did not go again.
    Unsent {
        /// Why.
        cause: SendDrop,
        /// How late it would have come, as far as the sender knew; nothing if it could still have come in time.
        lateness: Duration,
    },
    /// The peer has received it (RFC 4340 section 11.4), and did not say that its program would not get it.
    Delivered,
    /// The peer has received it, and its program did not get it (Data Dropped, RFC 4340 section 11.7): mostly
    /// [`DropCode::RECEIVE_BUFFER`], as the program did not read in time, or [`DropCode::APPLICATION_NOT_LISTENING`].
    Dropped(DropCode),
    /// It went and had not come when three later packets had; with `resend`, and could not come in time any more. What comes later still
    /// stays lost.
    Lost,
    /// It went, and nobody will tell what became of it: the peer's reports no longer speak of it, it sends no Ack Vectors, or the
    /// connection is over.
    Unknown,
    /// The program has [taken it back](super::MediaOutbox::drain) before it went.
    Withdrawn,
}

impl Fate {
    /// Whether nothing more will be told of the datagram.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        !matches!(self, Self::Sent(_))
    }
}

/// A datagram that will not arrive, as far as the sender knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GivenUp<T> {
    /// It never went.
    Unsent(Unsent<T>),
    /// It went, was lost, and could not arrive in time any more.
    Lost(Media<T>),
}

/// A datagram's payload under the number that [`MediaOutbox::push`](super::MediaOutbox::push) gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pushed<T> {
    /// The first one's is 0, the next one's 1.
    pub id: u64,
    /// What the program handed over.
    pub payload: T,
}

/// What nobody has asked for yet.
#[derive(Debug)]
pub(super) struct Ends<T> {
    given_up: VecDeque<GivenUp<T>>,
    /// If somebody wants to know.
    fates: Option<VecDeque<(u64, Fate)>>,
}

impl<T> Ends<T> {
    pub(super) const fn new() -> Self {
        Self { given_up: VecDeque::new(), fates: None }
    }
    pub(super) fn follow(&mut self) {
        self.fates.get_or_insert_default();
    }
    pub(super) const fn are_followed(&self) -> bool {
        self.fates.is_some()
    }

    pub(super) fn tell(&mut self, id: u64, fate: Fate) {
        if let Some(fates) = &mut self.fates {
            keep(fates, (id, fate), MOST_FATES);
        }
    }
    pub(super) fn unsent(&mut self, unsent: Unsent<Pushed<T>>) {
        let Unsent { media, cause, lateness } = unsent;
        self.tell(media.payload.id, Fate::Unsent { cause, lateness });
        let media = media.map(|pushed| pushed.payload);
        keep(&mut self.given_up, GivenUp::Unsent(Unsent { media, cause, lateness }), MOST_GIVEN_UP);
    }
    pub(super) fn lost(&mut self, media: Media<Pushed<T>>) {
        self.tell(media.payload.id, Fate::Lost);
        keep(&mut self.given_up, GivenUp::Lost(media.map(|pushed| pushed.payload)), MOST_GIVEN_UP);
    }

    pub(super) fn poll_given_up(&mut self) -> Option<GivenUp<T>> {
        self.given_up.pop_front()
    }
    pub(super) fn poll_fate(&mut self) -> Option<(u64, Fate)> {
        self.fates.as_mut()?.pop_front()
    }
}

/// The newest so many.
fn keep<E>(waiting: &mut VecDeque<E>, one: E, most: usize) {
    if waiting.len() == most {
        waiting.pop_front();
    }
    waiting.push_back(one);
}
