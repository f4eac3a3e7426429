//! Decisions of send queues: external vectors, and examples computed by hand.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::queueing::vectors::play;
use crate::queueing::{at, millis, named, preset, with};
use headway_media::{Full, Media, SendQueue, SendQueueOptions, Travel, Unsent};
use headway_units::{Bytes, Dialect, Duration, QueueSize, Registry, SendDrop};
use proptest::prelude::*;
use serde_json::Value;

/// All decisions of sfdps.json, whose `source` gives its origin.
#[test]
fn decisions_of_the_sfdps_vectors() {
    let text: Value = serde_json::from_str(include_str!("data/sfdps.json")).unwrap();
    let mut decided = 0;
    for case in text["cases"].as_array().unwrap() {
        for (scheme, expected) in case["decisions"].as_object().unwrap() {
            let kind = if scheme == "dccp" { "fifo" } else { &scheme.replace('+', "-") };
            let decisions = play(case, &preset(kind, case["qlen"].as_u64().unwrap()), None);
            assert_eq!(&Value::from(decisions), expected, "{} {scheme}", case["name"]);
            decided += expected.as_array().unwrap().len();
        }
    }
    assert_eq!(decided, 239, "a vector is missing");
}

/// Returns the packets sent in order, and those dropped.
fn story(
    options: &SendQueueOptions,
    rtt: u64,
    packets: &[Media],
    sendings: &[u64],
) -> (Vec<u64>, Vec<(u64, SendDrop)>) {
    let mut queue = SendQueue::new(options);
    queue.set_round_trip(millis(rtt));
    let (mut sent, mut unsent) = (Vec::new(), Vec::new());
    let mut drop = |dropped: Unsent| unsent.push((dropped.media.size.count(), dropped.cause));
    packets.iter().for_each(|media| queue.enqueue(media.created, *media, &mut drop));
    for now in sendings {
        sent.extend(queue.dequeue(at(*now), &mut drop).map(|media| media.size.count()));
    }
    (sent, unsent)
}

/// Linux 6.1 net/dccp/qpolicy.c: sends the first of the most urgent packets; a full queue drops the first of the least
/// urgent ones and always accepts the new packet.
#[test]
fn linux_prio() {
    let packets =
        [named(1, 1, 0, 200), named(2, 0, 1, 200), named(3, 1, 2, 200), named(4, 0, 3, 200), named(5, 1, 4, 200)];
    let (sent, unsent) = story(&preset("prio", 3), 0, &packets, &[10, 10, 1000, 1000]);
    assert_eq!(sent, [2, 4, 5]);
    assert_eq!(unsent, [(1, SendDrop::PushedOut), (3, SendDrop::PushedOut)]);
}

/// Lai and Kohler's ring of three packets, in the variant that drops P and B frames before I frames.
#[test]
fn a_ring_of_three_keeps_i_frames() {
    let options = SendQueueOptions::preset("ring-3", Dialect::Linux).unwrap();
    assert_eq!(options.rules.limit, QueueSize::Packets(3));
    let packets =
        [named(1, 0, 0, 900), named(2, 2, 1, 900), named(3, 1, 2, 900), named(4, 2, 3, 900), named(5, 2, 4, 900)];
    let (sent, unsent) = story(&options, 0, &packets, &[10, 10, 10, 10]);
    assert_eq!(sent, [1, 3, 5]);
    assert_eq!(unsent, [(2, SendDrop::PushedOut), (4, SendDrop::PushedOut)]);
    // "The oldest packet is dropped", for any kind of packet.
    let oldest = with("ring-3", |rules| rules.full = Full::DropOldest);
    assert_eq!(story(&oldest, 0, &packets, &[10, 10, 10, 10]).0, [3, 4, 5]);
}

