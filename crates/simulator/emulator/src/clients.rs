//! Who sends through the proxy: each client's address has a socket of its own towards the server, as behind a NAT, so that the server can tell clients
//! apart and answers find their way.

use super::socket::Socket;
use super::waiter::Waiter;
use headway_units::{Duration, Instant};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Who has sent and got nothing for so long is forgotten, as a NAT may (RFC 4787 section 4.3, REQ-5).
const IDLE: Duration = Duration::from_secs(120);

/// A client that may have been forgotten in the meantime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClientId {
    slot: u32,
    /// No two clients have the same, whatever slot they are in.
    serial: u32,
}

impl ClientId {
    /// One that no other client has.
    pub(super) fn number(self) -> u64 {
        self.serial.into()
    }
}

/// A door of the proxy, by its number, and the address of who sends there.
pub(super) type From = (usize, SocketAddr);

#[derive(Debug)]
pub(super) struct Client {
    pub(super) id: ClientId,
    /// Which door it has come to, and from where.
    pub(super) from: From,
    /// The address of ours that it sends to, from which it is answered.
    pub(super) local: Option<IpAddr>,
    pub(super) socket: Socket,
    /// The server has sent to it: it is no stranger who only fills the table.
    pub(super) is_answered: bool,
    seen: Instant,
}

#[derive(Debug)]
pub(super) struct Clients {
    slots: Vec<Option<Client>>,
    /// Clients at a time. A newcomer displaces the client that the server has never answered and that is idle for longest; if there is none,
    /// its datagrams are counted and dropped.
    most: usize,
    by_address: BTreeMap<From, u32>,
    serial: u32,
    /// When idle ones were last looked for.
    looked: Instant,
}

impl Clients {
    pub(super) fn new(most: usize) -> Self {
        Self { slots: Vec::new(), most, by_address: BTreeMap::new(), serial: 0, looked: Instant::ZERO }
    }

    pub(super) fn len(&self) -> usize {
        self.by_address.len()
    }

    /// The client at this address, which has just sent; a new one gets a socket towards this server. `None`: there is no room for it.
    pub(super) fn at(
        &mut self,
        now: Instant,
        from: From,
        server: SocketAddr,
        waiter: &Waiter,
    ) -> io::Result<Option<&mut Client>> {
        if let Some(slot) = self.by_address.get(&from) {
            let mut client = self.slots.get_mut(*slot as usize).and_then(Option::as_mut);
            if let Some(client) = &mut client {
                client.seen = now;
            }
            return Ok(client);
        }
        self.forget_idle(now);
        let slot = match self.slots.iter().position(Option::is_none) {
            Some(free) => free,
            None if self.slots.len() < self.most => {
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
        Ok(Some(self.slots[slot].insert(Client { id, from, local: None, socket, is_answered: false, seen: now })))
    }

    /// The one in this slot, by whose socket something has come.
    pub(super) fn in_slot(&mut self, slot: u64) -> Option<&mut Client> {
        self.slots.get_mut(usize::try_from(slot).ok()?)?.as_mut()
    }

    /// The one that was called so, unless it was forgotten. Something goes to it or comes from it now.
    pub(super) fn get(&mut self, now: Instant, id: ClientId) -> Option<&mut Client> {
        let client = self.in_slot(u64::from(id.slot)).filter(|client| client.id == id)?;
        client.seen = now;
        Some(client)
    }

    /// Frees the slot of a client that the server has never answered, so that a flood from many ports does not keep a new client out.
    fn displace(&mut self) -> Option<usize> {
        let all = self.slots.iter().enumerate().filter_map(|(slot, client)| Some((slot, client.as_ref()?)));
        let unanswered = all.filter(|(_, client)| !client.is_answered);
        let (slot, client) = unanswered.min_by_key(|(_, client)| client.seen)?;
        self.by_address.remove(&client.from);
        self.slots[slot] = None;
        Some(slot)
    }

    /// Forgets who has been idle too long: at most once a second, and only to make room.
    fn forget_idle(&mut self, now: Instant) {
        if now.since(self.looked) < Duration::from_secs(1) && self.looked != Instant::ZERO {
            return;
        }
        self.looked = now;
        for slot in &mut self.slots {
            if let Some(client) = slot
                && now.since(client.seen) >= IDLE
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

    /// 256 and no more, each with a socket of its own; after two minutes of silence there is room again, and what is on its way to who was forgotten
    /// does not go to who came in its place.
    #[test]
    fn there_are_so_many_clients_and_idle_ones_make_room() {
        const MOST_CLIENTS: usize = 256;
        let (server, mut clients) = (SocketAddr::from(([127, 0, 0, 1], 9)), Clients::new(MOST_CLIENTS));
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
        let last = (1..MOST_CLIENTS).filter_map(|number| id(secs(1), number)).last().unwrap();
        assert_eq!((id(secs(2), MOST_CLIENTS), id(secs(2), 0)), (None, Some(first)));
        assert_eq!(id(secs(120), MOST_CLIENTS), None);
        let newcomer = id(secs(122), MOST_CLIENTS).unwrap();
        assert_ne!(newcomer, last);
        // The first has sent at 2 s.
        assert_eq!(clients.len(), 1);
        assert!(clients.get(secs(122), last).is_none() && clients.get(secs(122), first).is_none());
        assert_eq!(clients.get(secs(122), newcomer).unwrap().from, from(MOST_CLIENTS));
    }

    /// A stranger who sends from 256 ports kept every other client out for two minutes.
    #[test]
    fn clients_that_the_server_never_answered_make_room_for_new_ones() {
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
