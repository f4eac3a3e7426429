//! Test world: a server, clients and the path between them.

use headway_dccp::Path;
use headway_net::{Clock, Dtls, DtlsOptions, DtlsVersions, Fingerprint, Identity, Secure, SecureEvent, Trust};
use headway_units::{Duration, Instant};
use std::collections::BTreeMap;
use std::net::SocketAddr;

pub(crate) const VERSIONS: [DtlsVersions; 2] = [DtlsVersions::Dtls12, DtlsVersions::Dtls13];

/// Delay of each direction.
pub(crate) const DELAY: Duration = Duration::from_millis(20);

pub(crate) fn server_address() -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], 6511))
}
pub(crate) fn address(n: u32) -> SocketAddr {
    let [_, a, b, c] = n.to_be_bytes();
    SocketAddr::from(([10, a, b, c], 40_000))
}
/// Returns the path of a client as seen by the server.
pub(crate) fn from(remote: SocketAddr) -> Path {
    Path::Udp { local: server_address(), remote }
}
/// Returns the path of the server as seen by a client.
pub(crate) fn to_server(local: SocketAddr) -> Path {
    Path::Udp { local, remote: server_address() }
}
pub(crate) fn remote(path: Path) -> SocketAddr {
    match path {
        Path::Udp { remote, .. } => remote,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn options(versions: DtlsVersions) -> DtlsOptions {
    let identity = Identity::generate().unwrap();
    DtlsOptions { versions, ..DtlsOptions::new(identity, Trust::AnyPeer) }
}
pub(crate) fn server_options() -> DtlsOptions {
    DtlsOptions { accept: true, ..options(DtlsVersions::Both) }
}
pub(crate) fn layer(options: DtlsOptions) -> Dtls {
    Dtls::new(options, Clock::new()).unwrap()
}
pub(crate) fn trusting(fingerprint: Fingerprint) -> Trust {
    Trust::Fingerprints(vec![fingerprint])
}

/// Outcome of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Arrives,
    Lost,
    Twice,
    /// Arrives this many milliseconds late.
    Late(u64),
}

/// Decides the outcome of each datagram.
pub(crate) type Fates = Box<dyn FnMut(To, &[u8]) -> Fate>;

/// Destination of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    Server,
    Client(usize),
}

pub(crate) struct Client {
    pub(crate) layer: Dtls,
    /// Address as seen by the client, and as seen by the server, which a NAT may change.
    pub(crate) local: SocketAddr,
    pub(crate) outside: SocketAddr,
    pub(crate) events: Vec<SecureEvent>,
    pub(crate) got: Vec<Vec<u8>>,
}

pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) server: Dtls,
    pub(crate) clients: Vec<Client>,
    pub(crate) events: Vec<SecureEvent>,
    /// Packets that the server received, with the identifier of the session.
    pub(crate) got: Vec<(Path, Vec<u8>)>,
    pub(crate) fate: Fates,
    wire: BTreeMap<(Instant, u64), (To, SocketAddr, Vec<u8>)>,
    sent: u64,
}

impl World {
    pub(crate) fn new(server: DtlsOptions) -> Self {
        Self {
            now: Instant::from_secs(100),
            server: layer(server),
            clients: Vec::new(),
            events: Vec::new(),
            got: Vec::new(),
            fate: Box::new(|_, _| Fate::Arrives),
            wire: BTreeMap::new(),
            sent: 0,
        }
    }

    /// Creates a server and clients with sessions and exchanges a packet in both directions.
    pub(crate) fn connected(server: DtlsOptions, versions: DtlsVersions, clients: usize) -> Self {
        let mut world = Self::new(server);
        for n in 0..clients {
            world.join(options(versions), address(n as u32));
        }
        world.run(Duration::from_secs(1));
        for n in 0..clients {
            world.send(n, b"hello");
            world.answer(n, b"welcome");
        }
        world.run(DELAY * 2);
        assert!(world.clients.iter().all(|client| client.got == [b"welcome"]));
        world.got.clear();
        world.events.clear();
        world.clients.iter_mut().for_each(|client| client.got.clear());
        world
    }

    pub(crate) fn join(&mut self, options: DtlsOptions, local: SocketAddr) -> usize {
        let mut layer = layer(options);
        layer.connect(self.now, to_server(local), false).unwrap();
        self.clients.push(Client { layer, local, outside: local, events: Vec::new(), got: Vec::new() });
        self.clients.len() - 1
    }

    /// Returns the identifier of the session of a client at the server.
    pub(crate) fn name(&self, client: usize) -> Path {
        from(self.clients[client].local)
    }

