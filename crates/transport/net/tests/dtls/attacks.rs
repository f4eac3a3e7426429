//! Tests of datagrams from attackers.

use crate::world::{
    DELAY, Fate, To, VERSIONS, World, address, client_hello, from, options, remote, server_options, to_server,
    with_random,
};
use headway_net::{DtlsOptions, DtlsVersions, Secure, SecureEvent};
use headway_units::Duration;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Addresses with different prefixes.
fn stranger(n: u32) -> SocketAddr {
    let [_, a, b, c] = n.to_be_bytes();
    SocketAddr::from(([100 + a, b, c, 1], 1024 + (n % 50_000) as u16))
}

/// Takes the server's datagrams and adds their sizes by address. Returns the sum.
fn answers(world: &mut World, out: &mut BTreeMap<SocketAddr, usize>) -> usize {
    let mut datagram = Vec::new();
    let mut sum = 0;
    while let Some(path) = world.server.poll_transmit(world.now, &mut datagram) {
        sum += datagram.len();
        *out.entry(remote(path)).or_default() += datagram.len();
    }
    sum
}

/// Spoofed ClientHellos: no address is sent more bytes than arrived from it, at any time later; state is bounded;
/// and an honest client gets its session meanwhile.
#[test]
fn a_spoofed_flood_costs_at_most_a_round_trip() {
    for versions in VERSIONS {
        let hello = client_hello(versions);
        let mut world = World::new(server_options());
        let (mut sent, mut got) = (0, 0);
        let mut out = BTreeMap::new();
        for n in 0..6000 {
            let hello = with_random(&hello, n);
            sent += hello.len();
            world.inject(stranger(n), &hello);
            got += answers(&mut world, &mut out);
            world.now += Duration::from_micros(100);
            world.server.handle_timeout(world.now);
            assert!(world.server.pending() <= 64, "{versions:?}");
        }
        assert!(got <= sent, "{versions:?}: {got} bytes for {sent}");
        assert!(out.values().all(|&bytes| bytes <= hello.len()), "{versions:?}");
        let asked = world.server.counters().cookies_asked;
        assert!(asked >= 6000 - 64, "{versions:?}: {asked}");

        let client = world.join(options(versions), address(9));
        for n in 0..2000 {
            let hello = with_random(&hello, 6000 + n);
            world.inject(stranger(6000 + n), &hello);
            world.run(Duration::from_micros(100));
        }
        assert!(world.is_ready(client), "{versions:?}");
        world.send(client, b"through");
        world.run(DELAY);
        assert_eq!(world.got, [(world.name(client), b"through".to_vec())]);
        world.run(Duration::from_secs(11));
        assert_eq!((world.server.pending(), world.server.sessions()), (0, 1), "{versions:?}");
    }
}

/// The server does not retransmit beyond the bytes received.
#[test]
fn an_unproven_address_gets_no_more_bytes_than_it_sent() {
    let hello = client_hello(DtlsVersions::Dtls13);
    let mut world = World::new(server_options());
    world.inject(stranger(1), &hello);
    let mut out = BTreeMap::new();
    while let Some(at) = world.server.poll_timeout() {
        answers(&mut world, &mut out);
        world.now = at;
        world.server.handle_timeout(at);
    }
    assert!(out[&stranger(1)] <= hello.len(), "{out:?} for {}", hello.len());
    assert!(world.server.counters().withheld > 0);
    assert_eq!(world.server.pending(), 0);
}

/// A cookie is valid for its address only, and for a limited time.
#[test]
fn a_cookie_is_valid_for_its_client_only() {
    for versions in VERSIONS {
        // The second ClientHello of a client that was asked for a cookie contains it.
        let mut world = World::new(DtlsOptions { unproven: 0, ..server_options() });
        let second = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let copy = second.clone();
        world.fate = Box::new(move |to, datagram| {
            if to == To::Server && datagram[0] == 22 {
                *copy.borrow_mut() = datagram.to_vec();
            }
            Fate::Arrives
        });
        world.join(options(versions), address(1));
        world.run(DELAY * 2);
        let second = second.borrow().clone();
        let before = world.server.counters();
        assert_eq!(before.cookies_asked, 1, "{versions:?}");
        let mut out = BTreeMap::new();
        world.inject(address(2), &second);
        let mut other = second.clone();
        other[13 + 12 + 2] ^= 1;
        world.inject(address(1), &other);
        world.now += Duration::from_secs(20);
        world.inject(address(1), &second);
        assert_eq!(answers(&mut world, &mut out), 0, "{versions:?}");
        let after = world.server.counters();
        assert_eq!((after.cookies_bad, after.handshakes_begun), (3, 0), "{versions:?}");
    }
}

