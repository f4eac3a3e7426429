//! Where packets are while they are on a link: in one block of memory for all links of a network.
//!
//! A packet's slot is known by its [`Handle`]. It is on one link at a time, so each slot holds a link's notes about its
//! packet beside it, and the number of the next packet on that link: queues are lists through the pool. A slot that was
//! freed last is taken first, so what is used is what the processor has at hand.

use headway_engine::Moment;
use headway_units::{Dscp, Ecn, FlowId, Instant};

/// What a link must know of a packet.
pub trait Item {
    /// IP bytes.
    fn size(&self) -> u32;
    /// The ECN field of the IP header.
    fn ecn(&self) -> Ecn;
    /// Sets the ECN field to Congestion Experienced.
    fn mark(&mut self);
    /// The DSCP of the IP header.
    fn dscp(&self) -> Dscp;
    /// A number that the packets of a flow share, as the five fields of their headers do by which networks tell flows apart. All are one flow if nothing is
    /// said.
    fn flow(&self) -> u64 {
        0
    }
    /// Its place in a table of [`Hosts`](crate::queue::Hosts), and whether it goes from the first of the two to the second. In no table if nothing is said.
    fn way(&self) -> (usize, bool) {
        (usize::MAX, true)
    }
    /// Its flow, by which ports count that count by flow. All are one flow if nothing is said.
    fn flow_id(&self) -> FlowId {
        FlowId(0)
    }
    /// Frees the memory that it owns outside of its slot, such as a `Vec`. The pool calls this when the packet leaves, and overwrites the slot
    /// later without dropping its contents: memory that this method does not free is lost. Empty for types without such memory.
    fn release(&mut self);
}

/// Which slot of a [`Pool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(pub(crate) u32);

impl Handle {
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// Its place in the pool, which no two packets have at once: what is noted of a packet elsewhere can be kept in a list.
    #[must_use]
    #[inline]
    pub const fn place(self) -> usize {
        self.0 as usize
    }
}

/// What a link notes of a packet, beside the packet. The notes and the first 16 bytes of the packet are one cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Slot<T> {
    /// The next on the same link or, of a free slot, the next free one.
    pub(crate) next: Handle,
    /// Start of transmission once that is known, till then the time of the offer.
    pub(crate) since: Instant,
    /// The same as a sum: see [`Moment::sum_s`].
    pub(crate) since_s: f64,
    /// When the next on the same link is at the far end; [`UNSETTLED`] till that is known. It stands here, so that who
    /// takes this packet off need not reach for the next.
    pub(crate) next_arrival: Moment,
    pub(crate) item: T,
}

pub(crate) const UNSETTLED: Moment = Moment::after_all(Instant::FAR_FUTURE);

/// Packets of type `T`.
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
    /// Takes a packet in. There may be up to 2^32 - 1.
    #[inline(always)]
    pub fn insert(&mut self, item: T) -> Handle {
        self.alive += 1;
        let handle = self.free;
        if let Some(slot) = self.slots.get_mut(handle.0 as usize) {
            self.free = slot.next;
            // `remove` has released the old contents, so that nothing is left to drop.
            std::mem::forget(std::mem::replace(&mut slot.item, item));
            return handle;
        }
        let slot = Slot { next: Handle::NONE, since: Instant::ZERO, since_s: 0.0, next_arrival: UNSETTLED, item };
        if self.slots.len() == self.slots.capacity() {
            // Not twice as many: a slot is two cache lines, and there may be millions.
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

    /// The packet.
    #[must_use]
    #[inline]
    pub fn get(&self, handle: Handle) -> &T {
        &self.slots[handle.0 as usize].item
    }

    /// The packet, to be changed.
    #[inline]
    pub fn get_mut(&mut self, handle: Handle) -> &mut T {
        &mut self.slots[handle.0 as usize].item
    }

    /// How many packets there are.
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
        fn mark(&mut self) {}
        fn dscp(&self) -> Dscp {
            Dscp::CS0
        }
        fn release(&mut self) {
            self.0 = None;
        }
    }

    /// Slots are overwritten without dropping their contents: a removed packet owns nothing by then.
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
