//! What a link shows of its packets.

use super::Link;
use crate::common::Common;
use crate::overtaking::Overtaking;
use crate::pool::{Handle, Item, Pool, Slot, UNSETTLED};
use headway_engine::Moment;
use headway_units::{Bytes, Instant};
use std::collections::VecDeque;

impl Link {
    /// The packet that reaches the far end next.
    #[must_use]
    #[inline]
    pub fn first(&self) -> Option<Handle> {
        (self.first != Handle::NONE).then_some(self.first)
    }

    /// The packet that a newcomer would be queued behind.
    #[must_use]
    #[inline]
    pub fn last(&self) -> Option<Handle> {
        (self.last != Handle::NONE).then_some(self.last)
    }

    /// When the next packet reaches the far end, as far as that is settled.
    #[must_use]
    #[inline]
    pub fn next_arrival(&self) -> Option<Moment> {
        (self.first_arrival.at != Instant::FAR_FUTURE).then_some(self.first_arrival)
    }

    /// Packets and bytes that wait, without the one in transmission, as of the last call with a `now`.
    #[must_use]
    #[inline]
    pub fn waiting(&self) -> (u64, u64) {
        (u64::from(self.waiting), self.waiting_bytes)
    }

    /// Bytes of the transmissions that were told of and have not begun, as of the last [`settle`](Self::settle).
    #[must_use]
    pub fn bytes_told_ahead(&self, common: &Common) -> u64 {
        if common.two_events { 0 } else { self.waiting_bytes }
    }

    /// The packets that wait without a settled transmission (two events only): since when, and their size. In order, but where a queue has several lists.
    pub fn unsettled<'a, T: Item>(
        &self,
        common: &Common,
        pool: &'a Pool<T>,
    ) -> impl Iterator<Item = (Instant, Bytes)> + use<'a, T> {
        let from = if common.two_events { self.first_waiting } else { Handle::NONE };
        let lists = common.discipline.heads().into_iter().chain([from]);
        lists
            .flat_map(move |from| list(pool, from))
            .map(|(_, slot)| (slot.since, Bytes::new(u64::from(slot.item.size()))))
    }

    /// The transmissions that are settled and end after `now`: the packet, start, end and size.
    pub fn settled_after<'a, T: Item>(
        &self,
        common: &Common,
        pool: &'a Pool<T>,
        now: Instant,
    ) -> impl Iterator<Item = (Handle, Instant, Instant, Bytes)> + use<'a, T> {
        let delay = common.delay;
        // Where the delay varies, an arrival does not say when the packet left.
        let varying = common.varying.as_deref();
        let mut ends = varying.map(|varying| varying.propagation.ends().collect::<VecDeque<_>>());
        let mut arrival = self.first_arrival;
        // Where packets may overtake one another, the list has none of these.
        let (overtaking, first) = match overtaking(common) {
            Some(overtaking) => (overtaking.on_way().collect(), Handle::NONE),
            None => (Vec::new(), self.first),
        };
        let overtaking = overtaking.into_iter().filter(move |on_way| on_way.end > now).filter_map(|on_way| {
            let slot = pool.slot(on_way.packet)?;
            Some((on_way.packet, slot.since, on_way.end, Bytes::new(u64::from(slot.item.size()))))
        });
        let in_order = list(pool, first)
            .map(move |(packet, slot)| (packet, std::mem::replace(&mut arrival, slot.next_arrival), slot))
            .filter(|(_, arrival, _)| *arrival != UNSETTLED)
            .filter_map(move |(packet, arrival, slot)| {
                let end = match &mut ends {
                    Some(ends) => ends.pop_front(),
                    None => arrival.at.checked_sub(delay),
                }?;
                (end > now).then(|| (packet, slot.since, end, Bytes::new(u64::from(slot.item.size()))))
            });
        overtaking.chain(in_order)
    }

    /// All packets on the link: waiting, in transmission, propagating.
    pub fn on_link<'a, T>(&self, common: &Common, pool: &'a Pool<T>) -> impl Iterator<Item = Handle> + use<'a, T> {
        let lists = common.discipline.heads().into_iter().chain([self.first]);
        let on_way: Vec<_> =
            overtaking(common).into_iter().flat_map(Overtaking::on_way).map(|on_way| on_way.packet).collect();
        lists.flat_map(move |from| list(pool, from)).map(|(packet, _)| packet).chain(on_way)
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
