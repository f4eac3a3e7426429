//! IP headers for captures; the simulator's packets have none.

use headway_units::Ecn;
use std::net::{Ipv4Addr, Ipv6Addr};
use thiserror::Error;

/// Source and destination address of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpAddresses {
    /// Addresses of an IPv4 packet (RFC 791).
    V4 {
        /// Source address.
        source: Ipv4Addr,
        /// Destination address.
        destination: Ipv4Addr,
    },
    /// Addresses of an IPv6 packet (RFC 8200).
    V6 {
        /// Source address.
        source: Ipv6Addr,
        /// Destination address.
        destination: Ipv6Addr,
    },
}

/// Header fields of an unfragmented IP packet without options or extension headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpHeader {
    /// Source and destination address, which determine the version of IP.
    pub addresses: IpAddresses,
    /// Protocol of the payload: 6 TCP, 17 UDP, 33 DCCP.
    pub protocol: u8,
    /// Differentiated services codepoint, 0 to 63 (RFC 2474).
    pub dscp: u8,
    /// ECN codepoint (RFC 3168).
    pub ecn: Ecn,
    /// TTL (IPv4) or hop limit (IPv6).
    pub hop_limit: u8,
    /// IPv4's DF bit. IPv6 routers never fragment.
    pub dont_fragment: bool,
    /// IPv4's identification, unused in packets with DF (RFC 6864).
    pub identification: u16,
}

/// Reason why an IP packet cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum IpError {
    /// The payload exceeds the length field.
    #[error("a payload of {len} bytes exceeds an IP packet; expected at most {max} bytes")]
    TooLong {
        /// Length of the payload, in bytes.
        len: usize,
        /// Maximum length of the payload, in bytes.
        max: usize,
    },
    /// The DSCP has more than six bits.
    #[error("DSCP {dscp} is out of range; expected 0 to 63")]
    Dscp {
        /// DSCP that is out of range.
        dscp: u8,
    },
}

impl IpHeader {
    /// Writes an IP packet with this header and `payload` into `packet`, replacing its contents.
    ///
    /// # Errors
    /// See [`IpError`].
    pub fn write(&self, payload: &[u8], packet: &mut Vec<u8>) -> Result<(), IpError> {
        const MAX_LENGTH: usize = u16::MAX as usize;
        let (len, dscp) = (payload.len(), self.dscp);
        if dscp > 63 {
            return Err(IpError::Dscp { dscp });
        }
        let header_in_length = if matches!(self.addresses, IpAddresses::V4 { .. }) { 20 } else { 0 };
        let max = MAX_LENGTH - header_in_length;
        let length = u16::try_from(len + header_in_length).map_err(|_| IpError::TooLong { len, max })?;
        let traffic_class = dscp << 2 | self.ecn as u8;
        packet.clear();
        match self.addresses {
            IpAddresses::V4 { source, destination } => {
                packet.extend([0x45, traffic_class]);
                packet.extend(length.to_be_bytes());
                packet.extend(self.identification.to_be_bytes());
                packet.extend([u8::from(self.dont_fragment) << 6, 0, self.hop_limit, self.protocol, 0, 0]);
                packet.extend(source.octets());
                packet.extend(destination.octets());
                let checksum = checksum(packet);
                packet[10..12].copy_from_slice(&checksum.to_be_bytes());
            }
            IpAddresses::V6 { source, destination } => {
                packet.extend([0x60 | traffic_class >> 4, traffic_class << 4, 0, 0]);
                packet.extend(length.to_be_bytes());
                packet.extend([self.protocol, self.hop_limit]);
                packet.extend(source.octets());
                packet.extend(destination.octets());
            }
        }
        packet.extend(payload);
        Ok(())
    }
}

/// Returns the Internet checksum (RFC 1071) of a header of even length.
fn checksum(header: &[u8]) -> u16 {
    let (words, _) = header.as_chunks::<2>();
    let sum: u32 = words.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) as u16 + (folded >> 16) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: IpHeader = IpHeader {
        addresses: IpAddresses::V4 {
            source: Ipv4Addr::new(192, 168, 0, 1),
            destination: Ipv4Addr::new(192, 168, 0, 199),
        },
        protocol: 17,
        dscp: 0,
        ecn: Ecn::NotEct,
        hop_limit: 64,
        dont_fragment: true,
        identification: 0,
    };

    /// The header 4500 0073 0000 4000 4011 .. c0a8 0001 c0a8 00c7, a widely printed example, has the checksum b861.
    #[test]
    fn an_ipv4_packet_has_its_checksum() {
        let mut packet = vec![1, 2, 3];
        HEADER.write(&[7; 95], &mut packet).unwrap();
        let head = [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7];
        assert_eq!(packet, [&head[..], &[7; 95]].concat());
    }

    /// RFC 791 section 3.1 and RFC 2474 section 3: DSCP 46 is ef, with ECT(0) 0xba; 0x1234 may be fragmented. By hand:
    /// 45ba + 0014 + 1234 + 0000 + ff21 + c0a8 + 0001 + c0a8 + 00c7 = 2d93b, folded d93d; the checksum is 26c2.
    #[test]
    fn ipv4_fields_are_encoded() {
        let mut packet = vec![];
        let header = IpHeader {
            protocol: 33,
            dscp: 46,
            ecn: Ecn::Ect0,
            hop_limit: 255,
            dont_fragment: false,
            identification: 0x1234,
            ..HEADER
        };
        header.write(&[], &mut packet).unwrap();
        assert_eq!(packet[..12], [0x45, 0xba, 0, 20, 0x12, 0x34, 0, 0, 255, 33, 0x26, 0xc2]);
    }

    /// RFC 8200 section 3: version 6, traffic class, flow label 0; the length is that of the payload.
    #[test]
    fn an_ipv6_packet_is_encoded() {
        let addresses = IpAddresses::V6 {
            source: Ipv6Addr::LOCALHOST,
            destination: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2),
        };
        let mut packet = vec![];
        let header = IpHeader { addresses, protocol: 6, dscp: 46, ecn: Ecn::Ce, hop_limit: 3, ..HEADER };
        header.write(b"ab", &mut packet).unwrap();
        let mut expected = vec![0x6b, 0xb0, 0, 0, 0, 2, 6, 3];
        expected.extend([0; 15]);
        expected.extend([1, 0x20, 1, 0x0d, 0xb8]);
        expected.extend([0; 11]);
        expected.extend(b"\x02ab");
        assert_eq!(packet, expected);
    }

    #[test]
    fn long_payloads_and_wide_dscps_are_errors() {
        let (mut packet, payload) = (vec![], vec![0; 65_536]);
        let v6 = IpHeader {
            addresses: IpAddresses::V6 { source: Ipv6Addr::LOCALHOST, destination: Ipv6Addr::LOCALHOST },
            ..HEADER
        };
        assert_eq!(HEADER.write(&payload[..65_516], &mut packet), Err(IpError::TooLong { len: 65_516, max: 65_515 }));
        assert_eq!(v6.write(&payload, &mut packet), Err(IpError::TooLong { len: 65_536, max: 65_535 }));
        assert_eq!(HEADER.write(&payload[..65_515], &mut packet), Ok(()));
        assert_eq!(v6.write(&payload[..65_535], &mut packet), Ok(()));
        assert_eq!(IpHeader { dscp: 64, ..HEADER }.write(&[], &mut packet), Err(IpError::Dscp { dscp: 64 }));
    }
}
