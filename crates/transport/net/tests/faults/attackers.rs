//! The attackers of the simulator on the path between real sockets. They speak DCCP over IP; what they see and send here goes in UDP (RFC 6773), whose
//! checksum whoever sends makes right. Under DTLS they see records, and do with them what can be done to bytes.

use crate::nat::{OnPath, Way};
use crate::world::{LONG, World, accounted, insecure, pause, secure, small, until};
use headway_attack::{Attack, AttackOptions, Context, Endpoint, Fate, Target, drop, forge, tamper, truncate};
use headway_dccp::{Addresses, Decoded, Network, Packet, ServiceCode};
use headway_net::{Clock, Closed, Media};
use headway_units::{Dialect, Duration, Instant, Options as _, Probability, Random, Registry};
use std::collections::BTreeMap;

/// What one call sends at once.
const MOST: usize = 64;

fn theirs(way: Way) -> headway_attack::Way {
    match way {
        Way::ToServer => headway_attack::Way::ToServer,
        Way::ToClient => headway_attack::Way::ToClient,
    }
}
fn ours(way: headway_attack::Way) -> Way {
    match way {
        headway_attack::Way::ToServer => Way::ToServer,
        headway_attack::Way::ToClient => Way::ToClient,
    }
}

/// The same packet, carried otherwise; as it is where it is none.
fn carried(bytes: &[u8], from: Network, to: Network) -> Vec<u8> {
    let Ok(Decoded::Long(packet)) = Packet::decode(bytes, from) else {
        // Spoilt on purpose: its checksum counts for nothing in UDP.
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

/// Anybody's knowledge of the connection: of its packets without DTLS the DCCP ports, too.
fn target(world: &World) -> Target {
    let ports =
        world.nat.seen(Way::ToServer).iter().find_map(|datagram| match Packet::decode(datagram, Network::Udp) {
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
    let mut held = BTreeMap::<(Instant, u64), (Way, Vec<u8>)>::new();
    let mut count = 0;
    let over_ip = move |way: headway_attack::Way| {
        let (source, destination) = target.ends(way);
        Network::Ip(Addresses::V4 { source: source.address, destination: destination.address })
    };
    Box::new(move |came| {
        let now = clock.now();
        let mut out = Vec::new();
        if let Some((way, datagram)) = came {
            let seen = if is_plain { carried(datagram, Network::Udp, over_ip(theirs(way))) } else { datagram.to_vec() };
            match attack.handle(now, theirs(way), &seen) {
                Fate::Passes => out.push((way, datagram.to_vec())),
                Fate::Changed(bytes) if is_plain => {
                    out.push((way, carried(&bytes, over_ip(theirs(way)), Network::Udp)));
                }
                Fate::Changed(bytes) => out.push((way, bytes)),
                Fate::Later(delay) => {
                    count += 1;
                    held.insert((now + delay, count), (way, datagram.to_vec()));
                }
                Fate::Taken => {}
            }
        }
        for shot in std::iter::from_fn(|| attack.poll_transmit(now)).take(MOST) {
            let (source, destination) = target.ends(shot.way);
            // A flood's have another's address, which nobody can send from here.
            debug_assert!(destination.port > 0 && source.port > 0);
            let network = Network::Ip(Addresses::V4 { source: shot.source, destination: destination.address });
            let bytes = if is_plain { carried(&shot.bytes, network, Network::Udp) } else { shot.bytes };
            out.push((ours(shot.way), bytes));
        }
        while let Some(first) = held.first_entry()
            && first.key().0 <= now
        {
            out.push(first.remove());
        }
        out
    })
}

/// Every kind as the simulator has it, with a tenth of the packets for who takes them away; and forgeries of each type.
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
        for towards in [headway_attack::Way::ToServer, headway_attack::Way::ToClient] {
            let options = forge::Options { packet, towards, unknown_bits, ..forge::Options::preset(Dialect::Rfc) };
            all.push((format!("forge {packet:?} {towards:?}"), AttackOptions::Forge(options)));
        }
    }
    all
}

/// Under DTLS none ends a call or puts a byte into it. A liar has nothing to change there, and who forges has no numbers to go by.
#[test]
fn a_session_withstands_every_attacker() {
    for (name, options) in attacks(48) {
        let world = World::new(&secure());
        let streams = world.streams(small);
        streams.iter().for_each(|stream| stream.reaches(5));
        world.nat.on_path(attacker(&options, target(&world), false));
        streams.iter().for_each(|stream| stream.reaches(stream.sent() + 40));
        for stream in streams {
            let told = stream.stop();
            assert_eq!(told.2.end, None, "{name}");
            println!("{name}: {:?}", accounted(&told));
        }
    }
}

/// Without DTLS who does not know the numbers does no harm.
#[test]
fn who_is_off_the_path_does_no_harm() {
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
            let told = stream.stop();
            assert_eq!(told.2.end, None, "{name}");
            accounted(&told);
        }
        // As many as there may be, and no one else is kept out.
        is_served(&world);
    }
}

/// Who sees the numbers ends the call with one packet, or puts his own into it: or the tests above would say nothing.
#[test]
fn without_security_who_sees_the_numbers_wins() {
    for packet in [forge::Forgery::Reset, forge::Forgery::Close, forge::Forgery::Data] {
        let options = forge::Options { packet, unknown_bits: 0, ..forge::Options::preset(Dialect::Rfc) };
        let world = World::new(&insecure());
        let streams = world.streams(small);
        streams.iter().for_each(|stream| stream.reaches(5));
        world.nat.on_path(attacker(&AttackOptions::Forge(options), target(&world), true));
        let [to_server, _] = &streams;
        until("the attacker wins", || {
            to_server.came(|came| came.end.is_some() || came.numbers.contains_key(&0) && came.repeats() > 0)
        });
        streams.into_iter().for_each(|stream| drop(stream.stop()));
    }
}

/// Every kind on a plain connection: whatever becomes of the call, both ends live on, and serve the next.
#[test]
fn both_ends_outlive_every_attacker() {
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
    // Each has a world of its own, in which it waits most of the time: two minutes one after the other.
    #[expect(clippy::disallowed_methods, reason = "the worlds share nothing")]
    std::thread::scope(|scope| {
        for first in 0..8 {
            let some = all.iter().skip(first).step_by(8);
            scope.spawn(move || some.for_each(outlive));
        }
    });
}

/// Another connection, whatever has become of the first.
fn is_served(world: &World) {
    let next = world.client.connect(world.server.local_addr()).unwrap();
    next.send(Media::new(b"next")).unwrap();
    let accepted = loop {
        let accepted = world.server.accept_timeout(LONG).expect("an honest client");
        let mut datagram = Vec::new();
        // A forged Request may have opened one, in which nothing comes.
        if accepted.recv_timeout(&mut datagram, Duration::from_secs(1)).is_some_and(|came| came.is_ok())
            && datagram == b"next"
        {
            break accepted;
        }
    };
    assert_eq!(next.close(), Closed::Here);
    drop(accepted);
}
