//! A list of waiting packets; a queue may have several.

use crate::pool::{Handle, Item, Pool};
use headway_units::Instant;

/// A linked list of waiting packets through the pool, with their numbers of packets and bytes.
#[derive(Debug)]
pub(crate) struct Sublist {
    first: Handle,
    last: Handle,
    packets: u64,
    bytes: u64,
}

impl Default for Sublist {
    fn default() -> Self {
        Self { first: Handle::NONE, last: Handle::NONE, packets: 0, bytes: 0 }
    }
}

impl Sublist {
    pub(crate) fn push<T: Item>(&mut self, packet: Handle, pool: &mut Pool<T>) {
        let Some(slot) = pool.slot_mut(packet) else { return };
        slot.next = Handle::NONE;
        self.packets += 1;
        self.bytes += u64::from(slot.item.size());
        match pool.slot_mut(self.last) {
            Some(last) => last.next = packet,
            None => self.first = packet,
        }
        self.last = packet;
    }

    pub(crate) fn pop<T: Item>(&mut self, pool: &mut Pool<T>) -> Option<Handle> {
        let packet = self.first;
        let slot = pool.slot_mut(packet)?;
        self.first = std::mem::replace(&mut slot.next, Handle::NONE);
        if self.first == Handle::NONE {
            self.last = Handle::NONE;
        }
        self.packets -= 1;
        self.bytes -= u64::from(slot.item.size());
        Some(packet)
    }

    pub(crate) fn head<T: Item>(&self, pool: &Pool<T>) -> Option<(Instant, u32)> {
        pool.slot(self.first).map(|slot| (slot.since, slot.item.size()))
    }

    pub(crate) const fn first(&self) -> Handle {
        self.first
    }

    pub(crate) const fn packets(&self) -> u64 {
        self.packets
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) const fn waiting(&self) -> (u64, u64) {
        (self.packets, self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::{Dscp, Ecn};

    impl Item for u32 {
        fn release(&mut self) {}
        fn size(&self) -> u32 {
            *self
        }
        fn ecn(&self) -> Ecn {
            Ecn::NotEct
        }
        fn set_ecn(&mut self, _: Ecn) {}
        fn dscp(&self) -> Dscp {
            Dscp::CS0
        }
    }

    #[test]
    fn first_in_first_out_and_empty_again() {
        let (mut pool, mut list) = (Pool::default(), Sublist::default());
        for _ in 0..2 {
            let packets = [40, 1500, 7].map(|size| pool.insert(size));
            assert_eq!((list.pop(&mut pool), list.head(&pool), list.waiting()), (None, None, (0, 0)));
            packets.iter().for_each(|packet| list.push(*packet, &mut pool));
            assert_eq!((list.waiting(), list.head(&pool).unwrap().1), ((3, 1547), 40));
            for packet in packets {
                assert_eq!(list.pop(&mut pool), Some(packet));
                pool.remove(packet);
            }
        }
        assert_eq!(list.first(), Handle::NONE);
    }
}
