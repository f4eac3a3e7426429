//! Packets of the Linux kernel's DCCP, one of each form in 62 captures.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_dccp::{Addresses, DccpOption, Decoded, Network, OptionWriter, Packet, PacketError, SequenceNumber};
use std::net::IpAddr;

const CAPTURES: &str = include_str!("data/linux-6.1.txt");

struct Capture {
    addresses: Addresses,
    bytes: Vec<u8>,
    shown: &'static str,
}

fn captures() -> Vec<Capture> {
    let lines: Vec<_> = CAPTURES.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    let captures = lines.chunks(2).map(|pair| {
        let [packet, shown] = pair else { panic!("{pair:?}") };
        let [source, destination, hex] = packet.split(' ').collect::<Vec<_>>()[..] else { panic!("{packet}") };
        let bytes = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
        let addresses = match (source.parse().unwrap(), destination.parse().unwrap()) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Addresses::V4 { source, destination },
            (IpAddr::V6(source), IpAddr::V6(destination)) => Addresses::V6 { source, destination },
            mixed => panic!("{mixed:?}"),
        };
        Capture { addresses, bytes, shown }
    });
    captures.collect()
}

#[test]
fn are_formatted_as_by_tshark() {
    for Capture { addresses, bytes, shown } in captures() {
        let line = match Packet::decode(&bytes, Network::Ip(addresses)) {
            Ok(Decoded::Long(packet)) => packet.to_string(),
            Ok(Decoded::Short(packet)) => packet.to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(line, shown);
    }
}

#[test]
fn are_encoded_to_the_same_bytes() {
    let mut rewritten = 0;
    for Capture { addresses, bytes, .. } in captures() {
        let network = Network::Ip(addresses);
        match Packet::decode(&bytes, network) {
            Ok(Decoded::Long(packet)) => assert_eq!(rewrite(packet, network), bytes),
            Ok(Decoded::Short(packet)) => assert_eq!(rewrite(packet, network), bytes),
            Err(PacketError::Checksum { .. }) => continue,
            Err(error) => panic!("{error}"),
        }
        rewritten += 1;
    }
    assert!(rewritten > 40);
}

fn rewrite<N: SequenceNumber>(packet: Packet<'_, N>, network: Network) -> Vec<u8> {
    let mut options = [0; 1008];
    let mut writer = OptionWriter::new(&mut options);
    packet.options.iter().for_each(|option| writer.push(option.unwrap()).unwrap());
    let mut bytes = vec![0xaa; packet.encoded_len()];
    let len = Packet { options: writer.finish().unwrap(), ..packet }.encode(&mut bytes, network).unwrap();
    assert_eq!(len, bytes.len());
    bytes
}

/// All options of the kernel satisfy RFC 4340 section 5.8, and only options that were deliberately unknown are unknown.
#[test]
fn have_valid_options() {
    let mut mandatory = 0;
    for Capture { addresses, bytes, shown } in captures() {
        let Ok(Decoded::Long(packet)) = Packet::decode(&bytes, Network::Ip(addresses)) else { continue };
        for item in packet.options.process(packet.kind()) {
            let item = item.unwrap();
            mandatory += u32::from(item.mandatory);
            assert!(!matches!(item.option, DccpOption::Unknown(raw) if raw.number != 60), "{shown}");
        }
    }
    assert!(mandatory > 0);
}

/// Truncated packets cause no panic, and a packet truncated in its header is rejected.
#[test]
fn truncated_packets_are_rejected() {
    for Capture { addresses, bytes, .. } in captures() {
        let header = usize::from(bytes[4]) * 4;
        for len in 0..bytes.len() {
            assert!(Packet::decode(&bytes[..len], Network::Ip(addresses)).is_err());
            assert_eq!(Packet::decode(&bytes[..len], Network::Udp).is_ok(), covers(&bytes[..len], header));
        }
    }
}

/// Returns whether the header and the data covered by CsCov are complete.
fn covers(bytes: &[u8], header: usize) -> bool {
    let coverage = bytes.get(5).map_or(0, |byte| usize::from(byte & 15)).saturating_sub(1) * 4;
    bytes.len() >= header + coverage
}
