//! Send queue of a connection: reports outcomes to the program's mailbox and the allowed rate to its encoder.

use crate::mailbox::{Event, Mailbox};
use crate::media::Media;
use crate::qlog::Trace;
use headway_dccp::{Connection, DeliveryOrder, MediaOutbox, Outbox, Repair, RepairCounters};
use headway_rate::EncoderRate;
use headway_rate::{Next, Scale};
use headway_units::{Duration, Instant, Rate, Seq48};
use std::sync::Arc;

/// Longest wait for path MTU discovery, which ends within a few round trips. A client whose peer is silent stays in
/// PARTOPEN, in which no probes are sent.
const MAX_HOLD: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct ConnectionOutbox {
    queue: MediaOutbox<Vec<u8>>,
    encoder: EncoderRate,
    /// Last scale reported to the program.
    scale: Option<Scale>,
    mailbox: Arc<Mailbox>,
    /// Size of the largest datagram at the start, in bytes; 0 before the connection has begun.
    first_largest: u64,
    /// Whether path MTU discovery has ended.
    is_largest_confirmed: bool,
    /// Whether datagrams were queued before that, which may be too large.
    unchecked: bool,
    /// Time since when a large datagram has waited for that.
    held_since: Option<Instant>,
    /// Log of dropped datagrams.
    pub(crate) trace: Option<Trace>,
}

impl ConnectionOutbox {
    pub(crate) const fn new(queue: MediaOutbox<Vec<u8>>, encoder: EncoderRate, mailbox: Arc<Mailbox>) -> Self {
        Self {
            queue,
            encoder,
            scale: None,
            mailbox,
            first_largest: 0,
            is_largest_confirmed: false,
            unchecked: false,
            held_since: None,
            trace: None,
        }
    }

    /// Sets the size of the largest datagram at the start, in bytes.
    pub(crate) const fn begin(&mut self, largest: usize) {
        self.first_largest = largest as u64;
    }

    /// Records that path MTU discovery has ended.
    pub(crate) fn confirm_largest(&mut self) {
        self.is_largest_confirmed = true;
        self.mailbox.confirm_largest();
    }

    /// Returns the number in events of the next datagram.
    pub(crate) const fn pushed(&self) -> u64 {
        self.queue.pushed()
    }

    /// Queues a datagram.
    pub(crate) fn push(&mut self, now: Instant, media: &Media<'_>) {
        let Media { payload, kind, priority, expires, method } = *media;
        let expires = expires.map(|after| now + after);
        self.unchecked |= !self.is_largest_confirmed;
        let waiting = headway_media::Media::new(now, payload.to_vec());
        self.queue.push(now, headway_media::Media { kind, priority, expires, method, ..waiting });
        self.report_fates();
        self.report_backlog();
    }

    /// Discards datagrams that [`Connection::send`](crate::Connection::send) now refuses.
    fn discard_too_large(&mut self, now: Instant) {
        let largest = self.mailbox.largest() as u64;
        while self.queue.next(now).is_some_and(|next| next.size.count() > largest) {
            if self.queue.take(now).is_some() {
                self.queue.too_large();
            }
        }
        self.unchecked = !self.is_empty();
        self.report_fates();
        self.report_backlog();
    }

    fn report_backlog(&self) {
        let queue = self.queue.queue();
        self.mailbox.set_backlog(queue.len(), queue.bytes());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.queue().is_empty()
    }
    /// Returns whether nothing is left to send: neither datagrams nor repair packets.
    pub(crate) fn is_finished(&self) -> bool {
        self.is_empty() && !self.queue.has_repairs()
    }
    pub(crate) fn repair_counters(&self) -> RepairCounters {
        self.queue.repair_counters()
    }

    /// Ends the connection: queued datagrams are discarded, and the outcome of sent ones remains unknown.
    pub(crate) fn give_up(&mut self) {
        self.queue.drain();
        self.report_fates();
    }

    /// Prepares for another connection: queued datagrams stay, and the outcome of sent ones remains unknown.
    pub(crate) fn start_again(&mut self) {
        self.queue.start_again();
        (self.first_largest, self.is_largest_confirmed, self.held_since) = (0, false, None);
        self.unchecked = !self.is_empty();
        self.report_fates();
    }

    fn report_fates(&mut self) {
        // The payloads are not needed.
        while self.queue.poll_given_up().is_some() {}
        if let Some(first) = self.queue.poll_fate() {
            let Self { queue, mailbox, trace, .. } = self;
            let all = std::iter::once(first).chain(std::iter::from_fn(|| queue.poll_fate()));
            mailbox.publish(all.map(|(id, fate)| {
                if let Some(trace) = trace {
                    trace.fate(id, fate);
                }
                Event::Media(id, fate)
            }));
        }
    }
}

impl Outbox for ConnectionOutbox {
    fn next_len(&mut self, now: Instant) -> Option<usize> {
        self.next(now).map(|next| next.size.count() as usize)
    }
    fn next(&mut self, now: Instant) -> Option<Next> {
        if self.unchecked && self.is_largest_confirmed {
            self.discard_too_large(now);
        }
        let next = self.queue.next(now)?;
        if self.is_largest_confirmed || next.size.count() <= self.first_largest {
            return Some(next);
        }
        // It may fit once path MTU discovery has ended; datagrams after it wait, too.
        if now.since(*self.held_since.get_or_insert(now)) < MAX_HOLD {
            return None;
        }
        self.confirm_largest();
        self.next(now)
    }
    fn discard(&mut self, now: Instant) -> bool {
        let discarded = self.queue.discard(now);
        if discarded {
            self.report_fates();
            self.report_backlog();
        }
        discarded
    }
    fn take(&mut self, now: Instant) -> Option<&[u8]> {
        self.queue.take(now)
    }
    fn take_ordered(&mut self, now: Instant) -> Option<(&[u8], Option<DeliveryOrder>)> {
        self.queue.take_ordered(now)
    }
    fn next_repair(&mut self, now: Instant) -> Option<(Seq48, Repair)> {
        self.queue.next_repair(now)
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.queue.poll_timeout()
    }
    fn sent(&mut self, number: Seq48) {
        self.queue.sent(number);
        self.report_fates();
        self.report_backlog();
    }
    fn too_large(&mut self) {
        self.queue.too_large();
        self.report_fates();
    }
    fn has_outstanding(&self) -> bool {
        self.queue.has_outstanding()
    }
    fn packet_handled(&mut self, now: Instant, connection: &mut Connection) {
        self.queue.packet_handled(now, connection);
        self.timer_expired(now, connection);
    }
    /// Reports changes without a packet from the peer: expired datagrams, and the rate during an outage.
    fn timer_expired(&mut self, now: Instant, connection: &Connection) {
        self.queue.timer_expired(now, connection);
        self.report_fates();
        let Some(sender) = connection.sender_status() else { return };
        // Repair packets use a part of the allowed rate.
        let share = self.queue.media_share();
        let of_media = |rate: Rate| Rate::from_bits_per_second((rate.bits_per_second() as f64 * share) as u64);
        let target = if share < 1.0 { sender.target_rate.map(of_media) } else { sender.target_rate };
        if sender.is_rate_known()
            && let Some(rate) = self.encoder.update(now, target)
        {
            self.mailbox.publish([Event::Rate(rate)]);
        }
        let scale = connection.scale();
        if scale != self.scale {
            self.scale = scale;
            self.mailbox.publish(scale.map(Event::Scale));
        }
    }
}
