//! Rules of RFC 4340 for invalid packets and options.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_dccp::{
    Addresses, Body, CcVal, CsCov, DccpOption, Decoded, Elapsed, EncodeError, Feature, FeatureAction, Network,
    OptionArea, OptionFault, OptionWriter, Packet, PacketError, PacketType, RawOption, Reaction, Reset, ResetCode,
    Timestamp,
};
use headway_units::{Seq24, Seq48};

const IP: Network = Network::Ip(Addresses::V4 {
    source: std::net::Ipv4Addr::new(192, 0, 2, 1),
    destination: std::net::Ipv4Addr::new(192, 0, 2, 2),
});

/// Returns a header without checksum, zero except for these bytes.
fn header(offset: u8, cscov: u8, kind: u8, extended: u8, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    (bytes[4], bytes[5], bytes[8]) = (offset, cscov, kind << 1 | extended);
    bytes
}

fn decode(bytes: &[u8]) -> Result<Decoded<'_>, PacketError> {
    Packet::decode(bytes, Network::Udp)
}

/// Section 8.5 step 1, and the sections of the header fields.
mod packets_that_are_ignored {
    use super::*;

    #[test]
    fn too_short() {
        assert_eq!(decode(&[0; 11]), Err(PacketError::TooShort { len: 11 }));
    }

    #[test]
    fn reserved_types() {
        for number in 11..16 {
            assert_eq!(decode(&header(5, 0, number, 1, 64)), Err(PacketError::UnknownType { number }));
        }
    }

    #[test]
    fn short_numbers_on_types_that_must_have_long_ones() {
        for kind in PacketType::ALL {
            let bytes = header(15, 0, kind.number(), 0, 60);
            match kind {
                PacketType::Data | PacketType::Ack | PacketType::DataAck => {
                    assert!(matches!(decode(&bytes), Ok(Decoded::Short(_))));
                }
                _ => assert_eq!(decode(&bytes), Err(PacketError::ShortNumbers { kind })),
            }
        }
    }

    #[test]
    fn data_offset_inside_the_header() {
        for kind in PacketType::ALL {
            let minimum = kind.header_len(true) / 4;
            let offset = minimum as u8 - 1;
            let wrong = PacketError::DataOffsetTooSmall { kind, offset, minimum };
            assert_eq!(decode(&header(offset, 0, kind.number(), 1, 64)), Err(wrong));
            assert!(decode(&header(offset + 1, 0, kind.number(), 1, minimum * 4)).is_ok());
        }
    }

    #[test]
    fn data_offset_beyond_the_packet() {
        let wrong = PacketError::DataOffsetTooLarge { offset: 5, len: 19 };
        assert_eq!(decode(&header(5, 0, 2, 1, 19)), Err(wrong));
    }

    /// Section 9.2: (CsCov - 1) * 4 bytes must be present.
    #[test]
    fn coverage_of_more_than_there_is() {
        assert!(decode(&header(4, 3, 2, 1, 24)).is_ok());
        assert_eq!(decode(&header(4, 3, 2, 1, 23)), Err(PacketError::Coverage { cscov: 3, data_len: 7 }));
    }

    #[test]
    fn wrong_checksum() {
        let packet = Packet { data: b"odd", ..data() };
        let mut bytes = [0; 19];
        packet.encode(&mut bytes, IP).unwrap();
        let wanted = u16::from_be_bytes([bytes[6], bytes[7]]);
        bytes[6] ^= 0x40;
        let found = u16::from_be_bytes([bytes[6], bytes[7]]);
        assert_eq!(Packet::decode(&bytes, IP), Err(PacketError::Checksum { found, wanted }));
        // For each wrong checksum the right one is reported; for some the sum carries.
        for found in (0..=u16::MAX).step_by(251).filter(|found| *found != wanted) {
            [bytes[6], bytes[7]] = found.to_be_bytes();
            assert_eq!(Packet::decode(&bytes, IP), Err(PacketError::Checksum { found, wanted }));
        }
        [bytes[6], bytes[7]] = wanted.to_be_bytes();
        assert!(Packet::decode(&bytes, IP).is_ok());
        bytes[18] ^= 1;
        assert!(matches!(Packet::decode(&bytes, IP), Err(PacketError::Checksum { .. })));
    }
}

