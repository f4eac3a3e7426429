//! Invariants of the options of CCIDs 2, 3 and 4 with any contents: each is decoded as an independent decoder here
//! does by the RFCs, and encoded again to the same bytes. Shared by the fuzz targets and the test that replays
//! `fuzz/corpus`.

use super::choices::Choices;
use headway_dccp::{
    AckState, Ccid, CcidOption, DccpOption, OptionArea, OptionFault, OptionWriter, PacketType, arrivals,
};
use headway_rate::Arrival;
use headway_units::Seq48;

const MOST: usize = 1008;

/// Ack Vectors (RFC 4340 section 11.4). Input: an acknowledgement number, then per option a length and its bytes.
pub(crate) fn ccid2(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let newest = Seq48::new(choices.wide());
    let (mut area, mut expected) = (vec![], vec![]);
    let mut seq = newest;
    while let Some(len) = choices.step() {
        let nonce = choices.byte() & 1;
        let vector = choices.bytes(usize::from(len).min(253));
        if area.len() + vector.len() + 2 > MOST {
            break;
        }
        area.extend([38 + nonce, vector.len() as u8 + 2]);
        area.extend_from_slice(vector);
        // "The second Ack Vector begins where the first left off."
        for byte in vector {
            for _ in 0..=byte & 63 {
                expected.push((seq, byte >> 6));
                seq -= 1;
            }
        }
    }
    let area = padded(area);
    let area = OptionArea::new(&area).expect("a whole number of words");
    assert!(area.process(PacketType::Data).all(|option| option.is_err()), "Data acknowledges nothing");
    let options: Vec<_> = area.process(PacketType::Ack).map(|option| option.expect("an Ack Vector").option).collect();
    let vectors = || {
        options.iter().map(|option| match option {
            DccpOption::AckVector(vector) => *vector,
            other => panic!("{other:?}"),
        })
    };
    let mut start = newest;
    let read: Vec<_> = vectors()
        .flat_map(|vector| {
            let packets: Vec<_> = vector.packets(start).collect();
            start -= packets.len() as u64;
            packets
        })
        .map(|(seq, state)| (seq, state as u8))
        .collect();
    assert_eq!(read, expected);

    let mut runs = vec![];
    arrivals(vectors(), &mut runs);
    let states = runs.iter().flat_map(|run| std::iter::repeat_n(run.arrival, run.packets as usize));
    // State 2 is reserved and carries no information.
    let fate =
        |state| [Arrival::Received, Arrival::Marked, Arrival::NotReceived, Arrival::NotReceived][usize::from(state)];
    assert!(states.eq(expected.iter().map(|(_, state)| fate(*state))));
    assert_eq!(fate(AckState::NotYetReceived as u8), Arrival::NotReceived);
    check_encoding(&area);
}

/// Options of CCID 3 (RFC 4342 section 8). Input: a packet type, then options.
pub(crate) fn ccid3(bytes: &[u8]) {
    of_ccid(Ccid::TFRC, bytes);
}

/// Options of CCID 4 (RFC 5622 section 8): those of CCID 3 and Dropped Packets.
pub(crate) fn ccid4(bytes: &[u8]) {
    of_ccid(Ccid::TFRC_SP, bytes);
}

fn of_ccid(ccid: Ccid, bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let Some(kind) = PacketType::from_number(choices.byte() & 15) else { return };
    let mut area = vec![];
    while let Some(what) = choices.step() {
        let number = if what & 7 < 7 { 192 + what % 5 } else { choices.byte() | 128 };
        // Most lengths are valid for the option.
        let len = match number {
            192 | 194 if what & 128 == 0 => 4,
            193 if what & 128 == 0 => 1 + 9 * usize::from(what >> 3 & 15),
            195 if what & 128 == 0 => 3 * usize::from(what >> 3 & 15),
            _ => usize::from(choices.byte()).min(253),
        };
        let data = choices.bytes(len);
        if area.len() + data.len() + 2 > MOST {
            break;
        }
        area.extend([number, data.len() as u8 + 2]);
        area.extend_from_slice(data);
    }
    let area = padded(area);
    let area = OptionArea::new(&area).expect("a whole number of words");
    for option in area.process(kind) {
        let Ok(processed) = option else { continue };
        let DccpOption::Ccid(raw) = processed.option else { panic!("{processed:?}") };
        let decoded = CcidOption::decode(ccid, raw, kind);
        assert_eq!(decoded.is_ok(), is_allowed(ccid, kind, raw.number, raw.data), "{raw:?} on {kind}: {decoded:?}");
        // CCIDs without such options accept none of them.
        for other in [Ccid::TCP_LIKE, Ccid(250)] {
            assert_eq!(CcidOption::decode(other, raw, kind), Err(OptionFault::NotUnderstood));
        }
        match decoded {
            Ok(option) => {
                check_values(option, raw.data);
                let mut buffer = [0; 260];
                let mut writer = OptionWriter::new(&mut buffer);
                writer.push_ccid(option).expect("decoded options can be encoded");
                let len = writer.len();
                assert_eq!((buffer[0], usize::from(buffer[1]), &buffer[2..len]), (raw.number, len, raw.data));
            }
            Err(fault) => assert!(!processed.error(fault).to_string().is_empty()),
        }
    }
    check_encoding(&area);
}