/// Future work of the SFDPS paper: expired packets stay until the queue is full, and are sent when no others are left.
#[test]
fn patient_sends_late_packets_last() {
    let packets = [named(1, 0, 0, 50), named(2, 1, 1, 50), named(3, 1, 60, 200), named(4, 0, 61, 200)];
    let (sent, unsent) = story(&preset("patient", 4), 80, &packets, &[70, 70, 70, 70]);
    assert_eq!((sent, unsent), (vec![4, 3, 1, 2], vec![]));
    // With a limit of three, the oldest late packet is dropped.
    let (sent, unsent) = story(&preset("patient", 3), 80, &packets, &[70, 70, 70, 70]);
    assert_eq!((sent, unsent), (vec![4, 3, 2], vec![(1, SendDrop::PushedOut)]));
    // A new packet that is the least urgent is refused.
    let packets = [named(1, 0, 0, 500), named(2, 0, 0, 500), named(3, 1, 0, 500)];
    assert_eq!(story(&preset("patient", 2), 80, &packets, &[1]).1, [(3, SendDrop::Refused)]);
}

/// A level of priority is worth 100 ms of expiry; the size is not used by default.
#[test]
fn a_score_weighs_urgency_against_expiry_and_size() {
    let packets = [named(2048, 0, 0, 301), named(1, 1, 0, 200), named(2, 1, 0, 202)];
    assert_eq!(story(&preset("score", 5), 0, &packets, &[1, 1, 1]).0, [1, 2048, 2]);
    let heavy = with("score", |rules| rules.size_weight = millis(10));
    assert_eq!(story(&heavy, 0, &packets, &[1, 1, 1]).0, [1, 2, 2048]);
    let alone = with("score", |rules| rules.priority_weight = millis(500));
    assert_eq!(story(&alone, 0, &packets, &[1, 1, 1]).0, [2048, 1, 2]);
}

/// The path delay is 60 ms of a round trip of 80 ms, whose minimum is 40 ms. A mean deviation is 10 ms, so packets with
/// 100 ms left are sure. Audio precedes video. Within each, sure packets are sent by expiry, then the others from the
/// latest expiry. Packets with less than 60 ms left are dropped at any place.
#[test]
fn sure_first() {
    let mut queue = SendQueue::new(&SendQueueOptions::preset("sure-first", Dialect::Rfc).unwrap());
    // Equal samples have no deviation.
    for _ in 0..100 {
        queue.on_round_trip(millis(40));
    }
    queue.set_round_trip(millis(80));
    assert_eq!(queue.travel(at(0)), millis(60));
    for name in [(1, 1, 130), (2, 1, 59), (3, 1, 95), (4, 1, 70), (5, 0, 61), (6, 0, 58), (7, 1, 110)] {
        queue.enqueue(at(0), named(name.0, name.1, 0, name.2), &mut |_| {});
    }
    // A sample that deviates by 40 ms, weighted by a quarter.
    queue.on_round_trip(millis(80));
    let mut unsent = Vec::new();
    let mut sent = Vec::new();
    while let Some(media) =
        queue.dequeue(at(0), &mut |dropped| unsent.push((dropped.media.size.count(), dropped.cause)))
    {
        sent.push(media.size.count());
    }
    assert_eq!(sent, [5, 7, 1, 3, 4]);
    assert_eq!(unsent, [(6, SendDrop::Expired), (2, SendDrop::Expired)]);
}

/// With a path delay above all lifetimes, the packet that expires last is still sent, to keep measuring the round trip.
#[test]
fn sure_first_always_sends() {
    let mut queue = SendQueue::new(&SendQueueOptions::preset("sure-first", Dialect::Rfc).unwrap());
    queue.set_round_trip(millis(500));
    queue.on_round_trip(millis(100));
    for name in [(1, 0, 200), (2, 1, 210), (3, 1, 190)] {
        queue.enqueue(at(0), named(name.0, name.1, 0, name.2), &mut |_| {});
    }
    let mut unsent = Vec::new();
    let gone = queue.dequeue(at(0), &mut |dropped| unsent.push((dropped.media.size.count(), dropped.cause)));
    assert_eq!(gone.unwrap().size, Bytes::new(2));
    assert_eq!(unsent, [(1, SendDrop::Expired), (3, SendDrop::Expired)]);
}

/// Ablations: earliest deadline first without priority, priority without expiry, expiry without the round trip.
#[test]
fn ablations_use_a_single_rule() {
    let packets = [named(1, 1, 0, 150), named(2, 0, 0, 200), named(3, 1, 0, 100)];
    let (sent, unsent) = story(&preset("edf", 5), 80, &packets, &[70, 70, 70]);
    assert_eq!((sent, unsent), (vec![1, 2], vec![(3, SendDrop::Expired)]));
    let (sent, unsent) = story(&preset("priority", 5), 80, &packets, &[500, 500, 500]);
    assert_eq!((sent, unsent), (vec![2, 1, 3], vec![]));
    let where_it_is = with("sfdps1", |rules| rules.rtt_share = 0.0);
    assert_eq!(story(&where_it_is, 80, &packets, &[100, 101, 101]).0, [2, 1]);
}

