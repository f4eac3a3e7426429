//! The short path of a packet over a plain port.
//!
//! A port is plain if its rate and its delay are constant, its queue is a DropTail that drops the packets that do not fit and counts in packets, ties
//! are drawn, it has no MTU, loss, policer, duplication or forced second event, and nothing counts by flow or observes its packets. Then each transmission is settled when its packet is offered, and the only event is the
//! arrival at the far end. The general path of [`Port`] gives the same results; a property test compares the two.

use super::{Departure, Port};
use crate::common::Common;
use crate::pool::{Handle, Item, Pool, UNSETTLED};
use headway_engine::{Moment, Ties};
use headway_record::Measured;

impl Port {
    /// Sends all packets of this port along the plain path from now on, if its configuration is plain.
    pub(crate) fn make_plain(&mut self, common: &Common) {
        if common.plain_room > 0 {
            self.departure = Departure::Plain;
        }
    }

    /// Whether its packets take the plain path.
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
        let room = common.plain_room;
        if self.waiting >= self.meter.peak().min(room) {
            self.advance(packets, now);
        }
        let idle = self.is_free(Ties::Drawn, now);
        if idle {
            (self.first_waiting, self.waiting, self.waiting_bytes) = (Handle::NONE, 0, 0);
        } else if self.waiting >= room {
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
