//! Invariants of any bytes that are decoded as DCCP. Shared by the fuzz targets and the test that replays
//! `fuzz/corpus`.

use headway_dccp::{
    AckVectorBuffer, Addresses, Ccid, CcidOption, DatagramError, DccpOption, Decoded, Network, OptionArea,
    OptionWriter, Packet, PacketType, Reaction, SequenceNumber, UdpPorts, arrivals,
};
use headway_rate::Arrival;
use headway_units::{Ecn, Seq48};
use std::net::{Ipv4Addr, Ipv6Addr};

const V4: Addresses = Addresses::V4 { source: Ipv4Addr::new(192, 0, 2, 1), destination: Ipv4Addr::new(192, 0, 2, 2) };
const V6: Addresses = Addresses::V6 { source: Ipv6Addr::LOCALHOST, destination: Ipv6Addr::LOCALHOST };

/// Decodes bytes as a packet.
pub(crate) fn packet(bytes: &[u8]) {
    for network in [Network::Udp, Network::Ip(V4), Network::Ip(V6)] {
        match Packet::decode(bytes, network) {
            Ok(Decoded::Long(packet)) => whole(&packet, bytes, Decoded::Long),
            Ok(Decoded::Short(packet)) => {
                whole(&packet, bytes, Decoded::Short);
                let long = packet.extend(Seq48::new(0x12_3456_789a), Seq48::MAX);
                assert_eq!(long.seq.low(), packet.seq);
                assert!(!long.to_string().is_empty());
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// The first byte selects the type of a packet, the others are its options.
pub(crate) fn options(bytes: &[u8]) {
    let Some((&choice, options)) = bytes.split_first() else { return };
    let (kind, extended) = (choice & 15, choice & 16 == 0);
    let Some(kind) = PacketType::from_number(kind) else { return };
    let mut header = vec![0; kind.header_len(extended)];
    header.extend(&options[..options.len().min(1020 - header.len())]);
    header.resize(header.len().next_multiple_of(4), 0);
    header[4] = (header.len() / 4) as u8;
    header[8] = kind.number() << 1 | u8::from(extended);
    packet(&header);
}

/// Decodes bytes as a UDP datagram, and as a packet after eight bytes of ports.
pub(crate) fn udp(bytes: &[u8]) {
    for addresses in [V4, V6] {
        match UdpPorts::decode(bytes, addresses) {
            Ok((ports, decoded)) => {
                assert!(is_datagram(bytes, addresses));
                assert_eq!([ports.source.to_be_bytes(), ports.destination.to_be_bytes()].as_flattened(), &bytes[..4]);
                let length = usize::from(u16::from_be_bytes([bytes[4], bytes[5]]));
                // A link may have padded the datagram after its length.
                assert_eq!(encapsulated(ports, decoded, addresses).len(), length);
            }
            Err(error) => {
                assert_eq!(is_datagram(bytes, addresses), matches!(error, DatagramError::Packet(_)), "{error}");
                assert!(!error.to_string().is_empty());
            }
        }
        let Some((ports, payload)) = bytes.split_first_chunk::<4>() else { continue };
        let Ok(decoded) = Packet::decode(payload, Network::Udp) else { continue };
        let [a, b, c, d] = *ports;
        let ports = UdpPorts { source: u16::from_be_bytes([a, b]), destination: u16::from_be_bytes([c, d]) };
        let mut datagram = encapsulated(ports, decoded, addresses);
        // The UDP checksum detects each single-bit error, except in the length, which determines the summed bytes.
        let sum: usize = payload.iter().map(|byte| usize::from(*byte)).sum();
        let at = sum % datagram.len();
        if !(4..6).contains(&at) {
            datagram[at] ^= 1 << (sum % 8);
            let error = UdpPorts::decode(&datagram, addresses).expect_err("a bit error");
            assert!(matches!(error, DatagramError::Checksum { .. } | DatagramError::NoChecksum), "{error}");
        }
    }
}

/// Returns whether the encapsulation conforms to RFC 768 and RFC 6773 section 3.3: the Length fits the datagram and
/// both headers; the checksum over addresses, protocol, length and data is correct and not zero.
fn is_datagram(bytes: &[u8], addresses: Addresses) -> bool {
    let word = |at: usize| u16::from_be_bytes([bytes[at], bytes.get(at + 1).copied().unwrap_or(0)]);
    if bytes.len() < 20 {
        return false;
    }
    let length = usize::from(word(4));
    if length < 20 || length > bytes.len() || word(6) == 0 {
        return false;
    }
    let mut pseudo = match addresses {
        Addresses::V4 { source, destination } => [source.octets(), destination.octets()].concat(),
        Addresses::V6 { source, destination } => [source.octets(), destination.octets()].concat(),
    };
    pseudo.extend([0, 17, bytes[4], bytes[5]]);
    let datagram = &bytes[..length];
    let sum = |bytes: &[u8]| -> u64 {
        bytes.chunks(2).map(|pair| u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0))).sum()
    };
    // One's complement: the carry is added.
    (sum(&pseudo) + sum(datagram)) % 0xffff == 0
}

/// Interprets bytes as arrivals at a receiver, and as acknowledgements that it gets.
pub(crate) fn ack_vector(bytes: &[u8]) {
    let (mut buffer, mut ours, mut newest) = (AckVectorBuffer::new(), 0, Seq48::MAX - 50);
    let mut runs = vec![];
    let mut space = [0; 1008];
    for step in bytes.chunks(2) {
        let [choice, by] = [step[0], *step.last().unwrap_or(&0)];
        let ecn = if choice & 4 == 0 { Ecn::Ect0 } else { Ecn::Ce };
        match choice & 3 {
            0 => {
                // Occasionally far ahead.
                newest += u64::from(by) << (choice >> 4) | 1;
                assert!(buffer.received(newest, ecn));
            }
            1 => drop(buffer.received(newest - u64::from(by), ecn)),
            2 => {
                buffer.sent(Seq48::new(ours));
                ours += 1;
            }
            _ => buffer.acknowledged(Seq48::new(ours.wrapping_sub(by.into()))),
        }
        let Some(acknowledged) = buffer.newest() else { continue };
        if (choice & 3) < 2 {
            newest = acknowledged;
        }
        let mut writer = OptionWriter::new(&mut space);
        buffer.write(&mut writer).expect("two options fit");
        assert_eq!(writer.len(), buffer.encoded_len());
        assert!(writer.len() <= 2 * 255);
        let area = writer.finish().expect("there is space for padding");
        let vectors = area.iter().filter_map(|option| match option {
            Ok(DccpOption::AckVector(vector)) => Some(vector),
            _ => None,
        });
        arrivals(vectors, &mut runs);
        assert_ne!(runs.first().expect("the newest packet is always there").arrival, Arrival::NotReceived);
        assert!(runs.windows(2).all(|pair| pair[0].arrival != pair[1].arrival));
        assert!(runs.iter().map(|run| run.packets).sum::<u64>() <= 32_384);
    }
}

/// Checks all operations on a packet decoded from `bytes`.
fn whole<'a, N>(packet: &Packet<'a, N>, bytes: &[u8], decoded: impl Fn(Packet<'a, N>) -> Decoded<'a>)
where
    N: SequenceNumber,
    Packet<'a, N>: Copy + std::fmt::Display,
{
    assert!(!packet.to_string().is_empty());
    let mut written = vec![0; bytes.len()];
    assert_eq!(packet.encode(&mut written, Network::Udp), Ok(bytes.len()));
    // Only reserved bits and the checksum are not preserved.
    let ack = packet.body.ack().is_some();
    for (at, (was, is)) in bytes.iter().zip(&written).enumerate() {
        let kept = match at {
            6 | 7 => 0,
            8 => 0x1f,
            9 if N::EXTENDED => 0,
            16 | 17 if N::EXTENDED && ack => 0,
            12 if !N::EXTENDED && ack => 0,
            _ => 0xff,
        };
        assert_eq!(was & kept, *is, "byte {at}");
    }
    for addresses in [V4, V6] {
        let network = Network::Ip(addresses);
        assert_eq!(packet.encode(&mut written, network), Ok(bytes.len()));
        let again = Packet::decode(&written, network).expect("encoded packets can be decoded");
        assert_eq!(again, decoded(*packet));
    }
    area(&packet.options, packet.kind());
}

fn area(area: &OptionArea<'_>, kind: PacketType) {
    let (mut processed, mut answered) = (0, false);
    for option in area.process(kind) {
        assert!(!answered, "no options after a Reset");
        processed += 1;
        match option {
            Ok(option) => match option.option {
                DccpOption::Ccid(raw) => {
                    for ccid in [Ccid::TCP_LIKE, Ccid::TFRC, Ccid::TFRC_SP, Ccid(250)] {
                        match CcidOption::decode(ccid, raw, kind) {
                            Ok(decoded) => ccid_option(decoded, raw.data),
                            Err(fault) => assert!(!option.error(fault).to_string().is_empty()),
                        }
                    }
                }
                DccpOption::AckVector(vector) => assert!(vector.packets(Seq48::ZERO).count() <= 253 * 64),
                DccpOption::DataDropped(dropped) => assert!(dropped.dropped(Seq48::ZERO).count() <= 253 * 128),
                _ => {}
            },
            Err(error) => {
                assert!(!error.to_string().is_empty());
                answered = matches!(error.reaction(), Reaction::Reset(_) | Reaction::IgnoreRest);
            }
        }
    }
    assert!(processed <= area.as_bytes().len() + 1);

    let mut runs = vec![];
    arrivals(
        area.iter().filter_map(|option| match option {
            Ok(DccpOption::AckVector(vector)) => Some(vector),
            _ => None,
        }),
        &mut runs,
    );
    assert!(runs.len() <= area.as_bytes().len());

    // Decoded options can be encoded in at most as many bytes, and decoded to equal ones.
    let Ok(read) = area.iter().collect::<Result<Vec<_>, _>>() else { return };
    let mut buffer = vec![0; area.as_bytes().len()];
    let mut writer = OptionWriter::new(&mut buffer);
    for option in &read {
        writer.push(*option).expect("decoded options can be encoded");
    }
    let again = writer.finish().expect("decoded options fill a number of words");
    let again: Vec<_> = again.iter().collect::<Result<_, _>>().expect("encoded options can be decoded");
    assert_eq!(again[..read.len()], read);
    assert!(again[read.len()..].iter().all(|option| *option == DccpOption::Padding));
}

fn ccid_option(option: CcidOption<'_>, data: &[u8]) {
    match option {
        CcidOption::LossIntervals(intervals) => {
            assert!(
                intervals.iter().all(|interval| interval.to_bytes().is_some() && interval.sequence_length() < 1 << 25)
            );
        }
        CcidOption::DroppedPackets(dropped) => assert!(dropped.iter().all(|count| count < 1 << 24)),
        CcidOption::LossEventRate(_) | CcidOption::ReceiveRate(_) => {}
    }
    let mut buffer = [0; 256];
    let mut writer = OptionWriter::new(&mut buffer);
    writer.push_ccid(option).expect("decoded options can be encoded");
    let area = writer.finish().expect("there is space for padding");
    assert_eq!(&area.as_bytes()[2..2 + data.len()], data);
}

fn encapsulated(ports: UdpPorts, decoded: Decoded<'_>, addresses: Addresses) -> Vec<u8> {
    let mut datagram = vec![0; 70_000];
    let len = match decoded {
        Decoded::Long(packet) => ports.encode(&packet, addresses, &mut datagram),
        Decoded::Short(packet) => ports.encode(&packet, addresses, &mut datagram),
    };
    let Ok(len) = len else { panic!("{decoded:?}: {len:?}") };
    datagram.truncate(len);
    let (ports_again, again) = UdpPorts::decode(&datagram, addresses).expect("what was written is a datagram");
    assert_eq!((ports_again, again), (ports, decoded));
    datagram
}
