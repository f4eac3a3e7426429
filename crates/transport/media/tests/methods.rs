//! Messages that carry their own queueing method, as in section 4.3 of the SFDPS paper.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod queueing;

use headway_media::{KindMethods, Media, QueueMethod, SendQueue, SendQueueOptions, Unsent};
use headway_units::{MediaKind, Registry, SendDrop};
use queueing::vectors::play;
use queueing::{at, named, preset, with};
use serde_json::Value;

fn method(name: &str) -> QueueMethod {
    QueueMethod::named(name).unwrap()
}

fn by(name: &str, media: Media) -> Media {
    Media { method: Some(method(name)), ..media }
}

/// SFDPS section 4.3: "The method field is used to select which algorithm will be used". Expiry, priority and method travel with each message,
/// and the decisions are those of sfdps.json for the method, whichever kind of queue the socket has.
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

/// What a story leaves: the names of what was sent, and of what was dropped with the cause.
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

/// Section 4.3: "uses the priority information to store the packet in the correct location in the transmit queue". Unmodified DCCP does not look at
/// it: such a message goes to the end, and a sorted one is stored after the last message that is as urgent, whatever method that has.
#[test]
fn sfdps_4_3_the_method_of_a_newcomer_decides_its_place() {
    let fifo = preset("fifo", 10);
    let packets = [
        named(1, 1, 0, 200),
        by("sfdps1", named(2, 0, 0, 200)),
        named(3, 0, 0, 100),
        by("sfdps1", named(4, 0, 0, 150)),
        by("sfdps1", named(5, 1, 0, 100)),
        by("priority", named(6, 0, 0, 300)),
    ];
    // 1; 2 1; 2 1 3; then 4 after 3, as urgent and earlier; 5 to the end; 6 after 4.
    assert_eq!(story(&fifo, &packets, &[1; 6]).0, [2, 1, 3, 4, 6, 5]);
}

/// Sections 3.2 to 3.4: a full queue refuses a message of SFDPS1, and drops the oldest video for one of the ring, in one queue.
#[test]
fn sfdps_3_4_the_method_of_a_newcomer_decides_who_is_dropped() {
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
        // The ring appends, whatever the queue's own order is.
        assert_eq!(sent, [1, 3, 5], "{own}");
    }
}

/// Sections 3.2 and 3.3: at 100 ms all are late. A message of SFDPS1 is dropped, one of SFDPS2 is dropped unless it is the only one, one of unmodified
/// DCCP is sent, and one of `patient` waits until the others have gone.
#[test]
fn sfdps_4_3_the_method_of_a_late_message_decides_about_it() {
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
    // With the discard that spends the permission to send, the head's method decides as well.
    let mut queue = SendQueue::new(&with("sfdps1", |rules| rules.discard_spends = true));
    late(&["fifo", "sfdps1"]).into_iter().for_each(|media| queue.enqueue(at(0), media, &mut |_| {}));
    assert!(!queue.discard_head(at(100), &mut |_| {}), "unmodified DCCP does not look at the expiry");
    assert!(queue.dequeue(at(100), &mut |_| {}).is_some());
    assert!(queue.discard_head(at(100), &mut |_| {}));
}

/// The options of the flow have a method for each kind of media; that of the message counts more, and the queue's own kind less.
#[test]
fn defaults_are_those_of_the_queue() {
    let methods = KindMethods { audio: Some(method("sfdps1")), ..KindMethods::default() };
    let options = with("fifo", |rules| rules.methods = methods);
    options.check().unwrap();
    let video = named(1, 1, 0, 200);
    let (audio, plain) = (named(2, 0, 0, 200), by("fifo", named(3, 0, 0, 200)));
    assert_eq!((video.kind, audio.kind), (MediaKind::Video, MediaKind::Audio));
    assert_eq!(story(&options, &[video, audio, plain], &[1; 3]).0, [2, 1, 3]);
    assert_eq!(methods.of(MediaKind::Video), None);
}

/// A limit and a comparison of all that waits are the queue's: no message can have them.
#[test]
fn impossible_methods_are_refused() {
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
    // A queue that compares all messages that wait is not changed by a message.
    let sure_first = preset("sure-first", 5);
    assert!(!sure_first.accepts_methods());
    let packets = [named(1, 1, 0, 200), by("fifo", named(2, 0, 0, 200))];
    assert_eq!(story(&sure_first, &packets, &[1; 2]).0, [2, 1]);
    let methods = KindMethods { audio: Some(method("fifo")), ..KindMethods::default() };
    assert_eq!(with("sure-first", |rules| rules.methods = methods).check().unwrap_err().key, "methods");
}

/// A message with a method that searches finds no room among more than 1000 others, and drops none of them.
#[test]
fn a_method_that_searches_keeps_out_of_long_queues() {
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
