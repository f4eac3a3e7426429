//! One direction of a link: loss, queue, transmitter, propagation.
//!
//! A packet that is let in waits while the transmitter is busy, is transmitted in (size + overhead) / rate, and arrives
//! `delay` after that. Sums of transmission times carry the fraction below a nanosecond.
//!
//! Ties: a transmission that ends and a packet that arrives come in the order of their [`Moment`]s. Where ties are drawn,
//! the packet comes first if these are alike: a transmitter busy until t is still busy for it. Where they go by the order
//! of scheduling, the start of a transmission schedules first the arrival at the far end, then its own end, as ns-2's
//! `LinkDelay::recv` does, and whichever was scheduled first comes first.
//!
//! Where the discipline decides at arrival and ties are drawn, the link decides then too: the departure is computed when
//! the packet is let in, and the only event is its arrival at the far end. Else (or if asked) the end of a transmission is
//! an event of its own, if packets wait for it. Both give the same transmissions, drops and deliveries.

use crate::loss::{Loss, LossOptions, Place};
use crate::pool::{Handle, Item, Pool, Slot, UNSETTLED};
use crate::queue::{Arrival, Backlog, Discipline, LinkFacts, QueueOptions, Verdict};
use headway_units::{
    Accumulator, Bytes, Class, DropCause, Duration, Ecn, History, Instant, Moment, Random, Rate, Step, Ties,
};
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
    /// Who comes first of what is alike to the last bit.
    pub ties: Ties,
}

/// What became of an offered packet.
#[derive(Debug, PartialEq, Eq)]
pub enum Offer {
    /// Let in.
    Accepted,
    /// Let in; to be marked Congestion Experienced.
    Marked,
    /// Dropped; it is on no link.
    Dropped(DropCause),
    /// Marked, and then dropped; it is on no link.
    DroppedMarked(DropCause),
    /// Let in, at the cost of another.
    Evicted {
        /// Whether the newcomer is to be marked.
        marked: bool,
        /// The one that had to go; it is on no link.
        victim: Handle,
        /// Why.
        cause: DropCause,
    },
}

/// A packet's way through queue and transmitter. One-event links tell it in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// The packet.
    pub packet: Handle,
    /// Its IP bytes.
    pub size: Bytes,
    /// When it was offered.
    pub enqueued: Instant,
    /// When it left the queue.
    pub start: Instant,
    /// When its last bit left the transmitter.
    pub end: Instant,
}

/// What comes out at the far end; it is on no link.
#[derive(Debug, PartialEq, Eq)]
pub enum Delivery {
    /// A packet.
    Arrived(Handle),
    /// A packet that the channel has lost on the way.
    Lost(Handle),
}

/// The end of a transmission: as a moment, and what the next one continues exactly: the fraction in units of 1 / rate ns.
#[derive(Clone, Copy, Debug)]
struct End {
    moment: Moment,
    exact: Accumulator,
}

/// Before anything that can happen: nothing has been transmitted yet.
const NEVER_BUSY: End = End { moment: Moment::before_all(Instant::ZERO), exact: Accumulator::starting(Instant::ZERO) };

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
    fn new(bytes: u32, overhead: u64, rate: Rate, delay: Duration, ties: Ties) -> Self {
        let on_wire = u64::from(bytes) + overhead;
        // Grouped as ns-2 does (link/delay.cc): the last bit counts.
        let transmission_s = 8.0 * on_wire as f64 / rate.bits_per_second() as f64;
        let step = Step::new(Bytes::new(on_wire), rate);
        let delay_s = match ties {
            Ties::Drawn => delay.as_secs_f64(),
            // As ns-2 reads a delay in ms (tclcl, time_atof).
            Ties::Scheduled => 1e-3 * (delay.as_nanos() as f64 / 1e6),
        };
        Self { bytes, step, transmission_s, way_s: transmission_s + delay_s }
    }
}

