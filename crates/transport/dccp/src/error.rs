//! Why bytes are no packet, and why a packet cannot become bytes.

use crate::PacketType;
use thiserror::Error;

/// Why bytes are not a DCCP packet.
///
/// Whatever it is, the packet is ignored: none of its options is processed, it is not acknowledged, and no Reset
/// answers it (RFC 4340 section 8.5 step 1; sections 5.1, 9.1 and 9.2). The error only tells an operator why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PacketError {
    /// Shorter than the shortest header.
    #[error("the packet ends at byte {len}; the shortest DCCP header has 12 bytes (RFC 4340 section 5.1)")]
    TooShort {
        /// Bytes there are.
        len: usize,
    },
    /// The type is one of the reserved numbers.
    #[error("byte 8: packet type {number} is reserved; known are 0 (Request) to 10 (Listen) (RFC 4340 section 5.1)")]
    UnknownType {
        /// The type, 11 to 15.
        number: u8,
    },
    /// X = 0 on a type that must have 48-bit numbers.
    #[error("byte 8: a {kind} has X = 0; only Data, Ack and DataAck may (RFC 4340 section 5.1)")]
    ShortNumbers {
        /// The packet's type.
        kind: PacketType,
    },
    /// The data would begin inside the header.
    #[error(
        "byte 4: Data Offset is {offset} words, but the header of this {kind} has {minimum} (RFC 4340 section 5.1)"
    )]
    DataOffsetTooSmall {
        /// The packet's type.
        kind: PacketType,
        /// Data Offset, in 32-bit words.
        offset: u8,
        /// The words that this type needs.
        minimum: usize,
    },
    /// The data would begin behind the packet.
    #[error("byte 4: Data Offset is {offset} words, but the packet ends at byte {len} (RFC 4340 section 5.1)")]
    DataOffsetTooLarge {
        /// Data Offset, in 32-bit words.
        offset: u8,
        /// Bytes of the packet.
        len: usize,
    },
    /// More data is to be covered than there is.
    #[error("byte 5: CsCov {cscov} covers {} bytes of data, but there are {data_len} (RFC 4340 section 9.2)", (cscov - 1) * 4)]
    Coverage {
        /// CsCov, 2 to 15.
        cscov: u8,
        /// Bytes of application data.
        data_len: usize,
    },
    /// The checksum is wrong.
    #[error("byte 6: the checksum is {found:#06x}; it should be {wanted:#06x} (RFC 4340 section 9.1)")]
    Checksum {
        /// What the packet says.
        found: u16,
        /// What its bytes and addresses give.
        wanted: u16,
    },
}

/// Why a UDP datagram does not carry a DCCP packet. It is dropped (RFC 6773 section 3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DatagramError {
    /// Too short for both headers.
    #[error("the datagram ends at byte {len}; UDP and the shortest DCCP header have 20 bytes (RFC 6773 section 3.3)")]
    TooShort {
        /// Bytes there are.
        len: usize,
    },
    /// The UDP length does not fit.
    #[error("byte 4: the UDP length is {length}; it should be 20 to {available} (RFC 6773 section 3.3)")]
    Length {
        /// What the UDP header says.
        length: u16,
        /// Bytes there are, with the UDP header.
        available: usize,
    },
    /// The UDP checksum is missing.
    #[error("byte 6: the UDP checksum is zero, which UDP that carries DCCP must not have (RFC 6773 section 3.3)")]
    NoChecksum,
    /// The UDP checksum is wrong.
    #[error("byte 6: the UDP checksum is {found:#06x}; it should be {wanted:#06x} (RFC 6773 section 3.3)")]
    Checksum {
        /// What the datagram says.
        found: u16,
        /// What its bytes and addresses give.
        wanted: u16,
    },
    /// What it carries is no packet.
    #[error("behind the UDP header: {0}")]
    Packet(#[from] PacketError),
}

/// Why a packet or an option cannot be written: the caller's mistake, or a buffer that is too small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// The buffer is too small.
    #[error("{needed} bytes are needed, but the buffer has {available}")]
    NoRoom {
        /// Bytes needed.
        needed: usize,
        /// Bytes there are.
        available: usize,
    },
    /// Data Offset cannot say where the data begins.
    #[error("the header would have {len} bytes; with all options it has 1020 at most (RFC 4340 section 5.1)")]
    HeaderTooLong {
        /// Bytes of the header with its options.
        len: usize,
    },
    /// The packet is longer than a datagram can be.
    #[error("the packet would have {len} bytes; the length in checksums and in UDP has 16 bits: {most} at most")]
    PacketTooLong {
        /// Bytes of the packet.
        len: usize,
        /// The most that are allowed.
        most: usize,
    },
    /// A short sequence number on a type that must have a long one.
    #[error("a {kind} must have 48-bit sequence numbers (RFC 4340 section 5.1)")]
    ShortNumbers {
        /// The packet's type.
        kind: PacketType,
    },
    /// More data is to be covered than there is.
    #[error("CsCov {cscov} covers {} bytes of data, but there are {data_len} (RFC 4340 section 9.2)", (cscov - 1) * 4)]
    Coverage {
        /// CsCov, 2 to 15.
        cscov: u8,
        /// Bytes of application data.
        data_len: usize,
    },
    /// The option's data is too long for its length byte.
    #[error("option {option} would have {len} bytes of data; an option has 253 at most (RFC 4340 section 5.8)")]
    OptionTooLong {
        /// The option's type.
        option: u8,
        /// Bytes of data.
        len: usize,
    },
    /// The option's value has no form on the wire.
    #[error("option {option} cannot hold this: it should be {wanted}")]
    OptionValue {
        /// The option's type.
        option: u8,
        /// What would be right.
        wanted: &'static str,
    },
}
