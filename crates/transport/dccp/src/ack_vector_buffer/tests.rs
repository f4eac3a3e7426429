use super::*;
use crate::OptionArea;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn seq(number: u64) -> Seq48 {
    Seq48::new(number)
}

fn options(buffer: &AckVectorBuffer) -> Vec<Vec<u8>> {
    let mut bytes = [0; 1008];
    let mut writer = OptionWriter::new(&mut bytes);
    buffer.write(&mut writer).unwrap();
    assert_eq!(writer.len(), buffer.encoded_len());
    let area: OptionArea<'_> = writer.finish().unwrap();
    area.iter()
        .filter_map(|option| match option.unwrap() {
            DccpOption::AckVector(vector) => Some(vector.as_bytes().to_vec()),
            _ => None,
        })
        .collect()
}

/// Returns the states as the RFC draws them, one digit per packet, newest first.
fn states(buffer: &AckVectorBuffer) -> String {
    options(buffer)
        .iter()
        .flatten()
        .flat_map(|byte| {
            let run = AckRun::from_byte(*byte);
            std::iter::repeat_n((b'0' + run.state as u8) as char, run.packets.into())
        })
        .collect()
}

/// Example Buffer of Appendix A: 10 received; 9, 8, 7 not; 6 to 2 received; 1 marked; 0 received.
/// Two packets were sent: 59 when packet 3 was the newest, and 60 now.
fn example() -> AckVectorBuffer {
    let mut buffer = AckVectorBuffer::new();
    for number in [0, 1, 2, 3, 4, 5, 6, 10] {
        assert!(buffer.received(seq(number), if number == 1 { Ecn::Ce } else { Ecn::NotEct }));
        if number == 3 {
            buffer.sent(seq(59));
        }
    }
    buffer.sent(seq(60));
    assert_eq!(options(&buffer), [[0, 0xc2, 4, 0x40, 0]]);
    buffer
}

/// The example in the form of a controller.
#[test]
fn the_example_in_controller_form() {
    use headway_rate::Arrival::{Marked, NotReceived, Received};
    let runs: Vec<_> = example().runs().map(|run| (run.arrival, run.packets)).collect();
    assert_eq!(runs, [(Received, 1), (NotReceived, 3), (Received, 5), (Marked, 1), (Received, 1)]);
}

/// Appendix A.1.1: "if HC-Sender packet 11 arrived ECN marked", unmarked, and "if HC-Sender packet 12 arrived".
#[test]
fn appendix_a_1_1_new_packets() {
    let arrived = |number, ecn| {
        let mut buffer = example();
        assert!(buffer.received(seq(number), ecn));
        assert_eq!(buffer.newest(), Some(seq(number)));
        options(&buffer).concat()
    };
    assert_eq!(arrived(11, Ecn::Ce), [0x40, 0, 0xc2, 4, 0x40, 0]);
    assert_eq!(arrived(11, Ecn::Ect0), [1, 0xc2, 4, 0x40, 0]);
    assert_eq!(arrived(12, Ecn::NotEct), [0, 0xc0, 0, 0xc2, 4, 0x40, 0]);
}

/// Appendix A.1.2: "if HC-Sender packet 8 was received".
#[test]
fn appendix_a_1_2_old_packets() {
    let mut buffer = example();
    assert!(buffer.received(seq(8), Ecn::NotEct));
    assert_eq!(options(&buffer).concat(), [0, 0xc0, 0, 0xc0, 4, 0x40, 0]);
    assert!(buffer.received(seq(9), Ecn::NotEct));
    assert!(buffer.received(seq(7), Ecn::NotEct));
    assert_eq!(options(&buffer).concat(), [8, 0x40, 0]);
}

