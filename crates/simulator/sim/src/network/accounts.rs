//! Where all packets went.

use super::Network;
use crate::observe::Observer;

/// All packets of a run, data and acknowledgements: `sent + copied = delivered + dropped + in_flight`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conservation {
    /// Injected by the flows' ends.
    pub sent: u64,
    /// Copies of them that links have made.
    pub copied: u64,
    /// Handed to the other end.
    pub delivered: u64,
    /// Dropped by a link or a host, or taken away by an attacker.
    pub dropped: u64,
    /// Counted on the links, in hosts that have not delivered them yet, and with attackers who hold packets back.
    pub in_flight: u64,
}

impl<O: Observer> Network<O> {
    /// Attackers hold `held` packets back.
    pub(crate) fn conservation(&self, held: usize) -> Conservation {
        let elsewhere = held + self.hosts.packets();
        let on_links = (0..self.ports.len()).map(|number| self.ports.on_port(number).count()).sum::<usize>();
        let fates = &self.ports.handler;
        debug_assert_eq!(self.ports.packets.alive(), on_links + elsewhere, "a packet that is nowhere is freed");
        debug_assert!(fates.twins.len() <= self.ports.packets.alive(), "only copies in the network are remembered");
        Conservation {
            sent: self.next_uid,
            copied: fates.copied,
            delivered: fates.delivered,
            dropped: fates.dropped,
            in_flight: (on_links + elsewhere) as u64,
        }
    }
}
