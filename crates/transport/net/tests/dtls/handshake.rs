//! Tests of handshakes, and of faults of the path during them.

use crate::world::{DELAY, Fate, To, VERSIONS, World, address, layer, options, server_options, to_server, trusting};
use headway_net::{DtlsOptions, DtlsVersions, Identity, Secure, SecureError, SecureEvent, Trust};
use headway_units::{Duration, Instant};
use proptest::prelude::*;

#[test]
fn each_version_gets_a_session() {
    for (versions, round_trips) in [(DtlsVersions::Dtls13, 1), (DtlsVersions::Both, 1), (DtlsVersions::Dtls12, 3)] {
        let mut world = World::new(server_options());
        let client = world.join(options(versions), address(1));
        let begun = world.now;
        while !world.is_ready(client) {
            world.run(DELAY);
            assert!(world.now.since(begun) < Duration::from_secs(1));
        }
        // In 1.2 the first round trip is the cookie's: the ClientHello is shorter than the answer.
        assert_eq!(world.now.since(begun), DELAY * (2 * round_trips), "{versions:?}");
        world.run(Duration::from_secs(1));
        let session = to_server(address(1));
        assert_eq!(world.clients[client].events, [SecureEvent::Ready { session, accepted: false }]);
        assert_eq!(world.events, [SecureEvent::Ready { session: world.name(client), accepted: true }]);
        assert_eq!(world.server.pending(), 0);
    }
}

/// Ends without a common version get no session, and the client times out.
#[test]
fn ends_without_a_common_version_get_no_session() {
    for (ours, theirs) in [(VERSIONS[0], VERSIONS[1]), (VERSIONS[1], VERSIONS[0])] {
        let mut world = World::new(DtlsOptions { versions: ours, ..server_options() });
        let client = world.join(options(theirs), address(1));
        world.run(Duration::from_secs(30));
        assert!(matches!(world.clients[client].events[..], [SecureEvent::Closed { .. }]), "{ours:?} {theirs:?}");
        assert_eq!((world.server.sessions(), world.server.pending()), (0, 0));
    }
}

#[test]
fn a_wrong_fingerprint_ends_the_session_before_a_packet_is_sent() {
    let [other, server] = [0, 1].map(|_| Identity::generate().unwrap());
    for versions in VERSIONS {
        let mut world = World::new(DtlsOptions { accept: true, ..DtlsOptions::new(server.clone(), Trust::AnyPeer) });
        let trust = trusting(other.fingerprint());
        let client = world.join(DtlsOptions { trust, ..options(versions) }, address(1));
        world.run(Duration::from_secs(30));
        let session = to_server(address(1));
        let why = SecureError::Fingerprint { found: server.fingerprint().to_string() };
        assert_eq!(world.clients[client].events, [SecureEvent::Closed { session, why }], "{versions:?}");
        assert_eq!(world.clients[client].layer.seal(world.now, session, b"packet", &mut Vec::new()), None);
        assert!(matches!(world.events[..], [SecureEvent::Refused { .. }]), "{:?}", world.events);
        assert_eq!(world.server.sessions(), 0);

        let trust = Trust::Fingerprints(vec![other.fingerprint(), server.fingerprint()]);
        let client = world.join(DtlsOptions { trust, ..options(versions) }, address(2));
        world.run(Duration::from_secs(1));
        assert!(world.is_ready(client), "{versions:?}");
    }
}

#[test]
fn a_server_with_a_list_accepts_only_listed_clients() {
    for versions in VERSIONS {
        let known = Identity::generate().unwrap();
        let mut world = World::new(DtlsOptions { trust: trusting(known.fingerprint()), ..server_options() });
        world.join(DtlsOptions { identity: known, ..options(versions) }, address(1));
        let unknown = options(versions);
        let found = unknown.identity.fingerprint().to_string();
        let stranger = world.join(unknown, address(2));
        world.run(Duration::from_secs(1));
        let refused = SecureEvent::Refused { path: world.name(stranger), why: SecureError::Fingerprint { found } };
        let ready = SecureEvent::Ready { session: world.name(0), accepted: true };
        assert_eq!(world.events, [ready, refused], "{versions:?}");
        // A client of 1.3 has finished before the server sees its certificate, and is notified.
        let session = to_server(address(2));
        let closed = SecureEvent::Closed { session, why: SecureError::ByPeer };
        assert_eq!(world.clients[stranger].events.last(), Some(&closed), "{versions:?}");
        assert_eq!(world.clients[stranger].layer.sessions(), 0, "{versions:?}");
        assert_eq!((world.got.len(), world.server.sessions()), (0, 1));
        assert_eq!(world.server.counters().handshakes_failed, 1);
    }
}

