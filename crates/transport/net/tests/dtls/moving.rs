//! Tests of peers whose address changes, for example after a NAT rebinding.

use crate::world::{DELAY, VERSIONS, World, address, from, server_options, to_server};
use headway_net::{DtlsOptions, DtlsVersions, Secure, SecureEvent};
use headway_units::Duration;
use std::net::SocketAddr;

/// Returns the same host with another port.
fn rebound(world: &World, client: usize) -> SocketAddr {
    let mut outside = world.clients[client].outside;
    outside.set_port(outside.port() + 1);
    outside
}

/// Packets from a new address belong to the session at once; it migrates only on request.
#[test]
fn a_session_is_found_and_migrates_on_request() {
    for versions in VERSIONS {
        let mut world = World::connected(server_options(), versions, 1);
        let (session, old) = (world.name(0), world.clients[0].outside);
        let new = rebound(&world, 0);
        world.clients[0].outside = new;
        for _ in 0..3 {
            world.send(0, b"from elsewhere");
        }
        world.run(DELAY);
        assert_eq!(world.got, vec![(session, b"from elsewhere".to_vec()); 3], "{versions:?}");
        assert_eq!(world.events, [SecureEvent::Seen { session, path: from(new) }], "one event");
        assert_eq!(world.server.counters().trials, 1, "then it is known");

        let now = world.now;
        let mut datagram = Vec::new();
        assert_eq!(world.server.seal(now, session, b"still there", &mut datagram), Some(from(old)));
        assert_eq!(world.server.seal_to(now, session, from(address(7)), b"no", &mut datagram), None);
        assert!(!world.server.move_to(now, session, from(address(7))), "no packet arrived from there");
        datagram.clear();
        assert_eq!(world.server.seal_to(now, session, from(new), b"sync", &mut datagram), Some(from(new)));
        world.reaches(new, &datagram);
        world.run(DELAY);
        assert_eq!(world.clients[0].got, [b"sync"]);

        assert!(world.server.move_to(world.now, session, from(new)));
        world.answer(0, b"follows");
        // Late packets arrive on the old path and cause no event.
        let late = world.sealed(0, b"late");
        world.inject(old, &late);
        world.run(DELAY);
        assert_eq!(world.clients[0].got, [&b"sync"[..], b"follows"], "{versions:?}");
        assert_eq!(world.got.last(), Some(&(session, b"late".to_vec())));
        assert_eq!((world.server.counters().moved, world.events.len()), (1, 1));

        // Back to the old path, and further.
        let third = rebound(&world, 0);
        for outside in [old, third, new] {
            world.clients[0].outside = outside;
            world.send(0, b"again");
            world.run(DELAY);
            let _ = world.server.move_to(world.now, session, from(outside));
            world.answer(0, b"here");
            world.run(DELAY);
            assert_eq!(world.clients[0].got.last(), Some(&b"here".to_vec()), "{versions:?} {outside}");
        }
        let local = world.clients[0].local;
        world.clients[0].layer.close(world.now, to_server(local));
        world.run(DELAY);
        assert_eq!(world.server.sessions(), 0);
        world.inject(new, &late);
        assert_eq!(world.server.counters().ignored, 1, "nothing is left of it");
    }
}

/// Before it migrates, a session has one other path, the last on which it was seen. An earlier one is forgotten, unless
/// another session has been seen there since.
#[test]
fn a_session_is_known_on_the_last_path_only() {
    for versions in VERSIONS {
        let mut world = World::new(server_options());
        let host = |port: u16| SocketAddr::from(([10, 1, 1, 1], port));
        for port in [2000, 3000] {
            world.join(crate::world::options(versions), host(port));
        }
        world.run(Duration::from_secs(1));
        for client in [0, 1] {
            world.send(client, b"hello");
        }
        world.run(DELAY);
        let trials = |world: &mut World, client: usize, port: u16| {
            let (before, packet) = (world.server.counters().trials, world.sealed(client, b"packet"));
            world.inject(host(port), &packet);
            assert_eq!(
                world.got.last(),
                Some(&(world.name(client), b"packet".to_vec())),
                "{versions:?} {client} {port}"
            );
            world.server.counters().trials - before
        };
        assert_eq!([4000, 4000, 5000, 5000].map(|port| trials(&mut world, 0, port)), [1, 0, 1, 0], "{versions:?}");
        assert_eq!(
            [4000, 4000, 2000].map(|port| trials(&mut world, 0, port)),
            [1, 0, 0],
            "{versions:?}: 4000 was forgotten"
        );
        // The second session is seen at 4000; the first, which leaves it, does not remove it.
        assert_eq!(trials(&mut world, 1, 4000), 1);
        assert_eq!(
            [(0, 5000), (1, 4000)].map(|(client, port)| trials(&mut world, client, port)),
            [1, 0],
            "{versions:?}"
        );
    }
}

