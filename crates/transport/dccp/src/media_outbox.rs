//! Send queue as a connection's outbox: the queue's rules select a datagram when the controller permits a transmission.

mod fates;
mod positions;

pub use fates::{Fate, GivenUp, Pushed};
pub use positions::Position;

use crate::fec::{Protector, Sent};
use crate::{Arrivals, Connection, DeliveryOrder, Fec, Outbox, Repair, RepairCounters};
use fates::Outcomes;
use headway_media::{
    Framing, Lost, Media, MediaHeader, NextMedia, Outstanding, ReportedFate, ReportedPackets, SendQueue,
    SendQueueOptions, Unsent,
};
use headway_rate::{Arrival, Next, Run};
use headway_units::{Bytes, Duration, Instant, SendDrop, Seq48};
use std::ops::Range;

/// Returns the reported packets from number `newest` down, in the form that a send queue expects. A run that would
/// extend below number 0 ends there.
pub fn reported_packets(newest: u64, runs: &[Run]) -> impl Iterator<Item = ReportedPackets> {
    let mut next = Some(newest);
    runs.iter().map_while(move |run| {
        let last = next?;
        next = last.checked_sub(run.packets);
        let first = next.map_or(0, |next| next.saturating_add(1));
        Some(ReportedPackets { numbers: first..=last, received: run.arrival != Arrival::NotReceived })
    })
}

/// Converts the information about the next packet of a send queue to the form that a rate controller expects.
#[must_use]
pub fn next_of(media: NextMedia) -> Next {
    let NextMedia { size, waiting, age, expires, ends_frame } = media;
    let mut next = Next::new(size);
    (next.waiting, next.age, next.expires, next.ends_frame) = (waiting, age, expires, ends_frame);
    next
}

/// Outbox of a program that sends media: datagrams wait in a [`SendQueue`] until the connection's controller permits
/// their transmission.
///
/// The program queues datagrams with [`push`](Self::push), and passes the outbox to [`Connection::poll_transmit`]. It
/// also reports the number of each packet sent ([`sent`](Outbox::sent)), and each handled packet
/// ([`packet_handled`](Outbox::packet_handled)). Payloads of datagrams that were never sent, or that were lost and are
/// not sent again, are returned by [`poll_given_up`](Self::poll_given_up).
///
/// ```
/// use headway_dccp::{Connection, Decoded, GivenUp, MediaOutbox, Outbox, Packet};
/// use headway_media::{Media, SendQueueOptions};
/// use headway_units::{Dialect, Duration, Ecn, Instant, MediaKind, Registry, SendDrop};
///
/// /// Sends all packets of the connection that are due.
/// fn drain(now: Instant, connection: &mut Connection, outbox: &mut MediaOutbox<Vec<u8>>, send: fn(&Packet<'_>)) {
///     while let Some(out) = connection.poll_transmit(now, outbox) {
///         let number = out.packet.seq;
///         send(&out.packet);
///         outbox.sent(number);
///     }
/// }
///
/// /// Handles a received packet.
/// fn handle(now: Instant, connection: &mut Connection, outbox: &mut MediaOutbox<Vec<u8>>, packet: &Decoded<'_>) {
///     connection.handle(now, Ecn::NotEct, packet);
///     outbox.packet_handled(now, connection);
/// }
///
/// let options = SendQueueOptions::preset("sfdps1", Dialect::Rfc).unwrap();
/// let mut outbox = MediaOutbox::new(&options);
/// // A video frame, then audio; both expire after 200 ms.
/// let now = Instant::from_secs(1);
/// let expires = Some(now + Duration::from_millis(200));
/// outbox.push(now, Media { kind: MediaKind::Video, priority: 1, expires, ..Media::new(now, vec![7; 1000]) });
/// outbox.push(now, Media { kind: MediaKind::Audio, priority: 0, expires, ..Media::new(now, vec![8; 160]) });
///
/// // The connection takes a datagram when it may be sent: audio first.
/// assert_eq!(outbox.take(now), Some(&[8; 160][..]));
/// // The next one may be sent after the video has expired.
/// assert_eq!(outbox.take(now + Duration::from_millis(201)), None);
/// let Some(GivenUp::Unsent(unsent)) = outbox.poll_given_up() else { panic!() };
/// assert_eq!((unsent.media.payload, unsent.cause), (vec![7; 1000], SendDrop::Expired));
/// ```
///
/// With the queue's rule `resend`, datagrams that the peer's Ack Vectors report as lost are queued again if they can
/// still arrive on time. If the program [follows](Self::follow) its datagrams, [`poll_fate`](Self::poll_fate) returns
/// the outcome of each, with the number returned by `push`. Both need Ack Vectors (RFC 4340 section 11.4; with CCID 3
/// they must be [requested](crate::CcidController::ack_vectors)). Without them no datagram is reported as lost or
/// delivered, and up to 32,384 are kept in vain.
///
/// A datagram above [`Status::maximum_packet_size`](crate::Status::maximum_packet_size) is sent in fragments. One that
/// exceeds any packet is refused with [`Event::DatagramTooLarge`](crate::Event::DatagramTooLarge).
#[derive(Debug)]
pub struct MediaOutbox<T> {
    queue: SendQueue<Pushed<T>>,
    framing: Framing,
    pushed: u64,
    taken: Option<TakenMedia<T>>,
    first: Option<Seq48>,
    outstanding: Outstanding<InFlight<T>>,
    outcomes: Outcomes<T>,
    /// `None` without forward error correction.
    protector: Option<Box<Protector<Datagram<T>>>>,
}