/// Returns whether these RFCs allow a receiver of the packet to process the option.
fn is_allowed(ccid: Ccid, kind: PacketType, number: u8, data: &[u8]) -> bool {
    // All other packet types have an Acknowledgement Number (RFC 4340 section 5.1, RFC 5596 section 2.2.1).
    let has_ack = !matches!(kind, PacketType::Request | PacketType::Data | PacketType::Listen);
    match (number, data) {
        _ if kind == PacketType::Data => false,
        // Section 8.5: an inverse, so not zero.
        (192, [a, b, c, d]) => [a, b, c, d] != [&0; 4],
        (194, [_, _, _, _]) => true,
        // Section 8.6: 1 to 28 intervals after a Skip Length of at most NDUPACK.
        (193, [skip, intervals @ ..]) => {
            has_ack && *skip <= 3 && intervals.len() % 9 == 0 && (9..=252).contains(&intervals.len())
        }
        // RFC 5622 section 8.7: 1 to 84 counts.
        (195, counts) => ccid == Ccid::TFRC_SP && has_ack && counts.len() % 3 == 0 && (3..=252).contains(&counts.len()),
        _ => false,
    }
}

/// Checks the decoded values against the bytes, which are in network byte order.
fn check_values(option: CcidOption<'_>, data: &[u8]) {
    let number = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number * 256 + u32::from(*byte));
    match option {
        CcidOption::LossEventRate(inverse) => {
            assert_eq!(inverse.map_or(0xffff_ffff, std::num::NonZeroU32::get), number(data));
        }
        CcidOption::ReceiveRate(rate) => assert_eq!(rate, number(data)),
        CcidOption::DroppedPackets(counts) => assert!(counts.iter().eq(data.chunks(3).map(number))),
        CcidOption::LossIntervals(intervals) => {
            assert_eq!(intervals.skip_length(), data[0]);
            assert_eq!(intervals.iter().len(), data.len() / 9);
            for (interval, bytes) in intervals.iter().zip(data[1..].chunks(9)) {
                assert_eq!(interval.lossless_length, number(&bytes[..3]));
                // The ECN Nonce Echo is the bit above the 23 bits of Loss Length.
                assert_eq!(interval.loss_length, number(&bytes[3..6]) % (1 << 23));
                assert_eq!(interval.nonce, bytes[3] >= 128);
                assert_eq!(interval.data_length, number(&bytes[6..]));
                assert_eq!(interval.sequence_length(), interval.lossless_length + interval.loss_length);
                assert_eq!(interval.to_bytes().as_ref().map(|bytes| &bytes[..]), Some(bytes));
            }
        }
    }
}

fn padded(mut area: Vec<u8>) -> Vec<u8> {
    area.resize(area.len().next_multiple_of(4), 0);
    area
}

/// Checks that each option is encoded to its original bytes.
fn check_encoding(area: &OptionArea<'_>) {
    let mut buffer = vec![0; area.as_bytes().len()];
    let mut writer = OptionWriter::new(&mut buffer);
    for option in area.iter() {
        let Ok(option) = option else { return };
        writer.push(option).expect("decoded options can be encoded");
    }
    let again = writer.finish().expect("a whole number of words");
    assert_eq!(again.as_bytes(), area.as_bytes());
}
