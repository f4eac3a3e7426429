//! Peers whose address changes, as behind a NAT that has forgotten them.

use crate::world::{DELAY, VERSIONS, World, address, from, server_options, to_server};
use headway_net::{DtlsOptions, DtlsVersions, Secure, SecureEvent};
use headway_units::Duration;
use std::net::SocketAddr;

/// The same host, another port.
fn rebound(world: &World, client: usize) -> SocketAddr {
    let mut outside = world.clients[client].outside;
    outside.set_port(outside.port() + 1);
    outside
}

/// The packet is the session's at once; nothing else moves until the one above has asked, and been answered.
#[test]
fn a_session_is_found_again_and_moves_when_told() {
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
        assert_eq!(world.events, [SecureEvent::Seen { session, path: from(new) }], "told once");
        assert_eq!(world.server.counters().trials, 1, "then it is known");

        let now = world.now;
        let mut datagram = Vec::new();
        assert_eq!(world.server.seal(now, session, b"still there", &mut datagram), Some(from(old)));
        assert_eq!(world.server.seal_to(now, session, from(address(7)), b"no", &mut datagram), None);
        assert!(!world.server.move_to(now, session, from(address(7))), "nobody was seen there");
        datagram.clear();
        assert_eq!(world.server.seal_to(now, session, from(new), b"sync", &mut datagram), Some(from(new)));
        world.reaches(new, &datagram);
        world.run(DELAY);
        assert_eq!(world.clients[0].got, [b"sync"]);

        assert!(world.server.move_to(world.now, session, from(new)));
        world.answer(0, b"follows");
        // What was late still comes, by the old path; and that tells nothing new.
        let late = world.sealed(0, b"late");
        world.inject(old, &late);
        world.run(DELAY);
        assert_eq!(world.clients[0].got, [&b"sync"[..], b"follows"], "{versions:?}");
        assert_eq!(world.got.last(), Some(&(session, b"late".to_vec())));
        assert_eq!((world.server.counters().moved, world.events.len()), (1, 1));

        // And back again, and on.
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

/// A record that is tried on the wrong session leaves no trace in it: of many with one host each goes on, and each is found.
#[test]
fn trials_do_not_touch_the_others() {
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
                    // A replay is nothing.
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

/// A NAT may give one client the port of another of its own. Until it has answered there, the other keeps it; and neither loses a packet.
#[test]
fn two_may_come_from_one_address() {
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
        assert_eq!(
            world.server.seal(world.now, first, b"there", &mut Vec::new()),
            Some(first),
            "it was not told to move"
        );
    }
}

/// However many packets come from nowhere, few are tried; and those from other hosts are not.
#[test]
fn trials_are_few() {
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

/// Who has gone elsewhere keeps its name; another that gets its old address has to wait until it is gone.
#[test]
fn a_name_is_not_given_twice() {
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
