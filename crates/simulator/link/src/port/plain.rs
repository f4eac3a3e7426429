//! The fast path of a packet over a plain port.
//!
//! A port is plain if its rate and its delay are constant, its queue is a DropTail that counts packets and drops
//! arriving ones, ties are drawn, and it has no MTU, loss, policer, duplication, forced second event, counts by flow
//! or observers. Then each transmission is settled when its packet is offered, and the only event is the arrival at
//! the far end. The general path of [`Port`] gives equal results; a property test compares the two.

use super::{Departure, Port};
use crate::common::Common;
use crate::pool::{Handle, Item, Pool, UNSETTLED};
use headway_engine::{Moment, Ties};
use headway_record::Measured;

impl Port {
    /// Uses the plain path for all packets from now on, if the configuration allows it.
    pub(crate) fn make_plain(&mut self, common: &Common) {
        if common.plain_capacity > 0 {
            self.departure = Departure::Plain;
        }
    }

    /// Returns whether the port uses the fast path for plain ports: constant rate and delay, DropTail, no impairments
    /// and no observers.
    #[must_use]
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.departure == Departure::Plain
    }

    /// Offers a packet, as [`offer`](Self::offer) does. Returns whether it is admitted.
    #[inline(always)]
    pub(crate) fn offer_plain<T: Item>(
        &mut self,
        common: &mut Common,
        packets: &mut Pool<T>,
        measured: &Measured,
        now: Moment,
        packet: Handle,
    ) -> bool {
        self.meter.arrived(measured, now.at);
        let capacity = common.plain_capacity;
        if self.waiting >= self.meter.peak().min(capacity) {
            self.advance(packets, now);
        }
        let idle = self.is_free(Ties::Drawn, now);
        if idle {
            (self.first_waiting, self.waiting, self.waiting_bytes) = (Handle::NONE, 0, 0);
        } else if self.waiting >= capacity {
            self.meter.queue_seen(measured, now.at, self.waiting);
            return false;
        }
        let Some(slot) = packets.slot_mut(packet) else { return false };
        let bytes = slot.item.size();
        (slot.next, slot.next_arrival) = (Handle::NONE, UNSETTLED);
        let (start, end, arrival) = self.transmit_drawn(common, now, idle, bytes);
        (slot.since, slot.since_s) = (start.at, start.sum_s);
        match packets.slot_mut(self.last) {
            Some(before) => (before.next, before.next_arrival) = (packet, arrival),
            None => (self.first, self.first_arrival) = (packet, arrival),
        }
        self.append(packet, bytes, idle);
        self.meter.queue_seen(measured, now.at, self.waiting);
        self.meter.waited(measured, now.at, start.at, bytes);
        self.meter.transmitted(measured, start.at, end, bytes);
        true
    }

    /// Handles the event of an arrival. Returns the packet that reaches the far end, as [`arrive`](Self::arrive) does.
    #[inline(always)]
    pub(crate) fn arrive_plain<T: Item>(&mut self, packets: &mut Pool<T>) -> Option<Handle> {
        self.arrival_pending = false;
        self.take_first(packets)
    }
}
