//! Send queue of a rate-controlled flow, with the state that the simulator keeps around it.

use crate::clocks::Meter;
use crate::network::finite_deadline;
use crate::observe::RoundTrip;
use headway_dccp::{next_of, reported_packets};
use headway_media::{Backlog, Framing, Lost, Media, SendQueueOptions, UdpOptions, Unsent, Write};
use headway_rate::{Next, Run};
use headway_units::{Bytes, Instant, MediaKind};

/// Backlog that no run exhausts, in packets.
const ENDLESS: u64 = u64::MAX / 2;

/// A send queue of packets cut from writes, or a backlog of full packets.
#[derive(Debug)]
pub(crate) struct SendQueue {
    cut: UdpOptions,
    framing: Framing,
    waiting: headway_media::SendQueue,
    backlog: u64,
    /// Sizes of the packets of a backlog, repeated cyclically; full packets if empty.
    sizes: Vec<Bytes>,
    next: usize,
    /// Size of the data of all packets that left, without headers.
    sent_bytes: u64,
    /// Discarded packets, packets found lost and whether they are retransmitted, and kind and creation time of the
    /// packet that left, since the last report.
    unsent: Vec<Unsent>,
    lost: Vec<(MediaKind, bool)>,
    left: Option<(MediaKind, Instant)>,
    /// Discarded packets for the observer, if it needs them.
    unreported: Option<Vec<Unsent>>,
}

impl SendQueue {
    /// Creates a queue that cuts writes as specified by `cut`.
    pub(crate) fn new(cut: UdpOptions, options: &SendQueueOptions) -> Self {
        Self {
            cut,
            framing: Framing::default(),
            waiting: headway_media::SendQueue::new(options),
            backlog: 0,
            sizes: Vec::new(),
            next: 0,
            sent_bytes: 0,
            unsent: Vec::new(),
            lost: Vec::new(),
            left: None,
            unreported: None,
        }
    }

    pub(crate) fn cut(&self) -> &UdpOptions {
        &self.cut
    }

    /// Returns the data size of a full packet.
    pub(crate) fn full(&self) -> Bytes {
        Bytes::new(self.cut.datagram.count() - self.cut.header.count())
    }

    /// Returns the size of the data of all waiting packets of writes, without headers.
    pub(crate) fn bytes(&self) -> Bytes {
        self.waiting.bytes()
    }

    /// Returns the size of the data of all packets that left, without headers.
    pub(crate) fn sent_bytes(&self) -> Bytes {
        Bytes::new(self.sent_bytes)
    }

    pub(crate) fn write(&mut self, now: Instant, write: &Write, meter: &mut Meter<'_>) {
        for media in write.packets(&self.cut, &mut self.framing) {
            let data = meter.data(&media);
            meter.flow.written(media.kind, finite_deadline(data.deadline));
            if let Some(frame) = data.begins() {
                meter.flow.frame_written(&frame);
            }
            meter.flow.queued(meter.time(now), media.kind);
            self.waiting.enqueue(now, media, &mut |unsent| self.unsent.push(unsent));
        }
        self.report(now, meter);
    }

    /// Reports lost, discarded and departed packets to the meter.
    #[inline]
    pub(crate) fn report(&mut self, now: Instant, meter: &mut Meter<'_>) {
        if let Some((kind, created)) = self.left.take() {
            let [now, created] = [now, created].map(|at| meter.time(at));
            meter.flow.left_send_queue(now, kind, now.since(created));
        }
        if !self.unsent.is_empty() || !self.lost.is_empty() {
            self.report_losses(now, meter);
        }
    }

    fn report_losses(&mut self, now: Instant, meter: &mut Meter<'_>) {
        for (kind, returns) in self.lost.drain(..) {
            meter.flow.found_lost(meter.time(now), kind, returns);
        }
        for Unsent { media, cause, lateness } in self.unsent.drain(..) {
            let lateness = meter.wait(now, lateness);
            meter.flow.unsent(meter.time(now), media.kind, cause, lateness);
            if let Some(unreported) = &mut self.unreported {
                unreported.push(Unsent { media, cause, lateness });
            }
        }
    }

