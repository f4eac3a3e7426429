//! Tests of packets of a session.

use crate::world::{DELAY, Fate, VERSIONS, World, address, options, server_options, to_server};
use headway_net::{DtlsOptions, DtlsVersions, Secure, SecureError, SecureEvent};
use headway_units::Duration;
use proptest::prelude::*;

/// Each packet is one datagram, longer by the stated overhead, however many are sent in a row.
#[test]
fn each_datagram_has_one_packet() {
    for (versions, overhead) in [(DtlsVersions::Dtls12, 37), (DtlsVersions::Dtls13, 22)] {
        let mut world = World::connected(server_options(), versions, 1);
        assert_eq!(world.clients[0].layer.overhead(), overhead);
        let packets: Vec<_> = (0..100_usize).map(|n| vec![n as u8; 12 + 13 * n]).collect();
        for packet in &packets {
            let datagram = world.sealed(0, packet);
            assert_eq!(datagram.len(), packet.len() + overhead, "{versions:?}");
            world.inject(world.clients[0].local, &datagram);
        }
        let got: Vec<_> = world.got.iter().map(|(_, packet)| packet.clone()).collect();
        assert_eq!(got, packets);
    }
    assert_eq!(World::new(server_options()).server.overhead(), 37, "of what may be spoken, the most");
}

#[test]
fn either_end_closes() {
    for versions in VERSIONS {
        let mut world = World::connected(server_options(), versions, 2);
        let first = to_server(world.clients[0].local);
        world.clients[0].layer.close(world.now, first);
        let second = world.name(1);
        world.server.close(world.now, second);
        world.run(Duration::from_secs(1));
        let by_peer = |session| SecureEvent::Closed { session, why: SecureError::ByPeer };
        assert_eq!(world.events, [by_peer(world.name(0))], "{versions:?}");
        assert_eq!(world.clients[1].events.last(), Some(&by_peer(to_server(world.clients[1].local))));
        assert_eq!(world.server.sessions(), 0);
        assert!(world.clients.iter().all(|client| client.layer.sessions() == 0));
        assert_eq!(world.server.seal(world.now, second, b"late", &mut Vec::new()), None);
        assert_eq!(world.server.poll_timeout(), None);
    }
}

/// RFC 9147 section 4.2.2: a record carries 16 bits of its number, which the last number received completes. A
/// session that loses half of their range in a row cannot decrypt any further record, and does not notice. Version
/// 1.2 sends the whole number.
#[test]
fn a_long_outage_ends_decryption_in_dtls_1_3() {
    for (versions, lost, decrypts) in [
        (DtlsVersions::Dtls13, 32_000, true),
        (DtlsVersions::Dtls13, 40_000, false),
        (DtlsVersions::Dtls12, 40_000, true),
    ] {
        let mut world = World::connected(server_options(), versions, 1);
        for _ in 0..lost {
            world.sealed(0, b"lost");
        }
        for _ in 0..10 {
            world.send(0, b"here");
        }
        world.run(DELAY);
        assert_eq!(world.got.len(), if decrypts { 10 } else { 0 }, "{versions:?} {lost}");
        assert_eq!(world.server.counters().records_failed, if decrypts { 0 } else { 10 });
        assert_eq!((world.server.sessions(), world.events.len()), (1, 0), "no event reports it");
        // The other direction works. The connection above times out.
        world.answer(0, b"hello?");
        world.run(DELAY);
        assert_eq!(world.clients[0].got, [b"hello?"]);
    }
}

/// RFC 9147 sections 4.5.3 and 8: keys are changed during a session, also if their messages are lost, and no packet
/// is lost. One end starts: if both do at once and messages are lost, the library sometimes fails ("receive queue
/// full"). That needs a coincidence within one round trip in hours.
#[test]
fn keys_are_changed_during_a_session() {
    for (ours, theirs) in [(40, 1 << 23), (1 << 23, 40)] {
        let mut world = World::new(DtlsOptions { key_lifetime: ours, ..server_options() });
        world.join(DtlsOptions { key_lifetime: theirs, ..options(DtlsVersions::Dtls13) }, address(0));
        world.run(Duration::from_secs(1));
        let (mut count, mut control) = (0_u32, 0_u32);
        let controls = std::rc::Rc::new(std::cell::Cell::new(0));
        let counter = controls.clone();
        world.fate = Box::new(move |_, datagram| {
            count += 1;
            control += u32::from(datagram.len() != 122);
            counter.set(control);
            if datagram.len() != 122 && count.is_multiple_of(3) { Fate::Lost } else { Fate::Arrives }
        });
        for n in 0..1000_u32 {
            let packet = n.to_be_bytes().repeat(25);
            world.send(0, &packet);
            world.answer(0, &packet);
            world.run(Duration::from_millis(5));
        }
        world.run(Duration::from_secs(1));
        let number = |packet: &Vec<u8>| u32::from_be_bytes(packet[..4].try_into().unwrap());
        let all: Vec<_> = (0..1000).collect();
        assert_eq!(world.got.iter().map(|(_, packet)| number(packet)).collect::<Vec<_>>(), all);
        assert_eq!(world.clients[0].got.iter().map(number).collect::<Vec<_>>(), all);
        assert!(controls.get() >= 6, "keys were changed: {}", controls.get());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Packets that are lost, late or duplicated: every delivered packet was sent, and is delivered once.
    #[test]
    fn no_packet_is_delivered_twice(fates in proptest::collection::vec(0..5_u8, 1..200), version in 0..2_usize) {
        let mut world = World::connected(server_options(), VERSIONS[version], 1);
        let sent = fates.len();
        let lost = fates.iter().filter(|fate| **fate == 0).count();
        let mut fates = fates.into_iter();
        world.fate = Box::new(move |_, _| match fates.next() {
            Some(0) => Fate::Lost,
            Some(1) => Fate::Twice,
            Some(2) => Fate::Late(30),
            _ => Fate::Arrives,
        });
        for n in 0..sent {
            world.send(0, &(n as u32).to_be_bytes());
            world.run(Duration::from_millis(1));
        }
        world.run(Duration::from_secs(1));
        let mut got: Vec<_> = world.got.iter().map(|(_, packet)| packet.clone()).collect();
        got.sort_unstable();
        got.dedup();
        prop_assert_eq!(got.len(), world.got.len());
        // 30 packets late is within the window of 64 (RFC 6347 section 4.1.2.6).
        prop_assert_eq!(got.len(), sent - lost);
    }
}
