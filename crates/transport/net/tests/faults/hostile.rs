//! What strangers send, and what is sent in a peer's name.

use crate::nat::{Nat, Way};
use crate::world::{Both, LONG, Stream, World, accounted, each, insecure, pause, secure, small, until};
use headway_net::{Connection, Endpoint, Media};
use headway_units::Random;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// A client that is served, whatever else goes on.
fn is_served(client: &Endpoint, server: &Endpoint, to: SocketAddr) -> (Connection, Connection) {
    let connection = client.connect(to).unwrap();
    connection.send(Media::new(b"hello")).unwrap();
    let accepted = server.accept_timeout(LONG).expect("an honest client");
    let mut datagram = Vec::new();
    accepted.recv_timeout(&mut datagram, LONG).expect("it comes").unwrap();
    assert_eq!(datagram, b"hello");
    (connection, accepted)
}

/// Random bytes, and datagrams of the connection that are cut, have a bit changed, or come again.
fn garbage(random: &mut Random, seen: &[Vec<u8>]) -> Vec<u8> {
    let mut datagram = match seen {
        [_, ..] if random.below(4) > 0 => seen[random.below(seen.len() as u64) as usize].clone(),
        _ => (0..random.below(1500)).map(|_| random.bits() as u8).collect(),
    };
    match random.below(4) {
        0 => datagram.truncate(random.below(datagram.len() as u64 + 1) as usize),
        1 | 2 if !datagram.is_empty() => {
            let at = random.below(datagram.len() as u64) as usize;
            datagram[at] ^= 1 << random.below(8);
        }
        _ => {}
    }
    datagram
}

/// In the peer's name, from its own address, at both ends: a session goes on as if there were nothing.
#[test]
fn garbage_in_the_peer_s_name_changes_nothing() {
    let world = World::new(&secure());
    let streams = world.streams(small);
    streams.iter().for_each(|stream| stream.reaches(20));
    spoil(&world, 20_000);
    streams.iter().for_each(Stream::goes_on);
    for stream in streams {
        let sums = accounted(&stream.stop());
        println!("{sums:?}");
        assert!(!sums.contains_key("unknown"), "{sums:?}");
    }
}

fn spoil(world: &World, many: u64) {
    let random = &mut Random::new(7, "garbage");
    for turn in 0..many {
        let way = if random.below(2) == 0 { Way::ToServer } else { Way::ToClient };
        world.nat.inject(way, &garbage(random, &world.nat.seen(way)));
        // As fast as a path brings them: what a full socket throws away shows nothing.
        if turn % 16 == 0 {
            pause(1);
        }
    }
}

/// Without DTLS who can send in the peer's name can end the connection. Both ends live on, and serve the next.
#[test]
fn garbage_without_security_harms_one_connection() {
    let world = World::new(&insecure());
    let streams = world.streams(small);
    streams.iter().for_each(|stream| stream.reaches(20));
    spoil(&world, 20_000);
    for stream in streams {
        let (_, _, came) = stream.stop();
        println!("{} came, {} of them wrong: {:?}", came.numbers.len(), came.wrong, came.end);
    }
    is_served(&world.client, &world.server, world.server.local_addr());
}

/// From strangers: random bytes, and what was seen of others.
#[test]
fn garbage_of_strangers_is_ignored() {
    each(|name, both| {
        let world = World::new(&both);
        let streams = world.streams(small);
        streams.iter().for_each(|stream| stream.reaches(20));
        let random = &mut Random::new(8, "strangers");
        let sockets: Vec<UdpSocket> = (0..16).map(|n| socket([127, 0, 1, n])).collect();
        let (mut out, before) = (0, world.server.counters());
        for turn in 0..20_000 {
            let datagram = garbage(random, &world.nat.seen(Way::ToServer));
            out += datagram.len() as u64;
            let stranger = &sockets[random.below(16) as usize];
            drop(stranger.send_to(&datagram, world.server.local_addr()));
            if turn % 16 == 0 {
                pause(1);
            }
        }
        streams.iter().for_each(Stream::goes_on);
        let back: u64 = sockets.iter().map(bytes).sum();
        println!("{name}: {out} B in, {back} B back, {:?}", world.server.counters());
        assert!(back <= out, "{name}: {back} B went to who sent {out} B");
        assert!(world.server.counters().received_datagrams > before.received_datagrams + 1000);
        for stream in streams {
            accounted(&stream.stop());
        }
    });
}

fn socket(address: [u8; 4]) -> UdpSocket {
    let socket = UdpSocket::bind(SocketAddr::from((address, 0))).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    socket
}

/// What has come to it.
fn bytes(socket: &UdpSocket) -> u64 {
    let mut buffer = [0; 1 << 16];
    socket.set_nonblocking(true).unwrap();
    std::iter::from_fn(|| socket.recv(&mut buffer).ok()).map(|len| len as u64).sum()
}

/// The first datagram that a client sends, and what a stranger may send in anybody's name.
fn opening(both: &Both) -> Vec<u8> {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let nat = Nat::new(silent.local_addr().unwrap());
    let client = Endpoint::client(&both.1).unwrap();
    let connection = client.connect(nat.address()).unwrap();
    connection.send(Media::new(&[7; 100])).unwrap();
    until("a first datagram", || !nat.seen(Way::ToServer).is_empty());
    nat.seen(Way::ToServer).swap_remove(0)
}

/// Handshakes begun in the names of many who never answer: no byte goes to any of them beyond those that came in its name, what is kept is bounded,
/// and who is there is served meanwhile.
#[test]
fn handshakes_in_the_names_of_others() {
    each(|name, mut both| {
        // Without DTLS the first data of a Request count at once, whoever sends them, unless a cookie is asked for first.
        both.0.connection.handshake_data = false;
        let first = opening(&both);
        let server = Endpoint::server("127.0.0.1:0".parse().unwrap(), &both.0).unwrap();
        let address = server.local_addr();
        let client = Endpoint::client(&both.1).unwrap();
        let honest = is_served(&client, &server, address);
        let (mut sent, mut back, mut worst) = (0, 0, 0.0_f64);
        let (mut connections, mut sessions) = (0, 0);
        for round in 0..40u8 {
            // A prefix each.
            let victims: Vec<UdpSocket> = (0..64).map(|n| socket([127, 1 + round, n, 1])).collect();
            for victim in &victims {
                for _ in 0..3 {
                    victim.send_to(&first, address).unwrap();
                }
            }
            pause(20);
            for victim in &victims {
                let (to, from) = (3 * first.len() as u64, bytes(victim));
                (sent, back) = (sent + to, back + from);
                worst = worst.max(from as f64 / to as f64);
            }
            connections = connections.max(server.connections());
            sessions = sessions.max(server.sessions());
            if round % 10 == 5 {
                drop(is_served(&client, &server, address));
            }
        }
        println!(
            "{name}: {sent} B in, {back} B back, {worst:.2} B a byte at most; {connections} connections, {sessions} sessions at most"
        );
        honest.0.send(Media::new(b"still here")).unwrap();
        honest.1.recv_timeout(&mut Vec::new(), LONG).expect("it comes").unwrap();
        // 64 handshakes of nobody's, 256 of all.
        assert!(connections <= 200 && sessions <= 300, "{name}: {connections} connections, {sessions} sessions");
        if name == "DTLS" {
            assert!(back <= sent && worst <= 1.0, "{worst}");
        }
    });
}