/// What few packets need.
#[derive(Debug)]
struct Rest {
    /// The waiting packets in order, where the discipline may take any of them out: a list is slow to count along.
    order: Option<VecDeque<Handle>>,
    overhead: u64,
    loss: Option<(Loss, Random)>,
    queue_random: Random,
}

/// One direction of a link. Its packets lie in a [`Pool`], the same at every call.
///
/// Laid out in this order: with thousands of links, reaching for memory is what takes the time. What an arrival touches
/// fits one cache line, what an offer touches three more.
#[derive(Debug)]
#[repr(C)]
pub struct Link {
    /// Packets in order, a list: those that have begun transmission, then those that wait.
    first: Handle,
    last: Handle,
    /// The last that has begun and the first that waits.
    last_begun: Handle,
    first_waiting: Handle,
    waiting: u32,
    /// Largest packet.
    mtu: u32,
    waiting_bytes: u64,
    /// When the first is at the far end; [`UNSETTLED`] if there is none.
    first_arrival: Moment,

    /// End of the last transmission that was begun (two events) or settled (one event).
    free_at: End,
    rate: Rate,
    delay: Duration,

    pace: Pace,
    /// The last refusal by an idle link, from which ns-2 counts the idle time anew.
    refused_s: f64,
    /// Sets its arrivals apart from those of other links.
    salt: u32,
    ties: Ties,
    two_events: bool,
    /// Where the channel loses packets, if it does.
    loses: Option<Place>,
    rest: Box<Rest>,
    discipline: Discipline,
}

impl Link {
    /// A link at time zero, idle. `name` and `seed` give its random streams.
    #[must_use]
    pub fn new(config: &Config, seed: u64, name: &str) -> Self {
        let facts = LinkFacts { rate: config.rate, delay: config.delay };
        let random = |what: &str| Random::new(seed, &format!("link {name} {what}"));
        Self {
            first: Handle::NONE,
            last: Handle::NONE,
            last_begun: Handle::NONE,
            first_waiting: Handle::NONE,
            waiting: 0,
            mtu: config.mtu.map_or(u32::MAX, |mtu| u32::try_from(mtu.count()).unwrap_or(u32::MAX)),
            waiting_bytes: 0,
            first_arrival: UNSETTLED,
            free_at: NEVER_BUSY,
            rate: config.rate,
            delay: config.delay,
            pace: Pace::new(0, config.overhead.count(), config.rate, config.delay, config.ties),
            refused_s: 0.0,
            salt: random("ties").bits() as u32,
            ties: config.ties,
            two_events: config.two_events || config.ties == Ties::Scheduled || !config.queue.decides_at_arrival(),
            loses: config.loss.as_ref().map(|loss| Loss::new(loss).place()),
            rest: Box::new(Rest {
                order: (!config.queue.decides_at_arrival()).then(VecDeque::new),
                overhead: config.overhead.count(),
                loss: config.loss.as_ref().map(|loss| (Loss::new(loss), random("loss"))),
                queue_random: random("queue"),
            }),
            discipline: Discipline::new(&config.queue, facts),
        }
    }

    /// Whether the channel loses the packet that passes `place` at `now`.
    #[inline]
    fn loses(&mut self, place: Place, now: Instant) -> bool {
        self.loses == Some(place) && self.rest.loss.as_mut().is_some_and(|(loss, random)| loss.loses(now, random))
    }