    /// Keeps discarded packets for the observer from now on.
    pub(crate) fn keep_unsent(&mut self) {
        self.unreported.get_or_insert_default();
    }

    /// Returns discarded packets that the observer was not notified of, with lateness in true time.
    #[inline]
    pub(crate) fn unreported(&mut self) -> Option<&mut Vec<Unsent>> {
        self.unreported.as_mut().filter(|unreported| !unreported.is_empty())
    }

    pub(crate) fn set_backlog(&mut self, backlog: Backlog) {
        self.backlog = match backlog {
            Backlog::None => 0,
            Backlog::Segments(packets) => packets,
            Backlog::Endless => ENDLESS,
        };
    }

    pub(crate) fn set_backlog_sizes(&mut self, sizes: Vec<Bytes>) {
        self.sizes = sizes;
    }

    fn backlog_size(&self) -> Bytes {
        self.sizes.get(self.next).copied().unwrap_or_else(|| self.full())
    }

    #[inline]
    pub(crate) fn next(&self, now: Instant) -> Option<Next> {
        self.waiting.next(now).map(next_of).or_else(|| (self.backlog > 0).then(|| self.next_of_backlog()))
    }

    fn next_of_backlog(&self) -> Next {
        let mut next = Next::new(self.backlog_size());
        next.waiting = Bytes::new(self.full().count().saturating_mul(self.backlog));
        next.ends_frame = true;
        next
    }

    /// Discards the first packet if it is late and its discard uses up the permission to send. Returns whether it did.
    #[inline]
    pub(crate) fn discard_head(&mut self, now: Instant) -> bool {
        self.waiting.discard_head(now, &mut |unsent| self.unsent.push(unsent))
    }

    #[inline]
    pub(crate) fn take(&mut self, now: Instant) -> Option<Media> {
        if !self.waiting.is_empty() {
            let media = self.waiting.dequeue(now, &mut |unsent| self.unsent.push(unsent));
            self.left = media.map(|media| (media.kind, media.created));
            return media;
        }
        self.backlog = self.backlog.checked_sub(1)?;
        let size = self.backlog_size();
        self.next = if self.next + 1 < self.sizes.len() { self.next + 1 } else { 0 };
        let kind = MediaKind::Data;
        Some(Media { payload: (), size, kind, priority: 0, created: now, expires: None, fragment: None, method: None })
    }

    /// Records the number under which a packet was sent.
    #[inline]
    pub(crate) fn sent(&mut self, number: u64, media: Media) {
        self.sent_bytes += media.size.count();
        self.waiting.sent(number, media);
    }

    /// Returns whether the queue needs reports of arrivals, for retransmission.
    #[inline]
    pub(crate) fn resends(&self) -> bool {
        self.waiting.resends()
    }

    /// Handles a report of received and lost packets, from `acknowledged` downwards.
    pub(crate) fn on_arrivals(&mut self, now: Instant, acknowledged: u64, runs: &[Run]) {
        let mut lost = |lost: Lost<'_>| {
            self.lost.push(match lost {
                Lost::Returns(media) => (media.kind, true),
                Lost::Late(media) => (media.kind, false),
            });
        };
        let reported = reported_packets(acknowledged, runs);
        self.waiting.report(now, reported, &mut lost, &mut |unsent| self.unsent.push(unsent));
    }

    pub(crate) fn on_round_trip(&mut self, trip: &RoundTrip) {
        record_round_trip(&mut self.waiting, trip);
    }
}

pub(crate) fn record_round_trip<T>(queue: &mut headway_media::SendQueue<T>, trip: &RoundTrip) {
    queue.on_round_trip(trip.sample);
    if let Some(smoothed) = trip.smoothed {
        queue.set_round_trip(smoothed);
    }
    if let Some(one_way) = trip.one_way {
        queue.on_one_way_delay(one_way);
    }
}
