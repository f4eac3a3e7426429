//! Conservation of packets.

use super::Network;
use crate::observe::Observer;

/// Packet counts of a run, including acknowledgements: `sent + copied = delivered + dropped + in_flight`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conservation {
    /// Packets sent by endpoints and attackers.
    pub sent: u64,
    /// Copies of packets that links made (duplication).
    pub copied: u64,
    /// Packets delivered to endpoints.
    pub delivered: u64,
    /// Packets dropped by links, hosts or attackers.
    pub dropped: u64,
    /// Packets on links, in hosts, and delayed by attackers.
    pub in_flight: u64,
}

impl<O: Observer> Network<O> {
    /// Counts all packets; `held` of them are delayed by attackers.
    pub(crate) fn conservation(&self, held: usize) -> Conservation {
        let elsewhere = held + self.hosts.packets();
        let on_links = (0..self.ports.len()).map(|number| self.ports.on_port(number).count()).sum::<usize>();
        let fates = &self.ports.handler;
        debug_assert_eq!(self.ports.packets.alive(), on_links + elsewhere, "every packet is accounted for");
        debug_assert!(fates.duplicates.len() <= self.ports.packets.alive(), "only copies in the network are tracked");
        Conservation {
            sent: self.next_uid,
            copied: fates.copied,
            delivered: fates.delivered,
            dropped: fates.dropped,
            in_flight: (on_links + elsewhere) as u64,
        }
    }
}