    /// Offers a packet. `on_start` hears of each transmission that is settled by this call.
    #[inline]
    pub fn offer<T: Item>(
        &mut self,
        pool: &mut Pool<T>,
        history: &mut History,
        now: Moment,
        packet: Handle,
        mut on_start: impl FnMut(&Pool<T>, Transmission),
    ) -> Offer {
        if !self.two_events {
            self.advance(pool, now);
        }
        let (bytes, ecn) = pool.slot(packet).map_or((0, Ecn::NotEct), |slot| (slot.item.size(), slot.item.ecn()));
        if bytes > self.mtu {
            return Offer::Dropped(DropCause::TooBig);
        }
        if self.loses(Place::BeforeQueue, now.at) {
            return Offer::Dropped(DropCause::Channel);
        }
        let idle = self.waiting == 0 && self.free_at.moment < now;
        let free_s = self.free_at.moment.sum_s;
        let since_s = if free_s > self.refused_s { free_s } else { self.refused_s };
        let backlog =
            Backlog { packets: u64::from(self.waiting), bytes: self.waiting_bytes, idle, idle_s: now.sum_s - since_s };
        match self.discipline.admit(
            now.at,
            &backlog,
            Arrival { size: Bytes::new(u64::from(bytes)), ecn },
            &mut self.rest.queue_random,
        ) {
            Verdict::Admit => {
                self.push(pool, history, now, idle, (packet, bytes), &mut on_start);
                Offer::Accepted
            }
            Verdict::Mark => {
                self.push(pool, history, now, idle, (packet, bytes), &mut on_start);
                Offer::Marked
            }
            Verdict::Drop(cause) => {
                if idle {
                    self.refused_s = now.sum_s;
                }
                Offer::Dropped(cause)
            }
            Verdict::DropMarked(cause) => Offer::DroppedMarked(cause),
            Verdict::AdmitAndEvict { mark, place, cause } => {
                self.push(pool, history, now, idle, (packet, bytes), &mut on_start);
                match self.evict(pool, place) {
                    Some(victim) => Offer::Evicted { marked: mark, victim, cause },
                    None if mark => Offer::Marked,
                    None => Offer::Accepted,
                }
            }
        }
    }

    #[inline]
    fn push<T: Item>(
        &mut self,
        pool: &mut Pool<T>,
        history: &mut History,
        now: Moment,
        idle: bool,
        (packet, bytes): (Handle, u32),
        on_start: &mut impl FnMut(&Pool<T>, Transmission),
    ) {
        let settled = (!self.two_events).then(|| self.transmit(history, now, idle, bytes));
        let (since, arrival) = settled.map_or((now, UNSETTLED), |(start, _, arrival)| (start, arrival));
        let Some(slot) = pool.slot_mut(packet) else { return };
        slot.next = Handle::NONE;
        (slot.since, slot.since_s) = (since.at, since.sum_s);
        slot.next_arrival = UNSETTLED;
        match pool.slot_mut(self.last) {
            Some(before) => {
                before.next = packet;
                before.next_arrival = arrival;
            }
            None => {
                self.first = packet;
                self.first_arrival = arrival;
            }
        }
        self.last = packet;
        if idle && !self.two_events {
            self.last_begun = packet;
        } else {
            if self.waiting == 0 {
                self.first_waiting = packet;
            }
            self.waiting += 1;
            self.waiting_bytes += u64::from(bytes);
            if let (true, Some(order)) = (self.two_events, &mut self.rest.order) {
                order.push_back(packet);
            }
        }
        if let Some((start, end, _)) = settled {
            let size = Bytes::new(u64::from(bytes));
            on_start(pool, Transmission { packet, size, enqueued: now.at, start: start.at, end });
        } else if idle {
            self.start_next(pool, history, now, idle, on_start);
        }
    }

    /// Settles a transmission that begins `now` if the transmitter is idle, else at the end of the one before: its start, its
    /// end, and the arrival at the far end.
    #[inline(always)]
    fn transmit(&mut self, history: &mut History, now: Moment, idle: bool, bytes: u32) -> (Moment, Instant, Moment) {
        if self.pace.bytes != bytes {
            self.pace = Pace::new(bytes, self.rest.overhead, self.rate, self.delay, self.ties);
        }
        let Pace { step, transmission_s, way_s, .. } = self.pace;
        if self.ties == Ties::Scheduled {
            let start = if idle { now } else { self.free_at.moment };
            let arrival = Moment::scheduled(start.sum_s + way_s, history.place());
            self.free_at.moment = Moment::scheduled(start.sum_s + transmission_s, history.place());
            return (start, self.free_at.moment.at, arrival);
        }
        let (mut exact, start) = if idle {
            (Accumulator::between(now.at, now.fraction_ns(), self.rate), now)
        } else {
            (self.free_at.exact, self.free_at.moment)
        };
        exact.step(step, self.rate);
        let (at, fraction_ns) = exact.nearest(self.rate);
        let end = Moment::in_class(at, start.sum_s + transmission_s, Class::Departure);
        self.free_at = End { exact, moment: end };
        let arrival = Moment::drawn(at + self.delay, start.sum_s + way_s, fraction_ns, Class::Arrival, self.salt);
        (start, at, arrival)
    }

