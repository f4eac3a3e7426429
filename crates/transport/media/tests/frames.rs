//! Reassembly of frames from reordered, duplicated and lost packets, and the media header.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_media::{Fragment, Framing, HeaderError, Inserted, MediaHeader, Reassembly, ReassemblyOptions};
use headway_units::MediaKind;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const fn packet(frame: u32, index: u16, last: bool) -> Fragment {
    Fragment { frame, index, last }
}

fn reassembly(frames: usize, bytes: usize) -> Reassembly<u32> {
    Reassembly::new(ReassemblyOptions { frames, bytes })
}

/// Inserts a packet and returns the payloads if it completes its frame.
fn insert(frames: &mut Reassembly<u32>, fragment: Fragment, payload: u32) -> Option<Vec<u32>> {
    let complete = frames.insert(fragment, 10, payload) == Inserted::Complete;
    let taken: Vec<u32> = frames.take().collect();
    assert_eq!(complete, !taken.is_empty());
    complete.then_some(taken)
}

#[test]
fn a_single_packet_frame_is_completed_once() {
    let mut frames = reassembly(1, 0);
    assert_eq!(insert(&mut frames, packet(7, 0, true), 1), Some(vec![1]));
    assert_eq!(frames.insert(packet(7, 0, true), 10, 2), Inserted::Refused);
    assert_eq!(frames.insert(packet(7, 1, true), 10, 2), Inserted::Refused);
    assert_eq!(insert(&mut frames, packet(6, 0, true), 3), Some(vec![3]), "an older frame arrives late");
    assert_eq!((frames.open_frames(), frames.bytes()), (0, 0));
}

/// The memory counts payloads, and slots up to the last packet received.
#[test]
fn a_frame_is_complete_when_all_its_packets_have_arrived() {
    let mut frames = reassembly(4, 1000);
    let place = size_of::<Option<u32>>();
    assert_eq!(insert(&mut frames, packet(0, 2, true), 2), None);
    assert_eq!(frames.bytes(), 10 + 3 * place);
    assert_eq!(insert(&mut frames, packet(0, 0, false), 0), None);
    assert_eq!(insert(&mut frames, packet(1, 0, false), 10), None);
    assert_eq!((frames.open_frames(), frames.bytes()), (2, 30 + 4 * place));
    assert_eq!(frames.insert(packet(0, 0, false), 10, 9), Inserted::Refused);
    assert_eq!(insert(&mut frames, packet(0, 1, false), 1), Some(vec![0, 1, 2]));
    assert_eq!((frames.open_frames(), frames.bytes()), (1, 10 + place));
}

/// Two last packets, a packet after the last one, a last packet before received ones: the first packet received is
/// kept.
#[test]
fn contradictory_packets_are_refused() {
    let mut frames = reassembly(4, 1000);
    assert_eq!(insert(&mut frames, packet(0, 3, false), 3), None);
    for wrong in [packet(0, 2, true), packet(0, 0, true)] {
        assert_eq!(frames.insert(wrong, 10, 9), Inserted::Refused);
    }
    assert_eq!(insert(&mut frames, packet(0, 4, true), 4), None);
    for wrong in [packet(0, 5, false), packet(0, 5, true), packet(0, 1, true)] {
        assert_eq!(frames.insert(wrong, 10, 9), Inserted::Refused);
    }
    assert_eq!(insert(&mut frames, packet(0, 0, false), 0), None);
    assert_eq!(insert(&mut frames, packet(0, 1, false), 1), None);
    assert_eq!(insert(&mut frames, packet(0, 2, false), 2), Some(vec![0, 1, 2, 3, 4]));
}

/// Three frames with limits that allow two, by number or by bytes.
#[test]
fn the_oldest_frame_is_abandoned() {
    let place = size_of::<Option<u32>>();
    for mut frames in [reassembly(2, 1000), reassembly(9, 2 * (10 + place) + 9)] {
        for frame in [2, 1, 3] {
            assert_eq!(insert(&mut frames, packet(frame, 0, false), frame), None);
        }
        assert_eq!(frames.open_frames(), 2);
        assert_eq!(frames.insert(packet(1, 1, true), 10, 9), Inserted::Refused, "it does not start again");
        // An older frame would itself be the oldest.
        assert_eq!(frames.insert(packet(0, 0, false), 10, 0), Inserted::Refused);
        assert_eq!(insert(&mut frames, packet(3, 1, true), 9), Some(vec![3, 9]));
        assert_eq!(insert(&mut frames, packet(2, 1, true), 9), Some(vec![2, 9]));
        assert_eq!(frames.bytes(), 0);
    }
}