/// Datagram taken by the connection.
#[derive(Debug)]
struct TakenMedia<T> {
    media: Media<Pushed<T>>,
    at: Instant,
    /// Position that its packet has.
    order: Option<DeliveryOrder>,
}

/// Packet in flight: a datagram, or a repair packet.
#[derive(Debug)]
struct InFlight<T> {
    datagram: Option<Datagram<T>>,
    /// Block of forward error correction to which it belongs.
    block: Option<u64>,
}

/// Datagram in flight, with its media if it may be resent.
#[derive(Debug)]
struct Datagram<T> {
    id: u64,
    /// Number of its packet, counted from the first.
    number: u64,
    position: Option<Position>,
    media: Option<Box<Media<Pushed<T>>>>,
}

impl<T: AsRef<[u8]>> MediaOutbox<T> {
    /// Creates an empty outbox.
    #[must_use]
    pub fn new(options: &SendQueueOptions) -> Self {
        Self {
            queue: SendQueue::new(options),
            framing: Framing::default(),
            pushed: 0,
            taken: None,
            first: None,
            outstanding: Outstanding::default(),
            outcomes: Outcomes::new(),
            protector: None,
        }
    }

    /// Returns the outbox with forward error correction, if the peer
    /// [accepts](crate::ConnectionOptions::receive_repairs) repair packets. It protects datagrams that fit into a repair
    /// packet, 32 bytes less than the maximum packet size. Call [`poll_fate`](Self::poll_fate) or
    /// [`poll_given_up`](Self::poll_given_up) regularly.
    #[must_use]
    pub fn with_fec(mut self, fec: Fec) -> Self {
        self.protector = Protector::new(fec).map(Box::new);
        self
    }

    /// Returns the counters of repair packets; zeros without forward error correction.
    #[must_use]
    pub fn repair_counters(&self) -> RepairCounters {
        self.protector.as_ref().map_or_else(RepairCounters::default, |protector| protector.counters())
    }

    /// Returns the share of media among the packets that are sent, above 0 and up to 1: the rest are repair packets.
    #[must_use]
    pub fn media_share(&self) -> f64 {
        self.protector.as_ref().map_or(1.0, |protector| protector.media_share())
    }

    /// Returns whether repair packets wait, or will follow the datagrams that were sent last.
    #[must_use]
    pub fn has_repairs(&self) -> bool {
        self.protector.as_ref().is_some_and(|protector| protector.is_pending())
    }

    /// Returns the outbox with the reports of [`poll_fate`](Self::poll_fate) enabled: transmissions and outcome of each
    /// datagram.
    #[must_use]
    pub fn follow(mut self) -> Self {
        self.outcomes.follow();
        self
    }

    /// Queues a datagram. Its size is set to that of the payload. A full queue discards it, or another one in its
    /// favor. Returns its number for [`poll_fate`](Self::poll_fate): 0, 1 and so on.
    pub fn push(&mut self, now: Instant, media: Media<T>) -> u64 {
        let (id, size) = (self.pushed, Bytes::new(media.payload.as_ref().len() as u64));
        self.pushed += 1;
        let Self { queue, outcomes, .. } = self;
        let media = Media { size, ..media }.map(|payload| Pushed { id, position: None, payload });
        queue.enqueue(now, media, &mut |unsent| outcomes.unsent(unsent));
        id
    }

