//! One direction of a link: loss, queue, transmitter, propagation.
//!
//! A packet that is let in waits while the transmitter is busy, is transmitted in (size + overhead) / rate, and arrives
//! `delay` after that. Sums of transmission times carry the fraction below a nanosecond.
//!
//! Ties: a transmission that ends and a packet that arrives come in the order of their [`Moment`]s; if these are alike,
//! the packet comes first. A transmitter busy until t is still busy for it.
//!
//! Where the discipline decides at arrival, so does the link: the departure is computed when the packet is let in, and
//! the only event is its arrival at the far end. Else (or if asked) the end of a transmission is an event of its own.
//! Both give the same transmissions, drops and deliveries.

use crate::loss::{Loss, LossOptions, Place};
use crate::queue::{Arrival, Backlog, Discipline, LinkFacts, QueueOptions, Verdict};
use headway_units::{Accumulator, Bytes, DropCause, Duration, Ecn, Instant, Moment, Random, Rate, Step};
use std::collections::VecDeque;

/// What a link is.
#[derive(Clone, Debug)]
pub struct Config {
    /// Transmission rate; not zero.
    pub rate: Rate,
    /// Propagation delay. Zero only if a packet takes a nanosecond to transmit: else the order of what happens at one
    /// instant is not defined.
    pub delay: Duration,
    /// Largest packet, in IP bytes; larger ones are dropped.
    pub mtu: Option<Bytes>,
    /// Bytes of lower layers that each packet costs on the wire. They take time, but no room in the queue.
    pub overhead: Bytes,
    /// The queue in front of the transmitter.
    pub queue: QueueOptions,
    /// What the channel loses.
    pub loss: Option<LossOptions>,
    /// Forces an event at the end of each transmission even where none is needed.
    pub two_events: bool,
}

/// What became of an offered packet.
#[derive(Debug, PartialEq, Eq)]
pub enum Offer<T> {
    /// Let in.
    Accepted,
    /// Let in; to be marked Congestion Experienced.
    Marked,
    /// Dropped.
    Dropped(T, DropCause),
    /// Let in, at the cost of another.
    Evicted {
        /// Whether the newcomer is to be marked.
        marked: bool,
        /// The one that had to go.
        victim: T,
        /// Why.
        cause: DropCause,
    },
}

/// A packet's way through queue and transmitter. One-event links tell it in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission<T> {
    /// The packet.
    pub item: T,
    /// Its IP bytes.
    pub size: Bytes,
    /// When it was offered.
    pub enqueued: Instant,
    /// When it left the queue.
    pub start: Instant,
    /// When its last bit left the transmitter.
    pub end: Instant,
}

/// What comes out at the far end.
#[derive(Debug, PartialEq, Eq)]
pub enum Delivery<T> {
    /// A packet.
    Arrived(T),
    /// A packet that the channel has lost on the way.
    Lost(T),
}

#[derive(Debug)]
struct Slot<T> {
    item: T,
    size: u32,
    /// Start of transmission once that is known, till then the moment of the offer.
    since: Moment,
    /// At the far end; [`UNSETTLED`] till that is known.
    arrival: Moment,
}

const UNSETTLED: Moment = Moment { at: Instant::FAR_FUTURE, sum_s: f64::INFINITY, fraction_ns: 0.0, lead_s: 0.0 };

/// The end of a transmission: exactly, as the next one continues it, and as a moment.
#[derive(Clone, Copy, Debug)]
struct End {
    exact: Accumulator,
    moment: Moment,
}

/// What a packet of some size takes: worked out anew only when the size changes.
#[derive(Clone, Copy, Debug)]
struct Pace {
    bytes: u32,
    step: Step,
    transmission_s: f64,
    /// Transmission and propagation.
    way_s: f64,
}

impl Pace {
    #[cold]
    fn new(bytes: u32, overhead: u64, rate: Rate, delay: Duration) -> Self {
        let on_wire = u64::from(bytes) + overhead;
        // Grouped as ns-2 does (link/delay.cc): the last bit counts.
        let transmission_s = 8.0 * on_wire as f64 / rate.bits_per_second() as f64;
        let step = Step::new(Bytes::new(on_wire), rate);
        Self { bytes, step, transmission_s, way_s: transmission_s + delay.as_secs_f64() }
    }
}

/// One direction of a link, carrying packets of type `T` (a handle, usually).
///
/// Laid out in this order, so that what each packet touches lies together: with thousands of links, reaching for memory is
/// what takes the time.
#[derive(Debug)]
#[repr(C)]
pub struct Link<T> {
    /// Packets in order; the first `started` have begun transmission, the rest wait.
    slots: VecDeque<Slot<T>>,
    started: usize,
    waiting_bytes: u64,
    /// End of the last transmission that was begun (two events) or settled (one event), if there was one.
    free_at: Option<End>,
    pace: Pace,
    rate: Rate,
    delay: Duration,
    mtu: u64,
    loss: Option<Box<(Loss, Random)>>,
    discipline: Discipline,
    two_events: bool,
    overhead: u64,
    /// The last refusal by an idle link, from which ns-2 counts the idle time anew.
    refused_s: f64,
    queue_random: Random,
}