fn data() -> Packet<'static> {
    Packet {
        source_port: 1,
        destination_port: 2,
        ccval: CcVal::ZERO,
        cscov: CsCov::ALL,
        seq: Seq48::new(3),
        body: Body::Data,
        options: OptionArea::EMPTY,
        data: &[],
    }
}

/// Section 9.2: data beyond the coverage may be corrupt, covered data may not.
#[test]
fn data_that_is_not_covered_may_be_corrupt() {
    let packet = Packet { cscov: CsCov::new(2).unwrap(), data: b"covered, open", ..data() };
    let mut bytes = [0; 29];
    packet.encode(&mut bytes, IP).unwrap();
    bytes[20] ^= 255;
    assert!(Packet::decode(&bytes, IP).is_ok());
    bytes[19] ^= 1;
    assert!(Packet::decode(&bytes, IP).is_err());
}

/// Sections 5.1 and 15: reserved bits are ignored on receipt and sent as zero.
#[test]
fn reserved_bits() {
    let mut bytes = header(6, 0, PacketType::Ack.number(), 1, 24);
    (bytes[23], bytes[15]) = (9, 8);
    let clean = bytes.clone();
    bytes[8] |= 0b1110_0000;
    bytes[9] = 255;
    bytes[16..18].fill(255);
    let Ok(Decoded::Long(packet)) = decode(&bytes) else { panic!("ignored") };
    assert_eq!((packet.seq, packet.body), (Seq48::new(8), Body::Ack { ack: Seq48::new(9) }));
    let mut again = [0xaa; 24];
    packet.encode(&mut again, Network::Udp).unwrap();
    assert_eq!(again[..], clean);
}

/// Packets that cannot be encoded leave the buffer unchanged.
#[test]
fn packets_that_cannot_be_written() {
    let mut buffer = [0xaa; 70_000];
    let long = vec![0; 66_000];
    let mut encode = |packet: Packet<'_>, room: usize| packet.encode(&mut buffer[..room], IP);
    assert_eq!(encode(data(), 15), Err(EncodeError::NoRoom { needed: 16, available: 15 }));
    let cscov = CsCov::new(2).unwrap();
    assert_eq!(encode(Packet { cscov, ..data() }, 100), Err(EncodeError::Coverage { cscov: 2, data_len: 0 }));
    let packet = Packet { data: &long, ..data() };
    assert_eq!(encode(packet, 70_000), Err(EncodeError::PacketTooLong { len: 66_016, most: 65_535 }));
    let packet = Packet { data: &long[..65_535 - 16], ..data() };
    assert_eq!(packet.encode(&mut [0; 65_535], IP), Ok(65_535), "the longest");
    let ports = headway_dccp::UdpPorts { source: 1, destination: 2 };
    let addresses = Addresses::V4 { source: std::net::Ipv4Addr::LOCALHOST, destination: std::net::Ipv4Addr::LOCALHOST };
    let wrong = ports.encode(&packet, addresses, &mut [0; 70_000]);
    assert_eq!(wrong, Err(EncodeError::PacketTooLong { len: 65_535, most: 65_527 }), "not in UDP");
    let packet = Packet { data: &long[..65_527 - 16], ..data() };
    assert_eq!(ports.encode(&packet, addresses, &mut [0; 65_535]), Ok(65_535));
    let mut options = [0; 1024];
    let mut writer = OptionWriter::new(&mut options);
    (0..1005).for_each(|_| writer.push(DccpOption::SlowReceiver).unwrap());
    let packet = Packet { options: writer.finish().unwrap(), ..data() };
    assert_eq!(encode(packet, 2000), Err(EncodeError::HeaderTooLong { len: 1024 }));
    assert!(buffer.iter().all(|byte| *byte == 0xaa));
    let Packet { source_port, destination_port, ccval, cscov, options, data, .. } = data();
    let (seq, body) = (Seq24::ZERO, Body::Close { ack: Seq24::ZERO });
    let short = Packet { source_port, destination_port, ccval, cscov, options, data, seq, body };
    assert_eq!(short.encode(&mut buffer, IP), Err(EncodeError::ShortNumbers { kind: PacketType::Close }));
}

