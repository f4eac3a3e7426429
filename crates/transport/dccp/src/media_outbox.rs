//! Send queue as a connection's outbox: the queue's rules select a datagram when the controller permits a transmission.

mod fates;
mod positions;

pub use fates::{Fate, GivenUp, Pushed};
pub use positions::Position;

use crate::{Arrivals, Connection, DeliveryOrder, Outbox};
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
    taken: Option<Media<Pushed<T>>>,
    first: Option<Seq48>,
    outstanding: Outstanding<InFlight<T>>,
    outcomes: Outcomes<T>,
}

/// Datagram in flight, with its media if it may be resent.
#[derive(Debug)]
struct InFlight<T> {
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
        }
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
        let Self { queue, outcomes, outstanding, .. } = self;
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
            in_flight.media.as_ref().is_some_and(|media| media.expires.is_none_or(|expires| expires >= now))
        };
        outstanding.settle(reported, waits, &mut |InFlight { id, number, position, media }, settled| {
            let fate = match (settled, media) {
                (ReportedFate::Lost, Some(media)) => return lost.push(media),
                (ReportedFate::Lost, None) => Fate::Lost,
                (ReportedFate::Received, _) => dropped(number).map_or(Fate::Delivered, Fate::Dropped),
                (ReportedFate::Unknown, _) => Fate::Unknown,
            };
            outcomes.settle(id, position, fate);
        });
        for media in lost {
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
        let Self { queue, outcomes, outstanding, .. } = self;
        outstanding.drain().for_each(|one| outcomes.settle(one.id, one.position, Fate::Unknown));
        let waiting = queue.drain().into_iter();
        let withdrawn = waiting.inspect(|media| outcomes.record(media.payload.id, Fate::Withdrawn));
        withdrawn.map(|media| media.map(|pushed| pushed.payload)).collect()
    }

    /// Prepares for another connection to the peer. Queued datagrams stay in the queue, and sent datagrams without an
    /// outcome get [`Fate::Unknown`].
    pub fn start_again(&mut self) {
        let Self { outcomes, outstanding, .. } = self;
        std::mem::take(outstanding).drain().for_each(|one| outcomes.settle(one.id, one.position, Fate::Unknown));
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
        let Some(media) = self.taken.take() else { return };
        let (Pushed { id, position, .. }, resends) = (&media.payload, self.queue.resends());
        let (id, position) = (*id, *position);
        self.outcomes.record(id, Fate::Sent(number));
        if resends || self.outcomes.are_followed() {
            let media = resends.then(|| Box::new(media));
            let number = number.distance_from(first);
            let forgotten = self.outstanding.push(number, InFlight { id, number, position, media });
            forgotten.into_iter().for_each(|one| self.outcomes.settle(one.id, one.position, Fate::Unknown));
        }
    }

    /// Returns the datagram to the program.
    fn too_large(&mut self) {
        if let Some(media) = self.taken.take() {
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
        if (self.queue.resends() || self.outcomes.are_followed())
            && let Some(arrivals) = connection.take_arrivals()
        {
            self.on_arrivals(now, &arrivals);
        }
    }

    fn next_len(&mut self, now: Instant) -> Option<usize> {
        self.queue.next(now).map(|next| next.size.count() as usize)
    }
    fn next(&mut self, now: Instant) -> Option<Next> {
        self.queue.next(now).map(next_of)
    }

    fn discard(&mut self, now: Instant) -> bool {
        let Self { queue, outcomes, .. } = self;
        queue.discard_head(now, &mut |unsent| outcomes.unsent(unsent))
    }

    fn has_outstanding(&self) -> bool {
        !self.outstanding.is_empty()
    }

    fn take(&mut self, now: Instant) -> Option<&[u8]> {
        let Self { queue, taken, outcomes, .. } = self;
        *taken = queue.dequeue(now, &mut |unsent| outcomes.unsent(unsent));
        taken.as_ref().map(|media| media.payload.payload.as_ref())
    }

    fn take_ordered(&mut self, now: Instant) -> Option<(&[u8], Option<DeliveryOrder>)> {
        self.take(now)?;
        let Self { queue, taken, outcomes, .. } = self;
        let media = taken.as_mut()?;
        let order = queue.resends().then(|| {
            // Nothing waits for a datagram in the last path delay of its lifetime: those after it would be late, too.
            let travel = queue.travel(now);
            // A loss is known one round trip after the transmission, and a retransmission then needs half of one.
            let may_return = media.expires.is_none_or(|expires| expires >= now + travel * 4);
            outcomes.order(media, may_return, now + travel * 2)
        });
        Some((media.payload.payload.as_ref(), order))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DropCode, DropRun};
    use headway_units::{Dialect, Duration, MediaKind, Registry, SendDrop};

    const RECEIVED: Arrival = Arrival::Received;
    const MISSING: Arrival = Arrival::NotReceived;

    fn runs(runs: &[(Arrival, u64)]) -> Vec<Run> {
        runs.iter().map(|&(arrival, packets)| Run { arrival, packets }).collect()
    }

    /// RFC 4340 section 11.4: runs extend from the acknowledgement number down. A marked packet was
    /// received. Numbers below 0 are not reported.
    #[test]
    fn runs_go_downwards() {
        let all = [(RECEIVED, 2), (MISSING, 3), (Arrival::Marked, 1), (MISSING, u64::MAX), (RECEIVED, 5)];
        let numbers: Vec<_> = reported_packets(10, &runs(&all)).map(|run| (run.numbers, run.received)).collect();
        assert_eq!(numbers, [(9..=10, true), (6..=8, false), (5..=5, true), (0..=4, false)]);
        let to_the_end: Vec<_> =
            reported_packets(1, &runs(&[(RECEIVED, 2), (MISSING, 1)])).map(|run| run.numbers).collect();
        assert_eq!(to_the_end, [0..=1]);
    }

    fn outbox(kind: &str, resend: bool) -> MediaOutbox<Vec<u8>> {
        let mut options = SendQueueOptions::preset(kind, Dialect::Rfc).unwrap();
        options.rules.resend = resend;
        MediaOutbox::new(&options)
    }

    const NOW: Instant = Instant::from_secs(1);

    fn arrivals_of(newest: Seq48, runs: &[Run]) -> Arrivals<'_> {
        Arrivals { newest, runs, dropped: &[] }
    }

    /// Numbers wrap (RFC 4340 section 7.1): a datagram before the wrap is lost, and three later packets were received.
    #[test]
    fn lost_datagrams_are_queued_again() {
        let mut outbox = outbox("fifo", true);
        let newest = Seq48::new(1);
        for (number, byte) in [(newest - 4, None), (newest - 3, Some(3)), (newest - 2, Some(4)), (newest, Some(5))] {
            if let Some(byte) = byte {
                outbox.push(NOW, Media::new(NOW, vec![byte]));
                assert_eq!(outbox.take(NOW), Some(&[byte][..]));
            }
            outbox.sent(number);
        }
        outbox.on_arrivals(NOW, &arrivals_of(newest, &runs(&[(RECEIVED, 3), (MISSING, 1), (RECEIVED, 1)])));
        assert_eq!(outbox.take(NOW), Some(&[3][..]));
        assert_eq!(outbox.take(NOW), None);
        assert_eq!(outbox.poll_given_up(), None);
    }

    /// A report about packets before the first known one is ignored.
    #[test]
    fn reports_about_earlier_packets_are_ignored() {
        let mut outbox = outbox("fifo", true);
        outbox.push(NOW, Media::new(NOW, vec![1]));
        outbox.take(NOW);
        let first = Seq48::new(7);
        outbox.sent(first);
        outbox.on_arrivals(NOW, &arrivals_of(first - 1, &runs(&[(RECEIVED, 5)])));
        outbox.on_arrivals(NOW, &arrivals_of(first, &runs(&[(MISSING, 1), (RECEIVED, 5)])));
        assert!(outbox.queue().is_empty(), "no later packet was received");
        outbox.on_arrivals(NOW, &arrivals_of(Seq48::new(10), &runs(&[(RECEIVED, 3), (MISSING, 1)])));
        assert_eq!(outbox.queue().len(), 1);
    }

    /// The payload of a lost and expired datagram is returned to the program, as is one that does
    /// not fit when it is queued again.
    #[test]
    fn given_up_datagrams_are_returned() {
        let mut options = SendQueueOptions::preset("sfdps2", Dialect::Rfc).unwrap();
        options.rules.resend = true;
        options.rules.limit = headway_units::QueueSize::Packets(1);
        let mut outbox = MediaOutbox::new(&options);
        let expires = |millis| Some(NOW + Duration::from_millis(millis));
        for (number, byte, millis) in [(0, 1, 50), (1, 2, 150)] {
            outbox.push(NOW, Media { expires: expires(millis), ..Media::new(NOW, vec![byte]) });
            outbox.take(NOW);
            outbox.sent(Seq48::new(number));
        }
        outbox.push(NOW, Media::new(NOW, vec![3]));
        let later = NOW + Duration::from_millis(100);
        outbox.on_arrivals(later, &arrivals_of(Seq48::new(4), &runs(&[(RECEIVED, 3), (MISSING, 2)])));
        let Some(GivenUp::Lost(lost)) = outbox.poll_given_up() else { panic!("it has expired") };
        assert_eq!(lost.payload, [1]);
        let Some(GivenUp::Unsent(unsent)) = outbox.poll_given_up() else { panic!("there is no room") };
        assert_eq!((unsent.media.payload, unsent.cause), (vec![2], SendDrop::Refused));
        assert_eq!(outbox.poll_given_up(), None);
    }

    /// The connection cuts off bytes beyond the reported size, so the size is that of the payload.
    #[test]
    fn the_size_is_that_of_the_payload() {
        let mut outbox = outbox("fifo", false);
        outbox.push(NOW, Media { size: Bytes::new(1), ..Media::new(NOW, vec![0; 100]) });
        outbox.push(NOW, Media { size: Bytes::new(100), ..Media::new(NOW, vec![]) });
        assert_eq!((outbox.next_len(NOW), outbox.queue().bytes()), (Some(100), Bytes::new(100)));
        assert_eq!(outbox.take(NOW).map(<[u8]>::len), Some(100));
        assert_eq!(outbox.next_len(NOW), Some(0));
        assert_eq!(outbox.take(NOW), Some(&[][..]));
        assert_eq!(outbox.next_len(NOW), None);
    }

    /// A frame of 20 bytes in datagrams of at most 18 with an 8-byte header: two of 10. An empty frame is one datagram.
    #[test]
    fn a_frame_is_split_into_datagrams() {
        let mut outbox = outbox("fifo", false);
        let frame: Vec<u8> = (100..120).collect();
        let expires = Some(NOW + Duration::from_secs(1));
        let video = Media { kind: MediaKind::Video, priority: 3, expires, ..Media::new(NOW, &frame) };
        outbox.push_frame(NOW, video, 18);
        outbox.push_frame(NOW, Media::new(NOW, []), 18);
        outbox.push_frame(NOW, Media { kind: MediaKind::Video, ..Media::new(NOW, [7]) }, 0);
        let next = outbox.next(NOW).unwrap();
        assert_eq!((next.expires, next.ends_frame), (expires, false));
        assert_eq!(outbox.take(NOW).unwrap(), [&[2, 3, 0, 0, 0, 0, 0, 0], &frame[..10]].concat());
        assert!(outbox.next(NOW).unwrap().ends_frame);
        assert_eq!(outbox.take(NOW).unwrap(), [&[0x82, 3, 0, 1, 0, 0, 0, 0], &frame[10..]].concat());
        assert_eq!(outbox.take(NOW).unwrap(), [0x80, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(outbox.take(NOW).unwrap(), [0x82, 0, 0, 0, 0, 0, 0, 1, 7]);
        assert_eq!(outbox.take(NOW), None);
    }

    /// Datagrams given up but not polled are bounded.
    #[test]
    fn unpolled_results_are_bounded() {
        let mut outbox = outbox("fifo", false);
        for n in 0..2000u16 {
            outbox.push(NOW, Media::new(NOW, n.to_be_bytes().to_vec()));
        }
        let given_up: Vec<_> = std::iter::from_fn(|| outbox.poll_given_up()).collect();
        let Some(GivenUp::Unsent(oldest)) = given_up.first() else { panic!("most were refused") };
        assert_eq!((given_up.len(), oldest.media.payload.as_slice()), (1024, &[3, 208][..]));
    }

    /// RFC 4340 section 11.7: data that did not reach the peer's application was not delivered,
    /// although its packet was received.
    #[test]
    fn dropped_data_of_the_peer_is_reported() {
        let mut outbox = outbox("fifo", false).follow();
        for number in 10..16u8 {
            outbox.push(NOW, Media::new(NOW, vec![number]));
            assert!(outbox.take(NOW).is_some());
            outbox.sent(Seq48::new(number.into()));
        }
        let run = |code, packets| DropRun { code, packets };
        let dropped = [
            run(None, 1),
            run(Some(DropCode::RECEIVE_BUFFER), 2),
            run(Some(DropCode::DELIVERED_CORRUPT), 1),
            run(Some(DropCode::CORRUPT), 1),
        ];
        let runs = runs(&[(RECEIVED, 5), (MISSING, 1)]);
        outbox.on_arrivals(NOW, &Arrivals { newest: Seq48::new(15), runs: &runs, dropped: &dropped });
        let outcomes = std::iter::from_fn(|| outbox.poll_fate()).map(|(_, fate)| fate).filter(Fate::is_final);
        let fates: Vec<Fate> = outcomes.collect();
        let buffer = Fate::Dropped(DropCode::RECEIVE_BUFFER);
        let expected = [Fate::Lost, Fate::Dropped(DropCode::CORRUPT), Fate::Delivered, buffer, buffer, Fate::Delivered];
        assert_eq!(fates, expected);
    }
}
