//! A send queue as a connection's outbox: which datagram goes is decided when the controller lets one go, by the queue's rules.

mod fates;

pub use fates::{Fate, GivenUp, Pushed};

use crate::{Arrivals, Connection, Outbox};
use fates::Ends;
use headway_media::{
    Framing, Lost, Media, MediaHeader, NextMedia, Outstanding, SendQueue, SendQueueOptions, Settled, Told, Unsent,
};
use headway_rate::{Arrival, Next, Run};
use headway_units::{Bytes, Duration, Instant, SendDrop, Seq48};
use std::ops::Range;

/// What a report tells of the packets from number `newest` downwards, in a send queue's words. A run that goes below 0 ends there.
pub fn told(newest: u64, runs: &[Run]) -> impl Iterator<Item = Told> {
    let mut next = Some(newest);
    runs.iter().map_while(move |run| {
        let last = next?;
        next = last.checked_sub(run.packets);
        let first = next.map_or(0, |next| next.saturating_add(1));
        Some(Told { numbers: first..=last, received: run.arrival != Arrival::NotReceived })
    })
}

/// What a send queue says of the packet that would go, in a controller's words.
#[must_use]
pub fn next_of(media: NextMedia) -> Next {
    let NextMedia { size, waiting, age, expires, ends_frame } = media;
    let mut next = Next::new(size);
    (next.waiting, next.age, next.expires, next.ends_frame) = (waiting, age, expires, ends_frame);
    next
}

/// The outbox of a program that sends media: datagrams wait in a [`SendQueue`] until the connection's controller lets one go.
///
/// The program hands datagrams over by [`push`](Self::push), and gives this outbox to [`Connection::poll_transmit`]. It tells it of two
/// things more: under which number each packet went ([`sent`](Outbox::sent)), and that something has come ([`heard`](Outbox::heard)). The
/// payloads of datagrams that never went, or were lost for good, come back by [`poll_given_up`](Self::poll_given_up).
///
/// ```
/// use headway_dccp::{Connection, Decoded, GivenUp, MediaOutbox, Outbox, Packet};
/// use headway_media::{Media, SendQueueOptions};
/// use headway_units::{Dialect, Duration, Ecn, Instant, MediaKind, Registry, SendDrop};
///
/// /// Everything that the connection has to say now.
/// fn drain(now: Instant, connection: &mut Connection, outbox: &mut MediaOutbox<Vec<u8>>, send: fn(&Packet<'_>)) {
///     while let Some(out) = connection.poll_transmit(now, outbox) {
///         let number = out.packet.seq;
///         send(&out.packet);
///         outbox.sent(number);
///     }
/// }
///
/// /// A packet has come.
/// fn handle(now: Instant, connection: &mut Connection, outbox: &mut MediaOutbox<Vec<u8>>, packet: &Decoded<'_>) {
///     connection.handle(now, Ecn::NotEct, packet);
///     outbox.heard(now, connection);
/// }
///
/// let options = SendQueueOptions::preset("sfdps1", Dialect::Rfc).unwrap();
/// let mut outbox = MediaOutbox::new(&options);
/// // A picture and, behind it, sound; both are of use for 200 ms.
/// let now = Instant::from_secs(1);
/// let expires = Some(now + Duration::from_millis(200));
/// outbox.push(now, Media { kind: MediaKind::Video, priority: 1, expires, ..Media::new(now, vec![7; 1000]) });
/// outbox.push(now, Media { kind: MediaKind::Audio, priority: 0, expires, ..Media::new(now, vec![8; 160]) });
///
/// // What a connection does when a datagram may go: sound goes first.
/// assert_eq!(outbox.take(now), Some(&[8; 160][..]));
/// // The next may go when the picture is of no more use.
/// assert_eq!(outbox.take(now + Duration::from_millis(201)), None);
/// let Some(GivenUp::Unsent(unsent)) = outbox.poll_given_up() else { panic!() };
/// assert_eq!((unsent.media.payload, unsent.cause), (vec![7; 1000], SendDrop::Expired));
/// ```
///
/// Where the queue's rules say `resend`, what the peer's Ack Vectors show lost waits again, if it can still arrive in time. Who
/// [follows](Self::follow) its datagrams hears by [`poll_fate`](Self::poll_fate) what became of each, by the number that `push` gave it.
/// Without Ack Vectors (RFC 4340 section 11.4; with CCID 3 unless they are [asked for](crate::CcidController::ack_vectors)) nothing is ever
/// found lost or delivered, and the newest 32,384 would be kept for nothing: leave both out there.
///
/// A datagram is at most as long as [`Status::maximum_packet_size`](crate::Status::maximum_packet_size), or goes in fragments. What no
/// packet can carry the connection refuses, and says so ([`Event::DatagramTooLarge`](crate::Event::DatagramTooLarge)).
#[derive(Debug)]
pub struct MediaOutbox<T> {
    queue: SendQueue<Pushed<T>>,
    framing: Framing,
    /// How many were handed over.
    pushed: u64,
    /// The datagram that goes.
    taken: Option<Media<Pushed<T>>>,
    /// The number from which packets are counted.
    first: Option<Seq48>,
    outstanding: Outstanding<Flying<T>>,
    ends: Ends<T>,
}