/// Clients with real addresses that never finish: state is bounded, one prefix cannot fill it, and others are
/// served.
#[test]
fn a_flood_from_real_addresses_is_bounded() {
    for versions in VERSIONS {
        let rules = DtlsOptions { pending: 32, unproven: 0, prefix_burst: 20, ..server_options() };
        let mut world = World::new(rules);
        for n in 0..200 {
            world.join(options(versions), address(n));
        }
        // They return their cookies and then stop.
        world.fate = Box::new(|to, datagram| {
            let hello = datagram[0] == 22 && datagram[13] == 1;
            if to == To::Server && !hello { Fate::Lost } else { Fate::Arrives }
        });
        world.run(DELAY * 4);
        // Twenty at once, then 32 per second.
        assert!((20..=23).contains(&world.server.pending()), "{versions:?}: {}", world.server.pending());
        assert!(world.server.counters().handshakes_refused > 100);
        world.fate = Box::new(|_, _| Fate::Arrives);
        let honest = world.join(options(versions), stranger(1));
        world.run(Duration::from_millis(300));
        assert!(world.is_ready(honest), "{versions:?}");
    }
}

/// A new handshake evicts the oldest, of the same prefix if there is one.
#[test]
fn the_oldest_handshake_of_a_prefix_is_evicted() {
    let hello = client_hello(DtlsVersions::Dtls13);
    let mut world = World::new(DtlsOptions { pending: 4, ..server_options() });
    for (n, who) in [stranger(1), address(1), address(2), stranger(2), address(3), stranger(3)].into_iter().enumerate()
    {
        world.inject(who, &with_random(&hello, n as u32));
        world.now += Duration::from_millis(1);
    }
    let mut out = BTreeMap::new();
    answers(&mut world, &mut out);
    assert_eq!((world.server.pending(), world.server.counters().handshakes_evicted), (4, 2));
    // A repeated ClientHello of a pending handshake is answered again; that of an evicted one would start a new one.
    let begun = world.server.counters().handshakes_begun;
    for (n, who) in [(2, address(2)), (3, stranger(2)), (4, address(3)), (5, stranger(3))] {
        world.inject(who, &with_random(&hello, n));
    }
    assert_eq!(world.server.counters().handshakes_begun, begun);
}

/// An attacker that knows addresses and ports can forge plaintext. It has no effect on an established session.
#[test]
fn forged_plaintext_changes_nothing() {
    for versions in VERSIONS {
        let mut world = World::connected(server_options(), versions, 1);
        let plain = |kind: u8, n: u8, body: &[u8]| {
            let mut record = vec![kind, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 1, n, 0, body.len() as u8];
            record.extend_from_slice(body);
            record
        };
        for n in 0..100 {
            let handshake = [20, 0, 0, 1, 0, n, 0, 0, 0, 0, 0, 1, 9];
            for record in [
                plain(21, n, &[2, 40]),
                plain(21, n, &[1, 0]),
                plain(22, n, &handshake),
                plain(23, n, b"forged"),
                plain(20, n, &[1]),
                plain(26, n, &[0, 0]),
            ] {
                world.inject(address(0), &record);
                let mut appended = world.sealed(0, b"ours");
                appended.extend_from_slice(&record);
                world.inject(address(0), &appended);
                let (path, mut copy) = (to_server(world.clients[0].local), record);
                let none = &mut |_, packet: &[u8]| panic!("{packet:?}");
                world.clients[0].layer.handle_datagram(world.now, path, &mut copy, none);
            }
        }
        assert_eq!((world.got.len(), world.events.len()), (0, 0), "{versions:?}");
        let mut datagram = Vec::new();
        assert_eq!(world.server.poll_transmit(world.now, &mut datagram), None);
        world.send(0, b"true");
        world.answer(0, b"too");
        world.run(DELAY);
        assert_eq!(world.got, [(from(address(0)), b"true".to_vec())], "{versions:?}");
        assert_eq!(world.clients[0].got, [b"too"]);
    }
}

