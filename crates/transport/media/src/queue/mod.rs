//! What waits to be sent, and which of it goes next.
//!
//! A send queue is four decisions, each in its own file: in which [order](Order) packets go, what happens when the queue is
//! [full](Full), what happens to a packet that would come too [late](Late), and how long its way is taken to
//! [be](Travel). A [kind](SendQueueOptions) is a choice of the four under a name that the field knows.
//!
//! Which packet goes is decided when the controller lets one go, and not before: [`SendQueue::next`] only looks,
//! [`SendQueue::dequeue`] decides and throws away. What is lost on its way may [come back](SendQueue::report).

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

pub use external::{Decisions, ExternalQueue, Waits};
pub use full::Full;
pub use kinds::SendQueueOptions;
pub use late::Late;
pub use media::{Lost, Media, NextMedia, Unsent};
pub use method::{KindMethods, QueueMethod};
pub use order::Order;
pub use resend::{Outstanding, Settled, Told};
pub use rules::Rules;
pub use travel::Travel;

use crate::queue::departure::{Choice, first_to_go, surest};
use crate::queue::external::External;
use crate::queue::travel::Way;
use crate::queue::waiting::Waiting;
use headway_units::{Bytes, Duration, Instant, SendDrop};

/// A send queue of any kind. It knows no protocol, no clock and no socket: whoever paces packets asks it.
///
/// Tell it of round trips as they are measured ([`on_round_trip`](Self::on_round_trip), and
/// [`set_round_trip`](Self::set_round_trip) if somebody smooths them already): before the first one nothing is late unless it has
/// expired.
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
/// // The pacer lets a packet go: audio, although it came second.
/// assert_eq!(queue.dequeue(at(10), &mut |packet| unsent.push(packet)).unwrap().payload, [8; 160]);
/// // At 170 ms half of the round trip is too long: there is something that waits, and nothing that goes.
/// let next = queue.next(at(170)).unwrap();
/// assert_eq!((next.size, next.age), (Bytes::new(500), Duration::from_millis(170)));
/// assert_eq!(queue.dequeue(at(170), &mut |packet| unsent.push(packet)), None);
/// // The bytes of what was thrown away are the program's again.
/// assert_eq!((unsent[0].cause, unsent[0].lateness), (SendDrop::Expired, Duration::from_millis(10)));
/// assert_eq!(unsent[0].media.payload, [7; 500]);
/// # Ok::<(), headway_units::OptionError>(())
/// ```
///
/// **The payloads.** Each that is [handed over](Self::enqueue) waits until it is handed back, once: by [`dequeue`](Self::dequeue), or as
/// [`Unsent`]. Any type will do.
///
/// With `resend` the queue is also told under which number each packet went ([`sent`](Self::sent)), payload and all, and what has come
/// ([`report`](Self::report)). A payload that is found lost waits again, or is handed back as [`Lost::Late`]; that of a packet that has
/// come, or whose fate nobody tells, is dropped.
#[derive(Debug)]
pub struct SendQueue<T = ()> {
    rules: Rules,
    /// Packets that may wait, whatever the limit, when one without its own method arrives.
    most: usize,
    waiting: Waiting<T>,
    /// Whether a message can have its own method.
    accepts_methods: bool,
    /// Whether the messages of some kind have one.
    kinds_have_methods: bool,
    /// Whether a message with its own method has been handed over.
    has_methods: bool,
    way: Way,
    /// What was sent, where what is lost is sent again.
    outstanding: Option<Outstanding<Media<T>>>,
    /// Who decides in place of the rules.
    external: Option<External>,
}

impl<T> SendQueue<T> {
    /// An empty queue.
    #[must_use]
    pub fn new(options: &SendQueueOptions) -> Self {
        Self {
            rules: options.rules.clone(),
            most: options.rules.most_waiting(),
            waiting: Waiting::new(options.rules.limit),
            accepts_methods: options.accepts_methods(),
            kinds_have_methods: !options.rules.methods.is_empty(),
            has_methods: false,
            way: Way::default(),
            outstanding: options.rules.resend.then(Outstanding::default),
            external: options.external(),
        }
    }

