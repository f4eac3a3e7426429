//! What must hold for DTLS whatever comes: to a server with sessions and handshakes under way, and to a client that connects. Shared by the fuzz target and
//! by the test that replays `fuzz/corpus`.

use super::choices::Choices;
use headway_dccp::Path;
use headway_net::{Clock, Dtls, DtlsOptions, DtlsVersions, Identity, Secure, Trust};
use headway_units::{Duration, Instant};
use std::net::SocketAddr;
use std::sync::OnceLock;

/// Real records, by who sends them and when.
struct World {
    now: Instant,
    server: Dtls,
    clients: Vec<(Dtls, Path)>,
    /// Packets delivered to the server that nobody has sent.
    forged: usize,
    /// Bytes from an address that has shown nothing, and to it.
    bytes: [(usize, usize); 4],
}

fn options(accept: bool, versions: DtlsVersions) -> DtlsOptions {
    static IDENTITY: OnceLock<Identity> = OnceLock::new();
    let identity = IDENTITY.get_or_init(|| Identity::generate().unwrap_or_else(|error| panic!("{error}")));
    let options = DtlsOptions::new(identity.clone(), Trust::Anyone);
    DtlsOptions { accept, versions, pending: 4, unproven: 2, sessions: 4, prefix_burst: 64, ..options }
}

fn layer(options: DtlsOptions) -> Dtls {
    Dtls::new(options, Clock::new()).unwrap_or_else(|error| panic!("{error}"))
}

/// As the server sees them. The last four are nobody's.
fn remote(who: u8) -> Path {
    let remote = SocketAddr::from(([10, who % 2, 0, 1], 4000 + u16::from(who)));
    Path::Udp { local: SocketAddr::from(([192, 0, 2, 1], 6511)), remote }
}

const PACKET: &[u8] = b"a packet of the client's own";

/// Bytes as what comes, and when.
pub(crate) fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let versions = choices.one(&[DtlsVersions::Dtls12, DtlsVersions::Dtls13]);
    let mut world = World {
        now: Instant::from_secs(100),
        server: layer(options(true, DtlsVersions::Both)),
        clients: (0..2).map(|who| (layer(options(false, versions)), turned(remote(who)))).collect(),
        forged: 0,
        bytes: [(0, 0); 4],
    };
    // One client has a session, and one is about to.
    for (client, path) in &mut world.clients {
        assert_eq!(client.connect(world.now, *path), Ok(()));
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
        let who = choices.byte() % 6;
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
            // Elsewhere than the type, and the numbers that a cookie holds for.
            let at = usize::from(choices.byte()) % datagram.len().max(1);
            datagram[at] ^= choices.byte() | 1;
        }
        if step & 8 != 0 {
            let (client, path) = &mut world.clients[1];
            client.handle_datagram(world.now, *path, &mut datagram.clone(), &mut |_, packet| panic!("{packet:?}"));
        }
        world.comes(who, &mut datagram);
        assert!(world.server.sessions() <= 4 && world.server.pending() <= 4);
    }
    assert_eq!(world.forged, 0);
    for (sent, got) in world.bytes {
        assert!(got <= sent, "{got} bytes for {sent}");
    }
    // The session is as it was.
    let mut datagram = world.sealed();
    let mut got = 0;
    world
        .server
        .handle_datagram(world.now, remote(0), &mut datagram, &mut |_, packet| got += usize::from(packet == PACKET));
    assert_eq!(got, 1, "the session has gone, or is deaf");
}

/// A record of any type, whole.
fn record(choices: &mut Choices<'_>) -> Vec<u8> {
    let (kind, epoch, body) = (20 + choices.byte() % 8, choices.byte() & 3, usize::from(choices.byte()));
    let mut record = vec![kind, 0xfe, 0xfd, 0, epoch, 0, 0, 0, 0, 0, choices.byte(), 0, 0];
    record.extend_from_slice(choices.bytes(body));
    let length = (record.len() - 13) as u16;
    record[11..13].copy_from_slice(&length.to_be_bytes());
    record
}

fn turned(path: Path) -> Path {
    match path {
        Path::Udp { local, remote } => Path::Udp { local: remote, remote: local },
        other => other,
    }
}

impl World {
    fn comes(&mut self, who: u8, datagram: &mut [u8]) {
        let (len, path) = (datagram.len(), remote(who));
        let forged = &mut self.forged;
        self.server
            .handle_datagram(self.now, path, datagram, &mut |_, packet| *forged += usize::from(packet != PACKET));
        if let Some((sent, _)) = usize::from(who).checked_sub(2).and_then(|who| self.bytes.get_mut(who)) {
            *sent += len;
        }
        self.answers();
        while self.server.poll_event().is_some() {}
    }

    /// What the server sends reaches who is there.
    fn answers(&mut self) {
        let mut datagram = Vec::new();
        while let Some(path) = self.server.poll_transmit(self.now, &mut datagram) {
            let to = (0..6).find(|who| remote(*who) == path).map_or(0, usize::from);
            match self.clients.get_mut(to) {
                Some((client, path)) => client.handle_datagram(self.now, *path, &mut datagram, &mut |_, _| ()),
                None => self.bytes[to - 2].1 += datagram.len(),
            }
        }
    }

    /// A client's own datagrams, as they are.
    fn exchange(&mut self, who: u8) {
        let mut datagram = Vec::new();
        while self.clients[usize::from(who)].0.poll_transmit(self.now, &mut datagram).is_some() {
            self.comes(who, &mut datagram);
        }
        if who == 0 && self.server.sessions() == 1 {
            let mut datagram = self.sealed();
            self.comes(0, &mut datagram);
        }
    }

    fn sealed(&mut self) -> Vec<u8> {
        let mut datagram = Vec::new();
        let (client, path) = &mut self.clients[0];
        let sealed = client.seal(self.now, *path, PACKET, &mut datagram);
        assert!(sealed.is_some(), "the client's session has gone");
        datagram
    }

    fn timers(&mut self) {
        self.server.handle_timeout(self.now);
        for (client, _) in &mut self.clients {
            client.handle_timeout(self.now);
            while client.poll_event().is_some() {}
        }
        self.answers();
    }
}
