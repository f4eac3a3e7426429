//! Tests of the simulator's attackers on the path between real sockets. They speak DCCP over IP; here their packets
//! are carried in UDP (RFC 6773) with a valid checksum. Under DTLS they see records and can only change bytes.

use crate::nat::{Direction, OnPath};
use crate::world::{World, accounted, insecure, pause, secure, small, until};
use headway_attack::{Attack, AttackOptions, Context, Endpoint, Fate, Target, drop, forge, tamper, truncate};
use headway_dccp::{Addresses, Decoded, Network, Packet, ServiceCode};
use headway_net::{Clock, Closed, Media};
use headway_units::{Dialect, Duration, Instant, Options as _, Probability, Random, Registry};
use std::collections::BTreeMap;

/// Maximum number of packets of an attacker per call.
const MAX_PACKETS: usize = 64;

fn theirs(direction: Direction) -> headway_attack::Direction {
    match direction {
        Direction::ToServer => headway_attack::Direction::ToServer,
        Direction::ToClient => headway_attack::Direction::ToClient,
    }
}
fn ours(direction: headway_attack::Direction) -> Direction {
    match direction {
        headway_attack::Direction::ToServer => Direction::ToServer,
        headway_attack::Direction::ToClient => Direction::ToClient,
    }
}

/// Converts a packet to another network; other bytes are unchanged.
fn carried(bytes: &[u8], from: Network, to: Network) -> Vec<u8> {
    let Ok(Decoded::Long(packet)) = Packet::decode(bytes, from) else {
        // Damaged on purpose: UDP ignores the checksum.
        let mut bytes = bytes.to_vec();
        if to == Network::Udp && bytes.len() >= 8 {
            bytes[6..8].fill(0);
        }
        return bytes;
    };
    let mut bytes = vec![0; packet.encoded_len()];
    let len = packet.encode(&mut bytes, to).unwrap();
    bytes.truncate(len);
    bytes
}

/// Returns the public knowledge of the connection; without DTLS also its DCCP ports.
fn target(world: &World) -> Target {
    let ports =
        world.nat.seen(Direction::ToServer).iter().find_map(|datagram| match Packet::decode(datagram, Network::Udp) {
            Ok(Decoded::Long(packet)) => Some((packet.source_port, packet.destination_port)),
            _ => None,
        });
    let (client, server) = ports.unwrap_or((50_000, 5004));
    let end = |last, port| Endpoint { address: [192, 0, 2, last].into(), port };
    let service = ServiceCode::from_ascii("HDWY").unwrap();
    Target { client: end(1, client), server: end(2, server), service }
}

fn attacker(options: &AttackOptions, target: Target, is_plain: bool) -> OnPath {
    let clock = Clock::new();
    let random = Random::new(1, "mallory");
    let context = Context { target, start: clock.now(), stop: Instant::FAR_FUTURE, random };
    let mut attack = Attack::new(options, context);
    let mut held = BTreeMap::<(Instant, u64), (Direction, Vec<u8>)>::new();
    let mut count = 0;
    let over_ip = move |direction: headway_attack::Direction| {
        let (source, destination) = target.ends(direction);
        Network::Ip(Addresses::V4 { source: source.address, destination: destination.address })
    };
    Box::new(move |received| {
        let now = clock.now();
        let mut out = Vec::new();
        if let Some((direction, datagram)) = received {
            let seen =
                if is_plain { carried(datagram, Network::Udp, over_ip(theirs(direction))) } else { datagram.to_vec() };
            match attack.handle(now, theirs(direction), &seen) {
                Fate::Forwarded => out.push((direction, datagram.to_vec())),
                Fate::Changed(bytes) if is_plain => {
                    out.push((direction, carried(&bytes, over_ip(theirs(direction)), Network::Udp)));
                }
                Fate::Changed(bytes) => out.push((direction, bytes)),
                Fate::Delayed(delay) => {
                    count += 1;
                    held.insert((now + delay, count), (direction, datagram.to_vec()));
                }
                Fate::Dropped => {}
            }
        }
        for shot in std::iter::from_fn(|| attack.poll_transmit(now)).take(MAX_PACKETS) {
            let (source, destination) = target.ends(shot.direction);
            // A flood has spoofed sources, which cannot be sent from here.
            debug_assert!(destination.port > 0 && source.port > 0);
            let network = Network::Ip(Addresses::V4 { source: shot.source, destination: destination.address });
            let bytes = if is_plain { carried(&shot.bytes, network, Network::Udp) } else { shot.bytes };
            out.push((ours(shot.direction), bytes));
        }
        while let Some(first) = held.first_entry()
            && first.key().0 <= now
        {
            out.push(first.remove());
        }
        out
    })
}