    /// Returns the number of datagrams pushed, which is the number of the next one.
    #[must_use]
    pub const fn pushed(&self) -> u64 {
        self.pushed
    }

    fn on_arrivals(&mut self, now: Instant, arrivals: &Arrivals<'_>) {
        let Arrivals { newest, runs, .. } = *arrivals;
        // Earlier packets did not carry our datagrams.
        let Some(first) = self.first.filter(|first| !newest.is_before(*first)) else { return };
        let Self { outcomes, outstanding, protector, .. } = self;
        let reported = reported_packets(newest.distance_from(first), runs);
        let mut lost = Vec::new();
        let dropped = |number: u64| {
            let packet = first + number;
            let covers = |&(newest, packets, _): &(Seq48, u64, _)| {
                !packet.is_after(newest) && newest.distance_from(packet) < packets
            };
            arrivals.dropped().find(covers).map(|(.., code)| code)
        };
        // Expired datagrams are not resent.
        let waits = |in_flight: &InFlight<T>| {
            let media = in_flight.datagram.as_ref().and_then(|datagram| datagram.media.as_ref());
            media.is_some_and(|media| media.expires.is_none_or(|expires| expires >= now))
        };
        outstanding.settle(reported, waits, &mut |InFlight { datagram, block }, settled| {
            let mut missing = None;
            if let Some(datagram) = datagram {
                match settled {
                    ReportedFate::Lost => missing = Some(datagram),
                    ReportedFate::Received => {
                        let fate = dropped(datagram.number).map_or(Fate::Delivered, Fate::Dropped);
                        outcomes.settle(datagram.id, datagram.position, fate);
                    }
                    ReportedFate::Unknown => outcomes.settle(datagram.id, datagram.position, Fate::Unknown),
                }
            }
            match protector {
                Some(protector) => lost.extend(protector.settle(block, settled, missing)),
                None => lost.extend(missing),
            }
        });
        lost.into_iter().for_each(|datagram| self.on_lost(now, datagram));
        self.settle_decided(now);
    }

