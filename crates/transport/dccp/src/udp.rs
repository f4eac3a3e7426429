//! DCCP inside UDP (RFC 6773).

use crate::checksum::{Addresses, Network, UDP};
use crate::number::SequenceNumber;
use crate::{DatagramError, Decoded, EncodeError, Packet};

/// Default UDP port of a server that receives all DCCP connections of a host (RFC 6773 section 3.8). The server of a
/// single application should listen on another port and announce it by other means.
pub const UDP_PORT: u16 = 6511;

/// Size of the UDP header, in bytes, which reduces the payload of a packet (RFC 6773 section 3.7).
pub const UDP_HEADER_LEN: usize = 8;

/// UDP ports of an encapsulated packet. With the addresses and the DCCP ports they identify its
/// connection (RFC 6773 section 3.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UdpPorts {
    /// UDP port of the sender.
    pub source: u16,
    /// UDP port of the receiver.
    pub destination: u16,
}

impl UdpPorts {
    /// Decodes a UDP datagram with its header. A payload received from a socket is decoded by
    /// [`Packet::decode`] with [`Network::Udp`].
    ///
    /// # Errors
    ///
    /// The reason why the datagram must be dropped (RFC 6773 section 3.3).
    pub fn decode(datagram: &[u8], addresses: Addresses) -> Result<(Self, Decoded<'_>), DatagramError> {
        let available = datagram.len();
        let header = datagram.first_chunk::<8>().ok_or(DatagramError::TooShort { len: available })?;
        let [source, destination, length, found] =
            [0, 2, 4, 6].map(|at| u16::from_be_bytes([header[at], header[at + 1]]));
        if available < UDP_HEADER_LEN + 12 {
            return Err(DatagramError::TooShort { len: available });
        }
        let datagram = datagram.get(..usize::from(length)).filter(|_| length >= 20);
        let datagram = datagram.ok_or(DatagramError::Length { length, available })?;
        // DCCP has no checksum inside UDP, so UDP must have one (RFC 6773 section 3.1).
        if found == 0 {
            return Err(DatagramError::NoChecksum);
        }
        let sum = u16::from_be_bytes(addresses.sum(UDP, length.into(), datagram));
        if sum != 0xffff {
            let (without, carry) = sum.overflowing_add(!found);
            return Err(DatagramError::Checksum { found, wanted: never_zero(!(without + u16::from(carry))) });
        }
        Ok((Self { source, destination }, Packet::decode(&datagram[UDP_HEADER_LEN..], Network::Udp)?))
    }

    /// Encodes a UDP datagram with `packet` at the start of `buffer`, and returns its size.
    ///
    /// # Errors
    ///
    /// Like [`Packet::encode`].
    pub fn encode<N: SequenceNumber>(
        &self,
        packet: &Packet<'_, N>,
        addresses: Addresses,
        buffer: &mut [u8],
    ) -> Result<usize, EncodeError> {
        let (len, available) = (UDP_HEADER_LEN + packet.encoded_len(), buffer.len());
        let most = usize::from(u16::MAX) - UDP_HEADER_LEN;
        let length = u16::try_from(len).map_err(|_| EncodeError::PacketTooLong { len: len - UDP_HEADER_LEN, most })?;
        let datagram = buffer.get_mut(..len).ok_or(EncodeError::NoRoom { needed: len, available })?;
        packet.encode(&mut datagram[UDP_HEADER_LEN..], Network::Udp)?;
        for (at, word) in [(0, self.source), (2, self.destination), (4, length), (6, 0)] {
            datagram[at..at + 2].copy_from_slice(&word.to_be_bytes());
        }
        let checksum = never_zero(u16::from_be_bytes(addresses.checksum(UDP, length.into(), datagram)));
        datagram[6..8].copy_from_slice(&checksum.to_be_bytes());
        Ok(len)
    }
}

/// Maps zero, which would mean no checksum, to all ones, the same number in one's complement (RFC 768).
const fn never_zero(checksum: u16) -> u16 {
    if checksum == 0 { 0xffff } else { checksum }
}