/// Returns all kinds of attackers of the simulator, dropping a tenth of the packets, and forgeries of each type.
fn attacks(unknown_bits: u32) -> Vec<(String, AttackOptions)> {
    let tenth = Probability::new(0.1).unwrap();
    let mut all: Vec<(String, AttackOptions)> = AttackOptions::KINDS
        .iter()
        .filter(|kind| **kind != "forge")
        .map(|kind| ((*kind).to_owned(), AttackOptions::preset(kind, Dialect::Rfc).unwrap()))
        .collect();
    for (_, options) in &mut all {
        if let AttackOptions::Drop(options) = options {
            *options = drop::Options { share: tenth };
        }
    }
    use forge::Forgery::*;
    for packet in [Request, Response, Data, Ack, DataAck, CloseReq, Close, Reset, Sync, SyncAck] {
        for towards in [headway_attack::Direction::ToServer, headway_attack::Direction::ToClient] {
            let options = forge::Options { packet, towards, unknown_bits, ..forge::Options::preset(Dialect::Rfc) };
            all.push((format!("forge {packet:?} {towards:?}"), AttackOptions::Forge(options)));
        }
    }
    all
}

/// Under DTLS no attacker ends a call or inserts a byte: an attacker cannot change a packet and does not know
/// sequence numbers.
#[test]
fn a_session_withstands_every_attacker() {
    for (name, options) in attacks(48) {
        let world = World::new(&secure());
        let streams = world.streams(small);
        streams.iter().for_each(|stream| stream.reaches(5));
        world.nat.on_path(attacker(&options, target(&world), false));
        streams.iter().for_each(|stream| stream.reaches(stream.sent() + 40));
        for stream in streams {
            let outcome = stream.stop();
            assert_eq!(outcome.2.end, None, "{name}");
            println!("{name}: {:?}", accounted(&outcome));
        }
    }
}

/// Without DTLS an off-path attacker, who does not know the sequence numbers, does no harm.
#[test]
fn an_off_path_attacker_does_no_harm() {
    for (name, options) in attacks(48) {
        if !matches!(options, AttackOptions::Forge(_) | AttackOptions::Flood(_)) {
            continue;
        }
        let world = World::new(&insecure());
        let streams = world.streams(small);
        streams.iter().for_each(|stream| stream.reaches(5));
        world.nat.on_path(attacker(&options, target(&world), true));
        streams.iter().for_each(|stream| stream.reaches(stream.sent() + 40));
        for stream in streams {
            let outcome = stream.stop();
            assert_eq!(outcome.2.end, None, "{name}");
            accounted(&outcome);
        }
        // Another connection is still accepted.
        is_served(&world);
    }
}

/// Without DTLS an attacker who sees the sequence numbers ends the call, or inserts data, with one packet. Otherwise
/// the tests above would prove nothing.
#[test]
fn without_security_an_on_path_attacker_wins() {
    for packet in [forge::Forgery::Reset, forge::Forgery::Close, forge::Forgery::Data] {
        let options = forge::Options { packet, unknown_bits: 0, ..forge::Options::preset(Dialect::Rfc) };
        let world = World::new(&insecure());
        let streams = world.streams(small);
        streams.iter().for_each(|stream| stream.reaches(5));
        world.nat.on_path(attacker(&AttackOptions::Forge(options), target(&world), true));
        let [to_server, _] = &streams;
        until("the attacker wins", || {
            to_server.received(|received| {
                received.end.is_some() || received.numbers.contains_key(&0) && received.repeats() > 0
            })
        });
        streams.into_iter().for_each(|stream| drop(stream.stop()));
    }
}

/// On a plain connection both ends survive every attacker, whatever happens to the call, and serve the next call.
#[test]
fn both_ends_survive_every_attacker() {
    let mut all = attacks(0);
    all.push((
        "fixed".into(),
        AttackOptions::Truncate(truncate::Options { fix_checksum: true, ..truncate::Options::preset(Dialect::Rfc) }),
    ));
    for change in [tamper::Change::Mandatory, tamper::Change::SequenceWindow, tamper::Change::NotListening] {
        let options = tamper::Options { change, ..tamper::Options::preset(Dialect::Rfc) };
        all.push((format!("{change:?}"), AttackOptions::Tamper(options)));
    }
    let outlive = |(name, options): &(String, AttackOptions)| {
        let world = World::new(&insecure());
        let streams = world.streams(small);
        streams.iter().for_each(|stream| stream.reaches(5));
        world.nat.on_path(attacker(options, target(&world), true));
        pause(200);
        let ends: Vec<Option<Closed>> = streams.into_iter().map(|stream| stream.stop().2.end).collect();
        println!("{name}: {ends:?}");
        is_served(&world);
    };
    // Each runs in its own world and mostly waits: one after another they would take two minutes.
    #[expect(clippy::disallowed_methods, reason = "the worlds share nothing")]
    std::thread::scope(|scope| {
        for first in 0..8 {
            let some = all.iter().skip(first).step_by(8);
            scope.spawn(move || some.for_each(outlive));
        }
    });
}

/// Serves another connection, whatever happened to the first.
fn is_served(world: &World) {
    let next = world.client.connect(world.server.local_addr()).unwrap();
    next.send(Media::new(b"next")).unwrap();
    // Forged Requests may have opened connections without data.
    let (mut accepted, mut datagram) = (Vec::new(), Vec::new());
    until("an honest client is served", || {
        accepted.extend(world.server.accept_timeout(Duration::ZERO));
        accepted.iter().any(|accepted| {
            accepted.recv_timeout(&mut datagram, Duration::ZERO).is_some_and(|received| received.is_ok())
                && datagram == b"next"
        })
    });
}