    /// Handles a lost datagram that the receiver cannot restore: enqueues it again if it can still arrive on time.
    fn on_lost(&mut self, now: Instant, datagram: Datagram<T>) {
        let Self { queue, outcomes, .. } = self;
        let Some(media) = datagram.media else {
            return outcomes.settle(datagram.id, datagram.position, Fate::Lost);
        };
        let (mut late, mut unsent) = (None, Vec::new());
        let mut found = |found: Lost<'_, Pushed<T>>| {
            if let Lost::Late(media) = found {
                late = Some(media);
            }
        };
        queue.send_again(now, *media, &mut found, &mut |thrown| unsent.push(thrown));
        late.into_iter().for_each(|media| outcomes.lost(media));
        unsent.into_iter().for_each(|thrown| outcomes.unsent(thrown));
    }

    /// Handles the lost datagrams of which it is now known whether the receiver can restore them.
    fn settle_decided(&mut self, now: Instant) {
        while let Some((datagram, is_restored)) = self.protector.as_mut().and_then(|protector| protector.poll_decided())
        {
            if is_restored {
                self.outcomes.settle(datagram.id, datagram.position, Fate::Delivered);
            } else {
                self.on_lost(now, datagram);
            }
        }
    }

    /// Returns whether the peer's reports are needed: for retransmissions, outcomes or forward error correction.
    fn reads_arrivals(&self) -> bool {
        self.queue.resends() || self.outcomes.are_followed() || self.protector.is_some()
    }

    fn track(&mut self, number: u64, packet: InFlight<T>) {
        let Some(InFlight { datagram, block }) = self.outstanding.push(number, packet) else { return };
        if let Some(datagram) = datagram {
            self.outcomes.settle(datagram.id, datagram.position, Fate::Unknown);
        }
        if let (Some(protector), Some(block)) = (&mut self.protector, block) {
            protector.forget(block);
        }
    }

    /// Ends all datagrams in flight; their outcome remains unknown.
    fn forget_outstanding(&mut self) {
        let Self { outcomes, outstanding, protector, .. } = self;
        let in_flight = outstanding.drain().filter_map(|packet| packet.datagram);
        let undecided = protector.iter_mut().flat_map(|protector| protector.drain());
        in_flight.chain(undecided).for_each(|one| outcomes.settle(one.id, one.position, Fate::Unknown));
    }

    /// Returns the size of the next repair packet's data, if one is to be sent now.
    fn repair_len(&mut self, now: Instant) -> Option<usize> {
        let protector = self.protector.as_mut()?;
        if self.outcomes.take_dropped() {
            protector.on_drop(now);
        }
        let len = protector.next_len(now);
        self.settle_decided(now);
        len
    }

    /// Returns the next datagram that was given up, the oldest first. Call it after each call of another method: only
    /// the last 1024 are kept.
    pub fn poll_given_up(&mut self) -> Option<GivenUp<T>> {
        self.outcomes.poll_given_up()
    }

    /// Returns the next transmission or outcome of a datagram, with the number returned by [`push`](Self::push). `None`
    /// if there is no further one, or unless the outbox [follows](Self::follow) datagrams. Call it after each call of
    /// another method: only the last 65,536 are kept.
    pub fn poll_fate(&mut self) -> Option<(u64, Fate)> {
        self.outcomes.poll_fate()
    }

    /// Removes and returns the queued datagrams in sending order, at the end of a connection. Sent datagrams without an
    /// outcome get [`Fate::Unknown`].
    pub fn drain(&mut self) -> Vec<Media<T>> {
        self.forget_outstanding();
        let Self { queue, outcomes, .. } = self;
        let waiting = queue.drain().into_iter();
        let withdrawn = waiting.inspect(|media| outcomes.record(media.payload.id, Fate::Withdrawn));
        withdrawn.map(|media| media.map(|pushed| pushed.payload)).collect()
    }

    /// Prepares for another connection to the peer. Queued datagrams stay in the queue, and sent datagrams without an
    /// outcome get [`Fate::Unknown`].
    pub fn start_again(&mut self) {
        self.forget_outstanding();
        self.outstanding = Outstanding::default();
        self.first = None;
    }

    /// Returns the send queue.
    #[must_use]
    pub const fn queue(&self) -> &SendQueue<Pushed<T>> {
        &self.queue
    }
}

impl MediaOutbox<Vec<u8>> {
    /// Queues a media frame that may exceed a packet. It is split into datagrams of at most `largest` bytes, each a
    /// [`MediaHeader`] and a part of the frame, which are given up independently. The receiver decodes them with
    /// [`MediaHeader::decode`] and restores the frame with a [`Reassembly`](headway_media::Reassembly) for its kind.
    /// `largest` is at least 9 and at most [`Status::maximum_packet_size`](crate::Status::maximum_packet_size). A frame
    /// of more than 65,536 datagrams is split into several frames. The queue's `limit` must exceed the largest frame.
    /// Returns the numbers of its datagrams.
    pub fn push_frame(&mut self, now: Instant, frame: Media<impl AsRef<[u8]>>, largest: usize) -> Range<u64> {
        let first = self.pushed;
        let Media { payload, kind, priority, created, expires, method, .. } = frame;
        let room = largest.saturating_sub(MediaHeader::LEN).max(1);
        let mut rest = payload.as_ref();
        loop {
            let (part, after) = rest.split_at(room.min(rest.len()));
            rest = after;
            let fragment = self.framing.number(kind, rest.is_empty());
            let header = MediaHeader { fragment, kind, priority };
            let datagram = Media::new(created, [&header.to_bytes(), part].concat());
            self.push(now, Media { kind, priority, expires, method, fragment: Some(fragment), ..datagram });
            if rest.is_empty() {
                return first..self.pushed;
            }
        }
    }
}

