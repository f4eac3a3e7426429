//! The ports of a network, and the packets on them.
//!
//! [`Ports::offer`] offers a packet to the queue of a port. The end of its transmission and its arrival at the far end
//! are events, which [`Ports::departed`] and [`Ports::arrived`] handle. A port meters its packets and schedules its
//! events itself. The [`Handler`] of the owner is notified of marks, drops and, optionally, of other events.

use crate::common::Common;
use crate::config::Config;
use crate::pool::{Handle, Item, Pool};
use crate::port::{Ctx, Delivery, Offer, Port, Transmission};
use crate::queue::{Decision, Hosts};
use headway_engine::{Class, EventQueue, Moment, Ties};
use headway_record::{LinkLabel, LinkMeter, LinkSummary, Measured};
use headway_units::{DropCause, FlowId, Instant};
use std::sync::Arc;

/// Number of newest configurations that a new port may share its state with.
const LATEST: usize = 8;

/// A packet that a port has dropped. It is on no port. Its slot in the pool is freed after the call of
/// [`Handler::dropped`].
#[derive(Debug)]
pub struct DroppedPacket<'a, T> {
    /// Time of the drop.
    pub now: Instant,
    /// Index of the port.
    pub port: usize,
    /// Handle of the packet in the pool.
    pub handle: Handle,
    /// Packet that was dropped.
    pub packet: &'a mut T,
    /// Why it was dropped.
    pub cause: DropCause,
    /// Whether the loss model dropped the packet before it reached the queue.
    pub before_queue: bool,
}

/// Callbacks of the owner of ports.
pub trait Handler<T> {
    /// Whether [`enqueued`](Self::enqueued), [`dequeued`](Self::dequeued) and [`received`](Self::received) are called.
    /// If so, the end of every transmission is an event, so that each is called at the time of its event.
    const WATCHES: bool = false;
    /// Whether [`offered`](Self::offered) and [`transmitted`](Self::transmitted) are called. If a port can compute the
    /// transmission when a packet is offered, it calls both at that time.
    const HOPS: bool = false;

    /// A packet is offered to a port at which `waiting` other packets wait. It may then be dropped.
    fn offered(&mut self, _now: Instant, _port: usize, _waiting: u64, _handle: Handle, _packet: &T) {}

    /// The transmission of a packet takes place from `start` to `end`; both may be in the future.
    fn transmitted(&mut self, _handle: Handle, _packet: &T, _start: Instant, _end: Instant) {}

    /// A packet was offered to a port, and the loss model before the queue did not drop it. Also called if the MTU, the
    /// policer or the queue drops it.
    fn enqueued(&mut self, _now: Instant, _port: usize, _packet: &T) {}

    /// The transmission of a packet begins.
    fn dequeued(&mut self, _now: Instant, _port: usize, _packet: &T) {}

    /// A packet reaches the far end.
    fn received(&mut self, _now: Instant, _port: usize, _packet: &T) {}

    /// A packet that reaches the far end was reordered (RFC 4737 section 3.3).
    fn reordered(&mut self, _port: usize) {}

    /// RED's average queue length at a port changed to `average`, in packets (of mean size if RED counts bytes).
    fn average(&mut self, _now: Instant, _port: usize, _average: f64) {}

    /// A port duplicates `packet`, which is offered to it. `alive` is the number of packets in the pool. Returns the
    /// copy, which is offered after the packet; `None` if the owner has no space for it.
    fn duplicate(&mut self, now: Instant, port: usize, packet: &T, alive: usize) -> Option<T>;

    /// A port marks a packet Congestion Experienced.
    fn marked(&mut self, now: Instant, port: usize, handle: Handle, packet: &mut T);

    /// A port drops a packet.
    fn dropped(&mut self, dropped: DroppedPacket<'_, T>);
}

/// The state of a port at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PortSample {
    /// Waiting packets, without the one in transmission.
    pub queue_packets: u64,
    /// RED's average queue length, in packets (of mean size if RED counts bytes); `None` for other disciplines.
    pub average: Option<f64>,
    /// Packets offered to the port since time zero, without copies that it made.
    pub arrived_packets: u64,
    /// Packets dropped at the port since time zero.
    pub dropped_packets: u64,
    /// IP bytes of the packets whose transmission has begun since time zero.
    pub sent_bytes: u64,
}

