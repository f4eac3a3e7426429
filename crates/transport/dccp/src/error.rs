//! Errors of decoding and encoding packets.

use crate::PacketType;
use thiserror::Error;

/// Reason why bytes are not a DCCP packet.
///
/// Such a packet is ignored: its options are not processed, it is not acknowledged, and no Reset answers it (RFC 4340
/// section 8.5 step 1; sections 5.1, 9.1 and 9.2). The error is only for diagnosis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PacketError {
    /// The packet is shorter than the shortest header.
    #[error("the packet ends at byte {len}; the shortest DCCP header has 12 bytes (RFC 4340 section 5.1)")]
    TooShort {
        /// Size of the packet, in bytes.
        len: usize,
    },
    /// The packet type is reserved.
    #[error("byte 8: packet type {number} is reserved; expected 0 (Request) to 10 (Listen) (RFC 4340 section 5.1)")]
    UnknownType {
        /// Packet type, 11 to 15.
        number: u8,
    },
    /// The sequence numbers have 24 bits (X = 0) on a packet type that requires 48-bit ones.
    #[error("byte 8: X is 0 on a {kind} packet; expected 1, except on Data, Ack and DataAck (RFC 4340 section 5.1)")]
    ShortNumbers {
        /// Packet type.
        kind: PacketType,
    },
    /// Data Offset, the length of the header with options, is below that of the header without options.
    #[error(
        "byte 4: Data Offset is {offset} words; the header of a {kind} packet has {minimum} (RFC 4340 section 5.1)"
    )]
    DataOffsetTooSmall {
        /// Packet type.
        kind: PacketType,
        /// Data Offset, in 32-bit words.
        offset: u8,
        /// Header length of this type, in 32-bit words.
        minimum: usize,
    },
    /// Data Offset, the length of the header with options, exceeds the packet.
    #[error("byte 4: Data Offset is {offset} words; the packet ends at byte {len} (RFC 4340 section 5.1)")]
    DataOffsetTooLarge {
        /// Data Offset, in 32-bit words.
        offset: u8,
        /// Size of the packet, in bytes.
        len: usize,
    },
    /// The checksum coverage (CsCov) exceeds the application data.
    #[error("byte 5: CsCov {cscov} covers {} bytes of data; the packet has {data_len} (RFC 4340 section 9.2)", (cscov - 1) * 4)]
    Coverage {
        /// CsCov, 2 to 15.
        cscov: u8,
        /// Size of the application data, in bytes.
        data_len: usize,
    },
    /// The checksum is wrong.
    #[error("byte 6: the checksum is {found:#06x}; expected {wanted:#06x} (RFC 4340 section 9.1)")]
    Checksum {
        /// Checksum in the packet.
        found: u16,
        /// Checksum computed from its bytes and addresses.
        wanted: u16,
    },
}

/// Reason why a UDP datagram carries no valid DCCP packet. The datagram is dropped (RFC 6773 section 3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DatagramError {
    /// The datagram is shorter than a UDP header and the shortest DCCP header.
    #[error("the datagram ends at byte {len}; UDP and the shortest DCCP header have 20 bytes (RFC 6773 section 3.3)")]
    TooShort {
        /// Size of the datagram, in bytes.
        len: usize,
    },
    /// The length in the UDP header is invalid.
    #[error("byte 4: the UDP length is {length}; expected 20 to {available} (RFC 6773 section 3.3)")]
    Length {
        /// Length in the UDP header, in bytes.
        length: u16,
        /// Size of the datagram with its UDP header, in bytes.
        available: usize,
    },
    /// The UDP checksum is missing.
    #[error("byte 6: the UDP checksum is zero; DCCP over UDP requires one (RFC 6773 section 3.3)")]
    NoChecksum,
    /// The UDP checksum is wrong.
    #[error("byte 6: the UDP checksum is {found:#06x}; expected {wanted:#06x} (RFC 6773 section 3.3)")]
    Checksum {
        /// Checksum in the datagram.
        found: u16,
        /// Checksum computed from its bytes and addresses.
        wanted: u16,
    },
    /// The payload is not a DCCP packet.
    #[error("after the UDP header: {0}")]
    Packet(#[from] PacketError),
}

/// Reason why a packet or an option cannot be encoded: an invalid value, or a small buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// The buffer is too small.
    #[error("{needed} bytes are needed, but the buffer has {available}")]
    NoRoom {
        /// Number of bytes needed.
        needed: usize,
        /// Size of the buffer, in bytes.
        available: usize,
    },
    /// The header exceeds the range of Data Offset.
    #[error("the header needs {len} bytes with its options; the maximum is 1020 (RFC 4340 section 5.1)")]
    HeaderTooLong {
        /// Size of the header with its options, in bytes.
        len: usize,
    },
    /// The packet exceeds the maximum size of a datagram.
    #[error("the packet needs {len} bytes; the maximum is {most}, since lengths in checksums and UDP have 16 bits")]
    PacketTooLong {
        /// Size of the packet, in bytes.
        len: usize,
        /// Maximum size, in bytes.
        most: usize,
    },
    /// The sequence number has 24 bits on a packet type that requires 48.
    #[error("{kind} packets need 48-bit sequence numbers (RFC 4340 section 5.1)")]
    ShortNumbers {
        /// Packet type.
        kind: PacketType,
    },
    /// The checksum coverage (CsCov) exceeds the application data.
    #[error("CsCov {cscov} covers {} bytes of data; the packet has {data_len} (RFC 4340 section 9.2)", (cscov - 1) * 4)]
    Coverage {
        /// CsCov, 2 to 15.
        cscov: u8,
        /// Size of the application data, in bytes.
        data_len: usize,
    },
    /// The data of an option exceeds its maximum.
    #[error("option {option} needs {len} bytes of data; the maximum is 253 (RFC 4340 section 5.8)")]
    OptionTooLong {
        /// Option type.
        option: u8,
        /// Size of the data, in bytes.
        len: usize,
    },
    /// The value of an option cannot be encoded.
    #[error("option {option} cannot encode the value; expected {wanted}")]
    OptionValue {
        /// Option type.
        option: u8,
        /// Valid values.
        wanted: &'static str,
    },
}
