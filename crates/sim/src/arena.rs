//! Packets in one block of memory, passed about by handle.

use crate::packet::Packet;

/// Where a packet lies in the [`Arena`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle(u32);

/// All packets of a run. A freed place is taken by the next packet.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    packets: Vec<Packet>,
    free: Vec<Handle>,
}

impl Arena {
    #[inline(always)]
    pub(crate) fn insert(&mut self, packet: Packet) -> Handle {
        if let Some(handle) = self.free.pop() {
            self.packets[handle.0 as usize] = packet;
            return handle;
        }
        self.packets.push(packet);
        Handle((self.packets.len() - 1) as u32)
    }

    pub(crate) fn remove(&mut self, handle: Handle) {
        self.free.push(handle);
    }

    pub(crate) fn get(&self, handle: Handle) -> &Packet {
        &self.packets[handle.0 as usize]
    }

    pub(crate) fn get_mut(&mut self, handle: Handle) -> &mut Packet {
        &mut self.packets[handle.0 as usize]
    }

    /// How many packets are alive.
    pub(crate) fn alive(&self) -> usize {
        self.packets.len() - self.free.len()
    }
}
