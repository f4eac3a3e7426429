//! The packets on the links of a network, in one block of memory.
//!
//! A [`Handle`] identifies the slot of a packet. A packet is on one link at a time, so that its slot also holds the
//! state of that link for the packet and the handle of the next packet on it: queues are linked lists through the
//! pool. The slot that was freed last is used first, because it is probably in the processor's cache.

use headway_engine::Moment;
use headway_units::{Dscp, Ecn, FlowId, Instant};

/// The properties of a packet that links use.
pub trait Item {
    /// Returns the size of the packet, in IP bytes.
    fn size(&self) -> u32;
    /// Returns the ECN field of the IP header.
    fn ecn(&self) -> Ecn;
    /// Sets the ECN field of the IP header.
    fn set_ecn(&mut self, ecn: Ecn);
    /// Sets the ECN field to Congestion Experienced.
    fn mark(&mut self) {
        self.set_ecn(Ecn::Ce);
    }
    /// Returns the DSCP of the IP header.
    fn dscp(&self) -> Dscp;
    /// Returns a number that identifies the flow of the packet, as the five-tuple of its headers would. By default all
    /// packets are one flow.
    fn flow(&self) -> u64 {
        0
    }
    /// Returns the index of the packet's pair of hosts in [`Hosts`](crate::queue::Hosts), and whether the packet is
    /// sent from the first of the two to the second. The default index has no entry, so that each flow has its own
    /// hosts.
    fn host_pair(&self) -> (usize, bool) {
        (usize::MAX, true)
    }
    /// Returns the flow of the packet, for counts by flow. By default all packets are one flow.
    fn flow_id(&self) -> FlowId {
        FlowId(0)
    }
    /// Frees memory that the packet owns outside its slot, such as a `Vec`. The pool calls this when the packet is
    /// removed, and later overwrites the slot without dropping its contents: memory that this method does not free
    /// leaks. Empty for types without such memory.
    fn release(&mut self);
}

/// The slot of a packet in a [`Pool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(pub(crate) u32);

impl Handle {
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// Returns the index of the packet's slot. It is unique among the packets in the pool and small enough to index a
    /// `Vec`.
    #[must_use]
    #[inline]
    pub const fn place(self) -> usize {
        self.0 as usize
    }
}

/// A packet and the state of a link for it. The state and the first 16 bytes of the packet are one cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Slot<T> {
    /// The next packet on the link or, for a free slot, the next free slot.
    pub(crate) next: Handle,
    /// Start of transmission; the time of the offer until the start is known.
    pub(crate) since: Instant,
    /// `since` as a sum: see [`Moment::sum_s`].
    pub(crate) since_s: f64,
    /// When the next packet on the link reaches the far end; [`UNSETTLED`] until that is known. It is stored here so
    /// that removing this packet does not access the slot of the next.
    pub(crate) next_arrival: Moment,
    pub(crate) item: T,
}

pub(crate) const UNSETTLED: Moment = Moment::after_all(Instant::FAR_FUTURE);

/// Packets of type `T` in one block of memory, identified by [`Handle`]s.
#[derive(Debug)]
pub struct Pool<T> {
    slots: Vec<Slot<T>>,
    free: Handle,
    alive: usize,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Handle::NONE, alive: 0 }
    }
}

impl<T> Pool<T> {
    /// Adds a packet to the pool and returns its handle. A pool holds up to 2^32 - 1 packets.
    #[inline(always)]
    pub fn insert(&mut self, item: T) -> Handle {
        self.alive += 1;
        let handle = self.free;
        if let Some(slot) = self.slots.get_mut(handle.0 as usize) {
            self.free = slot.next;
            // `remove` has released the old contents, so that nothing needs to be dropped.
            std::mem::forget(std::mem::replace(&mut slot.item, item));
            return handle;
        }
        let slot = Slot { next: Handle::NONE, since: Instant::ZERO, since_s: 0.0, next_arrival: UNSETTLED, item };
        if self.slots.len() == self.slots.capacity() {
            // Not doubled: a slot is two cache lines, and there may be millions.
            self.slots.reserve_exact(self.slots.len() / 4 + 64);
        }
        self.slots.push(slot);
        Handle((self.slots.len() - 1) as u32)
    }

    /// Frees the slot of a packet that is on no link, and [releases](Item::release) the packet.
    #[inline]
    pub fn remove(&mut self, handle: Handle)
    where
        T: Item,
    {
        self.alive -= 1;
        let slot = &mut self.slots[handle.0 as usize];
        slot.item.release();
        slot.next = self.free;
        self.free = handle;
    }

    /// Returns the packet in the slot of `handle`.
    #[must_use]
    #[inline]
    pub fn get(&self, handle: Handle) -> &T {
        &self.slots[handle.0 as usize].item
    }

    /// Returns the packet in the slot of `handle`, mutably.
    #[inline]
    pub fn get_mut(&mut self, handle: Handle) -> &mut T {
        &mut self.slots[handle.0 as usize].item
    }

    /// Returns the number of packets in the pool.
    #[must_use]
    pub fn alive(&self) -> usize {
        self.alive
    }

    #[inline]
    pub(crate) fn slot(&self, handle: Handle) -> Option<&Slot<T>> {
        self.slots.get(handle.0 as usize)
    }

    #[inline]
    pub(crate) fn slot_mut(&mut self, handle: Handle) -> Option<&mut Slot<T>> {
        self.slots.get_mut(handle.0 as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// A packet that owns memory outside of its slot.
    struct Owner(Option<Arc<()>>);

    impl Item for Owner {
        fn size(&self) -> u32 {
            40
        }
        fn ecn(&self) -> Ecn {
            Ecn::NotEct
        }
        fn set_ecn(&mut self, _: Ecn) {}
        fn dscp(&self) -> Dscp {
            Dscp::CS0
        }
        fn release(&mut self) {
            self.0 = None;
        }
    }

    /// The default index is in no list of hosts, also if the list has an entry for each flow.
    #[test]
    fn by_default_a_packet_has_no_pair_of_hosts() {
        let hosts = crate::queue::Hosts::from([(1, 2)]);
        let (index, is_forward) = Owner(None).host_pair();
        assert_eq!((hosts.get(index), is_forward), (None, true));
    }

    /// Slots are overwritten without dropping their contents, so that a removed packet must own nothing.
    #[test]
    fn a_removed_packet_frees_its_memory() {
        let (memory, mut pool) = (Arc::new(()), Pool::default());
        for _ in 0..3 {
            let packet = pool.insert(Owner(Some(Arc::clone(&memory))));
            assert_eq!(Arc::strong_count(&memory), 2);
            pool.remove(packet);
            assert_eq!(Arc::strong_count(&memory), 1);
        }
        pool.insert(Owner(Some(Arc::clone(&memory))));
        drop(pool);
        assert_eq!(Arc::strong_count(&memory), 1);
    }
}
