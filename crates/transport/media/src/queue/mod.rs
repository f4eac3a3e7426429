//! Send queues: they store packets and select the next one to send.
//!
//! A send queue makes four decisions, each in a separate file: the [order](Order) of packets, the behavior when the
//! queue is [full](Full), the behavior for packets that would arrive [late](Late), and the estimate of the path
//! [delay](Travel). A [kind](SendQueueOptions) is a named combination of the four.
//!
//! The packet is selected when the controller permits a transmission: [`SendQueue::next`] only inspects,
//! [`SendQueue::dequeue`] selects and drops. Lost packets may be [enqueued again](SendQueue::report).

mod departure;
mod eviction;
mod external;
mod full;
mod kinds;
mod late;
mod media;
mod method;
mod named;
mod order;
mod resend;
mod rules;
mod travel;
mod waiting;

pub use external::{Decisions, ExternalQueue, WaitingPacket};
pub use full::Full;
pub use kinds::SendQueueOptions;
pub use late::Late;
pub use media::{Lost, Media, NextMedia, Unsent};
pub use method::{KindMethods, QueueMethod};
pub use order::Order;
pub use resend::{Outstanding, ReportedFate, ReportedPackets};
pub use rules::Rules;
pub use travel::Travel;

use crate::queue::departure::{Choice, first_sendable, surest_packet};
use crate::queue::external::External;
use crate::queue::travel::PathDelay;
use crate::queue::waiting::Waiting;
use headway_units::{Bytes, Duration, Instant, SendDrop};

/// Send queue of any kind. Independent of protocol, clock and sockets; polled by a pacer.
///
/// Report each measured round trip ([`on_round_trip`](Self::on_round_trip)), and the controller's smoothed one if there
/// is one ([`set_round_trip`](Self::set_round_trip)). Before the first one, only expired
/// packets are late.
///
/// ```
/// use headway_media::{Media, SendQueue, SendQueueOptions};
/// use headway_units::{Bytes, Dialect, Duration, Instant, MediaKind, QueueSize, Registry, SendDrop};
///
/// let mut options = SendQueueOptions::preset("sfdps1", Dialect::Rfc).unwrap();
/// options.rules.limit = QueueSize::Packets(5);
/// options.check()?;
/// let mut queue = SendQueue::new(&options);
///
/// // A video and an audio packet, both of use for 200 ms, with their bytes.
/// let at = Instant::from_millis;
/// let media = |kind, priority, bytes: &[u8]| Media {
///     kind,
///     priority,
///     expires: Some(at(200)),
///     ..Media::new(at(0), bytes.to_vec())
/// };
/// let mut unsent = Vec::new();
/// queue.enqueue(at(0), media(MediaKind::Video, 1, &[7; 500]), &mut |packet| unsent.push(packet));
/// queue.enqueue(at(0), media(MediaKind::Audio, 0, &[8; 160]), &mut |packet| unsent.push(packet));
/// queue.on_round_trip(Duration::from_millis(80));
///
/// // The pacer permits a packet: audio, although it was enqueued second.
/// assert_eq!(queue.dequeue(at(10), &mut |packet| unsent.push(packet)).unwrap().payload, [8; 160]);
/// // At 170 ms the video would arrive at 210 ms, too late: it waits, but is not sent.
/// let next = queue.next(at(170)).unwrap();
/// assert_eq!((next.size, next.age), (Bytes::new(500), Duration::from_millis(170)));
/// assert_eq!(queue.dequeue(at(170), &mut |packet| unsent.push(packet)), None);
/// // The payload of a dropped packet is returned to the program.
/// assert_eq!((unsent[0].cause, unsent[0].lateness), (SendDrop::Expired, Duration::from_millis(10)));
/// assert_eq!(unsent[0].media.payload, [7; 500]);
/// # Ok::<(), headway_units::OptionError>(())
/// ```
///
/// **Payloads.** Each [enqueued](Self::enqueue) payload is returned exactly once: by [`dequeue`](Self::dequeue) or in
/// [`Unsent`]. Any type is allowed.
///
/// With `resend`, report the number of each packet sent ([`sent`](Self::sent)), including its payload, and the arrivals
/// ([`report`](Self::report)). The payload of a lost packet is enqueued again or returned as [`Lost::Late`]. The
/// payload of a packet that was received, or whose fate is unknown, is dropped.
#[derive(Debug)]
pub struct SendQueue<T = ()> {
    rules: Rules,
    /// Maximum number of waiting packets when a packet without a method arrives, for any limit.
    most: usize,
    waiting: Waiting<T>,
    /// Whether a message can have a separate method.
    accepts_methods: bool,
    /// Whether the messages of some kind have a method.
    kinds_have_methods: bool,
    /// Whether a message with a separate method was enqueued.
    has_methods: bool,
    path: PathDelay,
    /// Sent packets, with `resend`.
    outstanding: Option<Outstanding<Media<T>>>,
    /// External decisions, which replace the rules.
    external: Option<External>,
}