/// The ports of a network with everything that they share.
#[derive(Debug)]
pub struct Ports<T, H> {
    ports: Vec<Port>,
    commons: Vec<Common>,
    /// The newest configurations, with the indices of their [`Common`]s.
    latest: Vec<(Arc<Config>, u32)>,
    /// Whether ends of transmissions are events at any port.
    departures: bool,
    /// Whether any port changes or duplicates packets.
    alters: bool,
    measured: Arc<Measured>,
    /// The packets on the ports, and packets that the owner adds.
    pub packets: Pool<T>,
    /// The events of the ports, and events that the owner adds.
    pub events: EventQueue,
    /// The callbacks of the owner.
    pub handler: H,
}

impl<T: Item, H: Handler<T>> Ports<T, H> {
    /// Creates a network without ports at time zero. `measured` is the interval that the statistics of the ports cover.
    #[must_use]
    pub fn new(ties: Ties, measured: &Arc<Measured>, handler: H) -> Self {
        Self {
            ports: Vec::new(),
            commons: Vec::new(),
            latest: Vec::new(),
            departures: false,
            alters: false,
            measured: Arc::clone(measured),
            packets: Pool::default(),
            events: EventQueue::new(ties),
            handler,
        }
    }

    /// Adds an idle port. Its index is the previous number of ports. `name` and `seed` determine its random streams.
    /// `by_flow` is whether packets are counted by flow.
    pub fn add(&mut self, config: &Arc<Config>, seed: u64, name: &str, by_flow: bool) {
        // Equal links are usually added one after the other.
        let equal =
            self.latest.iter().rev().take(LATEST).find(|(other, _)| Arc::ptr_eq(other, config) || other == config);
        let number = equal.map_or(self.commons.len() as u32, |(_, number)| *number);
        if equal.is_none() {
            let common = Common::new(config, self.events.ties, H::WATCHES, seed, name);
            self.departures |= common.two_events;
            self.alters |= common.alters();
            self.commons.push(common);
            if config.may_be_shared() {
                self.latest.push((Arc::clone(config), number));
            }
        }
        let meter = if by_flow { LinkMeter::counting_by_flow() } else { LinkMeter::default() };
        let mut port = Port::new(seed, name, number, meter);
        if !H::WATCHES && !H::HOPS && !by_flow {
            port.make_plain(&self.commons[number as usize]);
        }
        self.ports.push(port);
    }

    /// Sets the interval that the statistics of the ports cover. Must be called before the first packet.
    pub fn measure(&mut self, measured: &Arc<Measured>) {
        self.measured = Arc::clone(measured);
    }

    /// Sets the pairs of hosts between which flows are sent, for queues that are fair to hosts (CAKE). Must be called
    /// before the first packet. By default each flow has its own hosts.
    pub fn set_hosts(&mut self, hosts: &Hosts) {
        self.commons.iter_mut().for_each(|common| common.set_hosts(hosts));
    }

    /// Offers a packet to a port.
    #[inline(always)]
    pub fn offer(&mut self, now: Moment, number: usize, handle: Handle) {
        if self.ports[number].is_plain() {
            self.offer_plain(now, number, handle);
        } else {
            self.offer_any(now, number, handle);
        }
    }

    #[inline(always)]
    fn offer_plain(&mut self, now: Moment, number: usize, handle: Handle) {
        let port = &mut self.ports[number];
        let common = &mut self.commons[port.common as usize];
        if port.offer_plain(common, &mut self.packets, &self.measured, now, handle) {
            port.schedule_arrival(number, &mut self.events);
        } else {
            self.discard(now.at, number, handle, DropCause::QueueFull, false);
        }
    }