impl<T: AsRef<[u8]>> Outbox for MediaOutbox<T> {
    fn sent(&mut self, number: Seq48) {
        let first = *self.first.get_or_insert(number);
        let place = number.distance_from(first);
        if let Some(block) = self.protector.as_mut().and_then(|protector| protector.sent(number)) {
            return self.track(place, InFlight { datagram: None, block });
        }
        let Some(TakenMedia { media, at, order }) = self.taken.take() else { return };
        let (Pushed { id, position, .. }, resends) = (&media.payload, self.queue.resends());
        let (id, position) = (*id, *position);
        self.outcomes.record(id, Fate::Sent(number));
        let block = self.protector.as_mut().and_then(|protector| {
            let sent = Sent { now: at, number, order, expires: media.expires, travel: self.queue.travel(at) };
            protector.protect(&sent, media.payload.payload.as_ref())
        });
        if self.reads_arrivals() {
            let media = resends.then(|| Box::new(media));
            let datagram = Datagram { id, number: place, position, media };
            self.track(place, InFlight { datagram: Some(datagram), block });
        }
    }

    /// Returns the datagram to the program.
    fn too_large(&mut self) {
        if let Some(protector) = &mut self.protector {
            protector.discard_taken();
        }
        if let Some(TakenMedia { media, .. }) = self.taken.take() {
            self.outcomes.unsent(Unsent { media, cause: SendDrop::Refused, lateness: Duration::ZERO });
        }
    }

    /// Reads the [round-trip sample](Connection::take_rtt_sample), and, if datagrams are resent or
    /// followed, the [arrivals](Connection::take_arrivals).
    fn packet_handled(&mut self, now: Instant, connection: &mut Connection) {
        if let Some(sample) = connection.take_rtt_sample() {
            self.queue.on_round_trip(sample);
            if let Some(smoothed) = connection.status().rtt {
                self.queue.set_round_trip(smoothed);
            }
        }
        if let Some(protector) = &mut self.protector {
            if protector.asks() {
                connection.request_repairs();
            }
            protector.set_path(
                connection.repair_packet_size(),
                connection.sender_status().and_then(|sender| sender.target_rate),
            );
        }
        if self.reads_arrivals()
            && let Some(arrivals) = connection.take_arrivals()
        {
            self.on_arrivals(now, &arrivals);
        }
    }

    fn next_len(&mut self, now: Instant) -> Option<usize> {
        if let Some(len) = self.repair_len(now) {
            return Some(len);
        }
        self.queue.next(now).map(|next| next.size.count() as usize)
    }
    fn next(&mut self, now: Instant) -> Option<Next> {
        if let Some(len) = self.repair_len(now) {
            let mut next = Next::new(Bytes::new(len as u64));
            next.waiting = Bytes::new(self.queue.bytes().count() + len as u64);
            return Some(next);
        }
        self.queue.next(now).map(next_of)
    }

    fn discard(&mut self, now: Instant) -> bool {
        if self.repair_len(now).is_some() {
            return false;
        }
        let Self { queue, outcomes, .. } = self;
        queue.discard_head(now, &mut |unsent| outcomes.unsent(unsent))
    }

    fn has_outstanding(&self) -> bool {
        !self.outstanding.is_empty()
    }

    fn take(&mut self, now: Instant) -> Option<&[u8]> {
        self.take_ordered(now).map(|(data, _)| data)
    }

    fn next_repair(&mut self, now: Instant) -> Option<(Seq48, Repair)> {
        self.repair_len(now)?;
        self.protector.as_ref()?.next_option()
    }

    fn take_ordered(&mut self, now: Instant) -> Option<(&[u8], Option<DeliveryOrder>)> {
        if self.repair_len(now).is_some() {
            return self.protector.as_mut()?.take().map(|data| (data, None));
        }
        let Self { queue, taken, outcomes, .. } = self;
        *taken = None;
        let mut media = queue.dequeue(now, &mut |unsent| outcomes.unsent(unsent))?;
        let order = queue.resends().then(|| {
            // Nothing waits for a datagram in the last path delay of its lifetime: those after it would be late, too.
            let travel = queue.travel(now);
            // A loss is known one round trip after the transmission, and a retransmission then needs half of one.
            let may_return = media.expires.is_none_or(|expires| expires >= now + travel * 4);
            outcomes.order(&mut media, may_return, now + travel * 2)
        });
        let TakenMedia { media, order, .. } = taken.insert(TakenMedia { media, at: now, order });
        Some((media.payload.payload.as_ref(), *order))
    }

    fn timer_expired(&mut self, now: Instant, _connection: &Connection) {
        // Ends a block also while nothing may be sent.
        self.repair_len(now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.protector.as_ref()?.poll_timeout()
    }
}
