//! Packets of which links make copies: to their flow they are one.
//!
//! A flow's packet arrives with the first of its copies, and is lost if none of them arrives.

use super::{MOST_PACKETS, Network, flow_packet};
use crate::observe::Observer;
use headway_engine::Moment;
use headway_link::Handle;
use headway_units::Instant;
use std::collections::BTreeMap;

/// By their number, packets of which there are or were several.
#[derive(Debug, Default)]
pub(super) struct Twins(BTreeMap<u64, Twin>);

#[derive(Debug)]
struct Twin {
    /// How many are on their way.
    left: u32,
    /// Whether one has arrived.
    arrived: bool,
}

impl Twins {
    /// Of how many packets there are copies under way.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// One more of this packet.
    fn copied(&mut self, uid: u64) {
        self.0.entry(uid).or_insert(Twin { left: 1, arrived: false }).left += 1;
    }

    fn end(&mut self, uid: u64, arrives: bool) -> Option<Twin> {
        let twin = self.0.get_mut(&uid)?;
        let before = Twin { left: twin.left - 1, arrived: twin.arrived };
        (twin.left, twin.arrived) = (before.left, before.arrived || arrives);
        if before.left == 0 {
            self.0.remove(&uid);
        }
        Some(before)
    }

    /// One of this packet arrives; whether another has before.
    #[cold]
    pub(super) fn arrives(&mut self, uid: u64) -> bool {
        self.end(uid, true).is_some_and(|twin| twin.arrived)
    }

    /// One of this packet is lost; whether another has arrived, or still may.
    #[cold]
    pub(super) fn others(&mut self, uid: u64) -> bool {
        self.end(uid, false).is_some_and(|twin| twin.arrived || twin.left > 0)
    }
}

impl<O: Observer> Network<O> {
    /// Whether a packet may come twice.
    #[inline(always)]
    pub(crate) fn copies(&self) -> bool {
        self.copies
    }

    /// Puts a packet on a link, and behind it a copy if the link makes one.
    #[cold]
    #[inline(never)]
    pub(super) fn offer_with_copy(&mut self, now: Moment, number: usize, handle: Handle) {
        let common = self.ports[number].link.common as usize;
        // As it came: what the queue marks is the other.
        let copy = self.commons[common].copies().then(|| self.packets.get(handle).clone());
        if let Some(copy) = &copy {
            self.twins.copied(copy.uid);
        }
        self.put_out_of_the_way(now, number, handle, false);
        let Some(copy) = copy else { return };
        if self.packets.alive() >= MOST_PACKETS {
            self.twins.others(copy.uid);
            self.overflowed.get_or_insert(now.at);
            return;
        }
        let meter = &mut self.ports[number].meter;
        meter.duplicated(&self.measured, now.at);
        if let Some(flows) = meter.by_flow_mut() {
            flows.copied(copy.flow);
        }
        self.ended.copied += 1;
        let copy = self.packets.insert(copy);
        self.put_out_of_the_way(now, number, copy, true);
    }

    #[inline(never)]
    fn put_out_of_the_way(&mut self, now: Moment, number: usize, handle: Handle, copy: bool) {
        self.put(now, number, handle, copy);
    }

    /// A packet has reached its end where another copy of it was before.
    #[cold]
    #[inline(never)]
    pub(super) fn arrived_again(&mut self, now: Instant, handle: Handle) {
        let packet = self.packets.get(handle);
        if packet.forward {
            self.flow_meters[packet.flow.0 as usize].duplicate(now, &flow_packet(packet));
        }
        self.ended.delivered += 1;
        self.packets.remove(handle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three of packet 7: lost, arrived, arrived again. Two of packet 8: both lost. Nothing is kept of what has ended.
    #[test]
    fn a_packet_arrives_once_and_is_lost_with_its_last_copy() {
        let mut twins = Twins::default();
        for uid in [7, 7, 8] {
            twins.copied(uid);
        }
        assert_eq!([twins.others(7), twins.arrives(7), twins.arrives(7)], [true, false, true]);
        assert_eq!([twins.others(8), twins.others(8)], [true, false]);
        assert_eq!([twins.others(9), twins.arrives(9)], [false; 2]);
        assert_eq!(twins.len(), 0);
    }
}