    /// Offers a packet to a port that is not plain, and after it a copy if the port duplicates it.
    #[inline(never)]
    fn offer_any(&mut self, now: Moment, number: usize, handle: Handle) {
        let port = &mut self.ports[number];
        port.meter.arrived(&self.measured, now.at);
        if let Some(flows) = port.meter.by_flow_mut() {
            flows.arrived(&self.measured, now.at, self.packets.get(handle).flow_id());
        }
        let copy = if self.alters { self.alter(now, number, handle) } else { None };
        self.put(now, number, handle);
        if let Some(copy) = copy {
            let copy = self.packets.insert(copy);
            self.put(now, number, copy);
        }
    }

    /// Changes the ECN field of the packet if the port does. Returns a copy of the packet, before the queue can mark
    /// it, if the port duplicates it.
    #[cold]
    #[inline(never)]
    fn alter(&mut self, now: Moment, number: usize, handle: Handle) -> Option<T> {
        let port = &mut self.ports[number];
        let common = &mut self.commons[port.common as usize];
        if let Some(rewrite) = common.ecn_rewrite() {
            let packet = self.packets.get_mut(handle);
            packet.set_ecn(rewrite.apply(packet.ecn()));
        }
        if !common.copies() {
            return None;
        }
        let packet = self.packets.get(handle);
        let copy = self.handler.duplicate(now.at, number, packet, self.packets.alive())?;
        port.meter.duplicated(&self.measured, now.at);
        if let Some(flows) = port.meter.by_flow_mut() {
            flows.copied(packet.flow_id());
        }
        Some(copy)
    }

    fn put(&mut self, now: Moment, number: usize, handle: Handle) {
        let Self { ports, commons, packets, events, measured, handler, .. } = self;
        let port = &mut ports[number];
        let ctx = &mut Ctx { common: &mut commons[port.common as usize], packets, events, measured };
        if H::HOPS {
            // Observers see the current length of the queue.
            port.settle(ctx, now);
            handler.offered(now.at, number, port.waiting().0, handle, ctx.packets.get(handle));
        }
        let (offer, begun) = port.offer(ctx, now, handle);
        let before_queue = offer == Offer::Dropped(DropCause::Channel);
        if H::WATCHES && !before_queue {
            handler.enqueued(now.at, number, ctx.packets.get(handle));
        }
        if let Some(begun) = &begun {
            port.meter_transmission(ctx, begun);
            if H::HOPS {
                handler.transmitted(begun.packet, ctx.packets.get(begun.packet), begun.start, begun.end);
            }
            // A watched port has events for all other transmissions. This one is the packet's own, unless the queue
            // may have marked it meanwhile.
            if H::WATCHES && offer != Offer::Decided {
                handler.dequeued(now.at, number, ctx.packets.get(begun.packet));
            }
        }
        port.meter.queue_seen(ctx.measured, now.at, port.waiting().0 as u32);
        if let Some(average) = ctx.common.average() {
            port.meter.red_average(ctx.measured, now.at, average);
            handler.average(now.at, number, average);
        }
        if ctx.common.two_events {
            port.schedule_departure(number, ctx);
        }
        port.schedule_arrival(number, ctx.events);
        match offer {
            Offer::Accepted => {}
            Offer::Marked => self.mark(now.at, number, handle),
            Offer::MarkedAhead(ahead) => self.mark(now.at, number, ahead),
            Offer::Dropped(cause) => self.discard(now.at, number, handle, cause, before_queue),
            Offer::DroppedMarked(cause) => {
                self.packets.get_mut(handle).mark();
                self.discard(now.at, number, handle, cause, false);
            }
            Offer::Evicted { marked, victim, cause } => {
                if marked {
                    self.mark(now.at, number, handle);
                }
                let enqueued = self.packets.slot(victim).map_or(now.at, |slot| slot.since);
                self.discard_waiting(now.at, number, victim, enqueued, cause);
            }
            Offer::Decided => {
                self.decided(now.at, number);
                if let Some(begun) = begun.filter(|_| H::WATCHES) {
                    self.handler.dequeued(now.at, number, self.packets.get(begun.packet));
                }
            }
        }
    }

