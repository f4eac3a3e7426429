//! Clients of the proxy. Each client has a separate socket towards the server, like the mapping of a NAT, so that the
//! server sees each client at its own address.

use super::socket::Socket;
use super::waiter::Waiter;
use headway_units::{Duration, Instant};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Idle time after which a client is removed, the minimum for a NAT mapping (RFC 4787 section 4.3, REQ-5).
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);

/// Identifier of a client, which may have been removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClientId {
    slot: u32,
    /// Unique number of the client.
    serial: u32,
}

impl ClientId {
    /// Returns the unique number of the client.
    pub(super) fn number(self) -> u64 {
        self.serial.into()
    }
}

/// Index of a listening socket, and the address of a client that sends to it.
pub(super) type ClientAddress = (usize, SocketAddr);

#[derive(Debug)]
pub(super) struct Client {
    pub(super) id: ClientId,
    /// Listening socket and address of the client.
    pub(super) from: ClientAddress,
    /// Local address to which the client sends, the source of datagrams to it.
    pub(super) local: Option<IpAddr>,
    pub(super) socket: Socket,
    /// Whether the server has sent to the client. Other clients may be displaced.
    pub(super) is_answered: bool,
    /// Time of its last datagram in either direction.
    last_active: Instant,
}

#[derive(Debug)]
pub(super) struct Clients {
    slots: Vec<Option<Client>>,
    /// Maximum number of clients. A new client displaces the longest idle client that the server has never answered; if
    /// there is none, the datagrams of the new client are counted and dropped.
    limit: usize,
    by_address: BTreeMap<ClientAddress, u32>,
    serial: u32,
    /// Time of the last removal of idle clients.
    last_cleanup: Instant,
}

impl Clients {
    pub(super) fn new(limit: usize) -> Self {
        Self { slots: Vec::new(), limit, by_address: BTreeMap::new(), serial: 0, last_cleanup: Instant::ZERO }
    }

    pub(super) fn len(&self) -> usize {
        self.by_address.len()
    }

    /// Returns the client at this address, which has just sent. A new client gets a socket towards `server`. Returns
    /// `None` at the maximum number of clients.
    pub(super) fn at(
        &mut self,
        now: Instant,
        from: ClientAddress,
        server: SocketAddr,
        waiter: &Waiter,
    ) -> io::Result<Option<&mut Client>> {
        if let Some(slot) = self.by_address.get(&from) {
            let mut client = self.slots.get_mut(*slot as usize).and_then(Option::as_mut);
            if let Some(client) = &mut client {
                client.last_active = now;
            }
            return Ok(client);
        }
        self.remove_idle(now);
        let slot = match self.slots.iter().position(Option::is_none) {
            Some(free) => free,
            None if self.slots.len() < self.limit => {
                self.slots.push(None);
                self.slots.len() - 1
            }
            None => match self.displace() {
                Some(slot) => slot,
                None => return Ok(None),
            },
        };
        let any: IpAddr = if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = Socket::bind(SocketAddr::new(any, 0))?;
        waiter.add(&socket, slot as u64)?;
        self.serial = self.serial.wrapping_add(1);
        let id = ClientId { slot: slot as u32, serial: self.serial };
        self.by_address.insert(from, id.slot);
        Ok(Some(self.slots[slot].insert(Client {
            id,
            from,
            local: None,
            socket,
            is_answered: false,
            last_active: now,
        })))
    }

    /// Returns the client in this slot.
    pub(super) fn in_slot(&mut self, slot: u64) -> Option<&mut Client> {
        self.slots.get_mut(usize::try_from(slot).ok()?)?.as_mut()
    }

    /// Returns the client with this identifier, unless it was removed, and marks it as active.
    pub(super) fn get(&mut self, now: Instant, id: ClientId) -> Option<&mut Client> {
        let client = self.in_slot(u64::from(id.slot)).filter(|client| client.id == id)?;
        client.last_active = now;
        Some(client)
    }

    /// Frees the slot of the longest idle client that the server has never answered, so that a flood from many ports
    /// cannot exclude new clients.
    fn displace(&mut self) -> Option<usize> {
        let all = self.slots.iter().enumerate().filter_map(|(slot, client)| Some((slot, client.as_ref()?)));
        let unanswered = all.filter(|(_, client)| !client.is_answered);
        let (slot, client) = unanswered.min_by_key(|(_, client)| client.last_active)?;
        self.by_address.remove(&client.from);
        self.slots[slot] = None;
        Some(slot)
    }

    /// Removes idle clients. Called for new clients only, and at most once a second.
    fn remove_idle(&mut self, now: Instant) {
        if now.since(self.last_cleanup) < Duration::from_secs(1) && self.last_cleanup != Instant::ZERO {
            return;
        }
        self.last_cleanup = now;
        for slot in &mut self.slots {
            if let Some(client) = slot
                && now.since(client.last_active) >= IDLE_TIMEOUT
            {
                self.by_address.remove(&client.from);
                *slot = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At most 256 clients. After two minutes of idle time there is room again, and a datagram for a removed client is
    /// not sent to the client in its slot.
    #[test]
    fn idle_clients_are_removed_at_the_maximum() {
        const MAX_CLIENTS: usize = 256;
        let (server, mut clients) = (SocketAddr::from(([127, 0, 0, 1], 9)), Clients::new(MAX_CLIENTS));
        let waiter = Waiter::new().unwrap();
        let from = |number: usize| (0, SocketAddr::from(([127, 0, 0, 2], 1000 + number as u16)));
        let secs = Instant::from_secs;
        let mut id = |at, number| {
            let client = clients.at(at, from(number), server, &waiter).unwrap();
            client.map(|client| {
                client.is_answered = true;
                client.id
            })
        };
        let first = id(secs(1), 0).unwrap();
        let last = (1..MAX_CLIENTS).filter_map(|number| id(secs(1), number)).last().unwrap();
        assert_eq!((id(secs(2), MAX_CLIENTS), id(secs(2), 0)), (None, Some(first)));
        assert_eq!(id(secs(120), MAX_CLIENTS), None);
        let newcomer = id(secs(122), MAX_CLIENTS).unwrap();
        assert_ne!(newcomer, last);
        // The first client has sent at 2 s.
        assert_eq!(clients.len(), 1);
        assert!(clients.get(secs(122), last).is_none() && clients.get(secs(122), first).is_none());
        assert_eq!(clients.get(secs(122), newcomer).unwrap().from, from(MAX_CLIENTS));
    }

    /// A flood from 256 ports excluded all other clients for two minutes.
    #[test]
    fn new_clients_displace_unanswered_clients() {
        let (server, mut clients) = (SocketAddr::from(([127, 0, 0, 1], 9)), Clients::new(3));
        let waiter = Waiter::new().unwrap();
        let from = |port: u16| (0, SocketAddr::from(([127, 0, 0, 2], port)));
        let mut id = |second, port, is_answered| {
            let client = clients.at(Instant::from_secs(second), from(port), server, &waiter).unwrap().unwrap();
            client.is_answered |= is_answered;
            client.id
        };
        let (honest, oldest, other) = (id(1, 1, true), id(2, 2, false), id(3, 3, false));
        assert_eq!((id(4, 2, false), id(5, 4, false)), (oldest, ClientId { slot: other.slot, serial: 4 }));
        assert_eq!(id(6, 1, false), honest);
        for port in 10..600 {
            id(7, port, false);
        }
        assert_eq!(id(8, 1, false), honest);
        assert_eq!(clients.len(), 3);
    }
}
