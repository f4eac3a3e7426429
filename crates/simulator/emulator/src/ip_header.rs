//! The fields of an IP header that a link uses: ECN, DSCP and the flow.

use headway_units::{Dscp, Ecn};
use xxhash_rust::xxh3::xxh3_64;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Fields of an IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IpHeader {
    pub(super) ecn: Ecn,
    pub(super) dscp: Dscp,
    /// Hash of protocol, addresses and ports. Fragments and other protocols than TCP and UDP are hashed without ports.
    pub(super) flow: u64,
}

impl IpHeader {
    /// Reads the header of an IPv4 or IPv6 packet (RFC 791 section 3.1, RFC 8200 section 3). Returns `None` for other
    /// or truncated packets.
    pub(super) fn read(packet: &[u8]) -> Option<Self> {
        let (traffic_class, protocol, addresses, ports) = match packet.first()? >> 4 {
            4 => {
                let header = packet.get(..20)?;
                let header_bytes = usize::from(header[0] & 0xf) * 4;
                let is_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
                let ports = if is_fragment { None } else { packet.get(header_bytes..header_bytes + 4) };
                (header[1], header[9], &header[12..20], ports)
            }
            6 => {
                let header = packet.get(..40)?;
                let traffic_class = header[0] << 4 | header[1] >> 4;
                (traffic_class, header[6], &header[8..40], packet.get(40..44))
            }
            _ => return None,
        };
        let ports = ports.filter(|_| matches!(protocol, TCP | UDP)).unwrap_or_default();
        let mut key = [0; 37];
        key[0] = protocol;
        key[1..=addresses.len()].copy_from_slice(addresses);
        key[33..33 + ports.len()].copy_from_slice(ports);
        Some(Self {
            ecn: match traffic_class & 3 {
                0 => Ecn::NotEct,
                1 => Ecn::Ect1,
                2 => Ecn::Ect0,
                _ => Ecn::Ce,
            },
            dscp: Dscp::new(traffic_class >> 2)?,
            flow: xxh3_64(&key),
        })
    }
}

/// Sets the ECN field of a packet that [`IpHeader::read`] accepts, and updates the checksum of IPv4 (RFC 1624 equation
/// 3).
pub(super) fn set_ecn(packet: &mut [u8], ecn: Ecn) {
    let Some(header) = packet.get_mut(..20) else { return };
    if header[0] >> 4 == 6 {
        header[1] = header[1] & !0x30 | (ecn as u8) << 4;
        return;
    }
    let word = |header: &[u8], at: usize| u32::from(u16::from_be_bytes([header[at], header[at + 1]]));
    let (checksum, old) = (word(header, 10), word(header, 0));
    header[1] = header[1] & !3 | ecn as u8;
    let mut sum = (!checksum & 0xffff) + (!old & 0xffff) + word(header, 0);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    header[10..12].copy_from_slice(&(!sum as u16).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IPv4 header of a UDP packet, with its checksum (RFC 1071).
    fn ipv4(tos: u8) -> Vec<u8> {
        let mut packet = vec![0x45, tos, 0, 32, 0xab, 0xcd, 0x40, 0, 64, UDP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let checksum = checksum(&packet);
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        packet.extend([0x12, 0x34, 0x56, 0x78, 0, 12, 0, 0, 1, 2, 3, 4]);
        packet
    }

    fn checksum(header: &[u8]) -> u16 {
        let mut sum: u32 = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !sum as u16
    }

    /// RFC 1624 section 3: the updated checksum equals the checksum of the new header.
    #[test]
    fn marking_keeps_the_checksum_of_ipv4_valid() {
        for tos in 0..=255 {
            let mut packet = ipv4(tos);
            set_ecn(&mut packet, Ecn::Ce);
            assert_eq!(packet[1], tos | 3);
            assert_eq!(checksum(&packet[..20]), 0, "type of service {tos}");
        }
    }

    #[test]
    fn ecn_and_dscp_are_read_from_both_versions() {
        let mut packet = vec![0; 48];
        packet[..2].copy_from_slice(&[0x6b, 0x90]);
        let header = IpHeader::read(&packet).unwrap();
        assert_eq!((header.ecn, header.dscp.value()), (Ecn::Ect1, 46));
        set_ecn(&mut packet, Ecn::Ce);
        assert_eq!(packet[..2], [0x6b, 0xb0]);
        let header = IpHeader::read(&ipv4(0xb9)).unwrap();
        assert_eq!((header.ecn, header.dscp.value()), (Ecn::Ect1, 46));
    }

    /// Packets of one connection are one flow; the fragments of a packet are one flow without ports.
    #[test]
    fn a_flow_has_a_protocol_addresses_and_ports() {
        let flow = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut packet = ipv4(0);
            change(&mut packet);
            IpHeader::read(&packet).unwrap().flow
        };
        let plain = flow(&|_| ());
        assert_eq!(plain, flow(&|packet| packet[1] = 3));
        assert_eq!(plain, flow(&|packet| packet[28] = 99));
        for at in [9, 12, 19, 20, 23] {
            assert_ne!(plain, flow(&|packet| packet[at] = TCP), "byte {at}");
        }
        let first = flow(&|packet| packet[6] = 0x20);
        assert_eq!(first, flow(&|packet| packet[6..8].copy_from_slice(&[0, 1])));
        assert_eq!(
            first,
            flow(&|packet| {
                packet[6] = 0x20;
                packet[20] = 77;
            })
        );
    }

    #[test]
    fn truncated_packets_are_refused() {
        let packet = ipv4(0);
        assert!((0..20).all(|length| IpHeader::read(&packet[..length]).is_none()));
        assert!(IpHeader::read(&packet[..20]).is_some());
        let packet = [0x60; 40];
        assert!((0..40).all(|length| IpHeader::read(&packet[..length]).is_none()));
        assert!(IpHeader::read(&[0x10; 60]).is_none());
    }

    proptest::proptest! {
        /// Any bytes are read without a panic. Marking changes the ECN field only.
        #[test]
        fn any_packet_can_be_read_and_marked(mut bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..80)) {
            if let Some(header) = IpHeader::read(&bytes) {
                set_ecn(&mut bytes, Ecn::Ce);
                assert_eq!(IpHeader::read(&bytes), Some(IpHeader { ecn: Ecn::Ce, ..header }));
            }
        }
    }
}
