//! Messages with queueing methods, as in section 4.3 of the SFDPS paper.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::queueing::vectors::play;
use crate::queueing::{at, named, preset, with};
use headway_media::{KindMethods, Media, QueueMethod, SendQueue, SendQueueOptions, Unsent};
use headway_units::{MediaKind, Registry, SendDrop};
use serde_json::Value;

fn method(name: &str) -> QueueMethod {
    QueueMethod::named(name).unwrap()
}

fn by(name: &str, media: Media) -> Media {
    Media { method: Some(method(name)), ..media }
}

/// SFDPS section 4.3: "The method field is used to select which algorithm will be used". Each message has an expiry, a
/// priority and a method. The decisions are those of sfdps.json for the method, for any kind of queue.
#[test]
fn sfdps_4_3_each_message_carries_expiry_priority_and_method() {
    let text: Value = serde_json::from_str(include_str!("data/sfdps.json")).unwrap();
    for own in QueueMethod::names() {
        let mut decided = 0;
        for case in text["cases"].as_array().unwrap() {
            let queue = preset(own, case["qlen"].as_u64().unwrap());
            for (scheme, expected) in case["decisions"].as_object().unwrap() {
                let name = if scheme == "dccp" { "fifo" } else { &scheme.replace('+', "-") };
                let decisions = play(case, &queue, Some(method(name)));
                assert_eq!(&Value::from(decisions), expected, "{} {scheme} in a queue of kind {own}", case["name"]);
                decided += expected.as_array().unwrap().len();
            }
        }
        assert_eq!(decided, 239, "{own}");
    }
}

/// Returns the packets sent, and those dropped with the cause.
fn story(options: &SendQueueOptions, packets: &[Media], sendings: &[u64]) -> (Vec<u64>, Vec<(u64, SendDrop)>) {
    let mut queue = SendQueue::new(options);
    let (mut sent, mut unsent) = (Vec::new(), Vec::new());
    let mut drop = |dropped: Unsent| unsent.push((dropped.media.size.count(), dropped.cause));
    packets.iter().for_each(|media| queue.enqueue(media.created, *media, &mut drop));
    for now in sendings {
        assert_eq!(queue.next(at(*now)).is_none(), queue.is_empty());
        sent.extend(queue.dequeue(at(*now), &mut drop).map(|media| media.size.count()));
    }
    (sent, unsent)
}

/// Section 4.3: "uses the priority information to store the packet in the correct location in the transmit queue". A
/// message of unmodified DCCP is appended; a sorted one is inserted after the last message of at least the same
/// urgency, for any method of that message.
#[test]
fn sfdps_4_3_the_method_of_a_new_message_decides_its_place() {
    let fifo = preset("fifo", 10);
    let packets = [
        named(1, 1, 0, 200),
        by("sfdps1", named(2, 0, 0, 200)),
        named(3, 0, 0, 100),
        by("sfdps1", named(4, 0, 0, 150)),
        by("sfdps1", named(5, 1, 0, 100)),
        by("priority", named(6, 0, 0, 300)),
    ];
    // 1; 2 1; 2 1 3; then 4 after 3, with equal priority and a later arrival; 5 at the end; 6 after 4.
    assert_eq!(story(&fifo, &packets, &[1; 6]).0, [2, 1, 3, 4, 6, 5]);
}

/// Sections 3.2 to 3.4: a full queue refuses a message of SFDPS1, and drops the oldest video message for one of the
/// ring.
#[test]
fn sfdps_3_4_the_method_of_a_new_message_decides_the_drop() {
    let packets = [
        named(1, 0, 0, 900),
        named(2, 1, 0, 900),
        named(3, 1, 0, 900),
        by("sfdps1", named(4, 0, 0, 900)),
        by("ring", named(5, 0, 0, 900)),
    ];
    for own in ["fifo", "prio"] {
        let (sent, unsent) = story(&preset(own, 3), &packets, &[1; 5]);
        assert_eq!(unsent, [(4, SendDrop::Refused), (2, SendDrop::PushedOut)], "{own}");
        // The ring appends for any order of the queue.
        assert_eq!(sent, [1, 3, 5], "{own}");
    }
}

