//! Properties of all packets and of arbitrary bytes.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_dccp::{
    AckVector, Addresses, Body, CcVal, Ccid, CcidOption, CsCov, DataDropped, DccpOption, Decoded, DeliveryOrder,
    DroppedPackets, Elapsed, Feature, FeatureAction, FeatureOption, LossIntervals, Network, OptionArea, OptionWriter,
    Packet, RawOption, Reset, ResetCode, SequenceNumber, ServiceCode, Timestamp, UdpPorts,
};
use headway_units::{Circular, Seq24, Seq48};
use proptest::collection::vec;
use proptest::prelude::*;
use std::num::NonZeroU32;

fn addresses() -> impl Strategy<Value = Addresses> {
    prop_oneof![
        any::<([u8; 4], [u8; 4])>().prop_map(|(a, b)| Addresses::V4 { source: a.into(), destination: b.into() }),
        any::<([u8; 16], [u8; 16])>().prop_map(|(a, b)| Addresses::V6 { source: a.into(), destination: b.into() }),
    ]
}

#[derive(Clone, Debug)]
enum Owned {
    Feature(FeatureAction, u8, Vec<u8>),
    Bytes(u8, Vec<u8>),
    Number(u8, u64, u32),
    Intervals(u8, Vec<[u8; 9]>),
    Counts(Vec<[u8; 3]>),
}

impl Owned {
    fn push(&self, writer: &mut OptionWriter<'_>) -> Result<(), headway_dccp::EncodeError> {
        writer.push(match self {
            Self::Intervals(skip, intervals) => {
                return writer.push_ccid(CcidOption::LossIntervals(LossIntervals::new(*skip, intervals).unwrap()));
            }
            Self::Counts(counts) => {
                return writer.push_ccid(CcidOption::DroppedPackets(DroppedPackets::new(counts).unwrap()));
            }
            Self::Number(192, value, _) => {
                return writer.push_ccid(CcidOption::LossEventRate(NonZeroU32::new(*value as u32)));
            }
            _ => self.option().unwrap(),
        })
    }

    /// Returns the option as it is decoded; `None` for CCID options, which are decoded as bytes.
    fn option(&self) -> Option<DccpOption<'_>> {
        Some(match self {
            Self::Feature(action, feature, values) => {
                DccpOption::Feature(FeatureOption { action: *action, feature: Feature(*feature), values })
            }
            Self::Bytes(36, bytes) => DccpOption::InitCookie(bytes),
            Self::Bytes(38, bytes) => DccpOption::AckVector(AckVector::new(false, bytes)),
            Self::Bytes(39, bytes) => DccpOption::AckVector(AckVector::new(true, bytes)),
            Self::Bytes(40, bytes) => DccpOption::DataDropped(DataDropped::new(bytes)),
            Self::Bytes(number @ 128.., data) => DccpOption::Ccid(RawOption { number: *number, data }),
            Self::Bytes(number, data) => DccpOption::Unknown(RawOption { number: *number, data }),
            Self::Number(0, ..) => DccpOption::Padding,
            Self::Number(1, ..) => DccpOption::Mandatory,
            Self::Number(2, ..) => DccpOption::SlowReceiver,
            Self::Number(37, count, _) => DccpOption::NdpCount(*count),
            Self::Number(41, time, _) => DccpOption::Timestamp(Timestamp(*time as u32)),
            Self::Number(42, time, elapsed) => {
                DccpOption::TimestampEcho { timestamp: Timestamp(*time as u32), elapsed: Elapsed(*elapsed) }
            }
            Self::Number(43, _, elapsed) => DccpOption::ElapsedTime(Elapsed(*elapsed)),
            Self::Number(44, crc, _) => DccpOption::DataChecksum(*crc as u32),
            Self::Number(120, numbers, _) => {
                let [.., stream, i, j, a, b] = numbers.to_be_bytes();
                let awaited = u16::from_be_bytes([a, b]).min(DeliveryOrder::MAX_AWAITED);
                DccpOption::DeliveryOrder(DeliveryOrder { stream, index: u16::from_be_bytes([i, j]), awaited })
            }
            Self::Number(..) | Self::Intervals(..) | Self::Counts(..) => return None,
        })
    }
}

