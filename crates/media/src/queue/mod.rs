//! What waits to be sent, and which of it goes next.
//!
//! A send queue is four decisions, each in its own file: in which [order](Order) packets go, what happens when the queue is
//! [full](Full), what happens to a packet that would come too [late](Late), and how long its way is taken to
//! [be](Travel). A [kind](SendQueueOptions) is a choice of the four under a name that the field knows.
//!
//! Which packet goes is decided when the controller lets one go, and not before: [`SendQueue::next_size`] only looks,
//! [`SendQueue::dequeue`] decides and throws away. What is lost on its way may [come back](SendQueue::report).

mod full;
mod kinds;
mod late;
mod order;
mod resend;
mod rules;
mod travel;
mod waiting;

pub use full::Full;
pub use kinds::SendQueueOptions;
pub use late::Late;
pub use order::Order;
pub use resend::{Lost, Told};
pub use rules::Rules;
pub use travel::Travel;

use crate::queue::late::Choice;
use crate::queue::resend::Outstanding;
use crate::queue::travel::Way;
use crate::queue::waiting::Waiting;
use headway_units::{Bytes, Duration, Instant, MediaKind, SendDrop};

/// One packet's worth of data that waits to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Media {
    /// The application's bytes in it.
    pub payload: Bytes,
    /// What it is.
    pub kind: MediaKind,
    /// Which goes first where the queue may choose: 0 before 1 before 2.
    pub priority: u8,
    /// When the application handed it over.
    pub created: Instant,
    /// When it is of no more use to the receiver, if ever.
    pub expires: Option<Instant>,
}

impl Media {
    /// How late it would come if it went now on a way that takes `travel`: nothing if it comes in time. To come at the very
    /// instant at which it expires is in time.
    #[must_use]
    pub fn lateness(&self, now: Instant, travel: Duration) -> Duration {
        self.expires.map_or(Duration::ZERO, |expires| (now + travel).since(expires))
    }
}

/// A packet that was thrown away unsent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsent {
    /// The packet.
    pub media: Media,
    /// Why.
    pub cause: SendDrop,
    /// How late it would have come, as far as the sender knew; nothing if it could still have come in time.
    pub lateness: Duration,
}

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
/// // A video and an audio packet, both of use for 200 ms.
/// let at = Instant::from_millis;
/// let media = |kind, priority| Media {
///     payload: Bytes::new(500),
///     kind,
///     priority,
///     created: at(0),
///     expires: Some(at(200)),
/// };
/// let mut unsent = Vec::new();
/// queue.enqueue(at(0), media(MediaKind::Video, 1), &mut |packet| unsent.push(packet));
/// queue.enqueue(at(0), media(MediaKind::Audio, 0), &mut |packet| unsent.push(packet));
/// queue.on_round_trip(Duration::from_millis(80));
///
/// // The pacer lets a packet go: audio, although it came second.
/// assert_eq!(queue.dequeue(at(10), &mut |packet| unsent.push(packet)).unwrap().kind, MediaKind::Audio);
/// // At 170 ms half of the round trip is too long: there is something that waits, and nothing that goes.
/// assert_eq!(queue.next_size(at(170)), Some(Bytes::new(500)));
/// assert_eq!(queue.dequeue(at(170), &mut |packet| unsent.push(packet)), None);
/// assert_eq!((unsent[0].cause, unsent[0].lateness), (SendDrop::Expired, Duration::from_millis(10)));
/// # Ok::<(), headway_units::OptionError>(())
/// ```
///
/// With `resend` it is also told under which number each packet went ([`sent`](Self::sent)) and what has come
/// ([`report`](Self::report)).
#[derive(Debug)]
pub struct SendQueue {
    rules: Rules,
    waiting: Waiting,
    way: Way,
    /// What was sent, where what is lost is sent again.
    outstanding: Option<Outstanding>,
}

impl SendQueue {
    /// An empty queue.
    #[must_use]
    pub fn new(options: &SendQueueOptions) -> Self {
        Self {
            rules: options.rules.clone(),
            waiting: Waiting::new(options.rules.limit, options.rules.most_waiting()),
            way: Way::default(),
            outstanding: options.rules.resend.then(Outstanding::default),
        }
    }