/// Returns the options of a packet with these option bytes, a multiple of four, as a receiver processes them.
fn process(kind: PacketType, options: &[u8]) -> Vec<Result<(bool, String), (OptionFault, Reaction)>> {
    let own = kind.header_len(true);
    let mut bytes = header(((own + options.len()) / 4) as u8, 0, kind.number(), 1, own);
    bytes.extend(options);
    let Ok(Decoded::Long(packet)) = decode(&bytes) else { panic!("no packet") };
    let items = packet.options.process(kind);
    items
        .map(|item| match item {
            Ok(item) => Ok((item.mandatory, item.option.to_string())),
            Err(error) => Err((error.fault, error.reaction())),
        })
        .collect()
}

fn reset(code: ResetCode, data: [u8; 3]) -> Reaction {
    Reaction::Reset(Reset { code, data })
}

/// Section 5.8 and the sections of the options.
mod options {
    use super::*;

    fn fine(option: &str) -> Result<(bool, String), (OptionFault, Reaction)> {
        Ok((false, option.to_owned()))
    }

    /// "Any option may begin on any byte boundary"; Padding is allowed between options (section 5.8.1).
    #[test]
    fn padding_may_be_anywhere() {
        assert_eq!(process(PacketType::Data, &[0, 37, 3, 7, 0, 2, 0, 0]), [fine("NDP(7)"), fine("SlowReceiver")]);
    }

    /// "Options with unknown types MUST be ignored" (sections 5.8 and 15): they are returned as
    /// bytes, and the next one is processed.
    #[test]
    fn unknown_options_are_bytes() {
        let options = process(PacketType::Ack, &[45, 5, 1, 2, 255, 30, 2, 0]);
        assert_eq!(options, [fine("opt45(0102ff)"), fine("opt30()"), fine("SlowReceiver")]);
    }

    /// A length below two or beyond the option area: that option and all later ones are ignored.
    #[test]
    fn nonsensical_lengths_end_the_options() {
        for (length, option) in [(Some(0), [200, 0, 2, 2]), (Some(1), [200, 1, 2, 2]), (Some(5), [200, 5, 2, 2])] {
            let wrong = OptionFault::NonsensicalLength { length, left: 4 };
            let options = process(PacketType::Data, &[&[2, 0, 0, 0][..], &option].concat());
            assert_eq!(options, [fine("SlowReceiver"), Err((wrong, Reaction::IgnoreRest))]);
            let bytes = [&header(5, 0, PacketType::Data.number(), 1, 16)[..], &option].concat();
            let Ok(Decoded::Long(packet)) = decode(&bytes) else { panic!("no packet") };
            assert_eq!(packet.options.iter().count(), 1);
            assert_eq!(packet.to_string(), "0 → 0 [Data] Seq=0 | bad(200)");
        }
        let wrong = OptionFault::NonsensicalLength { length: None, left: 1 };
        assert_eq!(process(PacketType::Data, &[0, 0, 0, 200]), [Err((wrong, Reaction::IgnoreRest))]);
    }