#[test]
fn bytes_limit_what_waits() {
    let bytes = |kind| with(kind, |rules| rules.limit = QueueSize::Bytes(Bytes::new(1000)));
    let packets = [named(400, 1, 0, 200), named(600, 1, 0, 200), named(700, 0, 0, 200), named(1001, 0, 0, 200)];
    assert_eq!(story(&bytes("fifo"), 0, &packets, &[1, 1, 1]).0, [400, 600]);
    // One large packet may evict several. A packet above the limit is refused.
    let (sent, unsent) = story(&bytes("ring"), 0, &packets, &[1, 1, 1]);
    assert_eq!(sent, [700]);
    assert_eq!(unsent, [(400, SendDrop::PushedOut), (600, SendDrop::PushedOut), (1001, SendDrop::Refused)]);
}

/// No packet is dropped for a new packet that would still not fit, and all keep their places.
#[test]
fn no_packet_is_dropped_in_vain() {
    for kind in ["score", "patient", "sure-first"] {
        let options = with(kind, |rules| rules.limit = QueueSize::Bytes(Bytes::new(1000)));
        let mut packets: Vec<Media> = (101..105).map(|name| named(name, 2, 0, 200)).collect();
        packets.extend([named(550, 0, 0, 200), named(500, 1, 0, 200)]);
        let (sent, unsent) = story(&options, 0, &packets, &[1; 6]);
        assert_eq!((sent, unsent), (vec![550, 101, 102, 103, 104], vec![(500, SendDrop::Refused)]), "{kind}");
    }
}

/// A queue that searches keeps at most a thousand packets, even of a byte. A FIFO queue keeps any number.
#[test]
fn searching_queues_are_limited_to_1000_packets() {
    for kind in SendQueueOptions::KINDS {
        let thousands = with(kind, |rules| rules.limit = QueueSize::Packets(1001)).check();
        let rejected = thousands.err().map(|error| (error.key, error.message.contains("at most 1000packets")));
        assert_eq!(rejected, (*kind != "fifo").then_some(("limit", true)), "{kind}");
        let mut queue = SendQueue::new(&with(kind, |rules| rules.limit = QueueSize::Bytes(Bytes::new(1_000_000))));
        for _ in 0..2000 {
            queue.enqueue(at(0), named(1, 1, 0, 200), &mut |_| {});
        }
        assert_eq!(queue.len(), if *kind == "fifo" { 2000 } else { 1000 }, "{kind}");
    }
}

/// A queue that considers every packet late sends none, so it cannot measure a shorter delay. A lifetime of 200 ms is
/// less than half of 500 ms. Two round trips after the last packet, no measurement is pending, and the minimum round
/// trip of 80 ms is used until a packet is sent.
#[test]
fn a_stale_round_trip_is_replaced_by_the_minimum() {
    for kind in ["sfdps1", "edf"] {
        let mut queue = SendQueue::new(&SendQueueOptions::preset(kind, Dialect::Rfc).unwrap());
        let is_sent = |queue: &mut SendQueue, ms: u64| {
            queue.enqueue(at(ms), named(ms, 0, ms, 200), &mut |_| {});
            queue.dequeue(at(ms), &mut |_| {}).is_some()
        };
        queue.on_round_trip(millis(80));
        queue.set_round_trip(millis(80));
        assert!(is_sent(&mut queue, 0), "{kind}");
        queue.on_round_trip(millis(700));
        queue.set_round_trip(millis(500));
        assert!(!is_sent(&mut queue, 999), "{kind}: a report may be pending");
        assert!(!is_sent(&mut queue, 1000), "{kind}");
        assert!(is_sent(&mut queue, 1001), "{kind}: no report is pending");
        assert!(!is_sent(&mut queue, 1002), "{kind}: the report of this packet is pending");
    }
}

