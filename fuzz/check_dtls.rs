//! Invariants of DTLS with any datagrams: a server with sessions and handshakes in progress, and a connecting client.
//! Shared by the fuzz target and the test that replays `fuzz/corpus`.

use super::choices::Choices;
use headway_dccp::Path;
use headway_net::{Clock, Dtls, DtlsOptions, DtlsVersions, Identity, Secure, Trust};
use headway_units::{Duration, Instant};
use std::net::SocketAddr;
use std::sync::OnceLock;

/// A server, two clients and attackers.
struct World {
    now: Instant,
    server: Dtls,
    clients: Vec<(Dtls, Path)>,
    /// Packets delivered to the server that no client sent.
    forged: usize,
    /// Bytes from and to each unverified address.
    bytes: [(usize, usize); 4],
}

fn options(accept: bool, versions: DtlsVersions) -> DtlsOptions {
    static IDENTITY: OnceLock<Identity> = OnceLock::new();
    let identity = IDENTITY.get_or_init(|| Identity::generate().unwrap_or_else(|error| panic!("{error}")));
    let options = DtlsOptions::new(identity.clone(), Trust::AnyPeer);
    DtlsOptions { accept, versions, pending: 4, unproven: 2, sessions: 4, prefix_burst: 64, ..options }
}

fn layer(options: DtlsOptions) -> Dtls {
    Dtls::new(options, Clock::new()).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the path of a sender, as the server sees it. The last four send no valid handshakes.
fn remote(sender: u8) -> Path {
    let remote = SocketAddr::from(([10, sender % 2, 0, 1], 4000 + u16::from(sender)));
    Path::Udp { local: SocketAddr::from(([192, 0, 2, 1], 6511)), remote }
}

const PACKET: &[u8] = b"a packet of the client's own";

/// Interprets the bytes as datagrams and delays.
pub(crate) fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let versions = choices.one(&[DtlsVersions::Dtls12, DtlsVersions::Dtls13]);
    let mut world = World {
        now: Instant::from_secs(100),
        server: layer(options(true, DtlsVersions::Both)),
        clients: (0..2).map(|sender| (layer(options(false, versions)), reversed(remote(sender)))).collect(),
        forged: 0,
        bytes: [(0, 0); 4],
    };
    // One client has a session, the other is in a handshake.
    for (client, path) in &mut world.clients {
        assert_eq!(client.connect(world.now, *path, false), Ok(()));
    }
    world.exchange(0);
    world.exchange(0);
    world.exchange(0);
    assert_eq!(world.server.sessions(), 1);
    let mut first = Vec::new();
    let has = world.clients[1].0.poll_transmit(world.now, &mut first).is_some();
    assert!(has, "a ClientHello");
    while let Some(step) = choices.step() {
        world.now += Duration::from_millis(u64::from(step >> 4) * 10);
        let sender = choices.byte() % 6;
        let mut datagram = match step & 7 {
            0 | 1 => choices.bytes(usize::from(step >> 3)).to_vec(),
            2 => record(&mut choices),
            3 | 4 => first.clone(),
            5 => world.sealed(),
            6 => {
                world.exchange(1);
                continue;
            }
            _ => {
                world.timers();
                continue;
            }
        };
        if step & 7 > 2 {
            // Neither the record type nor the numbers that a cookie is bound to.
            let at = usize::from(choices.byte()) % datagram.len().max(1);
            datagram[at] ^= choices.byte() | 1;
        }
        if step & 8 != 0 {
            let (client, path) = &mut world.clients[1];
            client.handle_datagram(world.now, *path, &mut datagram.clone(), &mut |_, packet| panic!("{packet:?}"));
        }
        world.deliver(sender, &mut datagram);
        assert!(world.server.sessions() <= 4 && world.server.pending() <= 4);
    }
    assert_eq!(world.forged, 0);
    for (sent, got) in world.bytes {
        assert!(got <= sent, "{got} bytes for {sent}");
    }
    // The session still works.
    let mut datagram = world.sealed();
    let mut got = 0;
    world
        .server
        .handle_datagram(world.now, remote(0), &mut datagram, &mut |_, packet| got += usize::from(packet == PACKET));
    assert_eq!(got, 1, "the session is lost or ignores data");
}

/// Composes a complete record of any type.
fn record(choices: &mut Choices<'_>) -> Vec<u8> {
    let (kind, epoch, body) = (20 + choices.byte() % 8, choices.byte() & 3, usize::from(choices.byte()));
    let mut record = vec![kind, 0xfe, 0xfd, 0, epoch, 0, 0, 0, 0, 0, choices.byte(), 0, 0];
    record.extend_from_slice(choices.bytes(body));
    let length = (record.len() - 13) as u16;
    record[11..13].copy_from_slice(&length.to_be_bytes());
    record
}

fn reversed(path: Path) -> Path {
    match path {
        Path::Udp { local, remote } => Path::Udp { local: remote, remote: local },
        other => other,
    }
}

impl World {
    fn deliver(&mut self, sender: u8, datagram: &mut [u8]) {
        let (len, path) = (datagram.len(), remote(sender));
        let forged = &mut self.forged;
        self.server
            .handle_datagram(self.now, path, datagram, &mut |_, packet| *forged += usize::from(packet != PACKET));
        if let Some((sent, _)) = usize::from(sender).checked_sub(2).and_then(|sender| self.bytes.get_mut(sender)) {
            *sent += len;
        }
        self.deliver_replies();
        while self.server.poll_event().is_some() {}
    }

    /// Delivers the server's datagrams to the clients.
    fn deliver_replies(&mut self) {
        let mut datagram = Vec::new();
        while let Some(path) = self.server.poll_transmit(self.now, &mut datagram) {
            let to = (0..6).find(|sender| remote(*sender) == path).map_or(0, usize::from);
            match self.clients.get_mut(to) {
                Some((client, path)) => client.handle_datagram(self.now, *path, &mut datagram, &mut |_, _| ()),
                None => self.bytes[to - 2].1 += datagram.len(),
            }
        }
    }

    /// Delivers a client's datagrams unchanged.
    fn exchange(&mut self, sender: u8) {
        let mut datagram = Vec::new();
        while self.clients[usize::from(sender)].0.poll_transmit(self.now, &mut datagram).is_some() {
            self.deliver(sender, &mut datagram);
        }
        if sender == 0 && self.server.sessions() == 1 {
            let mut datagram = self.sealed();
            self.deliver(0, &mut datagram);
        }
    }

    fn sealed(&mut self) -> Vec<u8> {
        let mut datagram = Vec::new();
        let (client, path) = &mut self.clients[0];
        let sealed = client.seal(self.now, *path, PACKET, &mut datagram);
        assert!(sealed.is_some(), "the client's session is lost");
        datagram
    }

    fn timers(&mut self) {
        self.server.handle_timeout(self.now);
        for (client, _) in &mut self.clients {
            client.handle_timeout(self.now);
            while client.poll_event().is_some() {}
        }
        self.deliver_replies();
    }
}
