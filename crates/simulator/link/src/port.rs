//! One direction of a link: loss, policer, queue, shaper, transmitter, propagation.
//!
//! An admitted packet waits while the transmitter is busy, is transmitted in (size + overhead) / rate, and arrives
//! `delay` after that. Sums of transmission times carry the fraction below a nanosecond.
//!
//! Ties: ends of transmissions and arrivals of packets are ordered by their [`Moment`]s. If ties are drawn and the
//! moments are equal, the arrival of the packet is first: a transmitter busy until t is still busy for a packet that
//! arrives at t. In the order of scheduling, the start of a transmission first schedules the arrival at the far end,
//! then its own end, as ns-2's `LinkDelay::recv` does; the event that was scheduled first is first.
//!
//! If the discipline decides at arrival and ties are drawn, the port computes the departure when it admits the packet
//! (the transmission is *settled*). Then the only event is the arrival at the far end. Otherwise, or if `two_events`
//! is set, the end of a transmission is an event, too, if packets wait for it. Both give equal transmissions, drops
//! and deliveries. If the discipline decides at departure, it holds the waiting packets, and the list of the port has
//! only packets whose transmission has begun.

mod accounts;
mod outcome;
mod plain;

pub(crate) use outcome::{Delivery, Offer, Transmission};

use crate::common::{Common, Pace, random};
use crate::pool::{Handle, Item, Pool, Slot, UNSETTLED};
use crate::queue::{Arrival, Backlog, Decision, Verdict};
use headway_engine::{Actor, Class, EventQueue, Moment, Ties};
use headway_record::{LinkMeter, Measured};
use headway_units::{Accumulator, Bytes, DropCause, Dscp, Ecn, Instant};

/// State outside of a port that it uses.
#[derive(Debug)]
pub(crate) struct Ctx<'a, T> {
    pub(crate) common: &'a mut Common,
    pub(crate) packets: &'a mut Pool<T>,
    pub(crate) events: &'a mut EventQueue,
    pub(crate) measured: &'a Measured,
}

/// One direction of a link: its queue, its transmitter and its counters. Its packets are in a [`Pool`].
///
/// With thousands of ports, memory access dominates, so that the order of the fields matters. An arrival at the far end
/// accesses only the first of the two cache lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Port {
    /// Linked list of packets: those whose transmission has begun, then those that wait.
    first: Handle,
    last: Handle,
    /// The last packet whose transmission has begun, and the first that waits.
    last_begun: Handle,
    first_waiting: Handle,
    waiting: u32,
    /// Orders simultaneous arrivals of different ports.
    salt: u32,
    waiting_bytes: u64,
    /// Arrival of the first packet at the far end; [`UNSETTLED`] if there is none.
    first_arrival: Moment,
    pub(crate) common: u32,
    departure: Departure,
    /// Whether its next arrival is in the event queue. It is not if a packet has overtaken the next one, whose event
    /// remains.
    arrival_pending: bool,
    begun: bool,
    /// Whether the exact end of the last transmission is in the nanosecond before `free_at`.
    rounded_up: bool,

    /// End of the last transmission that has begun (two events) or is settled (one event).
    free_at: Instant,
    free_s: f64,
    /// The rest of the exact end. In the order of scheduling: its place in that order. If ties are drawn: the
    /// difference of the exact end from the nanosecond, in units of 1 / rate ns.
    free_rest: u64,
    pub(crate) meter: LinkMeter,
}

/// Whether the end of a transmission is in the event queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Departure {
    /// Never: the port is [plain](Port::is_plain).
    Plain,
    /// No.
    Idle,
    /// Yes.
    Pending,
}