/// A datagram that went. It is kept where it may have to go again.
#[derive(Debug)]
struct Flying<T> {
    id: u64,
    /// That of its packet, counted from the first.
    number: u64,
    media: Option<Box<Media<Pushed<T>>>>,
}

impl<T: AsRef<[u8]>> MediaOutbox<T> {
    /// An empty outbox.
    #[must_use]
    pub fn new(options: &SendQueueOptions) -> Self {
        Self {
            queue: SendQueue::new(options),
            framing: Framing::default(),
            pushed: 0,
            taken: None,
            first: None,
            outstanding: Outstanding::default(),
            ends: Ends::new(),
        }
    }

    /// From now on [`poll_fate`](Self::poll_fate) tells what becomes of each datagram.
    #[must_use]
    pub fn follow(mut self) -> Self {
        self.ends.follow();
        self
    }

    /// The application hands over a datagram. Its size is that of the payload, whatever it says. A full queue gives it up, or another
    /// one for it. Returns the number by which [`poll_fate`](Self::poll_fate) names it: 0, 1 and so on.
    pub fn push(&mut self, now: Instant, media: Media<T>) -> u64 {
        let (id, size) = (self.pushed, Bytes::new(media.payload.as_ref().len() as u64));
        self.pushed += 1;
        let Self { queue, ends, .. } = self;
        let media = Media { size, ..media }.map(|payload| Pushed { id, payload });
        queue.enqueue(now, media, &mut |unsent| ends.unsent(unsent));
        id
    }

    /// How many datagrams were handed over: the number of the next one.
    #[must_use]
    pub const fn pushed(&self) -> u64 {
        self.pushed
    }

    fn on_arrivals(&mut self, now: Instant, arrivals: &Arrivals<'_>) {
        let Arrivals { newest, runs, .. } = *arrivals;
        // What went before the first packet that we know of is none of ours.
        let Some(first) = self.first.filter(|first| !newest.is_before(*first)) else { return };
        let Self { queue, ends, outstanding, .. } = self;
        let told = told(newest.distance_from(first), runs);
        let mut lost = Vec::new();
        let dropped = |number: u64| {
            let packet = first + number;
            let covers = |&(newest, packets, _): &(Seq48, u64, _)| {
                !packet.is_after(newest) && newest.distance_from(packet) < packets
            };
            arrivals.dropped().find(covers).map(|(.., code)| code)
        };
        // What has expired could not be sent again.
        let waits = |flying: &Flying<T>| {
            flying.media.as_ref().is_some_and(|media| media.expires.is_none_or(|expires| expires >= now))
        };
        outstanding.settle(told, waits, &mut |Flying { id, number, media }, settled| match (settled, media) {
            (Settled::Lost, Some(media)) => lost.push(media),
            (Settled::Lost, None) => ends.tell(id, Fate::Lost),
            (Settled::Received, _) => ends.tell(id, dropped(number).map_or(Fate::Delivered, Fate::Dropped)),
            (Settled::Untold, _) => ends.tell(id, Fate::Unknown),
        });
        for media in lost {
            let (mut late, mut unsent) = (None, Vec::new());
            let mut found = |found: Lost<'_, Pushed<T>>| {
                if let Lost::Late(media) = found {
                    late = Some(media);
                }
            };
            queue.send_again(now, *media, &mut found, &mut |thrown| unsent.push(thrown));
            late.into_iter().for_each(|media| ends.lost(media));
            unsent.into_iter().for_each(|thrown| ends.unsent(thrown));
        }
    }

    /// The next datagram that was given up, the first one first. Ask after each call: of those that nobody asks for the last 1024 are
    /// kept.
    pub fn poll_given_up(&mut self) -> Option<GivenUp<T>> {
        self.ends.poll_given_up()
    }

    /// What has become of a datagram, by the number that [`push`](Self::push) gave it, in the order in which it was found. Nothing unless
    /// the outbox [follows](Self::follow). Ask after each call: of what nobody asks for the last 65,536 are kept.
    pub fn poll_fate(&mut self) -> Option<(u64, Fate)> {
        self.ends.poll_fate()
    }

    /// What waits comes back, in the order in which it would have gone: so at the end of a connection. Of what has gone no more will be
    /// told.
    pub fn drain(&mut self) -> Vec<Media<T>> {
        let Self { queue, ends, outstanding, .. } = self;
        outstanding.drain().for_each(|flying| ends.tell(flying.id, Fate::Unknown));
        let waiting = queue.drain().into_iter();
        let withdrawn = waiting.inspect(|media| ends.tell(media.payload.id, Fate::Withdrawn));
        withdrawn.map(|media| media.map(|pushed| pushed.payload)).collect()
    }

    /// What waits.
    #[must_use]
    pub const fn queue(&self) -> &SendQueue<Pushed<T>> {
        &self.queue
    }
}