/// RFC 7983 section 7: datagrams of other protocols are ignored.
#[test]
fn datagrams_other_than_dtls_are_ignored() {
    let mut world = World::connected(server_options(), DtlsVersions::Both, 1);
    let before = world.server.counters().ignored;
    for first in (0..20).chain(64..=255) {
        world.inject(address(0), &[first; 100]);
    }
    world.inject(address(0), &[]);
    assert_eq!(world.server.counters().ignored - before, 20 + 192 + 1);
}

/// Datagrams that arrive before the version is known may be forged.
#[test]
fn a_client_ignores_forged_answers() {
    let mut world = World::new(server_options());
    let client = world.join(options(DtlsVersions::Both), address(1));
    for record in [
        &[22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 9][..],
        &[21, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 2, 40],
        &[0x2f; 90],
    ] {
        let mut record = record.to_vec();
        let path = to_server(address(1));
        world.clients[client].layer.handle_datagram(world.now, path, &mut record, &mut |_, _| panic!());
    }
    world.run(Duration::from_secs(1));
    assert!(world.is_ready(client), "{:?}", world.clients[client].events);
}

/// RFC 6347 section 4.1.2.7: an unauthenticated alert ends no handshake; the first attempt succeeds.
#[test]
fn a_forged_alert_does_not_end_a_handshake() {
    for versions in VERSIONS {
        let mut world = World::new(server_options());
        let client = world.join(options(versions), address(1));
        for n in 0..10 {
            let alert = [21, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 1, n, 0, 2, 2, 40];
            world.inject(address(1), &alert);
            let path = to_server(address(1));
            let none = &mut |_, packet: &[u8]| panic!("{packet:?}");
            world.clients[client].layer.handle_datagram(world.now, path, &mut alert.clone(), none);
            world.run(DELAY);
        }
        assert!(world.is_ready(client) && world.server.sessions() == 1, "{versions:?}");
        assert_eq!(world.clients[client].layer.counters().handshakes_begun, 1, "{versions:?}");
    }
}

/// Returns random and changed datagrams, with session and source.
fn garbage() -> impl Strategy<Value = (u8, u32, Vec<u8>, usize, u8)> {
    let bytes = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..200),
        (20..64_u8, proptest::collection::vec(any::<u8>(), 0..200)).prop_map(|(first, mut rest)| {
            rest.insert(0, first);
            rest
        }),
        (20..27_u8, 0..3_u8, proptest::collection::vec(any::<u8>(), 0..200)).prop_map(|(first, epoch, rest)| {
            let mut record = vec![first, 0xfe, 0xfd, 0, epoch, 0, 0, 0, 0, 0, 7, 0, rest.len() as u8];
            record.extend_from_slice(&rest);
            record
        }),
    ];
    (0..4_u8, 0..4_u32, bytes, 0..1200_usize, any::<u8>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// No datagram of an attacker ends a session, is delivered as a packet or causes a panic, and handshakes in
    /// progress end normally.
    #[test]
    fn garbage_changes_nothing(all in proptest::collection::vec(garbage(), 1..60), version in 0..2_usize) {
        let mut world = World::connected(server_options(), VERSIONS[version], 2);
        let hello = client_hello(VERSIONS[version]);
        for (kind, client, bytes, at, value) in all {
            let mut datagram = match kind {
                0 | 1 => bytes,
                2 => world.sealed(client as usize % 2, b"changed"),
                _ => with_random(&hello, client),
            };
            if kind > 1 && let Some(byte) = datagram.get_mut(at) {
                // Not the type: records of other kinds are tested above.
                *byte ^= value | 1;
            } else if kind > 1 {
                datagram.truncate(at % datagram.len().max(1));
            }
            world.inject(address(client), &datagram);
            if let Some(at) = world.server.poll_timeout() {
                world.now = world.now.max(at);
                world.server.handle_timeout(world.now);
            }
            world.drain();
        }
        prop_assert_eq!(&world.got, &[]);
        // A handshake with a valid first flight and an invalid second one is refused.
        let others = world.events.iter().filter(|event| !matches!(event, SecureEvent::Refused { .. })).count();
        prop_assert_eq!(others, 0);
        for client in 0..2 {
            world.send(client, b"well");
        }
        world.run(Duration::from_secs(1));
        prop_assert_eq!(world.got.len(), 2);
    }
}