impl Port {
    /// Creates an idle port at time zero. `name` and `seed` determine its random stream.
    pub(crate) fn new(seed: u64, name: &str, common: u32, meter: LinkMeter) -> Self {
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
            meter,
        }
    }

    #[inline]
    fn free(&self, ties: Ties) -> Moment {
        match ties {
            Ties::Scheduled => Moment { at: self.free_at, sum_s: self.free_s, turn: self.free_rest },
            Ties::Drawn => Moment::in_class(self.free_at, self.free_s, Class::Departure),
        }
    }

    #[inline]
    fn is_free(&self, ties: Ties, now: Moment) -> bool {
        self.free_at < now.at || !self.begun || self.free(ties) < now
    }

    /// Offers a packet. Returns the outcome, and the transmission that begins or is settled.
    // Without inlining, this costs 45 more instructions.
    #[inline(always)]
    pub(crate) fn offer<T: Item>(
        &mut self,
        ctx: &mut Ctx<'_, T>,
        now: Moment,
        packet: Handle,
    ) -> (Offer, Option<Transmission>) {
        let (bytes, ecn, dscp) = ctx
            .packets
            .slot(packet)
            .map_or((0, Ecn::NotEct, Dscp::CS0), |Slot { item, .. }| (item.size(), item.ecn(), item.dscp()));
        let common = &mut *ctx.common;
        let dropped =
            if bytes > common.mtu { Some(DropCause::TooBig) } else { common.drop_before_queue(bytes, now.at) };
        if let Some(cause) = dropped {
            // The packet does not reach the queue. Settle transmissions, so that observers see the current queue.
            self.settle(ctx, now);
            return (Offer::Dropped(cause), None);
        }
        let arrival = Arrival { size: Bytes::new(u64::from(bytes)), ecn, dscp };
        // While the queue is shorter than its peak, `waiting` may include packets whose transmission has begun:
        // removing each of them costs a cache miss.
        let surely_fits = self.waiting < self.meter.peak() && common.fits(self.waiting(), arrival);
        if !common.two_events && !surely_fits {
            self.advance(ctx.packets, now);
        }
        // With one event, a transmission is settled for each waiting packet.
        let idle = self.is_free(common.ties, now) && (self.waiting == 0 || !common.two_events);
        if idle {
            (self.first_waiting, self.waiting, self.waiting_bytes) = (Handle::NONE, 0, 0);
        }
        let verdict = if surely_fits { Verdict::Admit } else { self.queue_verdict(common, now, arrival, idle) };
        let marked = match verdict {
            Verdict::Admit => false,
            Verdict::Mark => true,
            Verdict::MarkHead { .. } | Verdict::EnqueueAndDrop { .. } => {
                return self.admit_with_side_effect(ctx, now, idle, (packet, arrival), verdict);
            }
            Verdict::Drop(cause) => {
                if idle {
                    common.idle_drop_s = now.sum_s;
                }
                return (Offer::Dropped(cause), None);
            }
            Verdict::DropMarked(cause) => return (Offer::DroppedMarked(cause), None),
        };
        // A discipline that may drop or mark waiting packets needs two events.
        if common.two_events {
            if common.holds {
                return self.enqueue_held(ctx, now, idle, (packet, marked));
            }
            if !marked {
                common.add_unmarked(packet, arrival);
            }
        }
        let begun = self.push(ctx, now, idle, (packet, bytes));
        (if marked { Offer::Marked } else { Offer::Accepted }, begun)
    }

    /// Admits a packet, and marks or drops another one.
    #[cold]
    #[inline(never)]
    fn admit_with_side_effect<T: Item>(
        &mut self,
        ctx: &mut Ctx<'_, T>,
        now: Moment,
        idle: bool,
        (packet, arrival): (Handle, Arrival),
        verdict: Verdict,
    ) -> (Offer, Option<Transmission>) {
        let (marked, ahead) = match verdict {
            Verdict::MarkHead { class } => {
                let ahead = ctx.common.unmarked.as_mut().and_then(|unmarked| unmarked.mark(class));
                (ahead.is_none(), ahead)
            }
            Verdict::EnqueueAndDrop { mark, .. } => (mark, None),
            _ => (false, None),
        };
        if !marked {
            ctx.common.add_unmarked(packet, arrival);
        }
        let begun = self.push(ctx, now, idle, (packet, arrival.size.count() as u32));
        if let Verdict::EnqueueAndDrop { place, cause, .. } = verdict
            && let Some(victim) = self.evict(ctx, place)
        {
            return (Offer::Evicted { marked, victim, cause }, begun);
        }
        let offer = match ahead {
            Some(ahead) => Offer::MarkedAhead(ahead),
            None if marked => Offer::Marked,
            None => Offer::Accepted,
        };
        (offer, begun)
    }

    /// Enqueues a packet at a discipline that holds the waiting packets. If idle, a transmission begins.
    #[cold]
    #[inline(never)]
    fn enqueue_held<T: Item>(
        &mut self,
        ctx: &mut Ctx<'_, T>,
        now: Moment,
        idle: bool,
        (packet, marked): (Handle, bool),
    ) -> (Offer, Option<Transmission>) {
        if let Some(slot) = ctx.packets.slot_mut(packet) {
            (slot.since_s, slot.next_arrival) = (now.sum_s, UNSETTLED);
        }
        let common = &mut *ctx.common;
        if idle {
            // At the end of the last transmission the discipline was asked for a packet and was empty, which it has
            // recorded (RFC 8289 section 5.6, RFC 8290 section 4.2). Nothing has happened since.
            common.discipline.dequeue(now.at, ctx.packets, &mut common.decisions);
        }
        if marked {
            common.decisions.push_back(Decision::Marked(packet));
        }
        common.discipline.enqueue(now.at, packet, ctx.packets, &mut common.decisions);
        self.count_held(common);
        let begun = if idle { self.start_held(ctx, now, idle) } else { None };
        (if ctx.common.decisions.is_empty() { Offer::Accepted } else { Offer::Decided }, begun)
    }

    fn count_held(&mut self, common: &Common) {
        let (packets, bytes) = common.discipline.waiting();
        (self.waiting, self.waiting_bytes) = (packets as u32, bytes);
    }

    /// Begins the transmission of the next packet of a discipline that holds the waiting packets.
    fn start_held<T: Item>(&mut self, ctx: &mut Ctx<'_, T>, now: Moment, idle: bool) -> Option<Transmission> {
        let packet = ctx.common.discipline.dequeue(now.at, ctx.packets, &mut ctx.common.decisions);
        self.count_held(ctx.common);
        let packet = packet?;
        let slot = ctx.packets.slot_mut(packet)?;
        let size = slot.item.size();
        let (start, end, arrival) = self.transmit(ctx.common, ctx.events, now, idle, (slot.since, size));
        let enqueued = std::mem::replace(&mut slot.since, start.at);
        if !self.may_overtake(ctx.common, packet, end, arrival) {
            match ctx.packets.slot_mut(self.last) {
                Some(before) => (before.next, before.next_arrival) = (packet, arrival),
                None => (self.first, self.first_arrival) = (packet, arrival),
            }
            (self.last, self.last_begun) = (packet, packet);
        }
        Some(Transmission { packet, size, enqueued, start: start.at, end })
    }

    #[inline]
    fn queue_verdict(&self, common: &mut Common, now: Moment, arrival: Arrival, idle: bool) -> Verdict {
        let (packets, bytes) = self.waiting();
        let since_s = if self.free_s > common.idle_drop_s { self.free_s } else { common.idle_drop_s };
        common.admit(now.at, &Backlog { packets, bytes, idle, idle_s: now.sum_s - since_s }, arrival)
    }

    #[inline(always)]
    fn push<T: Item>(
        &mut self,
        ctx: &mut Ctx<'_, T>,
        now: Moment,
        idle: bool,
        (packet, bytes): (Handle, u32),
    ) -> Option<Transmission> {
        let one_event = !ctx.common.two_events;
        let settled = one_event.then(|| self.transmit(ctx.common, ctx.events, now, idle, (now.at, bytes)));
        let (since, arrival) = settled.map_or((now, UNSETTLED), |(start, _, arrival)| (start, arrival));
        let slot = ctx.packets.slot_mut(packet)?;
        slot.next = Handle::NONE;
        (slot.since, slot.since_s) = (since.at, since.sum_s);
        slot.next_arrival = UNSETTLED;
        match ctx.packets.slot_mut(self.last) {
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
        let begun = idle && one_event;
        self.append(packet, bytes, begun);
        if !begun && let Some(order) = &mut ctx.common.order {
            order.push_back(packet);
        }
        match settled {
            Some((start, end, _)) => Some(Transmission { packet, size: bytes, enqueued: now.at, start: start.at, end }),
            None if idle => self.start_next(ctx, now, idle),
            None => None,
        }
    }

    /// Counts the new last packet of the list. Its transmission has begun, or it waits.
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

    /// Settles a transmission that begins `now` if the transmitter is idle, else at the end of the previous one.
    /// Returns its start, its end and the arrival at the far end. The packet arrived at `since`.
    #[inline(always)]
    fn transmit(
        &mut self,
        common: &mut Common,
        events: &mut EventQueue,
        now: Moment,
        idle: bool,
        (since, bytes): (Instant, u32),
    ) -> (Moment, Instant, Moment) {
        if common.varying.is_some() {
            return self.transmit_varying(common, events, now, idle, (since, bytes));
        }
        if common.ties == Ties::Drawn {
            return self.transmit_drawn(common, now, idle, bytes);
        }
        let Pace { transmission_s, latency_s, .. } = *common.pace(bytes);
        let start = if idle { now } else { self.free(Ties::Scheduled) };
        (self.free_s, self.begun) = (start.sum_s + transmission_s, true);
        let arrival = Moment::scheduled(start.sum_s + latency_s, events.places.next());
        let end = Moment::scheduled(self.free_s, events.places.next());
        (self.free_at, self.free_rest) = (end.at, end.turn);
        (start, end.at, arrival)
    }

    /// Is [`transmit`](Self::transmit) for a constant rate and drawn ties.
    #[inline(always)]
    fn transmit_drawn(
        &mut self,
        common: &mut Common,
        now: Moment,
        idle: bool,
        bytes: u32,
    ) -> (Moment, Instant, Moment) {
        let Pace { step, transmission_s, latency_s, .. } = *common.pace(bytes);
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
        let arrival = Moment::drawn(at + common.delay, start.sum_s + latency_s, fraction_ns, Class::Arrival, self.salt);
        (start, at, arrival)
    }

    /// Is [`transmit`](Self::transmit) for a link whose rate or delay varies.
    #[cold]
    #[inline(never)]
    fn transmit_varying(
        &mut self,
        common: &mut Common,
        events: &mut EventQueue,
        now: Moment,
        idle: bool,
        (since, bytes): (Instant, u32),
    ) -> (Moment, Instant, Moment) {
        let start = if idle { now } else { self.free(common.ties) };
        let waited = (!idle).then_some(since);
        let (at, there) = common.opportunity(start.at, waited, bytes).unwrap_or((start.at, start.at + common.delay));
        // Rounding must not move the end before the start.
        (self.free_s, self.begun) = (at.as_secs_f64().max(start.sum_s), true);
        let arrival_s = self.free_s + there.since(at).as_secs_f64();
        let arrival = match common.ties {
            Ties::Scheduled => {
                let arrival = Moment::scheduled(arrival_s, events.places.next());
                let end = Moment::scheduled(self.free_s, events.places.next());
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

    /// Removes the first packet from those that wait. Returns its slot.
    #[inline]
    fn begin<'a, T: Item>(&mut self, pool: &'a mut Pool<T>) -> Option<&'a mut Slot<T>> {
        let slot = pool.slot_mut(self.first_waiting)?;
        self.last_begun = self.first_waiting;
        self.first_waiting = slot.next;
        self.waiting -= 1;
        self.waiting_bytes -= u64::from(slot.item.size());
        Some(slot)
    }

    /// One event: removes packets whose transmission has begun before `now` from those that wait.
    #[inline]
    fn advance<T: Item>(&mut self, pool: &mut Pool<T>, now: Moment) {
        while let Some(slot) = pool.slot(self.first_waiting)
            && Moment::in_class(slot.since, slot.since_s, Class::Departure) < now
        {
            self.begin(pool);
        }
    }

    /// Two events: begins the transmission of the first waiting packet.
    fn start_next<T: Item>(&mut self, ctx: &mut Ctx<'_, T>, now: Moment, idle: bool) -> Option<Transmission> {
        let (before, packet) = (self.last_begun, self.first_waiting);
        let slot = self.begin(ctx.packets)?;
        let common = &mut *ctx.common;
        if let Some(order) = &mut common.order {
            order.pop_front();
        }
        if let Some(unmarked) = &mut common.unmarked {
            unmarked.departed(packet, slot.item.dscp());
        }
        let size = slot.item.size();
        let (start, end, arrival) = self.transmit(common, ctx.events, now, idle, (slot.since, size));
        let enqueued = std::mem::replace(&mut slot.since, start.at);
        if !self.may_overtake(common, packet, end, arrival) {
            match ctx.packets.slot_mut(before) {
                Some(before) => before.next_arrival = arrival,
                None => self.first_arrival = arrival,
            }
        }
        Some(Transmission { packet, size, enqueued, start: start.at, end })
    }

    /// Two events: if packets may overtake one another, removes a packet whose transmission begins from the list,
    /// which then has only waiting packets.
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

    /// Two events: removes the packet at position `ahead` of the waiting packets.
    fn evict<T: Item>(&mut self, ctx: &mut Ctx<'_, T>, ahead: usize) -> Option<Handle> {
        let (common, pool) = (&mut *ctx.common, &mut *ctx.packets);
        let order = common.order.as_mut()?;
        let before = ahead.checked_sub(1).and_then(|ahead| order.get(ahead).copied()).unwrap_or(self.last_begun);
        // A packet that arrived at an idle transmitter does not wait any more.
        let victim = order.remove(ahead)?;
        let slot = pool.slot(victim)?;
        let (next, bytes) = (slot.next, slot.item.size());
        if let Some(unmarked) = &mut common.unmarked {
            unmarked.remove(victim, slot.item.dscp());
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

    /// Returns the end of the current transmission if packets wait for it (two events). One event: `None`.
    #[inline]
    pub(crate) fn next_departure(&self, common: &Common) -> Option<Moment> {
        (common.two_events && self.waiting > 0).then(|| self.free(common.ties))
    }

    /// Handles a scheduled end of a transmission: begins the next transmission, unless the end was postponed.
    pub(crate) fn depart<T: Item>(&mut self, ctx: &mut Ctx<'_, T>, now: Moment) -> Option<Transmission> {
        self.departure = Departure::Idle;
        let end = self.next_departure(ctx.common).filter(|end| *end <= now)?;
        if ctx.common.holds { self.start_held(ctx, end, false) } else { self.start_next(ctx, end, false) }
    }

    #[inline(always)]
    pub(crate) fn meter_transmission<T: Item>(&mut self, ctx: &Ctx<'_, T>, begun: &Transmission) {
        self.meter.waited(ctx.measured, begun.enqueued, begun.start, begun.size);
        self.meter.transmitted(ctx.measured, begun.start, begun.end, begun.size);
        if let Some(flows) = self.meter.by_flow_mut() {
            let flow = ctx.packets.get(begun.packet).flow_id();
            flows.sent(ctx.measured, begun.start, flow, begun.size);
        }
    }

    /// Schedules the next arrival at the far end, unless it is scheduled already. `number` is the index of the port.
    #[inline(always)]
    pub(crate) fn schedule_arrival(&mut self, number: usize, events: &mut EventQueue) {
        if !self.arrival_pending && self.first_arrival.at != Instant::FAR_FUTURE {
            self.arrival_pending = true;
            events.push(self.first_arrival, Actor::new(Class::Arrival, number));
        }
    }

    #[inline]
    pub(crate) fn schedule_departure<T>(&mut self, number: usize, ctx: &mut Ctx<'_, T>) {
        if self.departure == Departure::Idle
            && let Some(at) = self.next_departure(ctx.common)
        {
            self.departure = Departure::Pending;
            ctx.events.push(at, Actor::new(Class::Departure, number));
        }
    }

    /// Handles the event of an arrival. Returns the packet that has reached the far end by `now`, if there is one.
    #[inline]
    pub(crate) fn arrive<T: Item>(&mut self, ctx: &mut Ctx<'_, T>, now: Moment) -> Option<Delivery> {
        self.arrival_pending = false;
        if self.first_arrival > now {
            return None;
        }
        if ctx.common.varying.is_some() {
            return self.arrive_varying(ctx, now);
        }
        let packet = self.take_first(ctx.packets)?;
        if ctx.common.is_lost_after_transmission(now.at) {
            return Some(Delivery::Lost(packet));
        }
        Some(Delivery::Arrived(packet))
    }

    /// Is [`arrive`](Self::arrive) for a link whose rate or delay varies.
    #[cold]
    #[inline(never)]
    fn arrive_varying<T: Item>(&mut self, ctx: &mut Ctx<'_, T>, now: Moment) -> Option<Delivery> {
        let lost = ctx.common.is_lost_after_transmission(now.at);
        let varying = ctx.common.varying.as_mut()?;
        let Some(overtaking) = &mut varying.overtaking else {
            varying.propagation.arrived();
            let packet = self.take_first(ctx.packets)?;
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

    #[inline(always)]
    fn take_first<T: Item>(&mut self, pool: &mut Pool<T>) -> Option<Handle> {
        let packet = self.first;
        let slot = pool.slot(packet)?;
        self.first = slot.next;
        self.first_arrival = slot.next_arrival;
        if packet == self.first_waiting {
            // One event: its transmission has begun since the waiting packets were last counted.
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

    /// Completes transmissions that end before `now`.
    pub(crate) fn settle<T: Item>(&mut self, ctx: &mut Ctx<'_, T>, now: Moment) {
        if !ctx.common.two_events {
            self.advance(ctx.packets, now);
        }
    }
}