    /// Handles the event of the end of a transmission at port `number`. The next waiting packet is then transmitted.
    pub fn departed(&mut self, now: Moment, number: usize) {
        let Self { ports, commons, packets, events, measured, .. } = self;
        let port = &mut ports[number];
        let ctx = &mut Ctx { common: &mut commons[port.common as usize], packets, events, measured };
        let begun = port.depart(ctx, now);
        if ctx.common.has_decided() {
            self.decided(now.at, number);
        }
        let Self { ports, commons, packets, events, measured, handler, .. } = self;
        let port = &mut ports[number];
        let ctx = &mut Ctx { common: &mut commons[port.common as usize], packets, events, measured };
        if let Some(begun) = &begun {
            port.meter_transmission(ctx, begun);
            if H::HOPS {
                handler.transmitted(begun.packet, ctx.packets.get(begun.packet), begun.start, begun.end);
            }
            if H::WATCHES {
                handler.dequeued(now.at, number, ctx.packets.get(begun.packet));
            }
        }
        port.schedule_departure(number, ctx);
        port.schedule_arrival(number, ctx.events);
    }

    /// Handles the event of an arrival at the far end of port `number`. Returns the packet, which is then on no port;
    /// `None` if the loss model dropped the packet after its transmission, or if the event belongs to a packet that was
    /// overtaken.
    #[inline(always)]
    pub fn arrived(&mut self, now: Moment, number: usize) -> Option<Handle> {
        let port = &mut self.ports[number];
        if !port.is_plain() {
            return self.arrived_any(now, number);
        }
        let handle = port.arrive_plain(&mut self.packets)?;
        port.schedule_arrival(number, &mut self.events);
        Some(handle)
    }

    /// Handles the event of an arrival at the far end of a port that is not plain.
    #[inline(never)]
    fn arrived_any(&mut self, now: Moment, number: usize) -> Option<Handle> {
        let Self { ports, commons, packets, events, measured, .. } = self;
        let port = &mut ports[number];
        let ctx = &mut Ctx { common: &mut commons[port.common as usize], packets, events, measured };
        let delivery = port.arrive(ctx, now);
        port.schedule_arrival(number, ctx.events);
        let handle = match delivery? {
            Delivery::Arrived(handle) => handle,
            Delivery::Reordered(handle) => {
                port.meter.reordered(measured, now.at);
                self.handler.reordered(number);
                handle
            }
            Delivery::Lost(handle) => {
                self.discard(now.at, number, handle, DropCause::Channel, false);
                return None;
            }
        };
        if H::WATCHES {
            self.handler.received(now.at, number, self.packets.get(handle));
        }
        Some(handle)
    }

    /// Handles events before `until`, up to the next arrival of a packet at the far end of a port. Returns the time,
    /// the index of the port and the packet. Valid only if the owner adds no events.
    pub fn next_arrival(&mut self, until: Moment) -> Option<(Moment, usize, Handle)> {
        while let Some((now, actor)) = self.events.pop_before(until) {
            let number = actor.number();
            if actor.class() == Class::Departure {
                self.departed(now, number);
            } else if let Some(handle) = self.arrived(now, number) {
                return Some((now, number, handle));
            }
        }
        None
    }