    /// The application hands over a packet at `now`. `unsent` hears of each packet that is thrown away for it, itself perhaps.
    #[inline]
    pub fn enqueue(&mut self, now: Instant, media: Media, unsent: &mut impl FnMut(Unsent)) {
        if self.waiting.has_room(media.payload) || self.makes_room(now, media, unsent) {
            self.waiting.insert(self.rules.key(&media), media);
        }
    }

    /// Throws packets away until there is room for `media`, if there can be; whether there is.
    fn makes_room(&mut self, now: Instant, media: Media, unsent: &mut impl FnMut(Unsent)) -> bool {
        let travel = self.travel(now);
        let mut victims = Vec::new();
        while !self.waiting.has_room(media.payload) {
            let find_victim = || self.rules.full.victim(&self.waiting, &media, now, travel);
            let victim = self.waiting.could_hold(media.payload).then(find_victim).flatten();
            let Some(victim) = victim.and_then(|index| self.waiting.take(index)) else {
                // Nobody goes in vain.
                victims.into_iter().for_each(|victim| self.waiting.put_back(victim));
                let lateness = media.lateness(now, travel);
                unsent(Unsent { media, cause: SendDrop::Refused, lateness });
                return false;
            };
            victims.push(victim);
        }
        for victim in victims {
            let lateness = victim.media.lateness(now, travel);
            unsent(Unsent { media: victim.media, cause: SendDrop::PushedOut, lateness });
        }
        true
    }

    /// The data of the packet that would go at `now`: of the first one if all that wait would be thrown away instead; `None` if
    /// nothing waits.
    #[inline]
    #[must_use]
    pub fn next_size(&self, now: Instant) -> Option<Bytes> {
        let index = if self.rules.late == Late::Send { 0 } else { self.choose(now).map_or(0, |choice| choice.goes) };
        self.waiting.get(index).map(|media| media.payload)
    }

    /// The controller lets a packet go at `now`: takes it out. `unsent` hears of those that are thrown away before it. `None` if
    /// none is left that should go.
    #[inline]
    pub fn dequeue(&mut self, now: Instant, unsent: &mut impl FnMut(Unsent)) -> Option<Media> {
        if self.rules.late == Late::Send {
            return self.waiting.remove(0);
        }
        let travel = self.travel(now);
        let choice = self.choose(now);
        let goes = choice.and_then(|choice| self.waiting.remove(choice.goes));
        if goes.is_some() {
            self.way.on_send(now);
        }
        let looked_at = choice.map_or(self.waiting.len(), |choice| choice.looked_at);
        for media in self.waiting.remove_of_first(looked_at, |media| !media.lateness(now, travel).is_zero()) {
            unsent(Unsent { media, cause: SendDrop::Expired, lateness: media.lateness(now, travel) });
        }
        goes
    }

    /// Which packet goes, where lateness matters.
    fn choose(&self, now: Instant) -> Option<Choice> {
        let margin = self.way.mean_deviations(self.rules.margin);
        self.rules.late.choose(&self.waiting, now, self.travel(now), margin)
    }

    /// A packet that was [taken out](Self::dequeue) went under this number. Numbers grow, by more than one where packets
    /// without data take some.
    #[inline]
    pub fn sent(&mut self, number: u64, media: Media) {
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
    /// [handed over](Self::enqueue). `lost` hears of each packet found lost, `unsent` of what is thrown away for it. The carrier
    /// answers for it that no number is told received that was never sent.
    pub fn report(
        &mut self,
        now: Instant,
        told: impl IntoIterator<Item = Told>,
        lost: &mut impl FnMut(Lost),
        unsent: &mut impl FnMut(Unsent),
    ) {
        let Some(outstanding) = &mut self.outstanding else { return };
        let found = outstanding.report(now, told);
        for media in found {
            let returned = media.lateness(now, self.travel(now)).is_zero();
            lost(Lost { media, returned });
            if returned {
                self.enqueue(now, media, unsent);
            }
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

    /// Whether nothing waits.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.len() == 0
    }
}