/// Estimates of the path delay: half of the smoothed round trip; the mean of the one-way delays; the round trip minus
/// half of the minimum.
#[test]
fn estimates_of_the_path_delay() {
    let travel = |travel, share, measure: &dyn Fn(&mut SendQueue)| {
        let mut queue = SendQueue::new(&with("sfdps2", |rules| (rules.travel, rules.rtt_share) = (travel, share)));
        measure(&mut queue);
        queue.travel(at(0))
    };
    let all = |queue: &mut SendQueue| {
        queue.on_round_trip(millis(80));
        queue.on_round_trip(millis(200));
        queue.set_round_trip(millis(140));
        queue.on_one_way_delay(millis(80));
        queue.on_one_way_delay(millis(160));
    };
    assert_eq!(travel(Travel::RoundTrip, 0.5, &all), millis(70));
    assert_eq!(travel(Travel::RoundTrip, 0.25, &all), millis(35));
    assert_eq!(travel(Travel::OneWay, 0.5, &all), millis(90));
    assert_eq!(travel(Travel::Forward, 0.5, &all), millis(100));
    for kind in [Travel::RoundTrip, Travel::OneWay, Travel::Forward] {
        assert_eq!(travel(kind, 0.5, &|_| {}), Duration::ZERO);
    }
    assert_eq!(travel(Travel::OneWay, 0.5, &|queue| queue.set_round_trip(millis(140))), millis(70));
}

proptest! {
    /// No packet is sent before an older one of equal rank.
    #[test]
    fn packets_of_equal_rank_are_sent_in_order_of_arrival(kind in prop::sample::select(SendQueueOptions::KINDS.to_vec()), count in 1u64..30) {
        let packets: Vec<Media> = (0..count).map(|name| named(name, 1, 0, 200)).collect();
        let sendings = vec![10; count as usize];
        let (sent, _) = story(&preset(kind, 40), 0, &packets, &sendings);
        prop_assert_eq!(sent, (0..count).collect::<Vec<_>>());
    }
}

/// Linux 6.1 `dccp_write_xmit` with the SFDPS paper's check "just before a packet is transmitted": each late packet at
/// the head is dropped separately and consumes a permission. SFDPS2 keeps the last packet.
#[test]
fn discard_spends_checks_the_head_only() {
    // Queue order: 1, 2, 4 (late by 50, 40, 30 ms), 3.
    let packets = [named(1, 0, 0, 50), named(2, 0, 0, 60), named(3, 1, 0, 500), named(4, 1, 0, 70)];
    for (kind, discards, sent) in
        [("sfdps1", [true, true, true, false], Some(3)), ("sfdps2", [true, true, true, false], Some(3))]
    {
        let mut queue = SendQueue::new(&with(kind, |rules| rules.discard_spends = true));
        let mut unsent = Vec::new();
        let mut drop = |dropped: Unsent| unsent.push((dropped.media.size.count(), dropped.cause, dropped.lateness));
        packets.iter().for_each(|media| queue.enqueue(at(0), *media, &mut drop));
        assert_eq!(queue.next(at(100)).unwrap().size.count(), 1);
        assert_eq!(discards.map(|_| queue.discard_head(at(100), &mut drop)), discards, "{kind}");
        assert_eq!(queue.dequeue(at(100), &mut drop).map(|media| media.size.count()), sent, "{kind}");
        let late = |name, lateness| (name, SendDrop::Expired, millis(lateness));
        assert_eq!(unsent, [late(1, 50), late(2, 40), late(4, 30)], "{kind}");
    }
    for (kind, discarded) in [("sfdps1", true), ("sfdps2", false)] {
        let mut queue = SendQueue::new(&with(kind, |rules| rules.discard_spends = true));
        queue.enqueue(at(0), packets[0], &mut |_| {});
        assert_eq!(queue.discard_head(at(100), &mut |_| {}), discarded, "{kind}");
        assert_eq!(queue.dequeue(at(100), &mut |_| {}).is_none(), discarded, "{kind}");
    }
    // Without the option, discard_head drops nothing.
    let mut queue = SendQueue::new(&preset("sfdps1", 5));
    queue.enqueue(at(0), packets[0], &mut |_| {});
    assert!(!queue.discard_head(at(100), &mut |_| {}));
    let wrong = with("fifo", |rules| rules.discard_spends = true).check().unwrap_err();
    assert_eq!(wrong.key, "discard_spends");
}
