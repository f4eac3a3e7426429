//! Tests of datagrams from strangers and of spoofed datagrams.

use crate::nat::{Direction, Nat};
use crate::world::{Both, LONG, Stream, World, accounted, each, insecure, pause, secure, small, until};
use headway_net::{Connection, Endpoint, Media};
use headway_units::Random;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// Checks that a client is served, whatever else happens.
fn is_served(client: &Endpoint, server: &Endpoint, to: SocketAddr) -> (Connection, Connection) {
    let connection = client.connect(to).unwrap();
    connection.send(Media::new(b"hello")).unwrap();
    let accepted = server.accept_timeout(LONG).expect("an honest client");
    let mut datagram = Vec::new();
    accepted.recv_timeout(&mut datagram, LONG).expect("it arrives").unwrap();
    assert_eq!(datagram, b"hello");
    (connection, accepted)
}

/// Returns random bytes, or a datagram of the connection that is cut, changed by one bit, or replayed.
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

/// Garbage from the peer's address, at both ends, does not affect a session.
#[test]
fn garbage_from_the_peers_address_changes_nothing() {
    let world = World::new(&secure());
    let streams = world.streams(small);
    streams.iter().for_each(|stream| stream.reaches(20));
    spoil(&world, 20_000);
    streams.iter().for_each(Stream::continues);
    for stream in streams {
        let sums = accounted(&stream.stop());
        println!("{sums:?}");
        assert!(!sums.contains_key("unknown"), "{sums:?}");
    }
}

fn spoil(world: &World, many: u64) {
    let random = &mut Random::new(7, "garbage");
    for turn in 0..many {
        let direction = if random.below(2) == 0 { Direction::ToServer } else { Direction::ToClient };
        world.nat.inject(direction, &garbage(random, &world.nat.seen(direction)));
        // At the speed of a path: datagrams dropped by a full socket buffer test nothing.
        if turn % 16 == 0 {
            pause(1);
        }
    }
}

/// Without DTLS garbage from the peer's address may end the connection. Both ends survive and serve the next.
#[test]
fn garbage_without_security_harms_one_connection() {
    let world = World::new(&insecure());
    let streams = world.streams(small);
    streams.iter().for_each(|stream| stream.reaches(20));
    spoil(&world, 20_000);
    for stream in streams {
        let (_, _, received) = stream.stop();
        println!("{} arrived, {} of them wrong: {:?}", received.numbers.len(), received.wrong, received.end);
    }
    is_served(&world.client, &world.server, world.server.local_addr());
}

/// Random bytes from strangers, and datagrams copied from others.
#[test]
fn garbage_from_strangers_is_ignored() {
    each(|name, both| {
        let world = World::new(&both);
        let streams = world.streams(small);
        streams.iter().for_each(|stream| stream.reaches(20));
        let random = &mut Random::new(8, "strangers");
        let sockets: Vec<UdpSocket> = (0..16).map(|n| socket([127, 0, 1, n])).collect();
        let (mut out, before) = (0, world.server.counters());
        for turn in 0..20_000 {
            let datagram = garbage(random, &world.nat.seen(Direction::ToServer));
            out += datagram.len() as u64;
            let stranger = &sockets[random.below(16) as usize];
            drop(stranger.send_to(&datagram, world.server.local_addr()));
            if turn % 16 == 0 {
                pause(1);
            }
        }
        streams.iter().for_each(Stream::continues);
        let back: u64 = sockets.iter().map(bytes).sum();
        println!("{name}: {out} B in, {back} B back, {:?}", world.server.counters());
        assert!(back <= out, "{name}: {back} B went to a sender of {out} B");
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

/// Returns the number of bytes that have arrived.
fn bytes(socket: &UdpSocket) -> u64 {
    let mut buffer = [0; 1 << 16];
    socket.set_nonblocking(true).unwrap();
    std::iter::from_fn(|| socket.recv(&mut buffer).ok()).map(|len| len as u64).sum()
}

/// Returns the first datagram of a client, which a stranger can send with any source address.
fn opening(both: &Both) -> Vec<u8> {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let nat = Nat::new(silent.local_addr().unwrap());
    let client = Endpoint::client(&both.1).unwrap();
    let connection = client.connect(nat.address()).unwrap();
    connection.send(Media::new(&[7; 100])).unwrap();
    until("a first datagram", || !nat.seen(Direction::ToServer).is_empty());
    nat.seen(Direction::ToServer).swap_remove(0)
}

/// Spoofed handshakes that are never answered: no address is sent more bytes than arrived from it, state is bounded,
/// and honest clients are served meanwhile.
#[test]
fn spoofed_handshakes_are_bounded() {
    each(|name, mut both| {
        // Without DTLS the data of a spoofed Request is delivered unless a cookie is requested first.
        both.0.connection.handshake_data = false;
        let first = opening(&both);
        let server = Endpoint::server("127.0.0.1:0".parse().unwrap(), &both.0).unwrap();
        let address = server.local_addr();
        let client = Endpoint::client(&both.1).unwrap();
        let honest = is_served(&client, &server, address);
        let (mut sent, mut back, mut worst) = (0, 0, 0.0_f64);
        let (mut connections, mut sessions) = (0, 0);
        for round in 0..40u8 {
            // Each has its own prefix.
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
            "{name}: {sent} B in, {back} B back, at most {worst:.2} B a byte, {connections} connections, {sessions} sessions"
        );
        honest.0.send(Media::new(b"still here")).unwrap();
        honest.1.recv_timeout(&mut Vec::new(), LONG).expect("it arrives").unwrap();
        // 64 unproven handshakes, 256 in total.
        assert!(connections <= 200 && sessions <= 300, "{name}: {connections} connections, {sessions} sessions");
        if name == "DTLS" {
            assert!(back <= sent && worst <= 1.0, "{worst}");
        }
    });
}