impl MediaOutbox<Vec<u8>> {
    /// The application hands over a frame that may be larger than a packet. It goes in datagrams of at most `largest` bytes, of which each is a
    /// [`MediaHeader`] and a part of the frame, and of which each is given up by itself: the receiver reads them by
    /// [`MediaHeader::decode`] and has the frame again from a [`Reassembly`](headway_media::Reassembly) for its kind. `largest` is at most
    /// [`Status::maximum_packet_size`](crate::Status::maximum_packet_size) and at least 9; a frame of more than 65,536 datagrams is several. A queue that holds fewer datagrams than a frame has never
    /// brings it whole: its `limit` is to be larger than the largest frame. Returns the numbers of its datagrams.
    pub fn push_frame(&mut self, now: Instant, frame: Media<impl AsRef<[u8]>>, largest: usize) -> Range<u64> {
        let first = self.pushed;
        let Media { payload, kind, priority, created, expires, method, .. } = frame;
        let room = largest.saturating_sub(MediaHeader::LEN).max(1);
        let mut rest = payload.as_ref();
        loop {
            let (part, behind) = rest.split_at(room.min(rest.len()));
            rest = behind;
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
        let (id, resends) = (media.payload.id, self.queue.resends());
        self.ends.tell(id, Fate::Sent(number));
        if resends || self.ends.are_followed() {
            let media = resends.then(|| Box::new(media));
            let number = number.distance_from(first);
            let forgotten = self.outstanding.push(number, Flying { id, number, media });
            forgotten.into_iter().for_each(|flying| self.ends.tell(flying.id, Fate::Unknown));
        }
    }

    /// The program has it back.
    fn too_large(&mut self) {
        if let Some(media) = self.taken.take() {
            self.ends.unsent(Unsent { media, cause: SendDrop::Refused, lateness: Duration::ZERO });
        }
    }

    /// Takes what the packet has told: the [round trip](Connection::take_rtt_sample), and where packets may be sent again or are followed
    /// the [arrivals](Connection::take_arrivals).
    fn heard(&mut self, now: Instant, connection: &mut Connection) {
        if let Some(sample) = connection.take_rtt_sample() {
            self.queue.on_round_trip(sample);
            if let Some(smoothed) = connection.status().rtt {
                self.queue.set_round_trip(smoothed);
            }
        }
        if (self.queue.resends() || self.ends.are_followed())
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
        let Self { queue, ends, .. } = self;
        queue.discard_head(now, &mut |unsent| ends.unsent(unsent))
    }

    fn take(&mut self, now: Instant) -> Option<&[u8]> {
        let Self { queue, taken, ends, .. } = self;
        *taken = queue.dequeue(now, &mut |unsent| ends.unsent(unsent));
        taken.as_ref().map(|media| media.payload.payload.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DropCode, DropRun};
    use headway_units::{Dialect, Duration, MediaKind, Registry, SendDrop};

    const CAME: Arrival = Arrival::Received;
    const MISSING: Arrival = Arrival::NotReceived;

    fn runs(runs: &[(Arrival, u64)]) -> Vec<Run> {
        runs.iter().map(|&(arrival, packets)| Run { arrival, packets }).collect()
    }

    /// RFC 4340 section 11.4: from the acknowledgement number downwards. A marked packet has come. Below the first number nothing is told.
    #[test]
    fn runs_go_downwards() {
        let all = [(CAME, 2), (MISSING, 3), (Arrival::Marked, 1), (MISSING, u64::MAX), (CAME, 5)];
        let numbers: Vec<_> = told(10, &runs(&all)).map(|told| (told.numbers, told.received)).collect();
        assert_eq!(numbers, [(9..=10, true), (6..=8, false), (5..=5, true), (0..=4, false)]);
        let to_the_end: Vec<_> = told(1, &runs(&[(CAME, 2), (MISSING, 1)])).map(|told| told.numbers).collect();
        assert_eq!(to_the_end, [0..=1]);
    }

    fn outbox(kind: &str, resend: bool) -> MediaOutbox<Vec<u8>> {
        let mut options = SendQueueOptions::preset(kind, Dialect::Rfc).unwrap();
        options.rules.resend = resend;
        MediaOutbox::new(&options)
    }

    const NOW: Instant = Instant::from_secs(1);

    fn came(newest: Seq48, runs: &[Run]) -> Arrivals<'_> {
        Arrivals { newest, runs, dropped: &[] }
    }

    /// Numbers wrap (RFC 4340 section 7.1): a datagram before the wrap is lost, three packets behind it have come.
    #[test]
    fn what_is_lost_waits_again() {
        let mut outbox = outbox("fifo", true);
        let newest = Seq48::new(1);
        for (number, byte) in [(newest - 4, None), (newest - 3, Some(3)), (newest - 2, Some(4)), (newest, Some(5))] {
            if let Some(byte) = byte {
                outbox.push(NOW, Media::new(NOW, vec![byte]));
                assert_eq!(outbox.take(NOW), Some(&[byte][..]));
            }
            outbox.sent(number);
        }
        outbox.on_arrivals(NOW, &came(newest, &runs(&[(CAME, 3), (MISSING, 1), (CAME, 1)])));
        assert_eq!(outbox.take(NOW), Some(&[3][..]));
        assert_eq!(outbox.take(NOW), None);
        assert_eq!(outbox.poll_given_up(), None);
    }

    /// A report of packets that went before those that the outbox knows tells nothing of these.
    #[test]
    fn what_went_before_the_first_is_of_no_account() {
        let mut outbox = outbox("fifo", true);
        outbox.push(NOW, Media::new(NOW, vec![1]));
        outbox.take(NOW);
        let first = Seq48::new(7);
        outbox.sent(first);
        outbox.on_arrivals(NOW, &came(first - 1, &runs(&[(CAME, 5)])));
        outbox.on_arrivals(NOW, &came(first, &runs(&[(MISSING, 1), (CAME, 5)])));
        assert!(outbox.queue().is_empty(), "nothing that went later has come");
        outbox.on_arrivals(NOW, &came(Seq48::new(10), &runs(&[(CAME, 3), (MISSING, 1)])));
        assert_eq!(outbox.queue().len(), 1);
    }

    /// Sent, lost and expired: the payload is the program's again. So is one that finds no room when it comes back.
    #[test]
    fn what_is_given_up_is_handed_back() {
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
        outbox.on_arrivals(later, &came(Seq48::new(4), &runs(&[(CAME, 3), (MISSING, 2)])));
        let Some(GivenUp::Lost(lost)) = outbox.poll_given_up() else { panic!("it has expired") };
        assert_eq!(lost.payload, [1]);
        let Some(GivenUp::Unsent(unsent)) = outbox.poll_given_up() else { panic!("there is no room") };
        assert_eq!((unsent.media.payload, unsent.cause), (vec![2], SendDrop::Refused));
        assert_eq!(outbox.poll_given_up(), None);
    }

    /// The connection cuts what is longer than it was told: the size is what there is.
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

    /// A frame of 20 bytes in datagrams of at most 18, 8 of them header: two of 10, and an empty frame is a datagram too.
    #[test]
    fn a_frame_is_cut_into_datagrams() {
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

    /// Whoever never asks what was given up does not fill the memory.
    #[test]
    fn what_nobody_asks_for_is_bounded() {
        let mut outbox = outbox("fifo", false);
        for n in 0..2000u16 {
            outbox.push(NOW, Media::new(NOW, n.to_be_bytes().to_vec()));
        }
        let given_up: Vec<_> = std::iter::from_fn(|| outbox.poll_given_up()).collect();
        let Some(GivenUp::Unsent(oldest)) = given_up.first() else { panic!("most were refused") };
        assert_eq!((given_up.len(), oldest.media.payload.as_slice()), (1024, &[3, 208][..]));
    }

    /// RFC 4340 section 11.7: data that the peer's program did not get was not delivered, though its packet has come.
    #[test]
    fn what_the_peers_program_did_not_get_was_dropped() {
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
        let runs = runs(&[(CAME, 5), (MISSING, 1)]);
        outbox.on_arrivals(NOW, &Arrivals { newest: Seq48::new(15), runs: &runs, dropped: &dropped });
        let ends = std::iter::from_fn(|| outbox.poll_fate()).map(|(_, fate)| fate).filter(Fate::is_final);
        let fates: Vec<Fate> = ends.collect();
        let buffer = Fate::Dropped(DropCode::RECEIVE_BUFFER);
        let expected = [Fate::Lost, Fate::Dropped(DropCode::CORRUPT), Fate::Delivered, buffer, buffer, Fate::Delivered];
        assert_eq!(fates, expected);
    }
}
