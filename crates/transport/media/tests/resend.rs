//! Lost packets that are enqueued again.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use headway_media::{Lost, Media, ReportedPackets, SendQueue, SendQueueOptions, Unsent};
use headway_units::{Bytes, Dialect, Duration, Instant, MediaKind, QueueSize, Registry, SendDrop};

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// Creates a queue that resends, with a path delay of 40 ms.
fn queue(kind: &str, packets: u64) -> SendQueue {
    let mut options = SendQueueOptions::preset(kind, Dialect::Rfc).unwrap();
    options.rules.resend = true;
    options.rules.limit = QueueSize::Packets(packets);
    let mut queue = SendQueue::new(&options);
    queue.set_round_trip(Duration::from_millis(80));
    queue
}

/// Creates a packet whose size is its name.
fn named(name: u64, priority: u8, expires: Option<u64>) -> Media {
    let kind = if priority == 0 { MediaKind::Audio } else { MediaKind::Video };
    let (size, created, expires) = (Bytes::new(name), at(0), expires.map(at));
    Media { payload: (), size, kind, priority, created, expires, fragment: None, method: None }
}

/// Sends the media under numbers from 0 and reports them lost at `now`. Returns each packet with whether it is enqueued
/// again, and the packets dropped.
fn lose(queue: &mut SendQueue, now: u64, media: &[Media]) -> (Vec<(Media, bool)>, Vec<Unsent>) {
    let all = media.len() as u64;
    media.iter().zip(0..).for_each(|(media, number)| queue.sent(number, *media));
    let (mut lost, mut unsent) = (Vec::new(), Vec::new());
    let report = [
        ReportedPackets { numbers: all..=all + 2, received: true },
        ReportedPackets { numbers: 0..=all - 1, received: false },
    ];
    queue.report(at(now), report, &mut |found| lost.push(outcome(found)), &mut |thrown| unsent.push(thrown));
    (lost, unsent)
}

/// Returns the packet, and whether it is enqueued again.
fn outcome(lost: Lost) -> (Media, bool) {
    match lost {
        Lost::Returns(media) => (*media, true),
        Lost::Late(media) => (media, false),
    }
}

/// Off in every preset: no packet is kept or enqueued again.
#[test]
fn no_kind_resends_by_default() {
    for kind in SendQueueOptions::KINDS {
        for dialect in [Dialect::Rfc, Dialect::Linux, Dialect::Ns2] {
            let mut queue = SendQueue::new(&SendQueueOptions::preset(kind, dialect).unwrap());
            assert!(!queue.resends());
            assert_eq!(lose(&mut queue, 0, &[named(1, 0, None)]), (vec![], vec![]));
            assert!(queue.is_empty());
        }
    }
}

/// With a path delay of 40 ms at 160 ms, a packet that expires at 200 ms can just arrive on time, and one without
/// expiry always can.
#[test]
fn packets_that_can_arrive_in_time_are_enqueued_again() {
    let mut queue = queue("fifo", 9);
    let media = [named(1, 1, Some(199)), named(2, 1, Some(200)), named(3, 0, None)];
    let (lost, unsent) = lose(&mut queue, 160, &media);
    let returned = [false, true, true];
    assert_eq!(lost, media.iter().copied().zip(returned).collect::<Vec<_>>());
    assert_eq!(unsent, []);
    // Unchanged, including creation and expiry.
    assert_eq!(queue.dequeue(at(160), &mut |_| {}), Some(media[1]));
    assert_eq!(queue.dequeue(at(160), &mut |_| {}), Some(media[2]));
    assert_eq!(queue.dequeue(at(160), &mut |_| {}), None);
}

/// The order of the queue applies: an urgent copy overtakes waiting packets, except in a FIFO queue.
#[test]
fn copies_are_inserted_in_the_queue_order() {
    for (kind, order) in [("sfdps2", [1, 2]), ("fifo", [2, 1])] {
        let mut queue = queue(kind, 9);
        queue.enqueue(at(10), named(2, 1, Some(300)), &mut |_| {});
        lose(&mut queue, 100, &[named(1, 0, Some(200))]);
        let sent = [(); 2].map(|()| queue.dequeue(at(100), &mut |_| {}).unwrap().size.count());
        assert_eq!(sent, order, "{kind}");
    }
}

/// The admission of the queue applies: a full queue refuses the copy or evicts another packet.
#[test]
fn a_full_queue_treats_a_copy_like_any_packet() {
    for (kind, thrown, cause) in [("sfdps2", 1, SendDrop::Refused), ("prio", 2, SendDrop::PushedOut)] {
        let mut queue = queue(kind, 1);
        queue.enqueue(at(10), named(2, 1, Some(300)), &mut |_| {});
        let (lost, unsent) = lose(&mut queue, 100, &[named(1, 0, Some(200))]);
        assert!(lost[0].1);
        let unsent: Vec<_> = unsent.iter().map(|unsent| (unsent.media.size.count(), unsent.cause)).collect();
        assert_eq!((unsent, queue.len()), (vec![(thrown, cause)], 1), "{kind}");
    }
}

#[test]
fn a_packet_may_be_resent_several_times() {
    let mut queue = queue("fifo", 9);
    let media = named(1, 0, Some(1000));
    for number in [0, 10, 20] {
        queue.sent(number, media);
        let reports = [number..=number, number + 1..=number + 3]
            .map(|numbers| ReportedPackets { received: numbers.contains(&(number + 1)), numbers });
        let mut lost = 0;
        queue.report(at(10 * number), reports, &mut |_| lost += 1, &mut |_| {});
        assert_eq!(lost, 1);
        assert_eq!(queue.dequeue(at(10 * number), &mut |_| {}), Some(media));
    }
}
