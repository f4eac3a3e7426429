//! Properties of every send queue.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::queueing::{any_queue, at, millis, named, preset, with};
use headway_media::{Fragment, Late, Media, NextMedia, SendQueue};
use headway_units::{Bytes, Duration, QueueSize, Registry, SendDrop};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Put { priority: u8, lifetime: Option<u64>, bytes: u64 },
    Get,
    RoundTrip(u64),
}

fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let step = prop_oneof![
        4 => (0u8..4, prop::option::of(0u64..300), 0u64..1500)
            .prop_map(|(priority, lifetime, bytes)| Step::Put { priority, lifetime, bytes }),
        3 => Just(Step::Get),
        1 => (0u64..300).prop_map(Step::RoundTrip),
    ];
    prop::collection::vec((0u64..30, step), 0..200)
}

proptest! {
    /// Every packet is sent once, dropped once or still waits. The limit holds, and `next` predicts the packet sent. No
    /// packet is sent that would arrive expired, unless the rule allows it: `late = "send"` for any packet,
    /// "discard-unless-last" for the last one, "send-last" and "sure-first" if no waiting packet would arrive on time.
    #[test]
    fn every_queue_keeps_its_rules(options in any_queue(), steps in steps()) {
        let mut queue = SendQueue::new(&options);
        let (mut now, mut travel) = (0, Duration::ZERO);
        let (mut put, mut ended, mut waiting) = (0u64, 0u64, Vec::<Media>::new());
        for (wait, step) in steps {
            now += wait;
            let mut dropped = Vec::new();
            match step {
                Step::Put { priority, lifetime, bytes } => {
                    let media = Media {
                        size: Bytes::new(bytes),
                        expires: lifetime.map(|lifetime| at(now + lifetime)),
                        fragment: (bytes % 2 == 0).then_some(Fragment { frame: 0, index: 0, last: bytes % 3 == 0 }),
                        ..named(0, priority, now, 0)
                    };
                    put += 1;
                    waiting.push(media);
                    queue.enqueue(at(now), media, &mut |unsent| dropped.push(unsent));
                    prop_assert!(dropped.iter().all(|unsent| unsent.cause != SendDrop::Expired));
                    prop_assert!(dropped.iter().filter(|unsent| unsent.cause == SendDrop::Refused).all(|unsent| unsent.media == media));
                }
                Step::Get => {
                    let next = queue.next(at(now));
                    prop_assert_eq!(next.is_none(), queue.is_empty());
                    let sent = queue.dequeue(at(now), &mut |unsent| dropped.push(unsent));
                    prop_assert!(dropped.iter().all(|unsent| unsent.cause == SendDrop::Expired && !unsent.lateness.is_zero()));
                    if let Some(media) = sent {
                        let Media { size, created, expires, .. } = media;
                        let ends_frame = size.count() % 2 == 1 || size.count() % 3 == 0;
                        let age = Duration::from_millis(now - created.as_nanos() / 1_000_000);
                        let bytes = waiting.iter().map(|media| media.size.count()).sum();
                        let predicted = NextMedia { size, waiting: Bytes::new(bytes), age, expires, ends_frame };
                        prop_assert_eq!(next, Some(predicted));
                        ended += 1;
                        let in_time = |media: &Media| media.expires.is_none_or(|expires| at(now) + travel <= expires);
                        let may_go = match options.rules.late {
                            Late::Send => true,
                            Late::Discard => in_time(&media),
                            Late::DiscardUnlessLast => in_time(&media) || queue.is_empty(),
                            Late::SendLast | Late::SureFirst => in_time(&media) || !waiting.iter().any(in_time),
                        };
                        prop_assert!(may_go);
                        let index = waiting.iter().position(|other| *other == media).unwrap();
                        waiting.remove(index);
                    } else {
                        prop_assert!(queue.is_empty());
                    }
                }
                Step::RoundTrip(rtt) => {
                    queue.set_round_trip(millis(rtt));
                    travel = Duration::from_micros((rtt as f64 * options.rules.rtt_share * 1000.0) as u64);
                    prop_assert_eq!(queue.travel(at(now)), travel);
                }
            }
            for unsent in dropped {
                ended += 1;
                let index = waiting.iter().position(|other| *other == unsent.media).unwrap();
                waiting.remove(index);
                let late = unsent.media.expires.map_or(Duration::ZERO, |expires| (at(now) + travel).since(expires));
                prop_assert_eq!(unsent.lateness, late);
            }
            prop_assert_eq!(queue.len(), waiting.len());
            prop_assert_eq!(queue.bytes().count(), waiting.iter().map(|media| media.size.count()).sum::<u64>());
            prop_assert_eq!(put, ended + queue.len() as u64);
            match options.rules.limit {
                QueueSize::Packets(most) => prop_assert!(queue.len() as u64 <= most),
                QueueSize::Bytes(most) => prop_assert!(queue.bytes() <= most),
            }
        }
    }
}

/// A source of 20 Gb/s over a path of 1 Mb/s must not fill the memory, even with an excessive limit.
#[test]
fn the_limit_of_a_queue_is_bounded() {
    const MAX_LIMIT: u64 = 1 << 20;
    let error = preset("fifo", MAX_LIMIT + 1).check().unwrap_err();
    assert_eq!(error.key, "limit");
    assert_eq!(error.message, "1048577 packets are too many to keep in memory: limit is at most 1048576packets");
    preset("fifo", MAX_LIMIT).check().unwrap();
    let bytes = with("fifo", |rules| rules.limit = QueueSize::Bytes(Bytes::new(u64::MAX)));
    bytes.check().unwrap();
    let mut queue = SendQueue::new(&bytes);
    let mut refused = Vec::new();
    for _ in 0..MAX_LIMIT + 2 {
        queue.enqueue(at(0), named(1, 0, 0, 200), &mut |packet| refused.push(packet.cause));
    }
    assert_eq!((queue.len() as u64, refused), (MAX_LIMIT, vec![SendDrop::Refused; 2]));
}
