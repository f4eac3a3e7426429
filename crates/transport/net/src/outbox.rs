//! What a connection of this crate sends from: its send queue, which tells the program's mailbox what became of each datagram, and its encoder
//! what to produce.

use crate::encoder::EncoderRate;
use crate::mailbox::{Event, Mailbox};
use crate::media::Media;
use headway_dccp::{Connection, MediaOutbox, Outbox};
use headway_rate::{Next, Scale};
use headway_units::{Duration, Instant, Seq48};
use std::sync::Arc;

/// A path that is asked answers within a few round trips; a peer that says nothing at all leaves its client in PARTOPEN, where nobody asks.
const HOLD: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct LineOutbox {
    queue: MediaOutbox<Vec<u8>>,
    encoder: EncoderRate,
    /// The scale that the program has been notified of.
    scale: Option<Scale>,
    mailbox: Arc<Mailbox>,
    /// Bytes of the largest datagram that goes, before the program is told; 0 as long as nobody knows.
    first_largest: u64,
    /// Whether the path has been asked for more.
    is_known: bool,
    /// Some of what waits came before that.
    unchecked: bool,
    /// Since when something waits for that.
    held: Option<Instant>,
}

impl LineOutbox {
    pub(crate) const fn new(queue: MediaOutbox<Vec<u8>>, encoder: EncoderRate, mailbox: Arc<Mailbox>) -> Self {
        Self { queue, encoder, scale: None, mailbox, first_largest: 0, is_known: false, unchecked: false, held: None }
    }

    /// The connection begins, with packets that take so much.
    pub(crate) const fn begin(&mut self, largest: usize) {
        self.first_largest = largest as u64;
    }

    /// It is known how much a packet takes.
    pub(crate) fn know(&mut self) {
        self.is_known = true;
        self.mailbox.know();
    }

    /// The number under which events name it.
    pub(crate) fn push(&mut self, now: Instant, media: &Media<'_>) -> u64 {
        let Media { payload, kind, priority, expires, method } = *media;
        let expires = expires.map(|after| now + after);
        self.unchecked |= !self.is_known;
        let waiting = headway_media::Media::new(now, payload.to_vec());
        let id = self.queue.push(now, headway_media::Media { kind, priority, expires, method, ..waiting });
        self.tell_fates();
        self.tell_waiting();
        id
    }

    /// As [`Connection::send`](crate::Connection::send) refuses it once that is known.
    fn refuse_what_is_too_large(&mut self, now: Instant) {
        let largest = self.mailbox.largest() as u64;
        while self.queue.next(now).is_some_and(|next| next.size.count() > largest) {
            if self.queue.take(now).is_some() {
                self.queue.too_large();
            }
        }
        self.unchecked = !self.is_empty();
        self.tell_fates();
        self.tell_waiting();
    }

    fn tell_waiting(&self) {
        self.mailbox.set_waiting(self.queue.queue().len());
    }

    /// Nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.queue().is_empty()
    }

    /// The connection is over: nothing that waits will go, and of nothing that went more will be known.
    pub(crate) fn give_up(&mut self) {
        self.queue.drain();
        self.tell_fates();
    }

    fn tell_fates(&mut self) {
        // The payloads are not wanted back.
        while self.queue.poll_given_up().is_some() {}
        if let Some(first) = self.queue.poll_fate() {
            let Self { queue, mailbox, .. } = self;
            let all = std::iter::once(first).chain(std::iter::from_fn(|| queue.poll_fate()));
            mailbox.tell(all.map(|(id, fate)| Event::Media(id, fate)));
        }
    }
}

impl Outbox for LineOutbox {
    fn next_len(&mut self, now: Instant) -> Option<usize> {
        self.next(now).map(|next| next.size.count() as usize)
    }
    fn next(&mut self, now: Instant) -> Option<Next> {
        if self.unchecked && self.is_known {
            self.refuse_what_is_too_large(now);
        }
        let next = self.queue.next(now)?;
        if self.is_known || next.size.count() <= self.first_largest {
            return Some(next);
        }
        // It may yet go, once the path has answered: all that comes behind it waits, too.
        if now.since(*self.held.get_or_insert(now)) < HOLD {
            return None;
        }
        self.know();
        self.next(now)
    }
    fn discard(&mut self, now: Instant) -> bool {
        let discarded = self.queue.discard(now);
        if discarded {
            self.tell_fates();
            self.tell_waiting();
        }
        discarded
    }
    fn take(&mut self, now: Instant) -> Option<&[u8]> {
        self.queue.take(now)
    }
    fn sent(&mut self, number: Seq48) {
        self.queue.sent(number);
        self.tell_fates();
        self.tell_waiting();
    }
    fn too_large(&mut self) {
        self.queue.too_large();
        self.tell_fates();
    }
    fn packet_handled(&mut self, now: Instant, connection: &mut Connection) {
        self.queue.packet_handled(now, connection);
        self.timer_expired(now, connection);
    }
    /// Reports what changes without a packet from the peer: datagrams that expired, and the rate during an outage.
    fn timer_expired(&mut self, now: Instant, connection: &Connection) {
        self.tell_fates();
        let Some(sender) = connection.status().sender else { return };
        if let Some(rate) = self.encoder.update(now, sender.target_rate) {
            self.mailbox.tell([Event::Rate(rate)]);
        }
        let scale = connection.scale();
        if scale != self.scale {
            self.scale = scale;
            self.mailbox.tell(scale.map(Event::Scale));
        }
    }
}
