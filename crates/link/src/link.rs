//! One direction of a link: loss, policer, queue, shaper, transmitter, propagation.
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
//! an event of its own, if packets wait for it. Both give the same transmissions, drops and deliveries. A discipline that decides
//! at departure holds what waits itself, and the list has only what was begun.

mod accounts;
mod plain;
mod told;

pub use plain::{Departure, PlainOffer};
pub use told::{Delivery, Offer, Transmission};

use crate::common::{Common, Pace, random};
use crate::pool::{Handle, Item, Pool, Slot, UNSETTLED};
use crate::queue::{Arrival, Backlog, Decision, Verdict};
use headway_engine::{Class, Moment, Places, Ties};
use headway_units::{Accumulator, Bytes, DropCause, Dscp, Ecn, Instant};

/// One direction of a link. Its packets lie in a [`Pool`], and what it shares with links that are alike is a [`Common`]: the same at
/// every call.
///
/// Laid out in this order: with thousands of links, reaching for memory is what takes the time. What an arrival touches
/// fits one cache line, and what an offer touches is half of another.
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
    /// Sets its arrivals apart from those of other links.
    salt: u32,
    waiting_bytes: u64,
    /// When the first is at the far end; [`UNSETTLED`] if there is none.
    first_arrival: Moment,
    /// Which [`Common`] is its own: the caller's note.
    pub common: u32,
    /// Whether the end of its transmission is in the event queue: the caller's note.
    pub departure: Departure,
    /// Whether its next arrival is in the event queue: the caller's note. A packet that overtakes the next one clears it, and its arrival is an event more.
    pub arrival_pending: bool,
    /// Whether anything has been transmitted yet.
    begun: bool,
    /// Whether the exact end of the last transmission is in the nanosecond before `free_at`.
    rounded_up: bool,

    /// End of the last transmission that was begun (two events) or settled (one event).
    free_at: Instant,
    free_s: f64,
    /// What of the end goes on exactly: its place in the order of scheduling or, where ties are drawn, what the exact end has beyond the
    /// nanosecond, in units of 1 / rate ns.
    free_rest: u64,
}

impl Link {
    /// A link at time zero, idle; `common` is the caller's note. `name` and `seed` give its random stream.
    #[must_use]
    pub fn new(seed: u64, name: &str, common: u32) -> Self {
        Self {
            first: Handle::NONE,
            last: Handle::NONE,
            last_begun: Handle::NONE,
            first_waiting: Handle::NONE,
            waiting: 0,
            salt: random(seed, name, "ties").bits() as u32,
            waiting_bytes: 0,
            first_arrival: UNSETTLED,
            common,
            departure: Departure::Idle,
            arrival_pending: false,
            begun: false,
            rounded_up: false,
            free_at: Instant::ZERO,
            free_s: 0.0,
            free_rest: 0,
        }
    }

    /// The end of the last transmission.
    #[inline]
    fn free(&self, ties: Ties) -> Moment {
        match ties {
            Ties::Scheduled => Moment { at: self.free_at, sum_s: self.free_s, turn: self.free_rest },
            Ties::Drawn => Moment::in_class(self.free_at, self.free_s, Class::Departure),
        }
    }

    /// Whether the last transmission ended before `now`.
    #[inline]
    fn is_free(&self, ties: Ties, now: Moment) -> bool {
        self.free_at < now.at || !self.begun || self.free(ties) < now
    }