/// Receiver's table of section 11.4.1, with 1 in both free cells.
#[test]
fn section_11_4_1_duplicates() {
    for (stored, copy, state) in [
        (Ecn::NotEct, Ecn::Ect0, "0"),
        (Ecn::Ect0, Ecn::Ce, "1"),
        (Ecn::Ce, Ecn::Ect0, "1"),
        (Ecn::Ce, Ecn::Ce, "1"),
        (Ecn::Ect1, Ecn::Ect1, "0"),
    ] {
        let mut buffer = AckVectorBuffer::new();
        assert!(buffer.received(seq(5), stored));
        assert!(!buffer.received(seq(5), copy));
        assert_eq!(states(&buffer), state, "{stored:?}, {copy:?}");
    }
    let mut buffer = example();
    assert!(!buffer.received(Seq48::MAX, Ecn::NotEct), "older than all stored packets");
    assert_eq!(states(&buffer), states(&example()));
}

/// Appendix A.3: "Say the HC-Receiver then received a DCCP-DataAck packet with Acknowledgement Number 59".
#[test]
fn appendix_a_3_clearing_state() {
    let mut buffer = example();
    buffer.acknowledged(seq(58));
    assert_eq!(states(&buffer), "03330000010");
    buffer.acknowledged(seq(59));
    assert_eq!(options(&buffer), [[0, 0xc2, 2]]);
    // The record of 59 is gone; the newest packet remains.
    buffer.acknowledged(seq(59));
    assert_eq!(states(&buffer), "0333000");
    buffer.acknowledged(seq(60));
    assert_eq!(states(&buffer), "0");
    assert!(!buffer.received(seq(9), Ecn::NotEct));
}

/// Appendix A.3, "reasonable robustness to reordering": packet 9 arrives after our packet 60 reported it as missing.
#[test]
fn appendix_a_3_changed_states_are_reported_again() {
    let mut buffer = example();
    assert!(buffer.received(seq(9), Ecn::NotEct));
    buffer.acknowledged(seq(60));
    assert_eq!(states(&buffer), "00");
    buffer.sent(seq(61));
    buffer.acknowledged(seq(61));
    assert_eq!(states(&buffer), "0");
}

/// A mark on a duplicate is also reported again.
#[test]
fn a_mark_on_a_duplicate_is_reported() {
    let mut buffer = example();
    assert!(!buffer.received(seq(5), Ecn::Ce));
    buffer.acknowledged(seq(60));
    assert_eq!(states(&buffer), "033301");
}

/// "Should more packets need to be acknowledged than can fit in 253 bytes of Ack Vector" (section
/// 11.4): alternating packets use one byte each.
#[test]
fn section_11_4_several_options() {
    let mut buffer = AckVectorBuffer::new();
    for number in 0..150 {
        assert!(buffer.received(seq(2 * number), Ecn::NotEct));
    }
    let lens: Vec<_> = options(&buffer).iter().map(Vec::len).collect();
    assert_eq!(lens, [253, 299 - 253]);
    // The oldest states beyond two options are discarded.
    for number in 150..1000 {
        assert!(buffer.received(seq(2 * number), Ecn::NotEct));
    }
    assert_eq!(states(&buffer), "03".repeat(253));
    assert!(!buffer.received(seq(2 * 999 - 506), Ecn::NotEct));
    assert!(buffer.received(seq(2 * 999 - 505), Ecn::NotEct));
}

/// Twice 16192 packets, a wrap of numbers, and a gap beyond all limits.
#[test]
fn the_longest_runs() {
    let mut buffer = AckVectorBuffer::new();
    let first = Seq48::MAX - 20_000;
    for number in 0..40_000 {
        assert!(buffer.received(first + number, Ecn::NotEct));
    }
    assert_eq!(options(&buffer), [[63; 253], [63; 253]]);
    assert!(buffer.received(first + 40_000 + (1 << 46), Ecn::Ce));
    assert_eq!(buffer.packets, 32_384 - 63, "one byte for the mark, the others full");
    assert!(states(&buffer).starts_with("13333"));
}

/// With many outstanding acknowledgements, the remembered ones still clear state.
#[test]
fn records_are_bounded() {
    let mut buffer = AckVectorBuffer::new();
    for number in 0..100_000 {
        buffer.received(seq(number), Ecn::NotEct);
        buffer.sent(seq(number));
        assert!(buffer.records.len() <= MAX_RECORDS);
    }
    let oldest = buffer.records[0].ours;
    assert!(buffer.newest.distance_from(oldest) < 2 * MAX_PACKETS, "older ones would clear nothing");
    let some = buffer.records[MAX_RECORDS / 3].ours;
    buffer.acknowledged(some);
    assert_eq!(buffer.packets, seq(99_999).distance_from(some));
}

