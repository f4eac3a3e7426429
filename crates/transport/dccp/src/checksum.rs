//! Internet checksum over a pseudo-header and the part of the packet that CsCov covers (RFC 4340 section 9).

use std::net::{Ipv4Addr, Ipv6Addr};

/// Source and destination addresses of a packet, for its pseudo-header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Addresses {
    /// IPv4 addresses.
    V4 {
        /// Address of the sender.
        source: Ipv4Addr,
        /// Address of the receiver.
        destination: Ipv4Addr,
    },
    /// IPv6 addresses.
    V6 {
        /// Address of the sender.
        source: Ipv6Addr,
        /// Address of the receiver.
        destination: Ipv6Addr,
    },
}

/// Protocol below DCCP, which determines the checksum that protects the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Network {
    /// IP, protocol 33: the DCCP checksum applies.
    Ip(Addresses),
    /// UDP (RFC 6773 section 3.3): the DCCP checksum is sent as zero and ignored; the UDP checksum covers everything.
    Udp,
}

/// Checksum coverage (CsCov) of the application data, 0 to 15 (RFC 4340 section 9.2). The header
/// and its options are always covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CsCov(u8);

impl CsCov {
    /// The checksum covers all application data.
    pub const ALL: Self = Self(0);
    /// The checksum covers no application data.
    pub const NONE: Self = Self(1);

    /// Creates a coverage: 0 covers all data, `n` from 1 to 15 its first `4 * (n - 1)` bytes; `None` above 15.
    #[must_use]
    pub const fn new(number: u8) -> Option<Self> {
        if number < 16 { Some(Self(number)) } else { None }
    }
    /// Returns the value of the header field, 0 to 15.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }
    /// Returns how many of `data_len` bytes of data are covered; `None` if the coverage exceeds the data, which makes
    /// the packet invalid.
    #[must_use]
    pub const fn covered(self, data_len: usize) -> Option<usize> {
        match self.0 {
            0 => Some(data_len),
            n if (n as usize - 1) * 4 <= data_len => Some((n as usize - 1) * 4),
            _ => None,
        }
    }
}

pub(crate) const DCCP: u8 = 33;
pub(crate) const UDP: u8 = 17;

impl Addresses {
    /// Returns the folded one's complement sum of the pseudo-header and of `covered`, in network byte order. `length`
    /// is that of the whole packet, also with partial coverage. With a correct checksum field the sum is `0xffff`.
    pub(crate) fn sum(&self, protocol: u8, length: u32, covered: &[u8]) -> [u8; 2] {
        let pseudo = match self {
            Self::V4 { source, destination } => add(&source.octets()) + add(&destination.octets()),
            Self::V6 { source, destination } => add(&source.octets()) + add(&destination.octets()),
        };
        // IPv4 has a 16-bit length after the protocol, IPv6 a 32-bit length before it: the sums are equal.
        let mut sum = pseudo + add(&length.to_be_bytes()) + add(&[0, 0, 0, protocol]) + add(covered);
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        (sum as u16).to_ne_bytes()
    }

    /// Returns the value of the checksum field, which must be zero in `covered`.
    pub(crate) fn checksum(&self, protocol: u8, length: u32, covered: &[u8]) -> [u8; 2] {
        self.sum(protocol, length, covered).map(|byte| !byte)
    }
}

/// Returns the sum of 32-bit words in native byte order, padded with zeros. The byte order of a
/// one's complement sum matters only when it is folded (RFC 1071 section 2).
fn add(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    words.iter().chain([&last]).map(|word| u64::from(u32::from_ne_bytes(*word))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const V4: Addresses =
        Addresses::V4 { source: Ipv4Addr::new(192, 0, 2, 1), destination: Ipv4Addr::new(192, 0, 2, 2) };
    const V6: Addresses = Addresses::V6 {
        source: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1),
        destination: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2),
    };

    /// Sum of RFC 1071 section 3: 0001 f203 f4f5 f6f7 is ddf2.
    #[test]
    fn worked_example_of_rfc_1071() {
        let mut sum = add(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        assert_eq!((sum as u16).to_ne_bytes(), [0xdd, 0xf2]);
    }

    /// By hand: the pseudo-header c000 0201 c000 0202 0021 0024 has the sum 1_8448, folded 8449.
    #[test]
    fn pseudo_header_of_ipv4() {
        assert_eq!(V4.sum(DCCP, 36, &[]), [0x84, 0x49]);
    }

    /// RFC 4340 section 9.2.
    #[test]
    fn coverage() {
        assert_eq!(CsCov::ALL.covered(5), Some(5));
        assert_eq!(CsCov::NONE.covered(0), Some(0));
        assert_eq!(CsCov::new(3).and_then(|c| c.covered(8)), Some(8));
        assert_eq!(CsCov::new(3).and_then(|c| c.covered(7)), None);
        assert_eq!(CsCov::new(16), None);
    }

    /// Reference implementation with 16-bit words.
    fn slowly(addresses: &Addresses, protocol: u8, covered: &[u8]) -> u16 {
        let mut bytes = match addresses {
            Addresses::V4 { source, destination } => [source.octets(), destination.octets()].concat(),
            Addresses::V6 { source, destination } => [source.octets(), destination.octets()].concat(),
        };
        match addresses {
            Addresses::V4 { .. } => bytes.extend([0, protocol]),
            Addresses::V6 { .. } => bytes.extend([0, 0, 0, protocol, 0, 0]),
        }
        bytes.extend((covered.len() as u16).to_be_bytes());
        bytes.extend(covered);
        bytes.extend(vec![0; bytes.len() % 2]);
        bytes.chunks(2).fold(0, |sum: u16, pair| {
            let (sum, carry) = sum.overflowing_add(u16::from_be_bytes([pair[0], pair[1]]));
            sum + u16::from(carry)
        })
    }

    proptest! {
        #[test]
        fn the_checksum_matches_the_reference(bytes in prop::collection::vec(any::<u8>(), 0..100), six: bool) {
            let addresses = if six { V6 } else { V4 };
            let sum = addresses.sum(DCCP, bytes.len() as u32, &bytes);
            prop_assert_eq!(u16::from_be_bytes(sum), slowly(&addresses, DCCP, &bytes));
        }
    }
}