impl<T: Copy> Link<T> {
    /// A link at time zero, idle. `name` and `seed` give its random streams.
    #[must_use]
    pub fn new(config: &Config, seed: u64, name: &str) -> Self {
        let facts = LinkFacts { rate: config.rate, delay: config.delay };
        Self {
            rate: config.rate,
            delay: config.delay,
            mtu: config.mtu.map_or(u64::MAX, Bytes::count),
            overhead: config.overhead.count(),
            two_events: config.two_events || !config.queue.decides_at_arrival(),
            pace: Pace::new(0, config.overhead.count(), config.rate, config.delay),
            discipline: Discipline::new(&config.queue, facts),
            queue_random: Random::new(seed, &format!("link {name} queue")),
            loss: config
                .loss
                .as_ref()
                .map(|loss| Box::new((Loss::new(loss), Random::new(seed, &format!("link {name} loss"))))),
            free_at: None,
            refused_s: 0.0,
            slots: VecDeque::new(),
            started: 0,
            waiting_bytes: 0,
        }
    }

    /// Offers a packet of `size` IP bytes. `on_start` hears of each transmission that is settled by this call.
    pub fn offer(
        &mut self,
        now: Moment,
        item: T,
        size: Bytes,
        ecn: Ecn,
        mut on_start: impl FnMut(Transmission<T>),
    ) -> Offer<T> {
        if !self.two_events {
            self.advance(now, false);
        }
        if size.count() > self.mtu {
            return Offer::Dropped(item, DropCause::TooBig);
        }
        if let Some((loss, random)) = self.loss.as_deref_mut()
            && loss.place() == Place::BeforeQueue
            && loss.loses(now.at, random)
        {
            return Offer::Dropped(item, DropCause::Channel);
        }
        let idle = self.started == self.slots.len() && self.free_at.is_none_or(|end| end.moment < now);
        let backlog = Backlog {
            packets: (self.slots.len() - self.started) as u64,
            bytes: self.waiting_bytes,
            idle_s: idle.then(|| now.sum_s - self.free_at.map_or(0.0, |end| end.moment.sum_s).max(self.refused_s)),
        };
        let verdict = self.discipline.admit(now.at, &backlog, Arrival { size, ecn }, &mut self.queue_random);
        if let Verdict::Drop(cause) = verdict {
            if idle {
                self.refused_s = now.sum_s;
            }
            return Offer::Dropped(item, cause);
        }
        self.push(now, idle, item, size, &mut on_start);
        match verdict {
            Verdict::Mark => Offer::Marked,
            Verdict::AdmitAndEvict { mark, place, cause } => match self.evict(place) {
                Some(victim) => Offer::Evicted { marked: mark, victim, cause },
                None if mark => Offer::Marked,
                None => Offer::Accepted,
            },
            Verdict::Admit | Verdict::Drop(_) => Offer::Accepted,
        }
    }

    fn push(&mut self, now: Moment, idle: bool, item: T, size: Bytes, on_start: &mut impl FnMut(Transmission<T>)) {
        let bytes = u32::try_from(size.count()).unwrap_or(u32::MAX);
        if self.two_events {
            self.slots.push_back(Slot { item, size: bytes, since: now, arrival: UNSETTLED });
            self.waiting_bytes += u64::from(bytes);
            if idle {
                self.start_next(now, on_start);
            }
            return;
        }
        let (start, end, arrival) = self.transmit(now, bytes);
        self.slots.push_back(Slot { item, size: bytes, since: start, arrival });
        if idle {
            self.started += 1;
        } else {
            self.waiting_bytes += u64::from(bytes);
        }
        on_start(Transmission { item, size, enqueued: now.at, start: start.at, end });
    }

    /// Settles a transmission that begins when the transmitter is free, at `now` at the earliest: its start, its end,
    /// and the arrival at the far end.
    #[inline(always)]
    fn transmit(&mut self, now: Moment, bytes: u32) -> (Moment, Instant, Moment) {
        if self.pace.bytes != bytes {
            self.pace = Pace::new(bytes, self.overhead, self.rate, self.delay);
        }
        let Pace { step, transmission_s, way_s, .. } = self.pace;
        let (mut exact, start) = match self.free_at {
            Some(end) if end.moment >= now => (end.exact, end.moment),
            _ => (Accumulator::between(now.at, now.fraction_ns, self.rate), now),
        };
        exact.step(step, self.rate);
        let (at, fraction_ns) = exact.nearest(self.rate);
        let end = Moment { at, sum_s: start.sum_s + transmission_s, fraction_ns, lead_s: transmission_s as f32 };
        self.free_at = Some(End { exact, moment: end });
        let arrival = Moment { at: at + self.delay, sum_s: start.sum_s + way_s, fraction_ns, lead_s: way_s as f32 };
        (start, at, arrival)
    }