    /// The application hands over a packet at `now`. `unsent` hears of each packet that is thrown away for it, itself perhaps.
    #[inline]
    pub fn enqueue(&mut self, now: Instant, mut media: Media<T>, unsent: &mut impl FnMut(Unsent<T>)) {
        self.set_method(&mut media);
        let (method, most) = match media.method {
            None => (self.rules.method(), self.most),
            Some(method) => (method, Rules::most_before(method)),
        };
        if self.waiting.has_room(media.size, most) || self.makes_room(now, &media, method, most, unsent) {
            self.waiting.insert(media, |media| self.rules.key(method.order, media));
        } else {
            let lateness = media.lateness(now, self.travel(now));
            unsent(Unsent { media, cause: SendDrop::Refused, lateness });
        }
    }

    /// Gives a message the method of its kind unless it has its own.
    #[inline]
    fn set_method(&mut self, media: &mut Media<T>) {
        if !self.accepts_methods {
            media.method = None;
        } else if media.method.is_none() && self.kinds_have_methods {
            media.method = self.rules.methods.of(media.kind);
        }
        self.has_methods |= media.method.is_some();
    }

    /// Throws packets away until there is room for `media`, if there can be; whether there is.
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
        // Where more wait than a method may search, it drops none of them.
        let could_hold = self.waiting.could_hold(media.size) && self.waiting.len() <= most;
        while !self.waiting.has_room(media.size, most) {
            let find_victim = || match &self.external {
                Some(external) => external.victim(&self.waiting, media, now, travel),
                None => method.full.victim(&self.waiting, media, now, travel),
            };
            let index = could_hold.then(find_victim).flatten();
            let Some(victim) = index.and_then(|index| Some((index, self.waiting.take(index)?))) else {
                // No packet is dropped in vain.
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

    /// The packet that would go at `now`: the first one if all that wait would be thrown away instead; `None` if nothing waits.
    #[inline]
    #[must_use]
    pub fn next(&self, now: Instant) -> Option<NextMedia> {
        let index = if self.goes_from_head() { 0 } else { self.choose(now).map_or(0, |choice| choice.goes) };
        let media = self.waiting.get(index)?;
        let (size, age, expires) = (media.size, now.since(media.created), media.expires);
        Some(NextMedia { size, waiting: self.bytes(), age, expires, ends_frame: media.ends_frame() })
    }

    /// The controller lets a packet go at `now`: takes it out. `unsent` hears of those that are thrown away before it. `None` if
    /// none is left that should go.
    #[inline]
    pub fn dequeue(&mut self, now: Instant, unsent: &mut impl FnMut(Unsent<T>)) -> Option<Media<T>> {
        if self.goes_from_head() {
            if self.rules.discard_spends && !self.is_empty() {
                self.way.on_send(now);
            }
            return self.waiting.remove(0);
        }
        self.dequeue_chosen(now, unsent)
    }

    /// The same where lateness matters.
    #[inline(never)]
    fn dequeue_chosen(&mut self, now: Instant, unsent: &mut impl FnMut(Unsent<T>)) -> Option<Media<T>> {
        let travel = self.travel(now);
        let choice = self.choose(now);
        let goes = choice.and_then(|choice| self.waiting.remove(choice.goes));
        if goes.is_some() {
            self.way.on_send(now);
        }
        if let Some(external) = &self.external {
            if goes.is_some() {
                external.discard(&mut self.waiting, now, travel, unsent);
            }
            return goes;
        }
        let looked_at = choice.map_or(self.waiting.len(), |choice| choice.looked_at);
        let rules = &self.rules;
        let dropped = |media: &Media<T>| rules.late_of(media).discards() && !media.lateness(now, travel).is_zero();
        for media in self.waiting.remove_of_first(looked_at, dropped) {
            let lateness = media.lateness(now, travel);
            unsent(Unsent { media, cause: SendDrop::Expired, lateness });
        }
        goes
    }

    /// Whether the first packet goes: no packet is late, or a late one was [thrown away](Self::discard_head) before.
    #[inline]
    fn goes_from_head(&self) -> bool {
        self.rules.late == Late::Send && !self.has_methods || self.rules.discard_spends
    }

    /// Throws the first packet away if it is late and its discard uses up the permission to send
    /// ([`Rules::discard_spends`]). Returns whether it did. A carrier asks before each [`dequeue`](Self::dequeue), and reports a discard
    /// to the controller as a packet that went.
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

    /// Which packet goes, where lateness matters.
    fn choose(&self, now: Instant) -> Option<Choice> {
        if let Some(external) = &self.external {
            let goes = external.choose(&self.waiting, now, self.travel(now))?;
            return Some(Choice { goes, looked_at: 0 });
        }
        if self.rules.late == Late::SureFirst {
            return surest(&self.waiting, now, self.travel(now), self.way.mean_deviations(self.rules.margin));
        }
        first_to_go(&self.waiting, |media| self.rules.late_of(media), now, self.travel(now))
    }

    /// A packet that was [taken out](Self::dequeue) went under this number, and is kept as long as it may have to be sent again: not
    /// at all without `resend`. Numbers grow, by more than one where packets without data take some.
    #[inline]
    pub fn sent(&mut self, number: u64, media: Media<T>) {
        if let Some(outstanding) = &mut self.outstanding {
            outstanding.sent(number, media);
        }
    }

    /// Whether it is to hear of [reports](Self::report).
    #[inline]
    #[must_use]
    pub fn resends(&self) -> bool {
        self.outstanding.is_some()
    }

    /// A report of arrivals has come: what it shows lost comes back if it can still arrive in time, as any other packet that is
    /// [handed over](Self::enqueue). `lost` hears of each packet found lost, `unsent` of what is thrown away for it, perhaps itself. The
    /// carrier answers for it that no number is told received that was never sent.
    pub fn report(
        &mut self,
        now: Instant,
        told: impl IntoIterator<Item = Told>,
        lost: &mut impl FnMut(Lost<'_, T>),
        unsent: &mut impl FnMut(Unsent<T>),
    ) {
        let Some(outstanding) = &mut self.outstanding else { return };
        let found = outstanding.report(now, told);
        found.into_iter().for_each(|media| self.send_again(now, media, lost, unsent));
    }

    /// A packet that went is lost: it comes back if it can still arrive in time. For carriers that keep what is [outstanding](Outstanding)
    /// themselves; [`report`](Self::report) does it for others.
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

    /// The round trip as the controller smooths it, which counts more than the mean of the samples.
    #[inline]
    pub fn set_round_trip(&mut self, rtt: Duration) {
        self.way.set_round_trip(rtt);
    }

    /// A round trip was measured: what margins and smallest round trips are known from, and the mean where nobody smooths.
    #[inline]
    pub fn on_round_trip(&mut self, sample: Duration) {
        self.way.on_round_trip(sample);
    }

    /// A packet's way to the receiver was measured, by clocks that agree.
    pub fn on_one_way_delay(&mut self, sample: Duration) {
        self.way.on_one_way_delay(sample);
    }

    /// How long a packet that goes now is taken to be on its way.
    #[must_use]
    pub fn travel(&self, now: Instant) -> Duration {
        self.rules.travel.estimate(&self.way, self.rules.rtt_share, now)
    }

    /// How many packets wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// The data of all that waits, without headers.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.waiting.bytes()
    }

    /// All that waits, in the order in which it would have gone, whatever has become of it. The queue is empty then.
    pub fn drain(&mut self) -> Vec<Media<T>> {
        self.waiting.remove_of_first(self.waiting.len(), |_| true)
    }

    /// Whether nothing waits.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.len() == 0
    }
}
