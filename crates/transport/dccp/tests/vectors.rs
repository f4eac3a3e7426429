//! Twelve packets built by another program from RFC 4340, 4342, 5622 and 6773; tshark 4.0.17
//! confirmed their checksums. Each is decoded here, and encoded again from its parts.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_dccp::{
    AckVector, Addresses, Body, CcVal, Ccid, CcidOption, CsCov, DatagramError, DccpOption, Decoded, DroppedPackets,
    Elapsed, Feature, FeatureAction, FeatureOption, LossInterval, LossIntervals, Network, OptionArea, OptionWriter,
    Packet, PacketError, Reset, ResetCode, SequenceNumber, ServiceCode, UdpPorts,
};
use headway_units::{Seq24, Seq48};
use std::num::NonZeroU32;

const CLIENT: Addresses =
    Addresses::V4 { source: std::net::Ipv4Addr::new(192, 0, 2, 1), destination: std::net::Ipv4Addr::new(192, 0, 2, 2) };
const SERVER: Addresses =
    Addresses::V4 { source: std::net::Ipv4Addr::new(192, 0, 2, 2), destination: std::net::Ipv4Addr::new(192, 0, 2, 1) };
const ISS: u64 = 0x0a1b_2c3d_4e5f;
const RTPV: ServiceCode = ServiceCode(0x5254_5056);

fn bytes(hex: &str) -> Vec<u8> {
    let hex: String = hex.split_whitespace().collect();
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn area<'b>(buffer: &'b mut [u8], options: &[DccpOption<'_>], ccid: &[CcidOption<'_>]) -> OptionArea<'b> {
    let mut writer = OptionWriter::new(buffer);
    options.iter().for_each(|option| writer.push(*option).unwrap());
    ccid.iter().for_each(|option| writer.push_ccid(*option).unwrap());
    writer.finish().unwrap()
}

fn from_client<N>(seq: N, body: Body<N>) -> Packet<'static, N> {
    Packet {
        source_port: 50000,
        destination_port: 5004,
        ccval: CcVal::ZERO,
        cscov: CsCov::ALL,
        seq,
        body,
        options: OptionArea::EMPTY,
        data: &[],
    }
}

fn from_server(seq: u64, body: Body) -> Packet<'static> {
    Packet { source_port: 5004, destination_port: 50000, ..from_client(Seq48::new(seq), body) }
}

#[track_caller]
fn check(hex: &str, addresses: Addresses, packet: &Packet<'_>) {
    let wire = bytes(hex);
    assert_eq!(Packet::decode(&wire, Network::Ip(addresses)), Ok(Decoded::Long(*packet)));
    check_encoding(&wire, addresses, packet);
}

#[track_caller]
fn check_encoding<N: SequenceNumber>(wire: &[u8], addresses: Addresses, packet: &Packet<'_, N>) {
    let mut buffer = [0xaa; 200];
    let len = packet.encode(&mut buffer, Network::Ip(addresses)).unwrap();
    assert_eq!(buffer[..len], *wire);
}

fn feature(action: FeatureAction, feature: Feature, values: &[u8]) -> DccpOption<'_> {
    DccpOption::Feature(FeatureOption { action, feature, values })
}

const REQUEST_OPTIONS: [(FeatureAction, Feature, &[u8]); 3] = [
    (FeatureAction::ChangeR, Feature::CCID, &[3, 2]),
    (FeatureAction::ChangeL, Feature::CCID, &[3, 2]),
    (FeatureAction::ChangeR, Feature::SEND_ACK_VECTOR, &[1]),
];

#[test]
fn request() {
    let mut buffer = [0; 64];
    let options = REQUEST_OPTIONS.map(|(action, number, values)| feature(action, number, values));
    let options = area(&mut buffer, &options, &[]);
    let packet = Packet { options, ..from_client(Seq48::new(ISS), Body::Request { service: RTPV }) };
    check("c350138c09001e47 01000a1b2c3d4e5f 52545056 2205010302 2005010302 22040601 0000", CLIENT, &packet);
    let ipv6 = Addresses::V6 { source: "2001:db8::1".parse().unwrap(), destination: "2001:db8::2".parse().unwrap() };
    check("c350138c090046d6 01000a1b2c3d4e5f 52545056 2205010302 2005010302 22040601 0000", ipv6, &packet);
}

#[test]
fn response() {
    let mut buffer = [0; 64];
    let options = [
        feature(FeatureAction::ConfirmL, Feature::CCID, &[3, 3, 2]),
        feature(FeatureAction::ConfirmR, Feature::CCID, &[3, 3, 2]),
        feature(FeatureAction::ConfirmL, Feature::SEND_ACK_VECTOR, &[1, 1]),
    ];
    let options = area(&mut buffer, &options, &[]);
    let packet = Packet { options, ..from_server(89, Body::Response { ack: Seq48::new(ISS), service: RTPV }) };
    let hex = "138cc3500c00f9f5 0300000000000059 00000a1b2c3d4e5f 52545056 210601030302 230601030302 2105060101 000000";
    check(hex, SERVER, &packet);
}