    /// One event: counts off the packets whose transmission has begun before `now`, or `at` it.
    fn advance(&mut self, now: Moment, at: bool) {
        while let Some(slot) = self.slots.get(self.started)
            && (slot.since < now || at && slot.since == now)
        {
            self.waiting_bytes -= u64::from(slot.size);
            self.started += 1;
        }
    }

    /// Two events: begins the transmission of the packet that waits first.
    fn start_next(&mut self, now: Moment, on_start: &mut impl FnMut(Transmission<T>)) {
        let Some(bytes) = self.slots.get(self.started).map(|slot| slot.size) else { return };
        let (start, end, arrival) = self.transmit(now, bytes);
        let slot = &mut self.slots[self.started];
        let enqueued = std::mem::replace(&mut slot.since, start).at;
        slot.arrival = arrival;
        let item = slot.item;
        self.started += 1;
        self.waiting_bytes -= u64::from(bytes);
        on_start(Transmission { item, size: Bytes::new(u64::from(bytes)), enqueued, start: start.at, end });
    }

    fn evict(&mut self, place: usize) -> Option<T> {
        // A newcomer that found the transmitter idle is no longer among the waiting.
        let slot = self.slots.remove(self.started + place)?;
        self.waiting_bytes -= u64::from(slot.size);
        Some(slot.item)
    }

    /// Two events: when the transmission in progress ends, if packets wait for that. One event: never.
    #[must_use]
    pub fn next_departure(&self) -> Option<Moment> {
        if self.two_events && self.started < self.slots.len() { self.free_at.map(|end| end.moment) } else { None }
    }

    /// Ends the transmission that [`next_departure`](Self::next_departure) told of, and begins the next. To be called
    /// when everything that arrives at that instant has been offered.
    pub fn depart(&mut self, mut on_start: impl FnMut(Transmission<T>)) {
        if let Some(end) = self.next_departure() {
            self.start_next(end, &mut on_start);
        }
    }

    /// When the next packet reaches the far end, as far as that is settled.
    #[must_use]
    pub fn next_arrival(&self) -> Option<Moment> {
        self.slots.front().map(|slot| slot.arrival).filter(|arrival| arrival.at != Instant::FAR_FUTURE)
    }

    /// Takes the packet that reaches the far end at `now`, if one does by then.
    pub fn arrive(&mut self, now: Moment) -> Option<Delivery<T>> {
        if self.next_arrival()? > now {
            return None;
        }
        if !self.two_events {
            self.advance(now, false);
        }
        let slot = self.slots.pop_front()?;
        self.started = self.started.saturating_sub(1);
        if let Some((loss, random)) = self.loss.as_deref_mut()
            && loss.place() == Place::AfterTransmission
            && loss.loses(now.at, random)
        {
            return Some(Delivery::Lost(slot.item));
        }
        Some(Delivery::Arrived(slot.item))
    }

    /// Lets the transmissions that end at `now` end: nothing more arrives at this instant.
    pub fn settle(&mut self, now: Moment) {
        if !self.two_events {
            self.advance(now, true);
        }
    }

    /// Packets and bytes that wait, without the one in transmission, as of the last call with a `now`.
    #[must_use]
    pub fn waiting(&self) -> (u64, u64) {
        ((self.slots.len() - self.started) as u64, self.waiting_bytes)
    }

    /// Bytes of the transmissions that were told of and have not begun, as of the last [`settle`](Self::settle).
    #[must_use]
    pub fn bytes_told_ahead(&self) -> u64 {
        if self.two_events { 0 } else { self.waiting_bytes }
    }

    /// The packets that wait without a settled transmission (two events only): since when, and their size.
    pub fn unsettled(&self) -> impl Iterator<Item = (Instant, Bytes)> + '_ {
        let from = if self.two_events { self.started } else { self.slots.len() };
        self.slots.range(from..).map(|slot| (slot.since.at, Bytes::new(u64::from(slot.size))))
    }

    /// The transmissions that are settled and end after `now`: start, end and size.
    pub fn settled_after(&self, now: Instant) -> impl Iterator<Item = (Moment, Instant, Bytes)> + '_ {
        let delay = self.delay;
        self.slots.iter().filter(|slot| slot.arrival != UNSETTLED).filter_map(move |slot| {
            let end = slot.arrival.at.checked_sub(delay)?;
            (end > now).then(|| (slot.since, end, Bytes::new(u64::from(slot.size))))
        })
    }

    /// All packets on the link: waiting, in transmission, propagating.
    pub fn on_link(&self) -> impl Iterator<Item = T> + '_ {
        self.slots.iter().map(|slot| slot.item)
    }

    /// The average that the discipline keeps, as of the last arrival.
    #[must_use]
    pub fn average(&self) -> Option<f64> {
        self.discipline.average()
    }
}