    pub(crate) fn send(&mut self, client: usize, packet: &[u8]) {
        let datagram = self.sealed(client, packet);
        self.carry(To::Server, self.clients[client].outside, &datagram);
    }
    pub(crate) fn sealed(&mut self, client: usize, packet: &[u8]) -> Vec<u8> {
        let Client { layer, local, .. } = &mut self.clients[client];
        let mut datagram = Vec::new();
        assert!(layer.seal(self.now, to_server(*local), packet, &mut datagram).is_some(), "client {client}");
        datagram
    }
    pub(crate) fn answer(&mut self, client: usize, packet: &[u8]) {
        let mut datagram = Vec::new();
        let to = self.server.seal(self.now, self.name(client), packet, &mut datagram);
        self.reaches(remote(to.expect("a session")), &datagram);
    }

    pub(crate) fn reaches(&mut self, to: SocketAddr, datagram: &[u8]) {
        if let Some(n) = self.clients.iter().position(|client| client.outside == to) {
            self.carry(To::Client(n), to, datagram);
        }
    }

    pub(crate) fn carry(&mut self, to: To, outside: SocketAddr, datagram: &[u8]) {
        let fate = (self.fate)(to, datagram);
        let times = match fate {
            Fate::Lost => 0,
            Fate::Twice => 2,
            Fate::Arrives | Fate::Late(_) => 1,
        };
        let late = if let Fate::Late(millis) = fate { Duration::from_millis(millis) } else { Duration::default() };
        for _ in 0..times {
            self.sent += 1;
            self.wire.insert((self.now + DELAY + late, self.sent), (to, outside, datagram.to_vec()));
        }
    }

    /// Delivers a datagram to the server at once, from any address.
    pub(crate) fn inject(&mut self, outside: SocketAddr, datagram: &[u8]) {
        let mut bytes = datagram.to_vec();
        let got = &mut self.got;
        self.server.handle_datagram(self.now, from(outside), &mut bytes, &mut |name, packet| {
            got.push((name, packet.to_vec()));
        });
    }

    pub(crate) fn drain(&mut self) {
        let mut datagram = Vec::new();
        while let Some(path) = self.server.poll_transmit(self.now, &mut datagram) {
            self.reaches(remote(path), &datagram.clone());
        }
        self.events.extend(std::iter::from_fn(|| self.server.poll_event()));
        for n in 0..self.clients.len() {
            let client = &mut self.clients[n];
            client.events.extend(std::iter::from_fn(|| client.layer.poll_event()));
            let outside = client.outside;
            while self.clients[n].layer.poll_transmit(self.now, &mut datagram).is_some() {
                self.carry(To::Server, outside, &datagram.clone());
            }
        }
    }

    pub(crate) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            self.drain();
            let timers = self.clients.iter().map(|client| client.layer.poll_timeout());
            let timers = timers.chain([self.server.poll_timeout()]).flatten();
            let Some(next) = timers.chain(self.wire.keys().next().map(|key| key.0)).min().filter(|at| *at <= end)
            else {
                break;
            };
            self.now = self.now.max(next);
            while let Some(entry) = self.wire.first_entry().filter(|entry| entry.key().0 <= self.now) {
                let (to, outside, mut datagram) = entry.remove();
                match to {
                    To::Server => self.inject(outside, &datagram),
                    To::Client(n) => {
                        let Client { layer, local, got, .. } = &mut self.clients[n];
                        layer.handle_datagram(self.now, to_server(*local), &mut datagram, &mut |_, packet| {
                            got.push(packet.to_vec());
                        });
                    }
                }
            }
            self.server.handle_timeout(self.now);
            for client in &mut self.clients {
                client.layer.handle_timeout(self.now);
            }
        }
        self.now = end;
    }

    pub(crate) fn is_ready(&self, client: usize) -> bool {
        let ready = |event: &SecureEvent| matches!(event, SecureEvent::Ready { .. });
        self.clients[client].events.iter().any(ready)
    }
}

/// Returns the first datagram of a client, for an attacker to copy.
pub(crate) fn client_hello(versions: DtlsVersions) -> Vec<u8> {
    let mut client = layer(options(versions));
    client.connect(Instant::ZERO, to_server(address(0)), false).unwrap();
    let mut datagram = Vec::new();
    client.poll_transmit(Instant::ZERO, &mut datagram).unwrap();
    datagram
}
/// Replaces the random number, after two headers and the version.
pub(crate) fn with_random(hello: &[u8], n: u32) -> Vec<u8> {
    let mut hello = hello.to_vec();
    hello[13 + 12 + 2..][..4].copy_from_slice(&n.to_be_bytes());
    hello
}