fn ack_options(buffer: &mut [u8]) -> OptionArea<'_> {
    let vector = AckVector::new(false, &[0, 192, 3, 64, 5]);
    area(buffer, &[DccpOption::AckVector(vector), DccpOption::ElapsedTime(Elapsed(125))], &[])
}

#[test]
fn ack() {
    let mut buffer = [0; 64];
    let packet = Packet {
        options: ack_options(&mut buffer),
        ..from_client(Seq48::new(ISS + 2), Body::Ack { ack: Seq48::new(100) })
    };
    check("c350138c09005f89 07000a1b2c3d4e61 0000000000000064 260700c0034005 2b04007d 00", CLIENT, &packet);
}

#[test]
fn ack_with_short_sequence_numbers() {
    let wire = bytes("c350138c070098ac 063d4e61 00000064 260700c0034005 2b04007d 00");
    let mut buffer = [0; 64];
    let short = Packet {
        options: ack_options(&mut buffer),
        ..from_client(Seq24::new(0x3d_4e61), Body::Ack { ack: Seq24::new(100) })
    };
    assert_eq!(Packet::decode(&wire, Network::Ip(CLIENT)), Ok(Decoded::Short(short)));
    check_encoding(&wire, CLIENT, &short);
    let long = short.extend(Seq48::new(ISS), Seq48::new(90));
    assert_eq!((long.seq, long.body), (Seq48::new(ISS + 2), Body::Ack { ack: Seq48::new(100) }));
    assert_eq!((long.options, long.source_port), (short.options, 50000));
}

/// Example of RFC 4342 section 8.6.2, newest interval first.
const INTERVALS: [LossInterval; 4] = [
    LossInterval { lossless_length: 10, loss_length: 1, nonce: true, data_length: 10 },
    LossInterval { lossless_length: 8, loss_length: 5, nonce: false, data_length: 10 },
    LossInterval { lossless_length: 8, loss_length: 1, nonce: false, data_length: 8 },
    LossInterval { lossless_length: 10, loss_length: 0, nonce: true, data_length: 15 },
];

#[test]
fn feedback_of_ccid_3_and_4() {
    let intervals = INTERVALS.map(|interval| interval.to_bytes().unwrap());
    let elapsed = DccpOption::ElapsedTime(Elapsed(1234));
    let rate = CcidOption::ReceiveRate(125_000);
    let intervals = CcidOption::LossIntervals(LossIntervals::new(2, &intervals).unwrap());
    let third = [rate, intervals, CcidOption::LossEventRate(NonZeroU32::new(10))];
    let dropped = [[0, 0, 1], [0, 0, 4], [0, 0, 1], [0, 0, 0]];
    let fourth = [rate, intervals, CcidOption::DroppedPackets(DroppedPackets::new(&dropped).unwrap())];
    let common = "0700000000000062 000000000000002c 2b0404d2 c2060001e848 c12702 00000a80000100000a 00000800000500000a
        000008000001000008 00000a80000000000f";
    for (ccid, head, options, tail) in [
        (Ccid::TFRC, "138cc35014002d67", third, "c0060000000a 00"),
        (Ccid::TFRC_SP, "138cc3501600295a", fourth, "c30e 000001000004000001000000 00"),
    ] {
        let mut buffer = [0; 96];
        let area = area(&mut buffer, &[elapsed], &options);
        let packet = Packet { options: area, ..from_server(98, Body::Ack { ack: Seq48::new(44) }) };
        check(&[head, common, tail].concat(), SERVER, &packet);
        let items = packet.options.process(packet.kind()).skip(1).map(|item| item.unwrap().option);
        let read = items.map(|option| match option {
            DccpOption::Ccid(raw) => CcidOption::decode(ccid, raw, packet.kind()).unwrap(),
            other => panic!("{other}"),
        });
        assert!(read.eq(options));
    }
}

#[test]
fn data() {
    let data = Packet { data: b"hello", ..from_client(Seq48::new(ISS + 3), Body::Data) };
    let ccval = CcVal::new(7).unwrap();
    check("c350138c0470d2eb 05000a1b2c3d4e62 68656c6c6f", CLIENT, &Packet { ccval, ..data });
    check("c350138c0401172d 05000a1b2c3d4e62 68656c6c6f", CLIENT, &Packet { cscov: CsCov::NONE, ..data });
}

#[test]
fn reset_and_sync() {
    let reset = Reset { code: ResetCode::CLOSED, data: [0; 3] };
    let packet = from_server(139, Body::Reset { ack: Seq48::new(ISS + 9), reset });
    check("138cc35007000896 0f0000000000008b 00000a1b2c3d4e68 01000000", SERVER, &packet);
    let packet = from_server(100, Body::Sync { ack: Seq48::new(ISS + 101) });
    check("138cc35006000865 1100000000000064 00000a1b2c3d4ec4", SERVER, &packet);
}

const IN_UDP: &str = "c738196f002c3d7b c350138c09000000 01000a1b2c3d4e5f 52545056 2205010302 2005010302 22040601 0000";

