//! Packets that come back into a send queue because they were lost.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use headway_media::{Lost, Media, SendQueue, SendQueueOptions, Told, Unsent};
use headway_units::{Bytes, Dialect, Duration, Instant, MediaKind, QueueSize, Registry, SendDrop};

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// A queue that resends over a way of 40 ms.
fn queue(kind: &str, packets: u64) -> SendQueue {
    let mut options = SendQueueOptions::preset(kind, Dialect::Rfc).unwrap();
    options.rules.resend = true;
    options.rules.limit = QueueSize::Packets(packets);
    let mut queue = SendQueue::new(&options);
    queue.set_round_trip(Duration::from_millis(80));
    queue
}

/// A packet whose size is its name.
fn named(name: u64, priority: u8, expires: Option<u64>) -> Media {
    let kind = if priority == 0 { MediaKind::Audio } else { MediaKind::Video };
    let (size, created, expires) = (Bytes::new(name), at(0), expires.map(at));
    Media { payload: (), size, kind, priority, created, expires, fragment: None, method: None }
}

/// The media go under the numbers from 0, and a report says at `now` that they were lost: what came back or not, and what was
/// thrown away for it.
fn lose(queue: &mut SendQueue, now: u64, media: &[Media]) -> (Vec<(Media, bool)>, Vec<Unsent>) {
    let all = media.len() as u64;
    media.iter().zip(0..).for_each(|(media, number)| queue.sent(number, *media));
    let (mut lost, mut unsent) = (Vec::new(), Vec::new());
    let report = [Told { numbers: all..=all + 2, received: true }, Told { numbers: 0..=all - 1, received: false }];
    queue.report(at(now), report, &mut |found| lost.push(told(found)), &mut |thrown| unsent.push(thrown));
    (lost, unsent)
}

/// The packet, and whether it comes back.
fn told(lost: Lost) -> (Media, bool) {
    match lost {
        Lost::Returns(media) => (*media, true),
        Lost::Late(media) => (media, false),
    }
}

/// Off in every preset: nothing is kept, nothing comes back.
#[test]
fn no_kind_resends_unless_it_is_asked_to() {
    for kind in SendQueueOptions::KINDS {
        for dialect in [Dialect::Rfc, Dialect::Linux, Dialect::Ns2] {
            let mut queue = SendQueue::new(&SendQueueOptions::preset(kind, dialect).unwrap());
            assert!(!queue.resends());
            assert_eq!(lose(&mut queue, 0, &[named(1, 0, None)]), (vec![], vec![]));
            assert!(queue.is_empty());
        }
    }
}

/// A way of 40 ms at 160 ms: what expires at 200 ms can just arrive in time, and what never expires always can.
#[test]
fn what_can_still_arrive_in_time_comes_back() {
    let mut queue = queue("fifo", 9);
    let media = [named(1, 1, Some(199)), named(2, 1, Some(200)), named(3, 0, None)];
    let (lost, unsent) = lose(&mut queue, 160, &media);
    let returned = [false, true, true];
    assert_eq!(lost, media.iter().copied().zip(returned).collect::<Vec<_>>());
    assert_eq!(unsent, []);
    // As it was: creation, expiry and all.
    assert_eq!(queue.dequeue(at(160), &mut |_| {}), Some(media[1]));
    assert_eq!(queue.dequeue(at(160), &mut |_| {}), Some(media[2]));
    assert_eq!(queue.dequeue(at(160), &mut |_| {}), None);
}

/// The queue's own order: an urgent copy goes before what waits, in a fifo behind it.
#[test]
fn the_copy_takes_its_place_in_the_order() {
    for (kind, order) in [("sfdps2", [1, 2]), ("fifo", [2, 1])] {
        let mut queue = queue(kind, 9);
        queue.enqueue(at(10), named(2, 1, Some(300)), &mut |_| {});
        lose(&mut queue, 100, &[named(1, 0, Some(200))]);
        let sent = [(); 2].map(|()| queue.dequeue(at(100), &mut |_| {}).unwrap().size.count());
        assert_eq!(sent, order, "{kind}");
    }
}

/// The queue's own admission: a full one refuses the copy or pushes another out.
#[test]
fn a_full_queue_treats_a_copy_as_any_packet() {
    for (kind, thrown, cause) in [("sfdps2", 1, SendDrop::Refused), ("prio", 2, SendDrop::PushedOut)] {
        let mut queue = queue(kind, 1);
        queue.enqueue(at(10), named(2, 1, Some(300)), &mut |_| {});
        let (lost, unsent) = lose(&mut queue, 100, &[named(1, 0, Some(200))]);
        assert!(lost[0].1);
        let unsent: Vec<_> = unsent.iter().map(|unsent| (unsent.media.size.count(), unsent.cause)).collect();
        assert_eq!((unsent, queue.len()), (vec![(thrown, cause)], 1), "{kind}");
    }
}

/// A copy may be lost too.
#[test]
fn a_packet_may_come_back_more_than_once() {
    let mut queue = queue("fifo", 9);
    let media = named(1, 0, Some(1000));
    for number in [0, 10, 20] {
        queue.sent(number, media);
        let told = [number..=number, number + 1..=number + 3]
            .map(|numbers| Told { received: numbers.contains(&(number + 1)), numbers });
        let mut lost = 0;
        queue.report(at(10 * number), told, &mut |_| lost += 1, &mut |_| {});
        assert_eq!(lost, 1);
        assert_eq!(queue.dequeue(at(10 * number), &mut |_| {}), Some(media));
    }
}