    /// Offers a packet. `on_start` hears of each transmission that is settled by this call. As long as at most `uncounted` packets can
    /// wait, those that have begun transmission may go on counting among them (one event): to look at each costs a cache miss.
    // Called by itself, as two callers would have it, it costs 45 instructions more.
    #[inline(always)]
    #[expect(
        clippy::too_many_arguments,
        reason = "what links share is passed in, each apart: the caller has it in fields of its own"
    )]
    pub fn offer<T: Item>(
        &mut self,
        common: &mut Common,
        pool: &mut Pool<T>,
        places: &mut Places,
        now: Moment,
        packet: Handle,
        uncounted: u32,
        mut on_start: impl FnMut(&Pool<T>, Transmission),
    ) -> Offer {
        let (bytes, ecn, dscp) = pool
            .slot(packet)
            .map_or((0, Ecn::NotEct, Dscp::CS0), |Slot { item, .. }| (item.size(), item.ecn(), item.dscp()));
        let taken = if bytes > common.mtu { Some(DropCause::TooBig) } else { common.takes_before_queue(bytes, now.at) };
        if let Some(cause) = taken {
            // It does not come to the queue; who looks at the queue now shall see it as it is.
            self.settle(common, pool, now);
            return Offer::Dropped(cause);
        }
        let arrival = Arrival { size: Bytes::new(u64::from(bytes)), ecn, dscp };
        let surely_fits = self.waiting < uncounted && common.fits(self.waiting(), arrival);
        if !common.two_events && !surely_fits {
            self.advance(pool, now);
        }
        // Where one event is enough, who waits has a transmission to come.
        let idle = self.is_free(common.ties, now) && (self.waiting == 0 || !common.two_events);
        if idle {
            (self.first_waiting, self.waiting, self.waiting_bytes) = (Handle::NONE, 0, 0);
        }
        let verdict = if surely_fits { Verdict::Admit } else { self.ask(common, now, arrival, idle) };
        let marked = match verdict {
            Verdict::Admit => false,
            Verdict::Mark => true,
            Verdict::MarkHead { .. } | Verdict::AdmitAndEvict { .. } => {
                return self.let_in_at_a_cost(
                    common,
                    pool,
                    places,
                    now,
                    idle,
                    (packet, arrival),
                    verdict,
                    &mut on_start,
                );
            }
            Verdict::Drop(cause) => {
                if idle {
                    common.refused_s = now.sum_s;
                }
                return Offer::Dropped(cause);
            }
            Verdict::DropMarked(cause) => return Offer::DroppedMarked(cause),
        };
        // Who decides about waiting packets takes two events.
        if common.two_events {
            if common.holds {
                return self.hold(common, pool, places, now, idle, (packet, marked), &mut on_start);
            }
            if !marked {
                common.waits(packet, arrival);
            }
        }
        self.push(common, pool, places, now, idle, (packet, bytes), &mut on_start);
        if marked { Offer::Marked } else { Offer::Accepted }
    }

    /// The packet is let in, and another one is marked or dropped for it.
    #[cold]
    #[inline(never)]
    #[expect(clippy::too_many_arguments, reason = "as offer")]
    fn let_in_at_a_cost<T: Item>(
        &mut self,
        common: &mut Common,
        pool: &mut Pool<T>,
        places: &mut Places,
        now: Moment,
        idle: bool,
        (packet, arrival): (Handle, Arrival),
        verdict: Verdict,
        on_start: &mut impl FnMut(&Pool<T>, Transmission),
    ) -> Offer {
        let (marked, ahead) = match verdict {
            Verdict::MarkHead { class } => {
                let ahead = common.unmarked.as_mut().and_then(|unmarked| unmarked.mark(class));
                (ahead.is_none(), ahead)
            }
            Verdict::AdmitAndEvict { mark, .. } => (mark, None),
            _ => (false, None),
        };
        if !marked {
            common.waits(packet, arrival);
        }
        self.push(common, pool, places, now, idle, (packet, arrival.size.count() as u32), on_start);
        if let Verdict::AdmitAndEvict { place, cause, .. } = verdict
            && let Some(victim) = self.evict(common, pool, place)
        {
            return Offer::Evicted { marked, victim, cause };
        }
        match ahead {
            Some(ahead) => Offer::MarkedAhead(ahead),
            None if marked => Offer::Marked,
            None => Offer::Accepted,
        }
    }

    /// The packet is let in by a queue that holds what waits, and leaves it at once if nothing is in transmission.
    #[cold]
    #[inline(never)]
    #[expect(clippy::too_many_arguments, reason = "as offer")]
    fn hold<T: Item>(
        &mut self,
        common: &mut Common,
        pool: &mut Pool<T>,
        places: &mut Places,
        now: Moment,
        idle: bool,
        (packet, marked): (Handle, bool),
        on_start: &mut impl FnMut(&Pool<T>, Transmission),
    ) -> Offer {
        if let Some(slot) = pool.slot_mut(packet) {
            (slot.since_s, slot.next_arrival) = (now.sum_s, UNSETTLED);
        }
        if idle {
            // When the last transmission ended the queue was asked, and had nothing: it knows that it was empty then (RFC 8289 section 5.6, RFC 8290
            // section 4.2). Nothing has happened since.
            common.discipline.dequeue(now.at, pool, &mut common.decisions);
        }
        if marked {
            common.decisions.push_back(Decision::Marked(packet));
        }
        common.discipline.hold(now.at, packet, pool, &mut common.decisions);
        self.count_held(common);
        if idle {
            self.start_held(common, pool, places, now, idle, on_start);
        }
        if common.decisions.is_empty() { Offer::Accepted } else { Offer::Decided }
    }

    fn count_held(&mut self, common: &Common) {
        let (packets, bytes) = common.discipline.waiting();
        (self.waiting, self.waiting_bytes) = (packets as u32, bytes);
    }

    /// Begins the transmission of the packet that the queue, which holds what waits, lets go.
    fn start_held<T: Item>(
        &mut self,
        common: &mut Common,
        pool: &mut Pool<T>,
        places: &mut Places,
        now: Moment,
        idle: bool,
        on_start: &mut impl FnMut(&Pool<T>, Transmission),
    ) {
        let packet = common.discipline.dequeue(now.at, pool, &mut common.decisions);
        self.count_held(common);
        let Some(packet) = packet else { return };
        let Some(slot) = pool.slot_mut(packet) else { return };
        let size = slot.item.size();
        let (start, end, arrival) = self.transmit(common, places, now, idle, slot.since, size);
        let enqueued = std::mem::replace(&mut slot.since, start.at);
        if !self.may_overtake(common, packet, end, arrival) {
            match pool.slot_mut(self.last) {
                Some(before) => (before.next, before.next_arrival) = (packet, arrival),
                None => (self.first, self.first_arrival) = (packet, arrival),
            }
            (self.last, self.last_begun) = (packet, packet);
        }
        let size = Bytes::new(u64::from(size));
        on_start(pool, Transmission { packet, size, enqueued, start: start.at, end });
    }

    /// What the queue discipline decides, which knows all that wait.
    #[inline]
    fn ask(&self, common: &mut Common, now: Moment, arrival: Arrival, idle: bool) -> Verdict {
        let (packets, bytes) = self.waiting();
        let since_s = if self.free_s > common.refused_s { self.free_s } else { common.refused_s };
        common.admit(now.at, &Backlog { packets, bytes, idle, idle_s: now.sum_s - since_s }, arrival)
    }

    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "as offer")]
    fn push<T: Item>(
        &mut self,
        common: &mut Common,
        pool: &mut Pool<T>,
        places: &mut Places,
        now: Moment,
        idle: bool,
        (packet, bytes): (Handle, u32),
        on_start: &mut impl FnMut(&Pool<T>, Transmission),
    ) {
        let settled = (!common.two_events).then(|| self.transmit(common, places, now, idle, now.at, bytes));
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
                if settled.is_some() {
                    self.first_arrival = arrival;
                }
            }
        }
        let begun = idle && !common.two_events;
        self.append(packet, bytes, begun);
        if !begun && let Some(order) = &mut common.order {
            order.push_back(packet);
        }
        if let Some((start, end, _)) = settled {
            let size = Bytes::new(u64::from(bytes));
            on_start(pool, Transmission { packet, size, enqueued: now.at, start: start.at, end });
        } else if idle {
            self.start_next(common, pool, places, now, idle, on_start);
        }
    }

    /// Counts the packet that is last in the list from now on. Its transmission has begun, or it waits.
    #[inline(always)]
    fn append(&mut self, packet: Handle, bytes: u32, begun: bool) {
        self.last = packet;
        if begun {
            self.last_begun = packet;
            return;
        }
        if self.waiting == 0 {
            self.first_waiting = packet;
        }
        self.waiting += 1;
        self.waiting_bytes += u64::from(bytes);
    }

    /// Settles a transmission that begins `now` if the transmitter is idle, else at the end of the one before: its start, its
    /// end, and the arrival at the far end. The packet arrived at `since`.
    #[inline(always)]
    fn transmit(
        &mut self,
        common: &mut Common,
        places: &mut Places,
        now: Moment,
        idle: bool,
        since: Instant,
        bytes: u32,
    ) -> (Moment, Instant, Moment) {
        if common.varying.is_some() {
            return self.transmit_varying(common, places, now, idle, since, bytes);
        }
        if common.ties == Ties::Drawn {
            return self.transmit_drawn(common, now, idle, bytes);
        }
        let Pace { transmission_s, way_s, .. } = *common.pace(bytes);
        let start = if idle { now } else { self.free(Ties::Scheduled) };
        (self.free_s, self.begun) = (start.sum_s + transmission_s, true);
        let arrival = Moment::scheduled(start.sum_s + way_s, places.next());
        let end = Moment::scheduled(self.free_s, places.next());
        (self.free_at, self.free_rest) = (end.at, end.turn);
        (start, end.at, arrival)
    }

    /// The same at a constant rate where ties are drawn.
    #[inline(always)]
    fn transmit_drawn(
        &mut self,
        common: &mut Common,
        now: Moment,
        idle: bool,
        bytes: u32,
    ) -> (Moment, Instant, Moment) {
        let Pace { step, transmission_s, way_s, .. } = *common.pace(bytes);
        let rate = common.rate;
        let start = if idle { now } else { self.free(Ties::Drawn) };
        (self.free_s, self.begun) = (start.sum_s + transmission_s, true);
        let mut exact = if idle {
            Accumulator::between(now.at, now.fraction_ns(), rate)
        } else {
            let at = Instant::from_nanos(self.free_at.as_nanos() - u64::from(self.rounded_up));
            Accumulator::with_remainder(at, self.free_rest)
        };
        exact.step(step, rate);
        let (at, fraction_ns) = exact.nearest(rate);
        (self.free_at, self.rounded_up, self.free_rest) = (at, at != exact.instant(), exact.remainder());
        let arrival = Moment::drawn(at + common.delay, start.sum_s + way_s, fraction_ns, Class::Arrival, self.salt);
        (start, at, arrival)
    }

    /// The same where the rate varies.
    #[cold]
    #[inline(never)]
    fn transmit_varying(
        &mut self,
        common: &mut Common,
        places: &mut Places,
        now: Moment,
        idle: bool,
        since: Instant,
        bytes: u32,
    ) -> (Moment, Instant, Moment) {
        let start = if idle { now } else { self.free(common.ties) };
        let waited = (!idle).then_some(since);
        let (at, there) = common.opportunity(start.at, waited, bytes).unwrap_or((start.at, start.at + common.delay));
        // Not before the start within the nanosecond.
        (self.free_s, self.begun) = (at.as_secs_f64().max(start.sum_s), true);
        let arrival_s = self.free_s + there.since(at).as_secs_f64();
        let arrival = match common.ties {
            Ties::Scheduled => {
                let arrival = Moment::scheduled(arrival_s, places.next());
                let end = Moment::scheduled(self.free_s, places.next());
                (self.free_at, self.free_rest) = (end.at, end.turn);
                arrival
            }
            Ties::Drawn => {
                (self.free_at, self.rounded_up, self.free_rest) = (at, false, 0);
                Moment::drawn(there, arrival_s, 0.0, Class::Arrival, self.salt)
            }
        };
        (start, self.free_at, arrival)
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
        common: &mut Common,
        pool: &mut Pool<T>,
        places: &mut Places,
        now: Moment,
        idle: bool,
        on_start: &mut impl FnMut(&Pool<T>, Transmission),
    ) {
        let (before, packet) = (self.last_begun, self.first_waiting);
        let Some(slot) = self.begin(pool) else { return };
        if let Some(order) = &mut common.order {
            order.pop_front();
        }
        if let Some(unmarked) = &mut common.unmarked {
            unmarked.leaves(packet, slot.item.dscp());
        }
        let size = slot.item.size();
        let (start, end, arrival) = self.transmit(common, places, now, idle, slot.since, size);
        let enqueued = std::mem::replace(&mut slot.since, start.at);
        if !self.may_overtake(common, packet, end, arrival) {
            match pool.slot_mut(before) {
                Some(before) => before.next_arrival = arrival,
                None => self.first_arrival = arrival,
            }
        }
        let size = Bytes::new(u64::from(size));
        on_start(pool, Transmission { packet, size, enqueued, start: start.at, end });
    }

    /// Two events: where packets may overtake one another, one whose transmission begins leaves the list, which has only what waits.
    #[inline]
    fn may_overtake(&mut self, common: &mut Common, packet: Handle, end: Instant, arrival: Moment) -> bool {
        common.varying.is_some() && self.leave_list(common, packet, end, arrival)
    }

    #[cold]
    #[inline(never)]
    fn leave_list(&mut self, common: &mut Common, packet: Handle, end: Instant, arrival: Moment) -> bool {
        let Some(overtaking) = common.varying.as_mut().and_then(|varying| varying.overtaking.as_mut()) else {
            return false;
        };
        (self.first, self.last_begun) = (self.first_waiting, Handle::NONE);
        if self.last == packet {
            self.last = Handle::NONE;
        }
        overtaking.insert(packet, end, arrival, &mut self.arrival_pending);
        self.first_arrival = overtaking.next_arrival();
        true
    }

    /// Two events: takes out the packet that has `ahead` waiting packets before it.
    fn evict<T: Item>(&mut self, common: &mut Common, pool: &mut Pool<T>, ahead: usize) -> Option<Handle> {
        let order = common.order.as_mut()?;
        let before = ahead.checked_sub(1).and_then(|ahead| order.get(ahead).copied()).unwrap_or(self.last_begun);
        // A newcomer that found the transmitter idle is no longer among the waiting.
        let victim = order.remove(ahead)?;
        let slot = pool.slot(victim)?;
        let (next, bytes) = (slot.next, slot.item.size());
        if let Some(unmarked) = &mut common.unmarked {
            unmarked.evicted(victim, slot.item.dscp());
        }
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
    pub fn next_departure(&self, common: &Common) -> Option<Moment> {
        (common.two_events && self.waiting > 0).then(|| self.free(common.ties))
    }

    /// Ends the transmission that [`next_departure`](Self::next_departure) told of, and begins the next. To be called
    /// when everything that arrives at that instant has been offered.
    pub fn depart<T: Item>(
        &mut self,
        common: &mut Common,
        pool: &mut Pool<T>,
        places: &mut Places,
        mut on_start: impl FnMut(&Pool<T>, Transmission),
    ) {
        let Some(end) = self.next_departure(common) else { return };
        if common.holds {
            self.start_held(common, pool, places, end, false, &mut on_start);
        } else {
            self.start_next(common, pool, places, end, false, &mut on_start);
        }
    }

    /// Takes the packet that reaches the far end at `now`, if one does by then.
    #[inline]
    pub fn arrive<T: Item>(&mut self, common: &mut Common, pool: &mut Pool<T>, now: Moment) -> Option<Delivery> {
        if self.first_arrival > now {
            return None;
        }
        if common.varying.is_some() {
            return self.arrive_varying(common, pool, now);
        }
        let packet = self.take_first(pool)?;
        if common.loses_behind(now.at) {
            return Some(Delivery::Lost(packet));
        }
        Some(Delivery::Arrived(packet))
    }

    /// The same where the delay varies.
    #[cold]
    #[inline(never)]
    fn arrive_varying<T: Item>(&mut self, common: &mut Common, pool: &mut Pool<T>, now: Moment) -> Option<Delivery> {
        let lost = common.loses_behind(now.at);
        let varying = common.varying.as_mut()?;
        let Some(overtaking) = &mut varying.overtaking else {
            varying.propagation.arrived();
            let packet = self.take_first(pool)?;
            return Some(if lost { Delivery::Lost(packet) } else { Delivery::Arrived(packet) });
        };
        let (packet, number) = overtaking.arrive(&mut self.arrival_pending)?;
        self.first_arrival = overtaking.next_arrival();
        Some(match lost {
            true => Delivery::Lost(packet),
            false if overtaking.is_reordered(number) => Delivery::Reordered(packet),
            false => Delivery::Arrived(packet),
        })
    }

    /// Takes the first packet off the list, which has arrived.
    #[inline(always)]
    fn take_first<T: Item>(&mut self, pool: &mut Pool<T>) -> Option<Handle> {
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
        Some(packet)
    }

    /// Lets the transmissions end that end before `now`.
    pub fn settle<T: Item>(&mut self, common: &Common, pool: &mut Pool<T>, now: Moment) {
        if !common.two_events {
            self.advance(pool, now);
        }
    }
}
