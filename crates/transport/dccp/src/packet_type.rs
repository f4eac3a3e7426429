//! Packet types of RFC 4340 section 5.1 and RFC 5596, and their fields.

use std::fmt;

/// Packet type: the four bits of RFC 4340 section 5.1, Table 1, and Listen of RFC 5596.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PacketType {
    /// Client's request for a connection (RFC 4340 section 5.2).
    Request = 0,
    /// Server's answer to a Request (RFC 4340 section 5.3).
    Response = 1,
    /// Data without an acknowledgement (RFC 4340 section 5.4).
    Data = 2,
    /// Acknowledgement without data (RFC 4340 section 5.4).
    Ack = 3,
    /// Data and an acknowledgement (RFC 4340 section 5.4).
    DataAck = 4,
    /// Server's request to close (RFC 4340 section 5.5).
    CloseReq = 5,
    /// Close of the connection (RFC 4340 section 5.5).
    Close = 6,
    /// End of the connection, normal or abnormal (RFC 4340 section 5.6).
    Reset = 7,
    /// Request to synchronize sequence numbers (RFC 4340 section 5.7).
    Sync = 8,
    /// Answer to a Sync (RFC 4340 section 5.7).
    SyncAck = 9,
    /// Server's packet that opens a middlebox path towards its client (RFC 5596 section 2.2.1).
    Listen = 10,
}

impl PacketType {
    /// All types, in the order of their numbers.
    pub const ALL: [Self; 11] = [
        Self::Request,
        Self::Response,
        Self::Data,
        Self::Ack,
        Self::DataAck,
        Self::CloseReq,
        Self::Close,
        Self::Reset,
        Self::Sync,
        Self::SyncAck,
        Self::Listen,
    ];

    /// Returns the type with this number; `None` for 11 and above.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
    /// Returns the number on the wire, 0 to 10.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }
    /// Returns whether packets of this type carry an acknowledgement number.
    #[must_use]
    pub const fn has_ack(self) -> bool {
        !matches!(self, Self::Request | Self::Data | Self::Listen)
    }
    /// Returns whether packets of this type carry a service code.
    #[must_use]
    pub const fn has_service_code(self) -> bool {
        matches!(self, Self::Request | Self::Response | Self::Listen)
    }
    /// Returns whether packets of this type may carry 24-bit sequence numbers (X = 0, RFC 4340 section 5.1).
    #[must_use]
    pub const fn may_be_short(self) -> bool {
        matches!(self, Self::Data | Self::Ack | Self::DataAck)
    }
    /// Returns whether packets of this type count as data packets for NDP Count, even if they carry no data (RFC 4340
    /// section 7.7). Listen belongs to no connection and is not one.
    #[must_use]
    pub const fn is_data(self) -> bool {
        matches!(self, Self::Request | Self::Response | Self::Data | Self::DataAck)
    }
    /// Returns the size of the header without options, 12 to 28 bytes. `extended` is the X bit.
    #[must_use]
    pub const fn header_len(self, extended: bool) -> usize {
        let (generic, ack) = if extended { (16, 8) } else { (12, 4) };
        match self {
            Self::Data => generic,
            Self::Request | Self::Listen => generic + 4,
            Self::Response | Self::Reset => generic + ack + 4,
            Self::Ack | Self::DataAck | Self::CloseReq | Self::Close | Self::Sync | Self::SyncAck => generic + ack,
        }
    }
}

impl fmt::Display for PacketType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Layouts of RFC 4340 sections 5.1 to 5.7 and RFC 5596 section 2.2.1 (Data Offset of five or more).
    #[test]
    fn shortest_headers() {
        let long = PacketType::ALL.map(|kind| kind.header_len(true));
        assert_eq!(long, [20, 28, 16, 24, 24, 24, 24, 28, 24, 24, 20]);
        let short = [PacketType::Data, PacketType::Ack, PacketType::DataAck].map(|kind| kind.header_len(false));
        assert_eq!(short, [12, 16, 16]);
    }

    #[test]
    fn numbers_are_those_of_table_1() {
        for number in 0..=255 {
            let kind = PacketType::from_number(number);
            assert_eq!(kind.map(PacketType::number), (number <= 10).then_some(number));
        }
    }
}