/// A packet whose frame exceeds the limit alone does not abandon other frames.
#[test]
fn an_oversized_frame_abandons_no_other_frame() {
    let mut frames = reassembly(9, 1000);
    assert_eq!(insert(&mut frames, packet(1, 0, false), 1), None);
    assert_eq!(frames.insert(packet(2, u16::MAX, true), 10, 9), Inserted::Refused);
    assert_eq!(frames.insert(packet(3, 0, false), 2000, 9), Inserted::Refused);
    assert_eq!(insert(&mut frames, packet(1, 1, true), 2), Some(vec![1, 2]));
    assert_eq!(frames.open_frames(), 0);
}

/// The state of 4096 frames is remembered. The frame abandoned for its age shares a bit with the newest, which must
/// stay open.
#[test]
fn packets_of_too_old_frames_are_refused() {
    let mut frames = reassembly(9, 1000);
    assert_eq!(insert(&mut frames, packet(5, 0, false), 1), None);
    assert_eq!(insert(&mut frames, packet(5 + 4095, 0, true), 1), Some(vec![1]));
    assert_eq!((insert(&mut frames, packet(6, 0, true), 1), frames.open_frames()), (Some(vec![1]), 1));
    assert_eq!(insert(&mut frames, packet(5 + 4096, 0, false), 2), None);
    assert_eq!(frames.open_frames(), 1);
    assert_eq!(frames.insert(packet(5, 1, true), 10, 1), Inserted::Refused);
    assert_eq!(insert(&mut frames, packet(5 + 4096, 1, true), 3), Some(vec![2, 3]));
    // A jump of the whole window clears all bits.
    assert_eq!(insert(&mut frames, packet(6 + 3 * 4096, 0, true), 4), Some(vec![4]));
    assert_eq!(insert(&mut frames, packet(6 + 2 * 4096 + 1, 0, true), 4), Some(vec![4]));
    assert_eq!(insert(&mut frames, packet(6 + 2 * 4096, 0, true), 4), None);
}