/// Sections 3.2 and 3.3: at 100 ms all messages are late. A message of SFDPS1 is dropped, one of SFDPS2 is dropped
/// unless it is the only one, one of unmodified DCCP is sent, and one of `patient` waits until all others are sent.
#[test]
fn sfdps_4_3_the_method_of_a_late_message_decides_its_outcome() {
    let late = |methods: &[&str]| -> Vec<Media> {
        (1..).zip(methods).map(|(name, method)| by(method, named(name, 1, 0, 50))).collect()
    };
    let expired = |names: &[u64]| names.iter().map(|name| (*name, SendDrop::Expired)).collect::<Vec<_>>();
    for (methods, sent, dropped) in [
        (&["sfdps1", "fifo", "sfdps2"][..], vec![2, 3], vec![1]),
        (&["sfdps2", "sfdps1"], vec![], vec![1, 2]),
        (&["sfdps1", "sfdps2"], vec![2], vec![1]),
        (&["patient", "sfdps2", "sfdps1"], vec![1], vec![2, 3]),
        (&["patient", "sfdps1", "fifo"], vec![3, 1], vec![2]),
    ] {
        for own in ["fifo", "edf", "sfdps2"] {
            let found = story(&preset(own, 5), &late(methods), &[100; 3]);
            assert_eq!(found, (sent.clone(), expired(&dropped)), "{methods:?} in {own}");
        }
    }
    // With discard_spends, the method of the head decides, too.
    let mut queue = SendQueue::new(&with("sfdps1", |rules| rules.discard_spends = true));
    late(&["fifo", "sfdps1"]).into_iter().for_each(|media| queue.enqueue(at(0), media, &mut |_| {}));
    assert!(!queue.discard_head(at(100), &mut |_| {}), "unmodified DCCP ignores the expiry");
    assert!(queue.dequeue(at(100), &mut |_| {}).is_some());
    assert!(queue.discard_head(at(100), &mut |_| {}));
}

/// The method of the message precedes that of its kind, which precedes that of the queue.
#[test]
fn methods_default_to_those_of_the_kind_and_the_queue() {
    let methods = KindMethods { audio: Some(method("sfdps1")), ..KindMethods::default() };
    let options = with("fifo", |rules| rules.methods = methods);
    options.check().unwrap();
    let video = named(1, 1, 0, 200);
    let (audio, plain) = (named(2, 0, 0, 200), by("fifo", named(3, 0, 0, 200)));
    assert_eq!((video.kind, audio.kind), (MediaKind::Video, MediaKind::Audio));
    assert_eq!(story(&options, &[video, audio, plain], &[1; 3]).0, [2, 1, 3]);
    assert_eq!(methods.of(MediaKind::Video), None);
}

/// A limit and a comparison of all messages belong to the queue and are no methods.
#[test]
fn impossible_methods_are_rejected() {
    for (name, expected) in [
        ("ring-3", "\"ring-3\" is no method of a message: its limit of 3 packets is the queue's"),
        ("sure-first", "\"sure-first\" is no method of a message: it compares all messages that wait"),
        ("sfdps", "there is no method \"sfdps\": expected fifo, prio, sfdps1, sfdps2, ring, ring-sfdps2"),
        ("", "there is no method \"\""),
    ] {
        let error = QueueMethod::named(name).unwrap_err();
        assert_eq!(error.key, "method");
        assert!(error.message.starts_with(expected), "{}", error.message);
    }
    for name in QueueMethod::names() {
        assert_eq!(method(name).name(), name);
    }
    // Messages do not change a queue that compares all messages.
    let sure_first = preset("sure-first", 5);
    assert!(!sure_first.accepts_methods());
    let packets = [named(1, 1, 0, 200), by("fifo", named(2, 0, 0, 200))];
    assert_eq!(story(&sure_first, &packets, &[1; 2]).0, [2, 1]);
    let methods = KindMethods { audio: Some(method("fifo")), ..KindMethods::default() };
    assert_eq!(with("sure-first", |rules| rules.methods = methods).check().unwrap_err().key, "methods");
}

/// A message whose method searches is refused by a queue with more than 1000 others, and drops none of them.
#[test]
fn a_searching_method_is_refused_by_long_queues() {
    let mut queue = SendQueue::new(&preset("fifo", 5000));
    for name in 0..1001 {
        queue.enqueue(at(0), named(name, 1, 0, 200), &mut |_| panic!("there is room"));
    }
    let mut unsent = Vec::new();
    for name in ["ring", "sfdps1"] {
        queue.enqueue(at(0), by(name, named(1, 0, 0, 200)), &mut |packet| unsent.push(packet.cause));
    }
    assert_eq!((unsent, queue.len()), (vec![SendDrop::Refused; 2], 1001));
    queue.enqueue(at(0), by("fifo", named(1, 0, 0, 200)), &mut |_| panic!("there is room"));
}
