//! Timing, rate and source addresses of attackers, as documented in the book's table of attackers.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_attack::{Attack, AttackOptions, Context, Direction, Endpoint, Fate, SentPacket, Target};
use headway_dccp::ServiceCode;
use headway_units::{Dialect, Duration, Instant, Random, Registry};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

/// Creates an attack from 1 s to 2 s.
fn attack(options: &AttackOptions) -> Attack {
    let target = Target {
        client: Endpoint { address: Ipv4Addr::new(10, 0, 0, 1), port: 50_000 },
        server: Endpoint { address: Ipv4Addr::new(10, 0, 0, 2), port: 5004 },
        service: ServiceCode(7),
    };
    let (start, stop) = (Instant::from_secs(1), Instant::from_secs(2));
    Attack::new(options, Context { target, start, stop, random: Random::new(1, "attacker") })
}

fn options(kind: &str) -> AttackOptions {
    AttackOptions::preset(kind, Dialect::Rfc).unwrap()
}

/// Returns all packets that the attack sends spontaneously, with their times. None is sent at its stop.
fn shots(attack: &mut Attack) -> Vec<(Instant, SentPacket)> {
    let next = || {
        let due = attack.poll_timeout()?;
        Some((due, attack.poll_transmit(due).unwrap()))
    };
    let found = std::iter::from_fn(next).collect();
    assert_eq!(attack.poll_transmit(Instant::from_secs(2)), None);
    found
}

/// Sends 1000 Requests in a second, one per millisecond, from the 131 072 addresses of 198.18.0.0/15. About four of a
/// thousand draws repeat an address (1000^2 / 2 / 131 072). Both halves of the block are used about equally.
#[test]
fn a_flood_uses_the_whole_address_block() {
    let found = shots(&mut attack(&options("flood")));
    assert_eq!(found.len(), 1000);
    for (number, (at, shot)) in (0u64..).zip(&found) {
        assert_eq!(*at, Instant::from_millis(1000 + number));
        assert_eq!(shot.direction, Direction::ToServer);
        assert!(matches!(shot.source.octets(), [198, 18 | 19, ..]), "{}", shot.source);
        // RFC 4340 section 5.1: the type is in bits 3 to 6 of the ninth byte, and Request is 0.
        assert_eq!(shot.bytes[8] >> 1 & 15, 0);
    }
    let addresses: BTreeSet<[u8; 4]> = found.iter().map(|(_, shot)| shot.source.octets()).collect();
    assert!(addresses.len() >= 985, "{}", addresses.len());
    let upper = addresses.iter().filter(|address| address[1] == 19).count();
    assert!((420..=580).contains(&upper), "{upper}");
}

#[test]
fn a_flood_uses_the_configured_number_of_sources() {
    let mut flood = options("flood");
    let AttackOptions::Flood(few) = &mut flood else { panic!("another attack") };
    (few.sources, few.interval) = (3, Duration::from_millis(10));
    let found = shots(&mut attack(&flood));
    let addresses: BTreeSet<[u8; 4]> = found.iter().map(|(_, shot)| shot.source.octets()).collect();
    assert_eq!(found.len(), 100);
    assert_eq!(addresses, BTreeSet::from([[198, 18, 0, 0], [198, 18, 0, 1], [198, 18, 0, 2]]));
}

/// A packet passes and is sent again unchanged, after `after`, `copies` times, with its original source address.
#[test]
fn a_replay_is_sent_after_its_delay() {
    for (copies, after) in [(1, 1000), (2, 400), (3, 250)] {
        let mut replay = options("replay");
        let AttackOptions::Replay(times) = &mut replay else { panic!("another attack") };
        assert_eq!((times.copies, times.after), (1, Duration::from_secs(1)), "by default");
        (times.copies, times.after) = (copies, Duration::from_millis(after));
        let mut replay = attack(&replay);
        assert_eq!(replay.handle(Instant::from_millis(1500), Direction::ToClient, b"12345678"), Fate::Forwarded);
        let found = shots(&mut replay);
        assert_eq!(found.len(), copies as usize);
        for (at, shot) in found {
            assert_eq!(at, Instant::from_millis(1500 + after));
            assert_eq!((shot.direction, shot.source), (Direction::ToClient, Ipv4Addr::new(10, 0, 0, 2)));
            assert_eq!(shot.bytes, b"12345678");
        }
    }
}

/// Packets before the start and from the stop on are not attacked.
#[test]
fn an_attack_is_limited_to_its_interval() {
    let mut replay = attack(&options("replay"));
    for millis in [0, 999, 2000, 3000] {
        replay.handle(Instant::from_millis(millis), Direction::ToClient, b"12345678");
        assert_eq!(replay.poll_timeout(), None, "{millis} ms");
    }
    replay.handle(Instant::from_millis(1000), Direction::ToClient, b"12345678");
    assert_eq!(replay.poll_timeout(), Some(Instant::from_secs(2)));
}

/// Delays a tenth of the packets by 100 ms by default: 1000 of 10 000, with a standard deviation of 30.
#[test]
fn reorder_delays_a_tenth_by_default() {
    let mut reorder = attack(&options("reorder"));
    let mut held = 0;
    for _ in 0..10_000 {
        match reorder.handle(Instant::from_millis(1500), Direction::ToServer, b"12345678") {
            Fate::Forwarded => {}
            fate => {
                assert_eq!(fate, Fate::Delayed(Duration::from_millis(100)));
                held += 1;
            }
        }
    }
    assert!((850..=1150).contains(&held), "{held}");
}

/// One byte of an Ack Vector covers at most 64 packets (RFC 4340 section 11.4), of which one was received.
#[test]
fn acknowledging_ahead_is_limited_to_one_run() {
    for (packets, is_right) in [(0, false), (1, true), (63, true), (64, false)] {
        let mut lie = options("lie");
        let AttackOptions::Lie(ahead) = &mut lie else { panic!("another attack") };
        ahead.packets = packets;
        assert_eq!(lie.check().is_ok(), is_right, "{packets}");
    }
}