fn option() -> impl Strategy<Value = Owned> {
    use FeatureAction::{ChangeL, ChangeR, ConfirmL, ConfirmR};
    let action = prop::sample::select(&[ChangeL, ChangeR, ConfirmL, ConfirmR]);
    let bytes = prop_oneof![Just(36), Just(38), Just(39), Just(40), 45u8..120, 122u8..192, 196u8..];
    let number = prop::sample::select(&[0u8, 1, 2, 37, 41, 42, 43, 44, 120, 192]);
    // Numbers of every length.
    let value = (0u64..1 << 48, 0u32..48).prop_map(|(value, shift)| value >> shift);
    let elapsed = (any::<u32>(), 0u32..33).prop_map(|(value, shift)| value.checked_shr(shift).unwrap_or(0));
    prop_oneof![
        (action, any::<u8>(), vec(any::<u8>(), 0..20)).prop_map(|(a, f, v)| Owned::Feature(a, f, v)),
        (bytes, vec(any::<u8>(), 0..60)).prop_map(|(number, bytes)| Owned::Bytes(number, bytes)),
        (number, value, elapsed).prop_map(|(number, value, elapsed)| Owned::Number(number, value, elapsed)),
        (0u8..=3, vec(any::<[u8; 9]>(), 1..=28)).prop_map(|(skip, intervals)| Owned::Intervals(skip, intervals)),
        vec(any::<[u8; 3]>(), 1..=84).prop_map(Owned::Counts),
    ]
}

fn number<const BITS: u32>() -> impl Strategy<Value = Circular<BITS>> {
    any::<u64>().prop_map(Circular::new)
}

fn body<N: SequenceNumber + std::fmt::Debug>(ack: impl Strategy<Value = N>) -> impl Strategy<Value = Body<N>> {
    (0usize..if N::EXTENDED { 11 } else { 3 }, ack, any::<u32>()).prop_map(|(kind, ack, word)| {
        let service = ServiceCode(word);
        let [code, data @ ..] = word.to_be_bytes();
        match kind {
            0 => Body::Data,
            1 => Body::Ack { ack },
            2 => Body::DataAck { ack },
            3 => Body::Request { service },
            4 => Body::Response { ack, service },
            5 => Body::CloseReq { ack },
            6 => Body::Close { ack },
            7 => Body::Reset { ack, reset: Reset { code: ResetCode(code), data } },
            8 => Body::Sync { ack },
            9 => Body::SyncAck { ack },
            _ => Body::Listen { service },
        }
    })
}