    /// The packet that waits first waits no more. Returns its slot.
    #[inline]
    fn begin<'a, T: Item>(&mut self, pool: &'a mut Pool<T>) -> Option<&'a mut Slot<T>> {
        let slot = pool.slot_mut(self.first_waiting)?;
        self.last_begun = self.first_waiting;
        self.first_waiting = slot.next;
        self.waiting -= 1;
        self.waiting_bytes -= u64::from(slot.item.size());
        Some(slot)
    }

    /// One event: counts off the packets whose transmission has begun before `now`. Each begins when another ends.
    #[inline]
    fn advance<T: Item>(&mut self, pool: &mut Pool<T>, now: Moment) {
        while let Some(slot) = pool.slot(self.first_waiting)
            && Moment::in_class(slot.since, slot.since_s, Class::Departure) < now
        {
            self.begin(pool);
        }
    }

    /// Two events: begins the transmission of the packet that waits first.
    fn start_next<T: Item>(
        &mut self,
        pool: &mut Pool<T>,
        history: &mut History,
        now: Moment,
        idle: bool,
        on_start: &mut impl FnMut(&Pool<T>, Transmission),
    ) {
        let (before, packet) = (self.last_begun, self.first_waiting);
        let Some(slot) = self.begin(pool) else { return };
        if let Some(order) = &mut self.rest.order {
            order.pop_front();
        }
        let size = slot.item.size();
        let (start, end, arrival) = self.transmit(history, now, idle, size);
        let enqueued = std::mem::replace(&mut slot.since, start.at);
        match pool.slot_mut(before) {
            Some(before) => before.next_arrival = arrival,
            None => self.first_arrival = arrival,
        }
        let size = Bytes::new(u64::from(size));
        on_start(pool, Transmission { packet, size, enqueued, start: start.at, end });
    }

    /// Two events: takes out the packet that has `ahead` waiting packets before it.
    fn evict<T: Item>(&mut self, pool: &mut Pool<T>, ahead: usize) -> Option<Handle> {
        let order = self.rest.order.as_mut()?;
        let before = ahead.checked_sub(1).and_then(|ahead| order.get(ahead).copied()).unwrap_or(self.last_begun);
        // A newcomer that found the transmitter idle is no longer among the waiting.
        let victim = order.remove(ahead)?;
        let slot = pool.slot(victim)?;
        let (next, bytes) = (slot.next, slot.item.size());
        match pool.slot_mut(before) {
            Some(before) => before.next = next,
            None => self.first = next,
        }
        if victim == self.first_waiting {
            self.first_waiting = next;
        }
        if victim == self.last {
            self.last = before;
        }
        self.waiting -= 1;
        self.waiting_bytes -= u64::from(bytes);
        Some(victim)
    }

    /// Two events: when the transmission in progress ends, if packets wait for that. One event: never.
    #[must_use]
    #[inline]
    pub fn next_departure(&self) -> Option<Moment> {
        (self.two_events && self.waiting > 0).then_some(self.free_at.moment)
    }

    /// Ends the transmission that [`next_departure`](Self::next_departure) told of, and begins the next. To be called
    /// when everything that arrives at that instant has been offered.
    pub fn depart<T: Item>(
        &mut self,
        pool: &mut Pool<T>,
        history: &mut History,
        mut on_start: impl FnMut(&Pool<T>, Transmission),
    ) {
        if let Some(end) = self.next_departure() {
            self.start_next(pool, history, end, false, &mut on_start);
        }
    }

    /// The packet that reaches the far end next.
    #[must_use]
    #[inline]
    pub fn first(&self) -> Option<Handle> {
        (self.first != Handle::NONE).then_some(self.first)
    }

    /// When the next packet reaches the far end, as far as that is settled.
    #[must_use]
    #[inline]
    pub fn next_arrival(&self) -> Option<Moment> {
        (self.first_arrival.at != Instant::FAR_FUTURE).then_some(self.first_arrival)
    }

    /// Takes the packet that reaches the far end at `now`, if one does by then.
    #[inline]
    pub fn arrive<T: Item>(&mut self, pool: &mut Pool<T>, now: Moment) -> Option<Delivery> {
        if self.first_arrival > now {
            return None;
        }
        let packet = self.first;
        let slot = pool.slot(packet)?;
        self.first = slot.next;
        self.first_arrival = slot.next_arrival;
        if packet == self.first_waiting {
            // One event: it has begun, and nobody has looked since.
            self.begin(pool);
        }
        if packet == self.last_begun {
            self.last_begun = Handle::NONE;
        }
        if packet == self.last {
            self.last = Handle::NONE;
        }
        if self.loses(Place::AfterTransmission, now.at) {
            return Some(Delivery::Lost(packet));
        }
        Some(Delivery::Arrived(packet))
    }

    /// Lets the transmissions end that end before `now`.
    pub fn settle<T: Item>(&mut self, pool: &mut Pool<T>, now: Moment) {
        if !self.two_events {
            self.advance(pool, now);
        }
    }

    /// Packets and bytes that wait, without the one in transmission, as of the last call with a `now`.
    #[must_use]
    #[inline]
    pub fn waiting(&self) -> (u64, u64) {
        (u64::from(self.waiting), self.waiting_bytes)
    }

    /// Bytes of the transmissions that were told of and have not begun, as of the last [`settle`](Self::settle).
    #[must_use]
    pub fn bytes_told_ahead(&self) -> u64 {
        if self.two_events { 0 } else { self.waiting_bytes }
    }

    /// The packets that wait without a settled transmission (two events only): since when, and their size.
    pub fn unsettled<'a, T: Item>(&self, pool: &'a Pool<T>) -> impl Iterator<Item = (Instant, Bytes)> + 'a {
        let from = if self.two_events { self.first_waiting } else { Handle::NONE };
        list(pool, from).map(|(_, slot)| (slot.since, Bytes::new(u64::from(slot.item.size()))))
    }

    /// The transmissions that are settled and end after `now`: start, end and size.
    pub fn settled_after<'a, T: Item>(
        &self,
        pool: &'a Pool<T>,
        now: Instant,
    ) -> impl Iterator<Item = (Instant, Instant, Bytes)> + 'a {
        let delay = self.delay;
        let mut arrival = self.first_arrival;
        list(pool, self.first)
            .map(move |(_, slot)| (std::mem::replace(&mut arrival, slot.next_arrival), slot))
            .filter(|(arrival, _)| *arrival != UNSETTLED)
            .filter_map(move |(arrival, slot)| {
                let end = arrival.at.checked_sub(delay)?;
                (end > now).then(|| (slot.since, end, Bytes::new(u64::from(slot.item.size()))))
            })
    }

    /// All packets on the link: waiting, in transmission, propagating.
    pub fn on_link<'a, T>(&self, pool: &'a Pool<T>) -> impl Iterator<Item = Handle> + 'a {
        list(pool, self.first).map(|(packet, _)| packet)
    }

    /// The average that the discipline keeps, as of the last arrival.
    #[must_use]
    #[inline]
    pub fn average(&self) -> Option<f64> {
        self.discipline.average()
    }
}

fn list<T>(pool: &Pool<T>, from: Handle) -> impl Iterator<Item = (Handle, &Slot<T>)> {
    let mut next = from;
    std::iter::from_fn(move || {
        let packet = next;
        let slot = pool.slot(packet)?;
        next = slot.next;
        Some((packet, slot))
    })
}
