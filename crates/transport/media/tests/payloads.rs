//! Payloads in a send queue: none is lost or duplicated.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::queueing::{any_queue, at, millis, with};
use headway_media::{Lost, Media, ReportedPackets, SendQueue};
use headway_units::{Bytes, Duration, MediaKind, SendDrop};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Names of payloads that have not been dropped.
type Alive = Rc<RefCell<BTreeSet<u64>>>;

/// Payload that cannot be copied and records its drop.
#[derive(Debug)]
struct Payload {
    name: u64,
    alive: Alive,
}

impl Payload {
    fn new(name: u64, alive: &Alive) -> Self {
        assert!(alive.borrow_mut().insert(name));
        Self { name, alive: Rc::clone(alive) }
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        self.alive.borrow_mut().remove(&self.name);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Put {
        priority: u8,
        lifetime: Option<u64>,
        bytes: u64,
    },
    Get,
    RoundTrip(u64),
    /// Reports on this many newest packets: whether each was received.
    Report(Vec<bool>),
}

fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let step = prop_oneof![
        4 => (0u8..4, prop::option::of(0u64..300), 0u64..1500)
            .prop_map(|(priority, lifetime, bytes)| Step::Put { priority, lifetime, bytes }),
        4 => Just(Step::Get),
        1 => (0u64..300).prop_map(Step::RoundTrip),
        1 => prop::collection::vec(any::<bool>(), 1..12).prop_map(Step::Report),
    ];
    prop::collection::vec((0u64..30, step), 0..200)
}

proptest! {
    /// An enqueued payload waits, or was returned by `dequeue` or as unsent, and lives until the program drops it.
    /// After `sent`, it is kept at most while `resend` may need it; then it waits again, is returned as lost, or is
    /// dropped.
    #[test]
    fn no_payload_is_lost_or_duplicated(options in any_queue(), resend: bool, steps in steps()) {
        let mut options = options;
        options.rules.resend = resend;
        let mut queue = SendQueue::new(&options);
        let alive = Alive::default();
        // Payloads that wait, that are kept after sending, and that were returned.
        let (mut waiting, mut kept, mut back) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        let (mut now, mut names, mut number) = (0, 0u64, 0u64);
        for (wait, step) in steps {
            now += wait;
            let (mut unsent, mut returned, mut late) = (Vec::new(), Vec::new(), Vec::new());
            match step {
                Step::Put { priority, lifetime, bytes } => {
                    let payload = Payload::new(names, &alive);
                    waiting.insert(names);
                    names += 1;
                    let (size, expires) = (Bytes::new(bytes), lifetime.map(|lifetime| at(now + lifetime)));
                    let (kind, created) = (MediaKind::Video, at(now));
                    let media = Media { payload, size, kind, priority, created, expires, fragment: None, method: None };
                    queue.enqueue(at(now), media, &mut |packet| unsent.push(packet.media));
                }
                Step::Get => {
                    if let Some(media) = queue.dequeue(at(now), &mut |packet| unsent.push(packet.media)) {
                        prop_assert!(waiting.remove(&media.payload.name), "it waited and is sent once");
                        kept.insert(media.payload.name);
                        number += 1;
                        queue.sent(number, media);
                    }
                }
                Step::RoundTrip(rtt) => queue.set_round_trip(millis(rtt)),
                Step::Report(arrives) => {
                    let reports = arrives.iter().zip((1..=number).rev()).map(|(arrives, number)| {
                        ReportedPackets { numbers: number..=number, received: *arrives }
                    });
                    let mut lost = |lost: Lost<'_, Payload>| match lost {
                        Lost::Returns(media) => returned.push(media.payload.name),
                        Lost::Late(media) => late.push(media),
                    };
                    queue.report(at(now), reports, &mut lost, &mut |packet| unsent.push(packet.media));
                }
            }
            for name in returned {
                prop_assert!(resend && kept.remove(&name) && waiting.insert(name), "it was sent and waits again once");
            }
            for media in late {
                prop_assert!(resend && kept.remove(&media.payload.name), "it was sent and is abandoned once");
                back.push(media);
            }
            for media in unsent {
                prop_assert!(waiting.remove(&media.payload.name), "it waited and is dropped once");
                back.push(media);
            }
            prop_assert_eq!(queue.len(), waiting.len());
            let alive = alive.borrow();
            prop_assert!(waiting.is_subset(&alive), "waiting payloads are alive");
            prop_assert!(back.iter().all(|media| alive.contains(&media.payload.name)), "returned payloads are alive");
            kept.retain(|name| alive.contains(name));
            prop_assert!(resend || kept.is_empty(), "sent payloads are kept only with resend");
            prop_assert_eq!(alive.len(), waiting.len() + kept.len() + back.len());
        }
        let drained: BTreeSet<_> = queue.drain().into_iter().map(|media| media.payload.name).collect();
        prop_assert_eq!(drained, waiting, "all waiting payloads are returned");
        prop_assert!(queue.is_empty());
        drop((queue, back));
        prop_assert!(alive.borrow().is_empty(), "no payload is leaked");
    }
}