/// RFC 9147 section 5.8.2: a lost flight is retransmitted, here well within a second.
#[test]
fn a_lost_flight_costs_an_eighth_of_a_second() {
    for versions in VERSIONS {
        for lost in 0..3 {
            let mut world = World::new(server_options());
            let mut count = 0;
            world.fate = Box::new(move |_, _| {
                count += 1;
                if count == lost + 1 { Fate::Lost } else { Fate::Arrives }
            });
            let client = world.join(options(versions), address(1));
            // The first timeout is at most a quarter longer than an eighth of a second.
            world.run(DELAY * 6 + Duration::from_micros(125_000 * 5 / 4));
            assert!(world.is_ready(client), "{versions:?}: without the datagram {lost}");
        }
    }
}

#[test]
fn a_handshake_without_an_answer_times_out() {
    let mut world = World::new(DtlsOptions { accept: false, ..server_options() });
    let client = world.join(options(DtlsVersions::Both), address(1));
    world.run(Duration::from_secs(9));
    assert!(world.clients[client].events.is_empty());
    world.run(Duration::from_secs(2));
    let closed = SecureEvent::Closed { session: to_server(address(1)), why: SecureError::NoAnswer };
    assert_eq!(world.clients[client].events, [closed]);
    assert_eq!(world.clients[client].layer.poll_timeout(), None);
}

/// Headers of IPv4 and UDP, in bytes.
const HEADERS: usize = 28;

/// RFC 9147 section 4.4 and RFC 6347 section 4.1.1.1: unanswered datagrams are followed by smaller ones, so that
/// every path of 576 B (RFC 791 section 3.1) carries a handshake. A ClientHello of 1150 B needs 1178 B. The second
/// attempt starts after a quarter of 10 s and takes three round trips, one of them for a cookie. A ClientHello of
/// 1.2 is not padded, so the server's flight is small at once.
#[test]
fn a_handshake_gets_through_a_path_with_a_small_mtu() {
    for ip in [1500, 1280, 1178, 1100, 1000, 800, 576] {
        for versions in [DtlsVersions::Both, DtlsVersions::Dtls13, DtlsVersions::Dtls12] {
            let mut world = World::new(server_options());
            world.fate =
                Box::new(move |_, datagram| if datagram.len() + HEADERS > ip { Fate::Lost } else { Fate::Arrives });
            let client = world.join(options(versions), address(1));
            let restarts = ip < 1178 && versions != DtlsVersions::Dtls12;
            let within = if restarts { Duration::from_millis(2500) } else { Duration::ZERO } + DELAY * 6;
            world.run(within);
            assert!(world.is_ready(client), "{ip} B, {versions:?}: {:?}", world.clients[client].events);
            world.send(client, b"there");
            world.answer(client, b"back");
            world.run(DELAY);
            assert_eq!((world.got.len(), world.clients[client].got.len()), (1, 1), "{ip} B, {versions:?}");
            // Both ends know that the path may carry no larger packets, and start with small ones.
            let ends = [
                world.clients[client].layer.is_small(to_server(address(1))),
                world.server.is_small(world.name(client)),
            ];
            assert_eq!(ends, [restarts; 2], "{ip} B, {versions:?}");
        }
    }
}

/// On an ordinary path the first flights have full size, and one attempt is enough.
#[test]
fn an_ordinary_path_sees_one_attempt_of_full_size() {
    let mut world = World::new(server_options());
    let sizes = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let seen = sizes.clone();
    world.fate = Box::new(move |to, datagram| {
        seen.borrow_mut().push((to, datagram.len()));
        Fate::Arrives
    });
    let client = world.join(options(DtlsVersions::Both), address(1));
    world.run(DELAY * 2);
    assert!(world.is_ready(client));
    assert_eq!(world.clients[client].layer.counters().handshakes_begun, 1);
    let sizes = sizes.borrow();
    assert_eq!(sizes[0], (To::Server, 1150));
    assert!(matches!(sizes[1], (To::Client(0), 600..=1150)), "one datagram answers: {sizes:?}");
    assert!(sizes[2..].iter().all(|(to, _)| *to == To::Server), "{sizes:?}");
}

/// A certificate longer than the path's datagrams is fragmented to fit.
#[test]
fn a_long_certificate_gets_through_a_small_path() {
    let names: Vec<_> = (0..120).map(|n| format!("host-{n:03}.example.net")).collect();
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    let identity = Identity::from_der(certificate.der().to_vec(), key.serialize_der()).unwrap();
    let trust = trusting(identity.fingerprint());
    for versions in VERSIONS {
        let ours = DtlsOptions { identity: identity.clone(), trust: trust.clone(), ..server_options() };
        let mut world = World::new(ours);
        world.fate = Box::new(|_, datagram| if datagram.len() + HEADERS > 576 { Fate::Lost } else { Fate::Arrives });
        let theirs = DtlsOptions { identity: identity.clone(), trust: trust.clone(), ..options(versions) };
        let client = world.join(theirs, address(1));
        world.run(Duration::from_millis(2500) + DELAY * 8);
        assert!(world.is_ready(client), "{versions:?}: {:?}", world.clients[client].events);
    }
}