    /// "Any Data Checksum option with option length 4 MUST be ignored"; the same applies to others of fixed length.
    #[test]
    fn invalid_lengths_are_ignored() {
        let cases: [(&[u8], usize, &'static str); 6] = [
            (&[44, 4, 0, 0], 4, "6"),
            (&[41, 4, 0, 0], 4, "6"),
            (&[42, 7, 0, 0, 0, 0, 0, 0], 7, "6, 8 or 10"),
            (&[43, 2, 0, 0], 2, "4 or 6"),
            (&[37, 2, 0, 0], 2, "3 to 8"),
            (&[37, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 9, "3 to 8"),
        ];
        for (bytes, length, wanted) in cases {
            let wrong = OptionFault::Length { length, wanted };
            let options = process(PacketType::Ack, &[bytes, &[2, 0, 0, 0]].concat());
            assert_eq!(options, [Err((wrong, Reaction::IgnoreOption)), fine("SlowReceiver")], "{bytes:?}");
        }
    }

    /// Table 3, column "DCCP-Data?"; section 11: acknowledgement options are ignored there.
    #[test]
    fn on_data_packets() {
        let ignored: [&[u8]; 9] = [
            &[32, 4, 1, 2],
            &[33, 4, 1, 2],
            &[34, 4, 1, 2],
            &[35, 4, 1, 2],
            &[36, 4, 1, 2],
            &[38, 4, 1, 2],
            &[39, 4, 1, 2],
            &[40, 4, 1, 2],
            &[43, 4, 1, 2],
        ];
        for bytes in ignored {
            let wrong = OptionFault::NotOnThisPacket { kind: PacketType::Data };
            assert_eq!(process(PacketType::Data, bytes), [Err((wrong, Reaction::IgnoreOption))]);
            assert!(process(PacketType::DataAck, bytes)[0].is_ok());
        }
        let processed: [&[u8]; 5] = [
            &[2, 0, 0, 0],
            &[37, 4, 1, 2],
            &[41, 6, 1, 2, 3, 4, 0, 0],
            &[42, 6, 1, 2, 3, 4, 0, 0],
            &[44, 6, 1, 2, 3, 4, 0, 0],
        ];
        for bytes in processed {
            assert!(process(PacketType::Data, bytes)[0].is_ok(), "{bytes:?}");
        }
    }

    /// Sections 6.6.1, 8.1.4, 11, 11.4, 11.7 and 13.2: no acknowledgement number, or no cookie yet.
    #[test]
    fn on_requests() {
        for number in [33, 35, 36, 38, 39, 40, 43] {
            let wrong = OptionFault::NotOnThisPacket { kind: PacketType::Request };
            assert_eq!(process(PacketType::Request, &[number, 4, 1, 2]), [Err((wrong, Reaction::IgnoreOption))]);
            assert!(process(PacketType::Response, &[number, 4, 1, 2])[0].is_ok());
        }
    }

    /// RFC 5596 section 2.2.1: clients ignore all options of a Listen.
    #[test]
    fn on_listens() {
        assert_eq!(process(PacketType::Listen, &[1, 1, 200, 0]), []);
    }
}

/// Numbers have their shortest form (sections 7.7, 13.2 and 13.3), and Padding fills the last word (section 5.8.1).
#[test]
fn smallest_forms() {
    let echo = |elapsed| DccpOption::TimestampEcho { timestamp: Timestamp(1), elapsed: Elapsed(elapsed) };
    let cases: [(DccpOption<'_>, &[u8]); 10] = [
        (DccpOption::NdpCount(0), &[37, 3, 0]),
        (DccpOption::NdpCount(255), &[37, 3, 255]),
        (DccpOption::NdpCount(256), &[37, 4, 1, 0]),
        (DccpOption::NdpCount((1 << 48) - 1), &[37, 8, 255, 255, 255, 255, 255, 255]),
        (DccpOption::ElapsedTime(Elapsed(0)), &[43, 4, 0, 0]),
        (DccpOption::ElapsedTime(Elapsed(65_535)), &[43, 4, 255, 255]),
        (DccpOption::ElapsedTime(Elapsed(65_536)), &[43, 6, 0, 1, 0, 0]),
        (echo(0), &[42, 6, 0, 0, 0, 1]),
        (echo(65_535), &[42, 8, 0, 0, 0, 1, 255, 255]),
        (echo(65_536), &[42, 10, 0, 0, 0, 1, 0, 1, 0, 0]),
    ];
    for (option, wanted) in cases {
        let mut buffer = [0xaa; 12];
        let mut writer = OptionWriter::new(&mut buffer);
        writer.push(option).unwrap();
        assert_eq!(writer.len(), wanted.len(), "{option}");
        let area = writer.finish().unwrap();
        assert_eq!(area.as_bytes()[..wanted.len()], *wanted);
        assert!(
            area.as_bytes()[wanted.len()..].iter().all(|byte| *byte == 0) && area.as_bytes().len().is_multiple_of(4)
        );
        assert_eq!(area.iter().next(), Some(Ok(option)));
    }
}

/// Options that cannot be encoded leave the writer unchanged.
#[test]
fn options_that_cannot_be_written() {
    let mut buffer = [0; 300];
    let mut writer = OptionWriter::new(&mut buffer);
    let wanted = "less than 2^48 packets";
    assert_eq!(writer.push(DccpOption::NdpCount(1 << 48)), Err(EncodeError::OptionValue { option: 37, wanted }));
    let long = DccpOption::InitCookie(&[0; 254]);
    assert_eq!(writer.push(long), Err(EncodeError::OptionTooLong { option: 36, len: 254 }));
    let one_byte = DccpOption::Unknown(RawOption { number: 31, data: &[1] });
    assert!(matches!(writer.push(one_byte), Err(EncodeError::OptionValue { option: 31, .. })));
    assert_eq!(writer.len(), 0);
    writer.push(DccpOption::InitCookie(&[0; 253])).unwrap();
    let full = Err(EncodeError::NoRoom { needed: 255 + 50, available: 300 });
    assert_eq!(writer.push(DccpOption::InitCookie(&[0; 48])), full);
    let mut buffer = [0; 5];
    let mut writer = OptionWriter::new(&mut buffer);
    writer.push(DccpOption::ElapsedTime(Elapsed(1))).unwrap();
    writer.push(DccpOption::SlowReceiver).unwrap();
    assert_eq!(writer.finish(), Err(EncodeError::NoRoom { needed: 8, available: 5 }));
}

/// Section 5.8.2.
mod mandatory {
    use super::*;

    #[test]
    fn marks_the_next_option_only() {
        let options = process(PacketType::Request, &[1, 32, 4, 1, 3, 34, 4, 1, 3, 0, 0, 0]);
        assert_eq!(options, [Ok((true, "ChangeL(CCID 3)".to_owned())), Ok((false, "ChangeR(CCID 3)".to_owned()))]);
    }

    /// "Mandatory Padding" is two bytes of Padding: the next option is not mandatory.
    #[test]
    fn before_padding_is_padding() {
        assert_eq!(process(PacketType::Ack, &[1, 0, 2, 0]), [Ok((false, "SlowReceiver".to_owned()))]);
    }

    #[test]
    fn must_not_be_last() {
        let error = (OptionFault::MandatoryLast, reset(ResetCode::OPTION_ERROR, [1, 0, 0]));
        assert_eq!(process(PacketType::Ack, &[0, 0, 0, 1]), [Err(error)]);
    }

    #[test]
    fn must_not_be_doubled() {
        let error = (OptionFault::MandatoryTwice, reset(ResetCode::OPTION_ERROR, [1, 0, 0]));
        assert_eq!(process(PacketType::Ack, &[1, 1, 2, 0]), [Err(error)]);
    }

    #[test]
    fn is_ignored_on_data() {
        assert_eq!(process(PacketType::Data, &[1, 1, 2, 1]), [Ok((false, "SlowReceiver".to_owned()))]);
        let wrong = OptionFault::NotOnThisPacket { kind: PacketType::Data };
        assert_eq!(process(PacketType::Data, &[1, 34, 3, 9]), [Err((wrong, Reaction::IgnoreOption))]);
    }

    /// An invalid option after Mandatory: Reset 6 with the option type and its first two data bytes.
    #[test]
    fn before_an_invalid_option() {
        let error = (OptionFault::Length { length: 4, wanted: "6" }, reset(ResetCode::MANDATORY_ERROR, [44, 7, 8]));
        assert_eq!(process(PacketType::Ack, &[1, 44, 4, 7, 8, 2, 0, 0]), [Err(error)]);
        let fault = OptionFault::NonsensicalLength { length: Some(9), left: 3 };
        assert_eq!(
            process(PacketType::Ack, &[1, 44, 9, 7]),
            [Err((fault, reset(ResetCode::MANDATORY_ERROR, [44, 0, 0])))]
        );
    }

    /// An unknown option after Mandatory, as Linux 6.1 answers it (Reset 6 with the option's
    /// bytes). The receiver gets the reaction from the option.
    #[test]
    fn before_an_unknown_option() {
        let mut buffer = [0; 8];
        let mut writer = OptionWriter::new(&mut buffer);
        writer.push(DccpOption::Mandatory).unwrap();
        writer.push(DccpOption::Unknown(RawOption { number: 46, data: &[5, 6, 7] })).unwrap();
        let item = writer.finish().unwrap().process(PacketType::Ack).next().unwrap().unwrap();
        assert_eq!((item.offset, item.mandatory), (1, true));
        let reaction = item.error(OptionFault::NotUnderstood).reaction();
        assert_eq!(reaction, reset(ResetCode::MANDATORY_ERROR, [46, 5, 6]));
    }
}

/// Sections 6.6.7 to 6.6.9.
mod negotiation {
    use super::*;

    #[test]
    fn invalid_change_is_confirmed_empty() {
        for (number, action) in [(32, FeatureAction::ConfirmR), (34, FeatureAction::ConfirmL)] {
            let reaction = Reaction::EmptyConfirm { action, feature: Feature::ACK_RATIO };
            let options = process(PacketType::Ack, &[number, 4, 5, 2, 2, 0, 0, 0]);
            assert_eq!(options[0], Err((OptionFault::FeatureValue, reaction)));
            assert_eq!(options.len(), 2, "the next option is processed");
        }
    }

    #[test]
    fn invalid_change_behind_mandatory_resets() {
        let error = (OptionFault::FeatureValue, reset(ResetCode::MANDATORY_ERROR, [32, 5, 2]));
        assert_eq!(process(PacketType::Ack, &[1, 32, 4, 5, 2, 0, 0, 0]), [Err(error)]);
    }

    #[test]
    fn invalid_confirm_resets_with_or_without_mandatory() {
        let error = (OptionFault::FeatureValue, reset(ResetCode::OPTION_ERROR, [35, 5, 2]));
        assert_eq!(process(PacketType::Ack, &[0, 35, 4, 5, 2, 0, 0, 0]), [Err(error)]);
        assert_eq!(process(PacketType::Ack, &[1, 35, 4, 5, 2, 0, 0, 0]), [Err(error)]);
    }

    /// "Confirm options behave identically and have the same reset conditions whether or not they are Mandatory."
    #[test]
    fn mandatory_does_not_affect_a_confirm() {
        let wrong = OptionFault::NotOnThisPacket { kind: PacketType::Request };
        let ignored = [Err((wrong, Reaction::IgnoreOption))];
        assert_eq!(process(PacketType::Request, &[1, 33, 4, 1, 2, 0, 0, 0]), ignored);
        assert_eq!(process(PacketType::Request, &[0, 33, 4, 1, 2, 0, 0, 0]), ignored);
    }

    /// An unknown feature: the caller answers the Change with an empty Confirm or a Reset.
    #[test]
    fn unknown_features() {
        for (first, wanted) in [
            (0, Reaction::EmptyConfirm { action: FeatureAction::ConfirmR, feature: Feature(99) }),
            (1, reset(ResetCode::MANDATORY_ERROR, [32, 99, 7])),
        ] {
            let mut buffer = [0; 8];
            let mut writer = OptionWriter::new(&mut buffer);
            writer.push(if first == 1 { DccpOption::Mandatory } else { DccpOption::Padding }).unwrap();
            writer.push(DccpOption::Unknown(RawOption { number: 32, data: &[99, 7] })).unwrap();
            let item = writer.finish().unwrap().process(PacketType::Ack).next().unwrap().unwrap();
            assert_eq!(item.error(OptionFault::NotUnderstood).reaction(), wanted);
        }
    }

    /// "Endpoints MUST ignore any such options they receive": Confirm options for unknown features.
    #[test]
    fn unknown_confirms_are_ignored() {
        let mut buffer = [0; 4];
        let mut writer = OptionWriter::new(&mut buffer);
        writer.push(DccpOption::Unknown(RawOption { number: 33, data: &[99, 7] })).unwrap();
        let item = writer.finish().unwrap().process(PacketType::Ack).next().unwrap().unwrap();
        assert_eq!(item.error(OptionFault::NotUnderstood).reaction(), Reaction::IgnoreOption);
    }
}

/// Errors state the position, the fault and the expected value.
#[test]
fn errors_state_position_fault_and_expectation() {
    assert_eq!(
        decode(&header(5, 0, 7, 1, 64)).unwrap_err().to_string(),
        "byte 4: Data Offset is 5 words; the header of a Reset packet has 7 (RFC 4340 section 5.1)"
    );
    assert_eq!(
        decode(&header(4, 3, 2, 1, 16)).unwrap_err().to_string(),
        "byte 5: CsCov 3 covers 8 bytes of data; the packet has 0 (RFC 4340 section 9.2)"
    );
    let mut buffer = [0; 4];
    let mut writer = OptionWriter::new(&mut buffer);
    writer.push(DccpOption::Unknown(RawOption { number: 44, data: &[1, 2] })).unwrap();
    let error = writer.finish().unwrap().iter().next().unwrap().unwrap_err();
    let sentence =
        "option 44 at byte 0 of the options: length 4 is invalid; expected 6 (RFC 4340 section 5.8, Table 3)";
    assert_eq!(error.to_string(), sentence);
}
