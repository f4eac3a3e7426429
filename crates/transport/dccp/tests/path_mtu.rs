//! Paths whose MTU changes during a connection without an ICMP message (RFC 8899 sections 4.3 and
//! 5.2, RFC 4340 section 14.1).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it panics")]

use crate::call;

use call::{CLIENT, Call, lossy, path_delay, queue};
use headway_dccp::{ConnectionOptions, Event, Fate, State};
use headway_units::{Bytes, Duration};
use proptest::prelude::*;

/// Overhead of a datagram of maximum size, in bytes: headers of IP, UDP and DataAck, and 16 bytes of options.
const AROUND: usize = 28 + 24 + 16;

fn call(lost: u64) -> Call {
    let rules = ConnectionOptions::real();
    let mut call = Call::new(&rules, &rules, &queue("fifo", false), lossy(Duration::from_millis(15), lost));
    call.run(Duration::from_secs(1));
    call
}

/// Sends a datagram of maximum size every 40 ms; every third is of 160 B instead.
fn talk(call: &mut Call, seconds: u64) {
    for n in 0..seconds * 25 {
        let largest = call.client().status().maximum_packet_size;
        call.push(if n % 3 == 0 { 160 } else { largest }, Duration::from_secs(600));
        call.run(Duration::from_millis(40));
    }
}

/// RFC 8899 section 4.4: security overhead below DCCP is part of the probed size, so that 1280 B is
/// the size of the IP packet.
#[test]
fn probed_sizes_include_security_headers() {
    let mut rules = ConnectionOptions { mtu: Bytes::new(1280), ..ConnectionOptions::real() };
    rules.expert.secure_headers = Bytes::new(37);
    let largest = |rules: &ConnectionOptions| {
        let mut call = Call::new(rules, rules, &queue("fifo", false), lossy(Duration::from_millis(15), 0));
        call.run(Duration::from_secs(3));
        call.client().status().maximum_packet_size
    };
    assert_eq!(largest(&rules), 1280 - AROUND - 37);
    assert_eq!(largest(&ConnectionOptions { mtu: Bytes::new(1500), ..rules }), 1500 - AROUND - 37);
}

/// RFC 8899 section 3: the loss of a probe is not congestion. RFC 4340 section 7.7: the NDP Count of the next packet
/// covers probes lost on a path of 1300 B. Without it the receiver counted missing data, and TFRC counted loss events.
#[test]
fn a_lost_probe_is_no_lost_data() {
    let rules = ConnectionOptions::real();
    let mut call = Call::new(&rules, &rules, &queue("fifo", false), path_delay(Duration::from_millis(15)));
    call.mtu = 1300;
    call.run(Duration::from_secs(1));
    talk(&mut call, 20);
    call.run(Duration::from_secs(1));
    assert_eq!(call.delivered.len() as u64, call.outbox().pushed());
    let sender = call.client().status().sender.unwrap();
    assert_eq!(sender.loss_event_rate.map_or(0.0, |p| p.value()), 0.0);
    let counters = call.server().status().counters;
    assert!(counters.missing_packets >= 3, "{counters:?}");
    assert_eq!(counters.missing_data_packets, 0, "{counters:?}");
}

/// RFC 4340 section 7.4: a SyncAck does not acknowledge data. Answers to probes must not replace
/// the last acknowledgement of a transfer.
#[test]
fn answers_to_probes_are_no_acknowledgments() {
    let rules = ConnectionOptions::real();
    let mut call = Call::new(&rules, &rules, &queue("fifo", false), path_delay(Duration::from_millis(10)));
    call.mtu = 1350;
    for n in 1..=171 {
        call.push(1172, Duration::from_secs(600));
        if n % 8 == 0 {
            call.run(Duration::from_millis(4));
        }
    }
    call.run(Duration::from_secs(4));
    let acknowledged = call.fates.iter().filter(|(.., fate)| *fate == Fate::Delivered).count();
    assert_eq!((call.delivered.len(), acknowledged), (171, 171));
}

/// RFC 8899 section 5.2 (Base): 1280 B is confirmed as soon as the first larger probes are lost.
/// Otherwise a connection on a path of 1200 B would lose all large datagrams for 4 to 6 s.
#[test]
fn the_base_size_is_confirmed() {
    for mtu in [600, 1000, 1200, 1279] {
        let rules = ConnectionOptions::real();
        let mut call = Call::new(&rules, &rules, &queue("fifo", false), lossy(Duration::from_millis(15), 0));
        (call.mtu, call.loses_fragments) = (mtu, true);
        // A handshake and six probes, each followed by an answered bare Sync.
        call.run(Duration::from_millis(300));
        let found = call.client().status().maximum_packet_size + AROUND;
        assert!(found <= mtu, "{found} of {mtu}");
        let from = call.outbox().pushed();
        talk(&mut call, 5);
        call.run(Duration::from_secs(1));
        assert!((from..call.outbox().pushed()).all(|id| call.delivered.contains(&id)), "{mtu}");
    }
}