impl<T> SendQueue<T> {
    /// Creates an empty queue.
    #[must_use]
    pub fn new(options: &SendQueueOptions) -> Self {
        Self {
            rules: options.rules.clone(),
            most: options.rules.max_waiting(),
            waiting: Waiting::new(options.rules.limit),
            accepts_methods: options.accepts_methods(),
            kinds_have_methods: !options.rules.methods.is_empty(),
            has_methods: false,
            path: PathDelay::default(),
            outstanding: options.rules.resend.then(Outstanding::default),
            external: options.external(),
        }
    }

    /// Enqueues a packet at `now`. If the queue is full, drops packets by its rules, possibly the new one, and calls
    /// `unsent` for each.
    #[inline]
    pub fn enqueue(&mut self, now: Instant, mut media: Media<T>, unsent: &mut impl FnMut(Unsent<T>)) {
        self.set_method(&mut media);
        let (method, most) = match media.method {
            None => (self.rules.method(), self.most),
            Some(method) => (method, Rules::max_before(method)),
        };
        if self.waiting.has_room(media.size, most) || self.makes_room(now, &media, method, most, unsent) {
            self.waiting.insert(media, |media| self.rules.key(method.order, media));
        } else {
            let lateness = media.lateness(now, self.travel(now));
            unsent(Unsent { media, cause: SendDrop::Refused, lateness });
        }
    }

    /// Assigns the method of its kind to a message without a method.
    #[inline]
    fn set_method(&mut self, media: &mut Media<T>) {
        if !self.accepts_methods {
            media.method = None;
        } else if media.method.is_none() && self.kinds_have_methods {
            media.method = self.rules.methods.of(media.kind);
        }
        self.has_methods |= media.method.is_some();
    }

    /// Drops packets until `media` fits, if possible. Returns whether it fits.
    #[cold]
    #[inline(never)]
    fn makes_room(
        &mut self,
        now: Instant,
        media: &Media<T>,
        method: QueueMethod,
        most: usize,
        unsent: &mut impl FnMut(Unsent<T>),
    ) -> bool {
        let travel = self.travel(now);
        let mut victims = Vec::new();
        // A method that searches drops nothing from a queue longer than it may search.
        let could_hold = self.waiting.could_hold(media.size) && self.waiting.len() <= most;
        while !self.waiting.has_room(media.size, most) {
            let find_victim = || match &self.external {
                Some(external) => external.victim(&self.waiting, media, now, travel),
                None => method.full.victim(&self.waiting, media, now, travel),
            };
            let index = could_hold.then(find_victim).flatten();
            let Some(victim) = index.and_then(|index| Some((index, self.waiting.take(index)?))) else {
                // Dropping these would not make enough room: restore them.
                victims.into_iter().rev().for_each(|(index, victim)| self.waiting.put_back(index, victim));
                return false;
            };
            victims.push(victim);
        }
        for (_, victim) in victims {
            let lateness = victim.media.lateness(now, travel);
            unsent(Unsent { media: victim.media, cause: SendDrop::PushedOut, lateness });
        }
        true
    }

