//! The program's own payloads in a send queue: none is lost, none is doubled.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod queueing;

use headway_media::{Lost, Media, SendQueue, Told};
use headway_units::{Bytes, Duration, MediaKind, SendDrop};
use proptest::prelude::*;
use queueing::{any_queue, at, millis, with};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Those that are alive.
type Alive = Rc<RefCell<BTreeSet<u64>>>;

/// What cannot be copied, and whose end is seen.
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
    /// Of the packets from so many before the newest: whether each has come.
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
    /// A payload that was handed over waits, was handed back by `dequeue` or as unsent, and lives until the program lets it go. Handed
    /// over again by `sent`, it is kept at most while `resend` may need it; then it waits again, is handed back as lost, or is dropped.
    #[test]
    fn no_payload_is_lost_or_doubled(options in any_queue(), resend: bool, steps in steps()) {
        let mut options = options;
        options.rules.resend = resend;
        let mut queue = SendQueue::new(&options);
        let alive = Alive::default();
        // What waits, what the queue keeps because it was sent, and what the program has back.
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
                        prop_assert!(waiting.remove(&media.payload.name), "it waited, and goes once");
                        kept.insert(media.payload.name);
                        number += 1;
                        queue.sent(number, media);
                    }
                }
                Step::RoundTrip(rtt) => queue.set_round_trip(millis(rtt)),
                Step::Report(come) => {
                    let told = come.iter().zip((1..=number).rev()).map(|(come, number)| {
                        Told { numbers: number..=number, received: *come }
                    });
                    let mut lost = |lost: Lost<'_, Payload>| match lost {
                        Lost::Returns(media) => returned.push(media.payload.name),
                        Lost::Late(media) => late.push(media),
                    };
                    queue.report(at(now), told, &mut lost, &mut |packet| unsent.push(packet.media));
                }
            }
            for name in returned {
                prop_assert!(resend && kept.remove(&name) && waiting.insert(name), "it was sent, and comes back once");
            }
            for media in late {
                prop_assert!(resend && kept.remove(&media.payload.name), "it was sent, and is given up once");
                back.push(media);
            }
            for media in unsent {
                prop_assert!(waiting.remove(&media.payload.name), "it waited, and is thrown away once");
                back.push(media);
            }
            prop_assert_eq!(queue.len(), waiting.len());
            let alive = alive.borrow();
            prop_assert!(waiting.is_subset(&alive), "what waits is there");
            prop_assert!(back.iter().all(|media| alive.contains(&media.payload.name)), "what was handed back is the program's");
            kept.retain(|name| alive.contains(name));
            prop_assert!(resend || kept.is_empty(), "nobody asked to keep what was sent");
            prop_assert_eq!(alive.len(), waiting.len() + kept.len() + back.len());
        }
        let drained: BTreeSet<_> = queue.drain().into_iter().map(|media| media.payload.name).collect();
        prop_assert_eq!(drained, waiting, "all that waits comes back, whatever the rules");
        prop_assert!(queue.is_empty());
        drop((queue, back));
        prop_assert!(alive.borrow().is_empty(), "nothing is held for ever");
    }
}

/// Who has not come is handed back as it was: the payload, and not a copy.
#[test]
fn a_lost_payload_waits_again_or_is_handed_back() {
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
    let told = [Told { numbers: 0..=1, received: false }, Told { numbers: 2..=4, received: true }];
    let mut late = Vec::new();
    let mut lost = |lost: Lost<'_, Payload>| match lost {
        Lost::Returns(media) => assert_eq!(media.payload.name, 1),
        Lost::Late(media) => late.push(media.payload.name),
    };
    // A way of 40 ms: at 100 ms what expires at 140 ms can just come in time.
    queue.report(at(100), told, &mut lost, &mut |_| {});
    assert_eq!(late, [0]);
    assert_eq!(queue.dequeue(at(100), &mut |_| {}).unwrap().payload.name, 1);
    assert!(alive.borrow().is_empty(), "the program let both go");
}

/// Bytes are as long as they are, new, of priority 0, and a frame by themselves; one that is refused is handed back.
#[test]
fn bytes_tell_their_size() {
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

/// Of a write that is cut only the last packet ends its frame, and none where the write does not. What comes next is of the same frame then.
#[test]
fn packets_of_writes_know_their_frames() {
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
    // Headers fill what is left of the frame on the wire: it ends before.
    let wire = |bytes| WriteSize::Wire(Bytes::new(bytes));
    assert_eq!(packets(video, wire(1028), wire(29)), [(1000, 3, 0, false)]);
    assert_eq!(packets(video, wire(29), WriteSize::NOTHING), [(1, 3, 1, true)]);
    assert_eq!(packets(video, wire(1028), wire(28)), [(1000, 4, 0, true)]);
    assert_eq!(packets(video, wire(28), WriteSize::NOTHING), []);
    assert_eq!(packets(video, payload(10), WriteSize::NOTHING), [(10, 5, 0, true)]);
}