/// With a certificate of several datagrams the client is asked for a cookie first, since the answer would be longer.
#[test]
fn a_long_certificate_is_fragmented() {
    let names: Vec<_> = (0..120).map(|n| format!("host-{n:03}.example.net")).collect();
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    assert!(certificate.der().len() > 2 * 1150);
    let identity = Identity::from_der(certificate.der().to_vec(), key.serialize_der()).unwrap();
    let trust = trusting(identity.fingerprint());
    for versions in VERSIONS {
        let mut world =
            World::new(DtlsOptions { identity: identity.clone(), trust: trust.clone(), ..server_options() });
        world.fate = Box::new(|_, datagram| {
            assert!(datagram.len() <= 1150);
            Fate::Arrives
        });
        let client = world
            .join(DtlsOptions { identity: identity.clone(), trust: trust.clone(), ..options(versions) }, address(1));
        world.run(Duration::from_secs(1));
        assert!(world.is_ready(client), "{versions:?}");
        assert_eq!((world.server.sessions(), world.server.counters().cookies_asked), (1, 1));
    }
}

/// A client that starts again at the same address replaces its session. A spoofed ClientHello does not.
#[test]
fn a_client_that_starts_again_replaces_its_session() {
    for versions in VERSIONS {
        let mut world = World::connected(server_options(), versions, 1);
        let local = world.clients[0].local;
        let mut again = layer(options(versions));
        again.connect(world.now, to_server(local), false).unwrap();
        let mut hello = Vec::new();
        again.poll_transmit(world.now, &mut hello).unwrap();
        world.inject(local, &hello);
        world.run(DELAY * 2);
        world.send(0, b"still here");
        world.run(DELAY);
        assert_eq!(world.got, [(world.name(0), b"still here".to_vec())], "{versions:?}: one hello changes nothing");

        world.clients[0].layer = again;
        world.clients[0].events.clear();
        world.run(Duration::from_secs(2));
        let session = world.name(0);
        let closed = SecureEvent::Closed { session, why: SecureError::Replaced };
        assert_eq!(world.events, [closed, SecureEvent::Ready { session, accepted: true }], "{versions:?}");
        world.send(0, b"new");
        world.run(DELAY);
        assert_eq!(world.got.last(), Some(&(session, b"new".to_vec())));
    }
}

/// A session without a packet is closed.
#[test]
fn a_session_without_a_packet_is_closed() {
    let mut world = World::new(server_options());
    world.join(options(DtlsVersions::Dtls13), address(1));
    world.run(Duration::from_secs(5));
    assert_eq!(world.server.sessions(), 1);
    world.run(Duration::from_secs(6));
    assert_eq!(world.server.sessions(), 0);
    let closed = SecureEvent::Closed { session: world.name(0), why: SecureError::NoAnswer };
    assert_eq!(world.events.last(), Some(&closed));
    let by_peer = SecureEvent::Closed { session: to_server(address(1)), why: SecureError::ByPeer };
    assert_eq!(world.clients[0].events.last(), Some(&by_peer), "the client is notified");
}

#[test]
fn the_number_of_sessions_is_bounded() {
    let mut world = World::connected(DtlsOptions { sessions: 3, ..server_options() }, DtlsVersions::Dtls13, 3);
    let late = world.join(options(DtlsVersions::Dtls13), address(77));
    world.run(Duration::from_secs(1));
    assert!(!world.is_ready(late) && world.server.sessions() == 3);
    let mut client = layer(DtlsOptions { sessions: 1, ..options(DtlsVersions::Both) });
    assert_eq!(client.connect(Instant::ZERO, to_server(address(1)), false), Ok(()));
    assert_eq!(client.connect(Instant::ZERO, to_server(address(1)), false), Ok(()), "it is under way");
    assert_eq!(client.connect(Instant::ZERO, to_server(address(2)), false), Err(SecureError::Full(1)));
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        4 => Just(Fate::Arrives),
        2 => Just(Fate::Lost),
        1 => Just(Fate::Twice),
        2 => (1_u64..200).prop_map(Fate::Late),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// A path that damages the first datagrams only delays the session, and packets are delivered afterwards.
    #[test]
    fn a_bad_path_only_delays_a_session(fates in proptest::collection::vec(fate(), 1..12), version in 0..2_usize, long in any::<bool>()) {
        // Small datagrams make flights of several datagrams.
        let handshake_datagram = if long { 1150 } else { 300 };
        let mut world = World::new(DtlsOptions { handshake_datagram, ..server_options() });
        let mut fates = fates.into_iter();
        world.fate = Box::new(move |_: To, _: &[u8]| fates.next().unwrap_or(Fate::Arrives));
        let client = world.join(options(VERSIONS[version]), address(1));
        world.run(Duration::from_secs(10));
        prop_assert!(world.is_ready(client), "{:?}", world.clients[client].events);
        world.fate = Box::new(|_, _| Fate::Arrives);
        world.send(client, b"there");
        world.answer(client, b"back");
        world.run(Duration::from_secs(1));
        prop_assert_eq!(&world.got, &[(world.name(client), b"there".to_vec())]);
        prop_assert_eq!(&world.clients[client].got, &[b"back".to_vec()]);
    }
}