    /// Returns information about the packet that would be sent at `now`, or about the first one if none would be sent;
    /// `None` if the queue is empty.
    #[inline]
    #[must_use]
    pub fn next(&self, now: Instant) -> Option<NextMedia> {
        let index = if self.sends_head() { 0 } else { self.choose(now).map_or(0, |choice| choice.chosen) };
        let media = self.waiting.get(index)?;
        let (size, age, expires) = (media.size, now.since(media.created), media.expires);
        Some(NextMedia { size, waiting: self.bytes(), age, expires, ends_frame: media.ends_frame() })
    }

    /// Removes the packet to send at `now`. Calls `unsent` for each packet dropped before it. Returns `None` if no
    /// packet waits, all were dropped as late, or an external queue chooses none.
    #[inline]
    pub fn dequeue(&mut self, now: Instant, unsent: &mut impl FnMut(Unsent<T>)) -> Option<Media<T>> {
        if self.sends_head() {
            if self.rules.discard_spends && !self.is_empty() {
                self.path.on_send(now);
            }
            return self.waiting.remove(0);
        }
        self.dequeue_chosen(now, unsent)
    }

    /// Removes the packet to send if lateness matters.
    #[inline(never)]
    fn dequeue_chosen(&mut self, now: Instant, unsent: &mut impl FnMut(Unsent<T>)) -> Option<Media<T>> {
        let travel = self.travel(now);
        let choice = self.choose(now);
        let chosen = choice.and_then(|choice| self.waiting.remove(choice.chosen));
        if chosen.is_some() {
            self.path.on_send(now);
        }
        if let Some(external) = &self.external {
            if chosen.is_some() {
                external.discard(&mut self.waiting, now, travel, unsent);
            }
            return chosen;
        }
        let skipped = choice.map_or(self.waiting.len(), |choice| choice.skipped);
        let rules = &self.rules;
        let dropped = |media: &Media<T>| rules.late_of(media).discards() && !media.lateness(now, travel).is_zero();
        for media in self.waiting.remove_of_first(skipped, dropped) {
            let lateness = media.lateness(now, travel);
            unsent(Unsent { media, cause: SendDrop::Expired, lateness });
        }
        chosen
    }

    /// Returns whether the first packet is sent: late packets are sent, or were [dropped](Self::discard_head) before.
    #[inline]
    fn sends_head(&self) -> bool {
        self.rules.late == Late::Send && !self.has_methods || self.rules.discard_spends
    }

    /// Drops the first packet if it is late and its drop consumes the permission to send ([`Rules::discard_spends`]).
    /// Returns whether it did. Call it before each [`dequeue`](Self::dequeue), and report a drop to the controller as a
    /// discard.
    #[inline]
    pub fn discard_head(&mut self, now: Instant, unsent: &mut impl FnMut(Unsent<T>)) -> bool {
        self.rules.discard_spends && self.discards_head(now, unsent)
    }

    fn discards_head(&mut self, now: Instant, unsent: &mut impl FnMut(Unsent<T>)) -> bool {
        let Some(head) = self.waiting.get(0) else { return false };
        let (late, lateness) = (self.rules.late_of(head), head.lateness(now, self.travel(now)));
        let is_kept = late == Late::DiscardUnlessLast && self.waiting.len() == 1;
        if is_kept || !late.discards() || lateness.is_zero() {
            return false;
        }
        let Some(media) = self.waiting.remove(0) else { return false };
        unsent(Unsent { media, cause: SendDrop::Expired, lateness });
        true
    }