/// A record tried against the wrong session leaves it unchanged: of many sessions of one host, each is found and
/// continues.
#[test]
fn trials_do_not_change_other_sessions() {
    for versions in VERSIONS {
        let mut world = World::new(DtlsOptions { trials_per_second: 100, ..server_options() });
        let host = |n: u16| SocketAddr::from(([10, 1, 1, 1], 2000 + 2 * n));
        for n in 0..12 {
            world.join(crate::world::options(versions), host(n));
        }
        world.run(Duration::from_secs(1));
        for round in 0..3 {
            for client in 0..12 {
                world.send(client, b"hello");
                world.answer(client, b"welcome");
            }
            world.run(DELAY);
            assert!(world.clients.iter().all(|client| client.got.len() == 1 + round));
            if round < 2 {
                for client in 0..12 {
                    world.clients[client].outside = rebound(&world, client);
                    world.send(client, b"moved");
                    world.run(DELAY);
                    let (session, path) = (world.name(client), from(world.clients[client].outside));
                    assert_eq!(world.got.last(), Some(&(session, b"moved".to_vec())), "{versions:?}");
                    assert!(world.server.move_to(world.now, session, path));
                    // A replay has no effect.
                    let replay = world.sealed(client, b"once");
                    for elsewhere in [host(50), host(51), host(50)] {
                        world.inject(elsewhere, &replay);
                    }
                    assert_eq!(
                        world.got.iter().filter(|(name, packet)| *name == session && packet == b"once").count(),
                        1 + round
                    );
                }
            }
        }
    }
}

/// A NAT may give one client the port of another. The other keeps it until the first has answered there, and neither
/// loses a packet.
#[test]
fn two_sessions_may_share_an_address() {
    for versions in VERSIONS {
        let mut world = World::new(server_options());
        let host = |port: u16| SocketAddr::from(([10, 1, 1, 1], port));
        for port in [2000, 3000] {
            world.join(crate::world::options(versions), host(port));
        }
        world.run(Duration::from_secs(1));
        for client in [0, 1] {
            world.send(client, b"hello");
        }
        world.run(DELAY);
        let [first, second] = [0, 1].map(|client| world.name(client));
        world.events.clear();
        let packet = world.sealed(1, b"from there");
        world.inject(host(2000), &packet);
        assert_eq!(world.got.last(), Some(&(second, b"from there".to_vec())), "{versions:?}");
        world.drain();
        assert_eq!(world.events, [SecureEvent::Seen { session: second, path: first }]);
        let trials = world.server.counters().trials;
        world.send(0, b"mine");
        world.run(DELAY);
        assert_eq!(world.got.last(), Some(&(first, b"mine".to_vec())));
        assert_eq!(world.server.counters().trials, trials, "{versions:?}: it is known there");

        assert!(world.server.move_to(world.now, second, first));
        for (client, name) in [(1, second), (0, first)] {
            let packet = world.sealed(client, b"both");
            world.inject(host(2000), &packet);
            assert_eq!(world.got.last(), Some(&(name, b"both".to_vec())), "{versions:?}");
        }
        assert_eq!(world.server.seal(world.now, second, b"there", &mut Vec::new()), Some(first));
        assert_eq!(world.server.seal(world.now, first, b"there", &mut Vec::new()), Some(first), "it did not migrate");
    }
}

/// Trials are rate-limited, and packets of other hosts are not tried.
#[test]
fn trials_are_rate_limited() {
    let mut world = World::connected(server_options(), DtlsVersions::Dtls13, 2);
    let record = world.sealed(0, &[7; 100]);
    let mut spoilt = record.clone();
    spoilt[99] ^= 1;
    for n in 0..10_000_u32 {
        world.inject(SocketAddr::from((address(0).ip(), 1000 + n as u16)), &spoilt);
        world.inject(address(1000 + n), &record);
        world.now += Duration::from_micros(100);
    }
    let counters = world.server.counters();
    assert!((16..=33).contains(&counters.trials), "{counters:?}");
    assert_eq!(counters.trials_refused, 10_000 - counters.trials);
    assert_eq!((world.got.len(), world.events.len()), (0, 0));
}

/// A migrated session keeps its identifier; a new client at its old address waits until the session is closed.
#[test]
fn an_identifier_is_not_used_twice() {
    let mut world = World::connected(server_options(), DtlsVersions::Dtls13, 1);
    let (session, old, new) = (world.name(0), world.clients[0].outside, rebound(&world, 0));
    world.clients[0].outside = new;
    world.send(0, b"moved");
    world.run(DELAY);
    assert!(world.server.move_to(world.now, session, from(new)));
    let other = world.join(crate::world::options(DtlsVersions::Dtls13), old);
    world.run(Duration::from_secs(1));
    assert!(!world.is_ready(other));
    world.send(0, b"whole");
    world.run(DELAY);
    assert_eq!(world.got.last(), Some(&(session, b"whole".to_vec())));
    world.server.close(world.now, session);
    world.run(Duration::from_secs(5));
    assert!(world.is_ready(other));
}