/// Packet without options and data, and the parts of both.
type Parts<N> = (Packet<'static, N>, Vec<Owned>, Vec<u8>);

fn parts<N: SequenceNumber + std::fmt::Debug, S: Strategy<Value = N>>(
    number: fn() -> S,
) -> impl Strategy<Value = Parts<N>> {
    let fields = (any::<u16>(), any::<u16>(), 0u8..16, 0u8..16);
    let rest = (vec(option(), 0..5), vec(any::<u8>(), 0..100));
    (fields, number(), body(number()), rest).prop_map(|(fields, seq, body, (options, data))| {
        let (source_port, destination_port, ccval, cscov) = fields;
        let ccval = CcVal::new(ccval).unwrap();
        let cscov = CsCov::new(cscov).filter(|cscov| cscov.covered(data.len()).is_some()).unwrap_or_default();
        let empty = OptionArea::EMPTY;
        (Packet { source_port, destination_port, ccval, cscov, seq, body, options: empty, data: &[] }, options, data)
    })
}

/// Passes the packet with its encoded options to `check`. Options that do not fit a header are omitted.
fn written<N: SequenceNumber>(parts: &Parts<N>, check: impl FnOnce(&Packet<'_, N>, &[Owned])) {
    let (packet, options, data) = parts;
    let mut buffer = [0xaa; 988];
    let mut writer = OptionWriter::new(&mut buffer);
    let fitting = options.iter().take_while(|option| option.push(&mut writer).is_ok()).count();
    check(&Packet { options: writer.finish().unwrap(), data, ..*packet }, &options[..fitting]);
}

fn encoded<N: SequenceNumber>(packet: &Packet<'_, N>, network: Network) -> Vec<u8> {
    let mut bytes = vec![0xaa; packet.encoded_len()];
    assert_eq!(packet.encode(&mut bytes, network), Ok(bytes.len()));
    bytes
}

proptest! {
    // A case takes microseconds, and few byte strings are packets.
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn encoded_packets_are_decoded(parts in parts(number::<48>), addresses in addresses()) {
        written(&parts, |packet, options| {
            for network in [Network::Ip(addresses), Network::Udp] {
                let bytes = encoded(packet, network);
                assert_eq!(Packet::decode(&bytes, network), Ok(Decoded::Long(*packet)));
            }
            let read = packet.options.iter().zip(options);
            read.for_each(|(read, option)| match option.option() {
                Some(option) => assert_eq!(read, Ok(option)),
                None => assert!(matches!(read, Ok(DccpOption::Ccid(_)))),
            });
            let padding = packet.options.iter().skip(options.len());
            assert!(padding.count() < 4 && packet.options.as_bytes().len() % 4 == 0);
        });
    }

    #[test]
    fn encoded_short_packets_are_decoded(parts in parts(number::<24>), addresses in addresses(), near in any::<[u64; 2]>()) {
        written(&parts, |packet, _| {
            let bytes = encoded(packet, Network::Ip(addresses));
            assert_eq!(Packet::decode(&bytes, Network::Ip(addresses)), Ok(Decoded::Short(*packet)));
            let [gsr, gss] = near.map(Seq48::new);
            let long = packet.extend(gsr, gss);
            assert_eq!((long.seq.low(), long.body.ack().map(Seq48::low)), (packet.seq, packet.body.ack()));
            assert_eq!(long.body.kind(), packet.body.kind());
        });
    }

    #[test]
    fn encoded_datagrams_are_decoded(parts in parts(number::<48>), addresses in addresses(), source: u16, destination: u16) {
        written(&parts, |packet, _| {
            let ports = UdpPorts { source, destination };
            let mut bytes = vec![0xaa; packet.encoded_len() + headway_dccp::UDP_HEADER_LEN];
            assert_eq!(ports.encode(packet, addresses, &mut bytes), Ok(bytes.len()));
            assert_eq!(UdpPorts::decode(&bytes, addresses), Ok((ports, Decoded::Long(*packet))));
            assert_eq!(bytes[14..16], [0, 0], "DCCP's checksum is sent as zero");
        });
    }

    /// Any single wrong bit that the checksum covers is detected (RFC 4340 section 9.1). Data
    /// Offset and CsCov are unchanged, since they define what is covered.
    #[test]
    fn one_wrong_bit_is_seen(parts in parts(number::<48>), addresses in addresses(), at: prop::sample::Index) {
        written(&parts, |packet, _| {
            let mut bytes = encoded(packet, Network::Ip(addresses));
            let covered = packet.header_len() + packet.cscov.covered(packet.data.len()).unwrap();
            let bit = at.index(covered * 8);
            if !(4..6).contains(&(bit / 8)) {
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert!(Packet::decode(&bytes, Network::Ip(addresses)).is_err());
            }
        });
    }

    /// Any bytes are a packet or an error, and both can be formatted. A decoded packet is encoded
    /// to the same bytes, except reserved bits and the checksum.
    #[test]
    fn bytes_never_panic(mut bytes in vec(any::<u8>(), 0..200), kind in 0u8..48, words in 3u8..50, addresses in addresses()) {
        // Two thirds of them get a header that is likely to be valid.
        if let (Some([.., offset, coverage, _, _, kind_and_x]), 0..32) = (bytes.first_chunk_mut::<9>(), kind) {
            (*offset, *coverage, *kind_and_x) = (words, *coverage & 0xf1, kind);
        }
        _ = UdpPorts::decode(&bytes, addresses).map_err(|error| error.to_string());
        _ = Packet::decode(&bytes, Network::Ip(addresses)).map_err(|error| error.to_string());
        match Packet::decode(&bytes, Network::Udp) {
            Ok(Decoded::Long(packet)) => look_at(&packet, &bytes)?,
            Ok(Decoded::Short(packet)) => look_at(&packet, &bytes)?,
            Err(error) => _ = error.to_string(),
        }
    }
}

fn look_at<N: SequenceNumber>(packet: &Packet<'_, N>, bytes: &[u8]) -> Result<(), TestCaseError> {
    _ = packet.to_string();
    let mut again = encoded(packet, Network::Udp);
    prop_assert_eq!(again.len(), bytes.len());
    again[6..8].copy_from_slice(&bytes[6..8]);
    let reserved = |at: usize| match at {
        8 => 0b1110_0000,
        9 if N::EXTENDED => 255,
        16 | 17 if N::EXTENDED && packet.kind().has_ack() => 255,
        12 if !N::EXTENDED && packet.kind().has_ack() => 255,
        _ => 0u8,
    };
    for (at, (new, old)) in again.iter().zip(bytes).enumerate() {
        prop_assert_eq!(*new, old & !reserved(at), "byte {}", at);
    }
    for option in packet.options.iter() {
        match option {
            Ok(DccpOption::AckVector(vector)) => _ = vector.packets(Seq48::ZERO).count(),
            Ok(DccpOption::DataDropped(dropped)) => _ = dropped.dropped(Seq48::ZERO).count(),
            Ok(DccpOption::Ccid(raw)) => _ = CcidOption::decode(Ccid::TFRC_SP, raw, packet.kind()),
            Ok(_) => {}
            Err(error) => _ = (error.to_string(), error.reaction()),
        }
    }
    for item in packet.options.process(packet.kind()) {
        _ = item.map_err(|error| (error.to_string(), error.reaction()));
    }
    Ok(())
}

/// Short sequence numbers are a separate type, not a truncated long one.
#[test]
fn short_numbers_have_24_bits() {
    assert_eq!((Seq24::MAX.value(), Seq48::MAX.value()), (0xff_ffff, 0xffff_ffff_ffff));
}