    /// Selects the packet to send if lateness matters.
    fn choose(&self, now: Instant) -> Option<Choice> {
        if let Some(external) = &self.external {
            let chosen = external.choose(&self.waiting, now, self.travel(now))?;
            return Some(Choice { chosen, skipped: 0 });
        }
        if self.rules.late == Late::SureFirst {
            return surest_packet(&self.waiting, now, self.travel(now), self.path.mean_deviations(self.rules.margin));
        }
        first_sendable(&self.waiting, |media| self.rules.late_of(media), now, self.travel(now))
    }

    /// Records the packet number under which a [dequeued](Self::dequeue) packet was sent. With the option `resend`,
    /// keeps the packet as long as it may be sent again. Numbers increase, with gaps for packets without data.
    #[inline]
    pub fn sent(&mut self, number: u64, media: Media<T>) {
        if let Some(outstanding) = &mut self.outstanding {
            outstanding.sent(number, media);
        }
    }

    /// Returns whether the queue sends lost packets again (option `resend`) and therefore needs
    /// [reports](Self::report).
    #[inline]
    #[must_use]
    pub fn resends(&self) -> bool {
        self.outstanding.is_some()
    }

    /// Processes a receiver's report of arrivals. A packet that it shows lost is [enqueued](Self::enqueue) again if it
    /// can still arrive on time. Calls `lost` for each lost packet. Calls `unsent` for each packet that a full queue
    /// drops to enqueue it, or for the lost packet itself if the queue refuses it. The caller must ensure that no
    /// unsent number is reported as received.
    pub fn report(
        &mut self,
        now: Instant,
        reports: impl IntoIterator<Item = ReportedPackets>,
        lost: &mut impl FnMut(Lost<'_, T>),
        unsent: &mut impl FnMut(Unsent<T>),
    ) {
        let Some(outstanding) = &mut self.outstanding else { return };
        let found = outstanding.report(now, reports);
        found.into_iter().for_each(|media| self.send_again(now, media, lost, unsent));
    }

    /// Enqueues a lost packet again if it can still arrive on time. Calls `lost` for it. Calls `unsent` for each packet
    /// that a full queue drops to enqueue it, or for the lost packet itself if the queue refuses it. For transports
    /// that track [outstanding](Outstanding) packets themselves instead of calling [`report`](Self::report).
    pub fn send_again(
        &mut self,
        now: Instant,
        media: Media<T>,
        lost: &mut impl FnMut(Lost<'_, T>),
        unsent: &mut impl FnMut(Unsent<T>),
    ) {
        if media.lateness(now, self.travel(now)).is_zero() {
            lost(Lost::Returns(&media));
            self.enqueue(now, media, unsent);
        } else {
            lost(Lost::Late(media));
        }
    }

    /// Sets the round trip smoothed by the controller. The queue then uses it in place of the mean of the samples of
    /// [`on_round_trip`](Self::on_round_trip).
    #[inline]
    pub fn set_round_trip(&mut self, rtt: Duration) {
        self.path.set_round_trip(rtt);
    }

    /// Adds a round-trip sample to the mean deviation and the minimum, and to the mean, which is used unless
    /// [`set_round_trip`](Self::set_round_trip) was called.
    #[inline]
    pub fn on_round_trip(&mut self, sample: Duration) {
        self.path.on_round_trip(sample);
    }

    /// Adds a sample of the one-way delay to the receiver, measured with synchronized clocks.
    pub fn on_one_way_delay(&mut self, sample: Duration) {
        self.path.on_one_way_delay(sample);
    }

    /// Returns the estimated one-way path delay of a packet sent now.
    #[must_use]
    pub fn travel(&self, now: Instant) -> Duration {
        self.rules.travel.estimate(&self.path, self.rules.rtt_share, now)
    }

    /// Returns the number of waiting packets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Returns the size of the data of all waiting packets, without headers.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.waiting.bytes()
    }

    /// Removes and returns all waiting packets in sending order, including late ones.
    pub fn drain(&mut self) -> Vec<Media<T>> {
        self.waiting.remove_of_first(self.waiting.len(), |_| true)
    }

    /// Returns whether no packet waits.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.len() == 0
    }
}
