//! Memory of DTLS, counted by the allocator: per session, per handshake in progress, and under a flood. The C
//! library of the ciphers is not counted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails where it panics")]
#![allow(dead_code, reason = "this test uses a part of the world")]

#[path = "../../dccp/tests/counting/mod.rs"]
mod counting;
#[path = "dtls/world.rs"]
mod world;

use headway_net::{DtlsOptions, Secure};
use headway_units::{Duration, Instant};
use world::{VERSIONS, World, address, client_hello, from, server_options, with_random};

/// Sends spoofed ClientHellos, one per millisecond, and discards the answers. Returns the memory after each
/// thousand.
fn flood(world: &mut World, hello: &[u8], thousands: u32) -> Vec<usize> {
    let mut held = Vec::with_capacity(thousands as usize);
    let mut datagram = Vec::new();
    for n in 0..thousands * 1000 {
        let mut hello = with_random(hello, n);
        // Each has its own prefix.
        let source = from(address(n << 8));
        world.server.handle_datagram(world.now, source, &mut hello, &mut |_, _| panic!("a packet"));
        while world.server.poll_transmit(world.now, &mut datagram).is_some() {}
        world.now += Duration::from_millis(1);
        world.server.handle_timeout(world.now);
        if n % 1000 == 999 {
            held.push(counting::held());
        }
    }
    held
}

/// One test, since the allocator counts all threads.
#[test]
fn memory_under_a_flood_is_bounded() {
    memory_of_sessions_and_handshakes();
    for versions in VERSIONS {
        let hello = client_hello(versions);
        let mut world = World::new(server_options());
        let before = counting::held();
        let held = flood(&mut world, &hello, 24);
        let pending = world.server.pending();
        println!("{versions:?}: {pending} pending, {} B", held[23].saturating_sub(before));
        // Each handshake is kept for ten seconds, in which it retransmits.
        let most = |held: &[usize]| held.iter().copied().max().unwrap_or_default();
        assert!(most(&held[12..]) <= most(&held[..12]) + (16 << 10), "{versions:?}: {held:?}");
        assert!(held[23] - before <= 64 * (20 << 10) + (64 << 10), "{versions:?}: {before} {held:?}");
    }
}

fn memory_of_sessions_and_handshakes() {
    for versions in VERSIONS {
        // The maximum number of unproven handshakes.
        let mut world = World::new(DtlsOptions { unproven: 256, prefix_burst: 1 << 20, ..server_options() });
        let mut clients = World::new(server_options());
        let hello = client_hello(versions);
        let before = counting::held();
        flood(&mut world, &hello, 1);
        if world.server.pending() > 0 {
            println!("{versions:?}: {} B a pending handshake", (counting::held() - before) / world.server.pending());
        }
        for n in 0..64 {
            clients.join(world::options(versions), address(n));
        }
        clients.run(Duration::from_secs(2));
        let before = counting::held();
        for n in 0..64 {
            let name = clients.name(n);
            clients.server.close(clients.now, name);
        }
        let mut datagram = Vec::new();
        while clients.server.poll_transmit(Instant::ZERO, &mut datagram).is_some() {}
        assert_eq!(clients.server.sessions(), 0);
        let each = (before - counting::held()) / 64;
        println!("{versions:?}: {each} B a session");
        assert!(each < 16 << 10, "{versions:?}: {each}");
    }
}