/// To the port of RFC 6773 section 3.8; both pairs of ports identify the connection.
#[test]
fn request_in_udp() {
    let wire = bytes(IN_UDP);
    let (ports, packet) = UdpPorts::decode(&wire, CLIENT).unwrap();
    assert_eq!(ports, UdpPorts { source: 51000, destination: headway_dccp::UDP_PORT });
    let Decoded::Long(packet) = packet else { panic!("{packet:?}") };
    assert_eq!(packet.body, Body::Request { service: RTPV });
    let mut buffer = [0xaa; 64];
    let len = ports.encode(&packet, CLIENT, &mut buffer).unwrap();
    assert_eq!(buffer[..len], wire);
}

/// RFC 6773 sections 3.1 and 3.3, rule by rule.
#[test]
fn datagrams_that_are_dropped() {
    let right = bytes(IN_UDP);
    let decode = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut wire = right.clone();
        change(&mut wire);
        UdpPorts::decode(&wire, CLIENT).map(|_| ())
    };
    assert_eq!(decode(&|wire| wire[6..8].fill(0)), Err(DatagramError::NoChecksum));
    let wrong = Err(DatagramError::Checksum { found: 0x3d7c, wanted: 0x3d7b });
    assert_eq!(decode(&|wire| wire[7] += 1), wrong);
    assert_eq!(decode(&|wire| wire[5] = 19), Err(DatagramError::Length { length: 19, available: 44 }));
    assert_eq!(decode(&|wire| wire[5] = 45), Err(DatagramError::Length { length: 45, available: 44 }));
    assert_eq!(decode(&|wire| wire.truncate(19)), Err(DatagramError::TooShort { len: 19 }));
    // Bytes after the UDP length are not part of the datagram.
    assert_eq!(decode(&|wire| wire.push(7)), Ok(()));
    // DCCP's checksum is ignored: it may have any value that matches the UDP checksum.
    let changed = |wire: &mut Vec<u8>| {
        wire[14] = 0x12;
        wire[6] -= 0x12;
    };
    assert_eq!(decode(&changed), Ok(()));
}

/// A checksum of zero is sent as all ones, as RFC 768 requires: zero would mean no checksum.
#[test]
fn udp_checksum_is_never_zero() {
    let packet = from_client(Seq48::new(ISS), Body::Data);
    let checksums = (0..=u16::MAX).map(|source| {
        let ports = UdpPorts { source, destination: 6511 };
        let mut buffer = [0; 24];
        ports.encode(&packet, CLIENT, &mut buffer).unwrap();
        assert!(UdpPorts::decode(&buffer, CLIENT).is_ok());
        u16::from_be_bytes([buffer[6], buffer[7]])
    });
    let ones = checksums.inspect(|checksum| assert_ne!(*checksum, 0)).filter(|checksum| *checksum == 0xffff);
    assert!(ones.count() > 0);
}

/// The UDP length ends within the DCCP options.
#[test]
fn datagram_that_ends_in_the_options() {
    let mut wire = bytes(IN_UDP);
    wire[5] = 40;
    wire.truncate(40);
    wire[6..8].fill(0);
    let Err(DatagramError::Checksum { wanted, .. }) = ({
        wire[7] = 1;
        UdpPorts::decode(&wire, CLIENT)
    }) else {
        panic!("a wrong checksum was accepted")
    };
    wire[6..8].copy_from_slice(&wanted.to_be_bytes());
    let wrong = PacketError::DataOffsetTooLarge { offset: 9, len: 32 };
    assert_eq!(UdpPorts::decode(&wire, CLIENT), Err(DatagramError::Packet(wrong)));
}

/// Bytes that RFC 4340 sections 6.1 to 6.4 and 10 print for feature negotiation ("Change R(CCID, 3 2)" and so on).
#[test]
fn feature_options_of_the_rfc() {
    use FeatureAction::{ChangeL, ChangeR, ConfirmL, ConfirmR};
    let cases: [(DccpOption<'_>, &[u8]); 6] = [
        (feature(ChangeL, Feature::CCID, &[2, 3]), &[32, 5, 1, 2, 3]),
        (feature(ChangeR, Feature::CCID, &[3, 2]), &[34, 5, 1, 3, 2]),
        (feature(ConfirmL, Feature::CCID, &[2, 2, 3]), &[33, 6, 1, 2, 2, 3]),
        (feature(ConfirmR, Feature::CCID, &[2, 3, 2]), &[35, 6, 1, 2, 3, 2]),
        (feature(ChangeL, Feature::SEQUENCE_WINDOW, &[0, 0, 0, 0, 4, 0]), &[32, 9, 3, 0, 0, 0, 0, 4, 0]),
        (feature(ConfirmL, Feature(126), &[]), &[33, 3, 126]),
    ];
    for (option, wanted) in cases {
        let mut buffer = [0; 32];
        let area = area(&mut buffer, &[option], &[]);
        assert_eq!(area.as_bytes()[..wanted.len()], *wanted);
        assert_eq!(area.iter().next(), Some(Ok(option)));
    }
}