    /// Returns when the next packet reaches the far end of a port; `None` if no packet is on a port. If packets may
    /// overtake one another, it may be the earlier end of a transmission.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let next = |port: &Port| {
            let common = &self.commons[port.common as usize];
            // Which packet arrives next is unknown until other packets are transmitted.
            let departure = if common.overtakes() { port.next_departure(common) } else { None };
            port.next_arrival().into_iter().chain(departure).map(|at| at.at).min()
        };
        self.ports.iter().filter_map(next).min()
    }

    /// Carries out the decisions of a port's queue about waiting packets.
    #[cold]
    #[inline(never)]
    fn decided(&mut self, now: Instant, number: usize) {
        let common = self.ports[number].common as usize;
        while let Some(decision) = self.commons[common].decisions.pop_front() {
            match decision {
                Decision::Marked(handle) => self.mark(now, number, handle),
                Decision::Dropped { packet, enqueued, cause } => {
                    self.discard_waiting(now, number, packet, enqueued, cause);
                }
            }
        }
    }

    #[cold]
    fn discard_waiting(&mut self, now: Instant, number: usize, handle: Handle, enqueued: Instant, cause: DropCause) {
        let bytes = self.packets.get(handle).size();
        self.ports[number].meter.waited(&self.measured, enqueued, now, bytes);
        self.discard(now, number, handle, cause, false);
    }

    #[cold]
    fn mark(&mut self, now: Instant, number: usize, handle: Handle) {
        let (meter, packet) = (&mut self.ports[number].meter, self.packets.get_mut(handle));
        meter.marked(&self.measured, now);
        if let Some(flows) = meter.by_flow_mut() {
            flows.marked(&self.measured, now, packet.flow_id());
        }
        packet.mark();
        self.handler.marked(now, number, handle, packet);
    }

    #[cold]
    fn discard(&mut self, now: Instant, port: usize, handle: Handle, cause: DropCause, before_queue: bool) {
        let (meter, packet) = (&mut self.ports[port].meter, self.packets.get_mut(handle));
        meter.dropped(&self.measured, now, cause);
        if let Some(flows) = meter.by_flow_mut() {
            if cause == DropCause::Channel && !before_queue {
                flows.lost(&self.measured, now, packet.flow_id(), cause);
            } else {
                flows.dropped(&self.measured, now, packet.flow_id(), cause);
            }
        }
        self.handler.dropped(DroppedPacket { now, port, handle, packet, cause, before_queue });
        self.packets.remove(handle);
    }
}

impl<T: Item, H> Ports<T, H> {
    /// Returns the number of ports.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.ports.len()
    }

    /// Returns whether there are no ports.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ports.is_empty()
    }

    /// Returns the port with this index.
    #[must_use]
    #[inline]
    pub fn get(&self, number: usize) -> Option<&Port> {
        self.ports.get(number)
    }

    /// Returns the state of a port at `now`.
    #[inline]
    pub fn sample(&mut self, now: Moment, number: usize) -> PortSample {
        let Self { ports, commons, packets, events, measured, .. } = self;
        let port = &mut ports[number];
        let ctx = &mut Ctx { common: &mut commons[port.common as usize], packets, events, measured };
        port.settle(ctx, now);
        PortSample {
            queue_packets: port.waiting().0,
            average: ctx.common.average(),
            arrived_packets: port.meter.total_arrived_packets(),
            dropped_packets: port.meter.total_dropped_packets(),
            sent_bytes: port.meter.total_sent_bytes() - port.bytes_settled_ahead(ctx.common),
        }
    }

    /// Returns the counts of a port until `end`. `cut` is whether `end` is before the planned end of the run;
    /// transmissions that were computed for later times are then not counted. `names` returns the name of a flow.
    pub fn summary(
        &self,
        number: usize,
        label: LinkLabel,
        end: Instant,
        cut: bool,
        names: impl Fn(FlowId) -> String,
    ) -> LinkSummary {
        let port = &self.ports[number];
        let common = &self.commons[port.common as usize];
        let mut meter = port.meter.clone();
        for (since, bytes) in port.unsettled(common, &self.packets) {
            meter.waited(&self.measured, since, end, bytes);
        }
        for Transmission { packet, size, start, end: until, .. } in port.settled_after(common, &self.packets, end) {
            if !cut {
                break;
            }
            meter.cut_waiting(&self.measured, end, end, start, size);
            meter.cut_transmission(&self.measured, end, start, until);
            if let Some(flows) = meter.by_flow_mut() {
                flows.cut(&self.measured, end, start, self.packets.get(packet).flow_id(), size);
            }
        }
        let flows = meter.by_flow().map(|flows| flows.summary(names)).unwrap_or_default();
        LinkSummary { flows, ..meter.summary(&self.measured, label, end) }
    }

    /// Returns the packets on a port: waiting, in transmission, propagating.
    pub fn on_port(&self, number: usize) -> impl Iterator<Item = Handle> + '_ {
        let port = &self.ports[number];
        port.on_port(&self.commons[port.common as usize], &self.packets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With thousands of ports, memory access dominates.
    #[test]
    fn a_port_is_two_cache_lines() {
        assert_eq!(size_of::<Port>(), 128);
    }
}
