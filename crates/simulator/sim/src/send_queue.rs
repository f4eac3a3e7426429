//! What a source has written and its carrier has not sent yet: a send queue, and what the simulator has around it.

use crate::clocks::Meter;
use crate::network::unless_far;
use crate::observe::RoundTrip;
use headway_dccp::{next_of, reported_packets};
use headway_media::{Backlog, Framing, Lost, Media, SendQueueOptions, UdpOptions, Unsent, Write};
use headway_rate::{Next, Run};
use headway_units::{Bytes, Instant, MediaKind};

/// Packets that no run ever sends.
const ENDLESS: u64 = u64::MAX / 2;

/// A send queue of one-packet pieces of what is written; or a backlog of full packets, of which there is always a next one.
#[derive(Debug)]
pub(crate) struct SendQueue {
    cut: UdpOptions,
    framing: Framing,
    waiting: headway_media::SendQueue,
    backlog: u64,
    /// What the packets of a backlog have, again and again; full ones if there is nothing here.
    sizes: Vec<Bytes>,
    next: usize,
    /// What was thrown away, what was found lost and whether it comes back, and when what left was written, since that was told.
    unsent: Vec<Unsent>,
    lost: Vec<(MediaKind, bool)>,
    left: Option<(MediaKind, Instant)>,
    /// What was thrown away, for who watches, if anybody is to be told.
    untold: Option<Vec<Unsent>>,
}

impl SendQueue {
    /// Writes are cut as `cut` says.
    pub(crate) fn new(cut: UdpOptions, options: &SendQueueOptions) -> Self {
        Self {
            cut,
            framing: Framing::default(),
            waiting: headway_media::SendQueue::new(options),
            backlog: 0,
            sizes: Vec::new(),
            next: 0,
            unsent: Vec::new(),
            lost: Vec::new(),
            left: None,
            untold: None,
        }
    }

    /// How writes are cut.
    pub(crate) fn cut(&self) -> &UdpOptions {
        &self.cut
    }

    /// The data of a full packet.
    pub(crate) fn full(&self) -> Bytes {
        Bytes::new(self.cut.datagram.count() - self.cut.header.count())
    }

    /// The source has written something.
    pub(crate) fn write(&mut self, now: Instant, write: &Write, meter: &mut Meter<'_>) {
        for media in write.packets(&self.cut, &mut self.framing) {
            let data = meter.data(&media);
            meter.flow.written(media.kind, unless_far(data.deadline));
            if let Some(frame) = data.begins() {
                meter.flow.frame_written(&frame);
            }
            meter.flow.queued(meter.time(now), media.kind);
            self.waiting.enqueue(now, media, &mut |unsent| self.unsent.push(unsent));
        }
        self.tell(now, meter);
    }

    /// Tells what was found lost, what was thrown away, and what left.
    #[inline]
    pub(crate) fn tell(&mut self, now: Instant, meter: &mut Meter<'_>) {
        if let Some((kind, created)) = self.left.take() {
            let [now, created] = [now, created].map(|at| meter.time(at));
            meter.flow.left_send_queue(now, kind, now.since(created));
        }
        if !self.unsent.is_empty() || !self.lost.is_empty() {
            self.tell_losses(now, meter);
        }
    }

    fn tell_losses(&mut self, now: Instant, meter: &mut Meter<'_>) {
        for (kind, returns) in self.lost.drain(..) {
            meter.flow.found_lost(meter.time(now), kind, returns);
        }
        for Unsent { media, cause, lateness } in self.unsent.drain(..) {
            let lateness = meter.wait(now, lateness);
            meter.flow.unsent(meter.time(now), media.kind, cause, lateness);
            if let Some(untold) = &mut self.untold {
                untold.push(Unsent { media, cause, lateness });
            }
        }
    }

    /// From now on somebody is to be told what was thrown away.
    pub(crate) fn tells_unsent(&mut self) {
        self.untold.get_or_insert_default();
    }

    /// What was thrown away that nobody was told of, its lateness in true time.
    #[inline]
    pub(crate) fn untold(&mut self) -> Option<&mut Vec<Unsent>> {
        self.untold.as_mut().filter(|untold| !untold.is_empty())
    }

    /// The source hands over a backlog.
    pub(crate) fn set_backlog(&mut self, backlog: Backlog) {
        self.backlog = match backlog {
            Backlog::None => 0,
            Backlog::Segments(packets) => packets,
            Backlog::Endless => ENDLESS,
        };
    }

    /// The packets of a backlog are to have these sizes.
    pub(crate) fn set_backlog_sizes(&mut self, sizes: Vec<Bytes>) {
        self.sizes = sizes;
    }

    fn backlog_size(&self) -> Bytes {
        self.sizes.get(self.next).copied().unwrap_or_else(|| self.full())
    }

    /// The packet that goes next.
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

    /// Throws the first packet away if it is late and its discard uses up the permission to send. Returns whether it did.
    #[inline]
    pub(crate) fn discard_head(&mut self, now: Instant) -> bool {
        self.waiting.discard_head(now, &mut |unsent| self.unsent.push(unsent))
    }

    /// Takes the packet that goes next, if one does.
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

    /// What was taken went under this number.
    #[inline]
    pub(crate) fn sent(&mut self, number: u64, media: Media) {
        self.waiting.sent(number, media);
    }

    /// Whether it is to hear of arrivals.
    #[inline]
    pub(crate) fn resends(&self) -> bool {
        self.waiting.resends()
    }

    /// The receiver has told of each packet from `acknowledged` down whether it has come.
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
        tell_round_trip(&mut self.waiting, trip);
    }
}

pub(crate) fn tell_round_trip<T>(queue: &mut headway_media::SendQueue<T>, trip: &RoundTrip) {
    queue.on_round_trip(trip.sample);
    if let Some(smoothed) = trip.smoothed {
        queue.set_round_trip(smoothed);
    }
    if let Some(one_way) = trip.one_way {
        queue.on_one_way_delay(one_way);
    }
}
