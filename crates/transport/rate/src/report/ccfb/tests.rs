use super::*;
use headway_units::{Duration, Ecn, Instant};
use proptest::prelude::*;

fn received(ecn: Ecn, nanos: u64) -> TimedArrival {
    TimedArrival::Received { ecn, before: Some(Duration::from_nanos(nanos)) }
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let hex = hex.replace(' ', "");
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// Figure 1 of RFC 8888 by hand: packet 100 arrived 0.5 s before the report at 1.5 s, packet 101 did not arrive, and
/// packet 102 arrived 1/1024 s before the report, marked CE.
const FIGURE_1: &str = "8bcd0006 11111111 22222222 00640003 8200 0000 e001 0000 00018000";

fn figure_1() -> CcfbPacket {
    let arrivals = vec![received(Ecn::NotEct, 500_000_000), TimedArrival::NotReceived, received(Ecn::Ce, 976_563)];
    let block = CcfbBlock { ssrc: 0x2222_2222, begin_seq: 100, arrivals };
    CcfbPacket { sender_ssrc: 0x1111_1111, blocks: vec![block], report_timestamp: 3 << 15 }
}

fn encoded(packet: &CcfbPacket, reading: NumReports) -> Vec<u8> {
    let mut buffer = vec![];
    packet.encode(reading, &mut buffer).unwrap();
    buffer
}

#[test]
fn the_packet_of_figure_1() {
    assert_eq!(encoded(&figure_1(), NumReports::Count), bytes_of(FIGURE_1));
    assert_eq!(CcfbPacket::decode(&bytes_of(FIGURE_1), NumReports::Count), Ok(figure_1()));
}

/// RFC 8888 section 3.1: "`begin_seq` to `begin_seq+num_reports` inclusive", or the number of packets.
#[test]
fn both_readings_of_num_reports() {
    let inclusive = FIGURE_1.replace("00640003", "00640002");
    assert_eq!(encoded(&figure_1(), NumReports::LastOffset), bytes_of(&inclusive));
    assert_eq!(CcfbPacket::decode(&bytes_of(&inclusive), NumReports::LastOffset), Ok(figure_1()));
    // An odd number of packets has the same length under both readings; an even one has not.
    let mut other = figure_1();
    other.blocks[0].arrivals.push(TimedArrival::NotReceived);
    assert_eq!(CcfbPacket::decode(&bytes_of(FIGURE_1), NumReports::LastOffset), Ok(other.clone()));
    let even = encoded(&other, NumReports::Count);
    assert_eq!(CcfbPacket::decode(&even, NumReports::LastOffset), Err(CcfbError::Truncated));
    let mut empty = figure_1();
    empty.blocks[0].arrivals.clear();
    assert_eq!(encoded(&empty, NumReports::Count), bytes_of("8bcd0004 11111111 22222222 00640000 00018000"));
    let refused = empty.encode(NumReports::LastOffset, &mut vec![]);
    assert_eq!(refused, Err(CcfbError::EmptyBlock { ssrc: 0x2222_2222 }));
}

/// RFC 8888 section 3.1: offsets above 8189/1024 s are 0x1FFE, unknown ones 0x1FFF. After R = 0, the rest is ignored,
/// and so is the padding.
#[test]
fn offsets_out_of_range_and_ignored_bits() {
    let text = "8bcd0007 00000001 00000002 ffff0005 9ffd 9ffe 9fff 7fff bffd 1234 00000000";
    let packet = CcfbPacket::decode(&bytes_of(text), NumReports::Count).unwrap();
    let unknown = TimedArrival::Received { ecn: Ecn::NotEct, before: None };
    let longest = 8189 * 1_000_000_000_u64.div_ceil(1024);
    let [first, second, third, fourth, fifth] = packet.blocks[0].arrivals[..] else { panic!("five packets") };
    assert_eq!([second, third, fourth], [unknown, unknown, TimedArrival::NotReceived]);
    for (arrival, expected) in [(first, Ecn::NotEct), (fifth, Ecn::Ect1)] {
        let TimedArrival::Received { ecn, before: Some(before) } = arrival else { panic!("{arrival:?}") };
        assert_eq!(ecn, expected);
        assert!(before.as_nanos().abs_diff(longest) < 976_563, "{before:?}");
    }
}

/// RFC 3550 section 6.4.1: the last octet of the padding counts it.
#[test]
fn padding_is_removed() {
    let padded = |count: u8| {
        let mut bytes = bytes_of(FIGURE_1);
        bytes[0] |= 1 << 5;
        bytes[3] += 1;
        bytes.extend([0, 0, 0, count]);
        CcfbPacket::decode(&bytes, NumReports::Count)
    };
    assert_eq!(padded(4), Ok(figure_1()));
    for count in [0, 1, 3, 5, 32, 255] {
        assert_eq!(padded(count), Err(CcfbError::Padding(count.into())));
    }
    // The whole rest of the packet is padding, its header included.
    assert_eq!(padded(28), Err(CcfbError::Truncated));
}

#[test]
fn malformed_packets_are_refused_with_a_reason() {
    let decode = |at: usize, byte: u8| {
        let mut bytes = bytes_of(FIGURE_1);
        bytes[at] = byte;
        CcfbPacket::decode(&bytes, NumReports::Count)
    };
    assert_eq!(decode(0, 0x4b), Err(CcfbError::Version(1)));
    assert_eq!(decode(0, 0x8f), Err(CcfbError::Kind { packet_type: 205, format: 15 }));
    assert_eq!(decode(1, 206), Err(CcfbError::Kind { packet_type: 206, format: 11 }));
    assert_eq!(decode(3, 7), Err(CcfbError::Length { stated: 32, bytes: 28 }));
    // With five packets the block ends behind the timestamp. With one, the rest is read as another block.
    assert_eq!(decode(15, 5), Err(CcfbError::Truncated));
    assert_eq!(decode(15, 1), Err(CcfbError::TooManyPackets { ssrc: 0xe001_0000, count: 0x8000 }));
    let many = Err(CcfbError::TooManyPackets { ssrc: 0x2222_2222, count: 0x4003 });
    assert_eq!(decode(14, 0x40), many);
    for length in 0..28 {
        assert!(CcfbPacket::decode(&bytes_of(FIGURE_1)[..length], NumReports::Count).is_err());
    }
    // A quarter of the numbers is the limit, for the sender too. 16 such blocks do not fit into the length field.
    let mut packet = figure_1();
    packet.blocks[0].arrivals = vec![TimedArrival::NotReceived; CcfbBlock::MAX_PACKETS];
    assert_eq!(
        CcfbPacket::decode(&encoded(&packet, NumReports::LastOffset), NumReports::LastOffset),
        Ok(packet.clone())
    );
    packet.blocks = vec![packet.blocks[0].clone(); 8];
    let mut buffer = vec![7];
    let bytes = 12 + 8 * (8 + 32_768);
    assert_eq!(packet.encode(NumReports::Count, &mut buffer), Err(CcfbError::TooLong { bytes }));
    packet.blocks.truncate(1);
    packet.blocks[0].arrivals.push(TimedArrival::NotReceived);
    let many = CcfbError::TooManyPackets { ssrc: 0x2222_2222, count: 16_385 };
    assert_eq!(packet.encode(NumReports::Count, &mut buffer), Err(many));
    assert_eq!(buffer, [7], "nothing is written");
}

/// RFC 8888 section 3.1: the first copy's arrival, and CE if any copy has it.
#[test]
fn duplicates_report_the_first_arrival_and_any_mark() {
    let at = Instant::from_millis;
    let mut log = CcfbLog::new(7, 8);
    assert_eq!(log.block(at(0), usize::MAX), None);
    assert!(log.on_packet(10, at(100), Ecn::Ect1));
    assert!(!log.on_packet(10, at(200), Ecn::Ce));
    assert!(!log.on_packet(10, at(300), Ecn::Ect1));
    let block = log.block(at(400), usize::MAX).unwrap();
    assert_eq!((block.begin_seq, &block.arrivals[..]), (10, &[received(Ecn::Ce, 300_000_000)][..]));
}

/// RFC 8888 section 3.1: an arrival after the report's timestamp has an unknown time.
#[test]
fn arrivals_after_the_timestamp_have_no_time() {
    let mut log = CcfbLog::new(7, 8);
    log.on_packet(1, Instant::from_millis(100), Ecn::NotEct);
    let block = log.block(Instant::from_millis(99), usize::MAX).unwrap();
    assert_eq!(block.arrivals, [TimedArrival::Received { ecn: Ecn::NotEct, before: None }]);
}

/// Sequence numbers wrap (RFC 3550 section 5.1); numbers before the first one and older than the window.
#[test]
fn numbers_wrap_and_leave_the_window() {
    let at = Instant::ZERO;
    let mut log = CcfbLog::new(7, 4);
    let numbers = |log: &CcfbLog| {
        let block = log.block(at, usize::MAX).unwrap();
        let states: String =
            block.arrivals.iter().map(|state| if *state == TimedArrival::NotReceived { '-' } else { 'x' }).collect();
        (block.begin_seq, states)
    };
    assert!(log.on_packet(65_535, at, Ecn::NotEct));
    assert!(log.on_packet(1, at, Ecn::NotEct));
    assert_eq!(numbers(&log), (65_535, "x-x".to_owned()));
    let newest = log.block(at, 2).unwrap();
    assert_eq!((newest.begin_seq, newest.arrivals), (0, vec![TimedArrival::NotReceived, received(Ecn::NotEct, 0)]));
    assert!(log.on_packet(65_534, at, Ecn::NotEct));
    assert_eq!(numbers(&log), (65_534, "xx-x".to_owned()));
    assert!(log.on_packet(0, at, Ecn::NotEct));
    assert!(!log.on_packet(65_533, at, Ecn::NotEct), "older than the window");
    assert!(log.on_packet(3, at, Ecn::NotEct));
    assert_eq!(numbers(&log), (0, "xx-x".to_owned()));
    // A jump beyond the window keeps only the newest.
    assert!(log.on_packet(30_000, at, Ecn::NotEct));
    assert_eq!(numbers(&log), (29_997, "---x".to_owned()));
}

fn packets() -> impl Strategy<Value = CcfbPacket> {
    let arrival = prop_oneof![
        Just(TimedArrival::NotReceived),
        (0_usize..4, prop::option::of(0_u64..8190)).prop_map(|(ecn, ticks)| TimedArrival::Received {
            ecn: [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][ecn],
            before: ticks.map(|ticks| Duration::from_nanos((ticks * 1_000_000_000).div_ceil(1024))),
        }),
    ];
    let block = (any::<u32>(), any::<u16>(), prop::collection::vec(arrival, 1..40))
        .prop_map(|(ssrc, begin_seq, arrivals)| CcfbBlock { ssrc, begin_seq, arrivals });
    (any::<u32>(), prop::collection::vec(block, 0..5), any::<u32>())
        .prop_map(|(sender_ssrc, blocks, report_timestamp)| CcfbPacket { sender_ssrc, blocks, report_timestamp })
}

proptest! {
    /// Decoding inverts encoding, under both readings.
    #[test]
    fn decoding_inverts_encoding(packet in packets(), inclusive: bool) {
        let reading = if inclusive { NumReports::LastOffset } else { NumReports::Count };
        let bytes = encoded(&packet, reading);
        prop_assert_eq!(bytes.len(), CcfbPacket::EMPTY_BYTES + packet.blocks.iter().map(CcfbBlock::encoded_bytes).sum::<usize>());
        prop_assert_eq!(CcfbPacket::decode(&bytes, reading), Ok(packet));
    }

    /// A block is what a map of first copies gives, for any arrivals within half of the number space.
    #[test]
    fn a_log_is_a_window_of_first_copies(
        first: u16,
        steps in prop::collection::vec((-20_i64..30, 0_usize..4), 1..200),
        window in 1_usize..50,
    ) {
        let marks = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
        let (mut log, mut model) = (CcfbLog::new(1, window), std::collections::BTreeMap::<i64, (u64, Ecn)>::new());
        let mut greatest = i64::from(first);
        for ((step, mark), ms) in steps.iter().zip(0_u64..) {
            let number = if ms == 0 { greatest } else { greatest + step };
            let ecn = marks[*mark];
            greatest = greatest.max(number);
            let oldest = greatest - window as i64 + 1;
            let is_first = number >= oldest && !model.contains_key(&number);
            prop_assert_eq!(log.on_packet(number.rem_euclid(1 << 16) as u16, Instant::from_millis(ms), ecn), is_first);
            if number >= oldest {
                let copy = model.entry(number).or_insert((ms, ecn));
                if ecn == Ecn::Ce {
                    copy.1 = ecn;
                }
            }
            model = model.split_off(&oldest);
            let block = log.block(Instant::from_millis(ms), usize::MAX).unwrap();
            for (number, arrival) in (0..).zip(&block.arrivals) {
                let number = greatest - block.arrivals.len() as i64 + 1 + number;
                let expected = model.get(&number).map_or(TimedArrival::NotReceived, |(at, ecn)| received(*ecn, (ms - at) * 1_000_000));
                prop_assert_eq!(*arrival, expected);
            }
            prop_assert_eq!(i64::from(block.begin_seq), (greatest - block.arrivals.len() as i64 + 1).rem_euclid(1 << 16));
            prop_assert!(block.arrivals.len() as i64 > greatest - model.keys().next().unwrap());
        }
    }
}