/// RFC 4340 section 14: options do not make a datagram of maximum size exceed the path MTU. In PARTOPEN each packet
/// repeats the Confirms, which must also fit on paths of exactly 576 and 1280 B.
#[test]
fn options_keep_to_the_path_mtu() {
    for mtu in [576, 1280, 1500] {
        let rules = ConnectionOptions { mtu: Bytes::new(mtu as u64), ..ConnectionOptions::real() };
        let mut call = Call::new(&rules, &rules, &queue("fifo", false), lossy(Duration::from_millis(15), 0));
        (call.mtu, call.loses_fragments) = (mtu, true);
        let largest = call.client().status().maximum_packet_size;
        for _ in 0..50 {
            call.push(largest, Duration::from_secs(600));
            call.run(Duration::from_millis(10));
        }
        call.run(Duration::from_secs(10));
        assert_eq!(call.delivered.len(), 50, "{mtu}: {:?}", call.delivered);
    }
}

/// After a change from 1500 B to 1400 B, datagrams of at most 1280 B arrive within 10 s; then the search finds 1400 B
/// up to 16. This also holds if all datagrams are large, or nothing else is lost.
#[test]
fn a_black_hole_is_found() {
    for only_large in [false, true] {
        let mut call = call(0);
        talk(&mut call, 5);
        assert_eq!(call.client().status().maximum_packet_size, 1500 - AROUND);
        call.mtu = 1400;
        call.events[CLIENT].clear();
        for _ in 0..10 {
            if only_large {
                for _ in 0..25 {
                    let largest = call.client().status().maximum_packet_size;
                    call.push(largest, Duration::from_secs(600));
                    call.run(Duration::from_millis(40));
                }
            } else {
                talk(&mut call, 1);
            }
        }
        assert_eq!(call.events[CLIENT][0], Event::MaximumPacketSize(1280 - AROUND));
        let from = call.outbox().pushed();
        talk(&mut call, 40);
        call.run(Duration::from_secs(10));
        assert!((from..call.outbox().pushed()).all(|id| call.delivered.contains(&id)));
        let found = call.client().status().maximum_packet_size + AROUND;
        assert!((1385..=1400).contains(&found), "{found}");
    }
}

/// After the loss of one full-size packet all are of 1000 B: their loss is also detected.
#[test]
fn smaller_datagrams_are_watched() {
    let mut call = call(0);
    talk(&mut call, 5);
    call.mtu = 1400;
    call.push(1432, Duration::from_secs(600));
    call.run(Duration::from_millis(40));
    call.mtu = 1000;
    for _ in 0..30 * 25 {
        let largest = call.client().status().maximum_packet_size;
        call.push(largest.min(1000), Duration::from_secs(600));
        call.run(Duration::from_millis(40));
    }
    let found = call.client().status().maximum_packet_size + AROUND;
    assert!((900..=1000).contains(&found), "{found}");
}

/// Outages and random losses are not attributed to sizes.
#[test]
fn outages_and_losses_are_not_black_holes() {
    let mut call = call(30);
    talk(&mut call, 10);
    for seconds in [1, 3, 10, 30] {
        let path_delay = std::mem::replace(&mut call.path_delay, Box::new(|_, _, _| None));
        talk(&mut call, seconds);
        call.path_delay = path_delay;
        talk(&mut call, 60);
        assert_eq!(call.client().state(), State::Open);
    }
    let smaller = Event::MaximumPacketSize(1280 - AROUND);
    assert!(!call.events[CLIENT].contains(&smaller), "{:?}", call.events[CLIENT]);
    assert_eq!(call.client().status().maximum_packet_size, 1500 - AROUND);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// For any path MTU and times of its changes: after 40 s (CONFIRMATION_TIMER of RFC 8899 section 5.1.1, and three
    /// probes) all datagrams arrive, and finally the search has found the path MTU up to 16 B.
    #[test]
    fn any_change_is_survived(changes in prop::collection::vec((600usize..=1500, 1u64..60), 1..5), last in 600usize..=1500) {
        let mut call = call(0);
        for (mtu, seconds) in changes {
            call.mtu = mtu;
            talk(&mut call, seconds);
        }
        call.mtu = last;
        talk(&mut call, 40);
        let from = call.outbox().pushed();
        talk(&mut call, 700);
        call.run(Duration::from_secs(10));
        let pushed = call.outbox().pushed();
        let missing = (from..pushed).filter(|id| !call.delivered.contains(id)).count();
        prop_assert_eq!(missing, 0, "of {}", pushed - from);
        let found = call.client().status().maximum_packet_size + AROUND;
        prop_assert!(found <= last && found + 16 > last, "{} of {}", found, last);
    }
}