/// Writing fails if the vector does not fit.
#[test]
fn writing_fails_if_the_buffer_is_too_small() {
    let mut bytes = [0; 6];
    assert!(matches!(example().write(&mut OptionWriter::new(&mut bytes)), Err(EncodeError::NoRoom { .. })));
    AckVectorBuffer::new().write(&mut OptionWriter::new(&mut [])).unwrap();
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A packet ahead of the newest, or behind it.
    Ahead(u64, bool),
    Behind(u64, bool),
    /// An acknowledgement is sent.
    Sent,
    /// The peer acknowledges one of our packets, counted back from the last.
    Acknowledged(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let marked = || prop::bool::weighted(0.1);
    prop_oneof![
        8 => (1u64..4, marked()).prop_map(|(by, marked)| Step::Ahead(by, marked)),
        1 => (1u64..200, marked()).prop_map(|(by, marked)| Step::Ahead(by, marked)),
        4 => (0u64..40, marked()).prop_map(|(by, marked)| Step::Behind(by, marked)),
        3 => Just(Step::Sent),
        1 => (0u64..5).prop_map(Step::Acknowledged),
    ]
}

proptest! {
    /// Compared with a map of packets (Appendix A.2): each acknowledgement reports the state of
    /// every packet that the peer may not know, correctly and in the fewest bytes.
    #[test]
    fn each_acknowledgement_reports_all_unknown_states(steps in prop::collection::vec(step(), 1..300), first: u64) {
        let mut buffer = AckVectorBuffer::new();
        let first = seq(first);
        // Key: distance from the first packet.
        let mut arrived: BTreeMap<u64, bool> = BTreeMap::new();
        // States that the peer knows, and those that each outstanding acknowledgement reports.
        let mut known: BTreeMap<u64, bool> = BTreeMap::new();
        let mut reported: Vec<BTreeMap<u64, bool>> = vec![];
        let mut newest = 0;
        buffer.received(first, Ecn::NotEct);
        arrived.insert(0, false);
        for step in steps {
            match step {
                Step::Ahead(by, marked) => {
                    newest += by;
                    let new = buffer.received(first + newest, if marked { Ecn::Ce } else { Ecn::Ect0 });
                    prop_assert!(new);
                    arrived.insert(newest, marked);
                }
                Step::Behind(by, marked) if by <= newest => {
                    let place = newest - by;
                    let was_there = buffer.find(by).is_some();
                    let new = buffer.received(first + place, if marked { Ecn::Ce } else { Ecn::Ect0 });
                    prop_assert_eq!(new, was_there && !arrived.contains_key(&place));
                    if was_there {
                        *arrived.entry(place).or_default() |= marked;
                    }
                }
                Step::Sent => {
                    buffer.sent(seq(reported.len() as u64));
                    reported.push(arrived.clone());
                }
                Step::Acknowledged(back) if back < reported.len() as u64 => {
                    let ours = reported.len() - 1 - back as usize;
                    buffer.acknowledged(seq(ours as u64));
                    for (place, marked) in &reported[ours] {
                        *known.entry(*place).or_default() |= marked;
                    }
                }
                _ => {}
            }
            let states = states(&buffer);
            for (depth, state) in states.bytes().enumerate() {
                let wanted = match newest.checked_sub(depth as u64).and_then(|place| arrived.get(&place)) {
                    Some(false) => b'0',
                    Some(true) => b'1',
                    None => b'3',
                };
                prop_assert_eq!(state, wanted);
            }
            for (place, marked) in &arrived {
                prop_assert!(newest - place < states.len() as u64 || known.get(place) == Some(marked));
            }
            // Runs are as long as possible.
            for pair in options(&buffer).concat().windows(2) {
                prop_assert!(pair[0] >> 6 != pair[1] >> 6 || pair[0] & 63 == 63);
            }
        }
    }
}