/// Literal bytes: last packet, index 0x0102, frame 0x0a0b0c0d.
#[test]
fn the_header_is_eight_bytes() {
    let header = MediaHeader { fragment: packet(0x0a0b_0c0d, 0x0102, true), kind: MediaKind::Video, priority: 7 };
    assert_eq!(header.to_bytes(), [0x82, 7, 1, 2, 0x0a, 0x0b, 0x0c, 0x0d]);
    assert_eq!(MediaHeader::decode(b"\x82\x07\x01\x02\x0a\x0b\x0c\x0dhello"), Ok((header, &b"hello"[..])));
    let kinds: Vec<u8> = MediaKind::ALL
        .map(|kind| MediaHeader { fragment: packet(0, 0, false), kind, priority: 0 }.to_bytes()[0])
        .into();
    assert_eq!(kinds, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn invalid_headers_are_reported() {
    let decode = |bytes: &[u8]| MediaHeader::decode(bytes).unwrap_err();
    assert_eq!(decode(&[]), HeaderError::TooShort(0));
    assert_eq!(decode(&[0; 7]), HeaderError::TooShort(7));
    assert_eq!(decode(&[0x08, 0, 0, 0, 0, 0, 0, 0]), HeaderError::Reserved(0x08));
    assert_eq!(decode(&[0x47, 0, 0, 0, 0, 0, 0, 0]), HeaderError::Reserved(0x47));
    assert_eq!(decode(&[0x06, 0, 0, 0, 0, 0, 0, 0]), HeaderError::UnknownKind(6));
    assert_eq!(decode(&[0x87, 0, 0, 0, 0, 0, 0, 0]), HeaderError::UnknownKind(7));
    assert_eq!(decode(&[0; 3]).to_string(), "3 bytes are too short for a media header of 8 bytes");
    let header = MediaHeader { fragment: packet(1, 1, true), kind: MediaKind::Data, priority: 1 };
    let mut short = [9; 7];
    assert_eq!(header.encode(&mut short), Err(HeaderError::TooShort(7)));
    assert_eq!(short, [9; 7]);
}

/// Frames with these numbers of packets from a random frame number on, with losses, duplicates and reordering.
fn traffic() -> impl Strategy<Value = (u32, Vec<(Fragment, bool)>)> {
    let sizes = prop::collection::vec(1u16..6, 1..40);
    let first = prop_oneof![Just(0), Just(u32::MAX - 20), any::<u32>()];
    (first, sizes)
        .prop_flat_map(|(first, sizes)| {
            let mut framing = Framing::default();
            let all: Vec<Fragment> = sizes
                .iter()
                .flat_map(|packets| (1..=*packets).map(|place| place == *packets).collect::<Vec<_>>())
                .map(|last| framing.number(MediaKind::Video, last))
                .map(|fragment| Fragment { frame: fragment.frame.wrapping_add(first), ..fragment })
                .collect();
            let each = prop::collection::vec((0usize..30, 0u8..10), all.len());
            (Just(first), Just(all), each)
        })
        .prop_map(|(first, all, each)| {
            let mut events = Vec::new();
            for (place, (fragment, (later, fate))) in all.into_iter().zip(each).enumerate() {
                let copies = match fate {
                    0 => 0,
                    1 => 2,
                    _ => 1,
                };
                for copy in 0..copies {
                    events.push((place + later * (copy + 1), fragment));
                }
                events.extend((fate == 0).then_some((usize::MAX, fragment)));
            }
            events.sort_by_key(|(when, _)| *when);
            (first, events.into_iter().map(|(when, fragment)| (fragment, when != usize::MAX)).collect())
        })
}

proptest! {
    /// Within the limits, a frame is complete with the first copy of its last missing packet, and never if a packet was
    /// lost.
    #[test]
    fn frames_complete_if_and_only_if_all_packets_arrive((_, events) in traffic()) {
        let mut frames = reassembly(64, 100_000);
        let mut whole = BTreeMap::<u32, u16>::new();
        for (fragment, _) in events.iter().filter(|(fragment, _)| fragment.last) {
            whole.insert(fragment.frame, fragment.index + 1);
        }
        let mut arrived = BTreeSet::new();
        let mut complete = BTreeSet::new();
        for (fragment, _) in events.iter().filter(|(_, arrives)| *arrives) {
            let new = arrived.insert((fragment.frame, fragment.index));
            let have = arrived.iter().filter(|(frame, _)| *frame == fragment.frame).count();
            let got = insert(&mut frames, *fragment, u32::from(fragment.index));
            let all = whole[&fragment.frame];
            prop_assert_eq!(got.is_some(), new && have == usize::from(all));
            if let Some(got) = got {
                prop_assert_eq!(got, (0..u32::from(all)).collect::<Vec<_>>());
                prop_assert!(complete.insert(fragment.frame));
            }
        }
        prop_assert_eq!(frames.open_frames() + complete.len(), arrived.iter().map(|(frame, _)| frame).collect::<BTreeSet<_>>().len());
    }

    /// The loss of any packet loses its frame and no other.
    #[test]
    fn a_lost_packet_loses_only_its_frame(sizes in prop::collection::vec(1u16..6, 1..20), lost: prop::sample::Index) {
        let mut framing = Framing::default();
        let all: Vec<Fragment> = sizes
            .iter()
            .flat_map(|packets| (1..=*packets).map(|place| place == *packets).collect::<Vec<_>>())
            .map(|last| framing.number(MediaKind::Video, last))
            .collect();
        let lost = lost.index(all.len());
        let mut frames = reassembly(64, 100_000);
        let mut complete = Vec::new();
        for (_, fragment) in all.iter().enumerate().filter(|(place, _)| *place != lost) {
            complete.extend(insert(&mut frames, *fragment, 0).map(|_| fragment.frame));
        }
        let expected: Vec<u32> = (0..sizes.len() as u32).filter(|frame| *frame != all[lost].frame).collect();
        prop_assert_eq!(complete, expected);
    }

    #[test]
    fn a_header_round_trips(frame: u32, index: u16, last: bool, kind in 0usize..6, priority: u8, data: Vec<u8>) {
        let header = MediaHeader { fragment: packet(frame, index, last), kind: MediaKind::ALL[kind], priority };
        let mut datagram = vec![0; MediaHeader::LEN + data.len()];
        header.encode(&mut datagram).unwrap().copy_from_slice(&data);
        prop_assert_eq!(MediaHeader::decode(&datagram), Ok((header, &data[..])));
    }
}