/// The payload itself of a lost packet is returned, not a copy.
#[test]
fn a_lost_payload_waits_again_or_is_returned() {
    let mut queue = SendQueue::new(&with("fifo", |rules| rules.resend = true));
    queue.set_round_trip(millis(80));
    let alive = Alive::default();
    for (name, expires) in [(0, Some(at(139))), (1, Some(at(140)))] {
        let (payload, kind) = (Payload::new(name, &alive), MediaKind::Audio);
        let size = Bytes::new(160);
        let media = Media { payload, size, kind, priority: 0, created: at(0), expires, fragment: None, method: None };
        queue.enqueue(at(0), media, &mut |_| {});
        let media = queue.dequeue(at(0), &mut |_| {}).unwrap();
        queue.sent(name, media);
    }
    let reports =
        [ReportedPackets { numbers: 0..=1, received: false }, ReportedPackets { numbers: 2..=4, received: true }];
    let mut late = Vec::new();
    let mut lost = |lost: Lost<'_, Payload>| match lost {
        Lost::Returns(media) => assert_eq!(media.payload.name, 1),
        Lost::Late(media) => late.push(media.payload.name),
    };
    // A path of 40 ms: at 100 ms a packet that expires at 140 ms can just arrive on time.
    queue.report(at(100), reports, &mut lost, &mut |_| {});
    assert_eq!(late, [0]);
    assert_eq!(queue.dequeue(at(100), &mut |_| {}).unwrap().payload.name, 1);
    assert!(alive.borrow().is_empty(), "both were dropped");
}

/// The size is the length of the bytes. Defaults are data of priority 0, a frame by itself. A refused payload is
/// returned.
#[test]
fn media_of_bytes_has_their_size() {
    let media = Media::new(at(7), vec![1, 2, 3]);
    assert_eq!((media.size, media.created, media.expires), (Bytes::new(3), at(7), None));
    assert_eq!((media.kind, media.priority, media.ends_frame()), (MediaKind::Data, 0, true));
    let options = with("fifo", |rules| rules.limit = headway_units::QueueSize::Bytes(Bytes::new(4)));
    let mut queue = SendQueue::new(&options);
    let mut refused = Vec::new();
    for bytes in [vec![1, 2, 3], vec![4, 5]] {
        queue
            .enqueue(at(9), Media::new(at(7), bytes), &mut |unsent| refused.push((unsent.media.payload, unsent.cause)));
    }
    assert_eq!(refused, [(vec![4, 5], SendDrop::Refused)]);
    let next = queue.next(at(10)).unwrap();
    assert_eq!((next.size, next.waiting, next.age), (Bytes::new(3), Bytes::new(3), Duration::from_millis(3)));
    assert_eq!(queue.dequeue(at(10), &mut |_| {}).map(|media| media.payload), Some(vec![1, 2, 3]));
}

/// Only the last packet of a split write ends its frame, and none if the write does not. The next write then continues
/// the frame.
#[test]
fn packets_of_writes_have_their_frames() {
    use headway_media::{Fragment, Framing, UdpOptions, Write, WriteSize};
    let cut = UdpOptions { datagram: Bytes::new(1028), header: Bytes::new(28) };
    let mut framing = Framing::default();
    let mut packets = |kind, size, rest| -> Vec<(u64, u32, u16, bool)> {
        let write = Write { size, kind, priority: 1, created: at(0), expires: None, rest };
        let packet = |media: Media| {
            let Fragment { frame, index, last } = media.fragment.unwrap();
            (media.size.count(), frame, index, last)
        };
        write.packets(&cut, &mut framing).map(packet).collect()
    };
    let payload = |bytes| WriteSize::Payload(Bytes::new(bytes));
    let (video, audio) = (MediaKind::Video, MediaKind::Audio);
    let whole = [(1000, 0, 0, false), (1000, 0, 1, false), (500, 0, 2, true)];
    assert_eq!(packets(video, payload(2500), WriteSize::NOTHING), whole);
    assert_eq!(packets(video, payload(2000), WriteSize::NOTHING), [(1000, 1, 0, false), (1000, 1, 1, true)]);
    assert_eq!(packets(video, payload(1500), payload(10)), [(1000, 2, 0, false), (500, 2, 1, false)]);
    assert_eq!(packets(audio, payload(160), WriteSize::NOTHING), [(160, 0, 0, true)]);
    assert_eq!(packets(video, payload(10), WriteSize::NOTHING), [(10, 2, 2, true)]);
    assert_eq!(packets(video, payload(0), WriteSize::NOTHING), []);
    // Headers fill the rest of the frame on the wire, so the frame ends earlier.
    let wire = |bytes| WriteSize::Wire(Bytes::new(bytes));
    assert_eq!(packets(video, wire(1028), wire(29)), [(1000, 3, 0, false)]);
    assert_eq!(packets(video, wire(29), WriteSize::NOTHING), [(1, 3, 1, true)]);
    assert_eq!(packets(video, wire(1028), wire(28)), [(1000, 4, 0, true)]);
    assert_eq!(packets(video, wire(28), WriteSize::NOTHING), []);
    assert_eq!(packets(video, payload(10), WriteSize::NOTHING), [(10, 5, 0, true)]);
}
