//! The path of a packet over a plain link, which does only what most links do.
//!
//! A link is plain if its rate and its delay are constant, its queue drops the packets that do not fit, ties are drawn, and nothing takes,
//! marks or copies its packets. Then each transmission is settled when its packet is offered, and the only event is the arrival at the far end. The
//! general path of [`Link`] gives the same results; a property test compares the two.

use super::Link;
use crate::common::Common;
use crate::pool::{Handle, Item, Pool, UNSETTLED};
use headway_engine::{Moment, Ties};
use headway_units::Instant;

/// Whether the end of a transmission is in the event queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// Never: the link is plain.
    Plain,
    /// Not now.
    Idle,
    /// Yes.
    Pending,
}

/// What a plain link does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainOffer {
    /// The packet is enqueued, and transmitted from `start` to `end`.
    Accepted {
        /// Its IP bytes.
        bytes: u32,
        /// When it leaves the queue.
        start: Instant,
        /// When its last bit leaves the transmitter.
        end: Instant,
    },
    /// The queue is full; the packet is on no link.
    Full,
}

impl Link {
    /// Sends all packets of this link along the plain path from now on, if its configuration is plain.
    #[must_use]
    pub fn plain(self, common: &Common) -> Self {
        if common.plain_room > 0 { Self { departure: Departure::Plain, ..self } } else { self }
    }

    /// Whether its packets take the plain path.
    #[must_use]
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.departure == Departure::Plain
    }

    /// Offers a packet to a [plain](Self::is_plain) link, as [`offer`](Self::offer) does.
    #[inline(always)]
    pub fn offer_plain<T: Item>(
        &mut self,
        common: &mut Common,
        pool: &mut Pool<T>,
        now: Moment,
        packet: Handle,
        uncounted: u32,
    ) -> PlainOffer {
        let room = common.plain_room;
        if self.waiting >= uncounted.min(room) {
            self.advance(pool, now);
        }
        let idle = self.is_free(Ties::Drawn, now);
        if idle {
            (self.first_waiting, self.waiting, self.waiting_bytes) = (Handle::NONE, 0, 0);
        } else if self.waiting >= room {
            return PlainOffer::Full;
        }
        let Some(slot) = pool.slot_mut(packet) else { return PlainOffer::Full };
        let bytes = slot.item.size();
        (slot.next, slot.next_arrival) = (Handle::NONE, UNSETTLED);
        let (start, end, arrival) = self.transmit_drawn(common, now, idle, bytes);
        (slot.since, slot.since_s) = (start.at, start.sum_s);
        match pool.slot_mut(self.last) {
            Some(before) => (before.next, before.next_arrival) = (packet, arrival),
            None => (self.first, self.first_arrival) = (packet, arrival),
        }
        self.append(packet, bytes, idle);
        PlainOffer::Accepted { bytes, start: start.at, end }
    }

    /// Takes the packet whose arrival at the far end of a [plain](Self::is_plain) link is due, as [`arrive`](Self::arrive) does.
    #[inline(always)]
    pub fn arrive_plain<T: Item>(&mut self, pool: &mut Pool<T>) -> Option<Handle> {
        self.take_first(pool)
    }
}
