//! The packets of a port.

use super::{Port, Transmission};
use crate::common::Common;
use crate::overtaking::Overtaking;
use crate::pool::{Handle, Item, Pool, Slot, UNSETTLED};
use headway_engine::Moment;
use headway_record::ByFlow;
use headway_units::Instant;
use std::collections::VecDeque;

impl Port {
    /// Returns the counts by flow, if they are enabled.
    #[must_use]
    pub fn by_flow(&self) -> Option<&ByFlow> {
        self.meter.by_flow()
    }

    /// Returns the packet that reaches the far end next; `None` if no packet is on the port.
    #[must_use]
    #[inline]
    pub fn first(&self) -> Option<Handle> {
        (self.first != Handle::NONE).then_some(self.first)
    }

    /// Returns the packet that was offered last and is still on the port; `None` if there is none.
    #[must_use]
    #[inline]
    pub fn last(&self) -> Option<Handle> {
        (self.last != Handle::NONE).then_some(self.last)
    }

    /// Returns when the next packet reaches the far end, if that is settled.
    pub(crate) fn next_arrival(&self) -> Option<Moment> {
        (self.first_arrival.at != Instant::FAR_FUTURE).then_some(self.first_arrival)
    }

    /// Returns the numbers of waiting packets and of their IP bytes, without the packet in transmission, as of the last
    /// call on this port that was passed a time.
    #[must_use]
    #[inline]
    pub fn waiting(&self) -> (u64, u64) {
        (u64::from(self.waiting), self.waiting_bytes)
    }

    /// Returns the bytes of settled transmissions that have not begun, as of the last call with a `now`.
    pub(crate) fn bytes_settled_ahead(&self, common: &Common) -> u64 {
        if common.two_events { 0 } else { self.waiting_bytes }
    }

    /// Returns arrival time and bytes of the packets that wait without a settled transmission (two events only). They
    /// are in order, unless the queue has several lists.
    pub(crate) fn unsettled<'a, T: Item>(
        &self,
        common: &Common,
        packets: &'a Pool<T>,
    ) -> impl Iterator<Item = (Instant, u32)> + use<'a, T> {
        let from = if common.two_events { self.first_waiting } else { Handle::NONE };
        let lists = common.discipline.heads().into_iter().chain([from]);
        lists.flat_map(move |from| list(packets, from)).map(|(_, slot)| (slot.since, slot.item.size()))
    }

    /// Returns the settled transmissions that end after `now`. `enqueued` is equal to `start`, as arrival times are
    /// not kept.
    pub(crate) fn settled_after<'a, T: Item>(
        &self,
        common: &Common,
        packets: &'a Pool<T>,
        now: Instant,
    ) -> impl Iterator<Item = Transmission> + use<'a, T> {
        let delay = common.delay;
        // If the delay varies, the end of a transmission cannot be computed from the arrival.
        let varying = common.varying.as_deref();
        let mut ends = varying.map(|varying| varying.propagation.ends().collect::<VecDeque<_>>());
        let mut arrival = self.first_arrival;
        // If packets may overtake one another, the list has no settled transmissions.
        let (overtaking, first) = match overtaking(common) {
            Some(overtaking) => (overtaking.in_transit().collect(), Handle::NONE),
            None => (Vec::new(), self.first),
        };
        let transmission = move |packet, slot: &Slot<T>, end| {
            let (start, size) = (slot.since, slot.item.size());
            (end > now).then_some(Transmission { packet, size, enqueued: start, start, end })
        };
        let overtaking = overtaking
            .into_iter()
            .filter_map(move |sent| transmission(sent.packet, packets.slot(sent.packet)?, sent.end));
        let in_order = list(packets, first)
            .map(move |(packet, slot)| (packet, std::mem::replace(&mut arrival, slot.next_arrival), slot))
            .filter(|(_, arrival, _)| *arrival != UNSETTLED)
            .filter_map(move |(packet, arrival, slot)| {
                let end = match &mut ends {
                    Some(ends) => ends.pop_front(),
                    None => arrival.at.checked_sub(delay),
                }?;
                transmission(packet, slot, end)
            });
        overtaking.chain(in_order)
    }

    /// Returns all packets on the port: waiting, in transmission, propagating.
    pub(crate) fn on_port<'a, T>(
        &self,
        common: &Common,
        packets: &'a Pool<T>,
    ) -> impl Iterator<Item = Handle> + use<'a, T> {
        let lists = common.discipline.heads().into_iter().chain([self.first]);
        let in_transit: Vec<_> =
            overtaking(common).into_iter().flat_map(Overtaking::in_transit).map(|sent| sent.packet).collect();
        lists.flat_map(move |from| list(packets, from)).map(|(packet, _)| packet).chain(in_transit)
    }
}

fn overtaking(common: &Common) -> Option<&Overtaking> {
    common.varying.as_ref()?.overtaking.as_ref()
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
