//! The packet types of RFC 4340 section 5.1 and RFC 5596, and what each one carries.

use std::fmt;

/// The type of a packet: the four bits of RFC 4340 section 5.1, Table 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PacketType {
    /// A client opens a connection (section 5.2).
    Request = 0,
    /// The server's answer to it (section 5.3).
    Response = 1,
    /// Data without an acknowledgement (section 5.4).
    Data = 2,
    /// A pure acknowledgement (section 5.4).
    Ack = 3,
    /// Data and an acknowledgement (section 5.4).
    DataAck = 4,
    /// The server asks the client to close (section 5.5).
    CloseReq = 5,
    /// Closes the connection (section 5.5).
    Close = 6,
    /// Ends the connection, normally or not (section 5.6).
    Reset = 7,
    /// Asks the peer where it is in the sequence (section 5.7).
    Sync = 8,
    /// The answer to a Sync (section 5.7).
    SyncAck = 9,
    /// A server opens a path through middleboxes towards its client (RFC 5596 section 2.2.1).
    Listen = 10,
}

impl PacketType {
    /// Every type, in the order of its number.
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

    /// The type with this number; none for the reserved 11 to 15.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
    /// The number on the wire, 0 to 10.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }
    /// Whether packets of this type carry an acknowledgement number.
    #[must_use]
    pub const fn has_ack(self) -> bool {
        !matches!(self, Self::Request | Self::Data | Self::Listen)
    }
    /// Whether packets of this type carry a service code.
    #[must_use]
    pub const fn has_service_code(self) -> bool {
        matches!(self, Self::Request | Self::Response | Self::Listen)
    }
    /// Whether packets of this type may carry 24-bit sequence numbers (X = 0, section 5.1).
    #[must_use]
    pub const fn may_be_short(self) -> bool {
        matches!(self, Self::Data | Self::Ack | Self::DataAck)
    }
    /// Whether these are data packets in the sense of NDP Count, with or without data (section 7.7). Listen stands
    /// outside of every connection and is none.
    #[must_use]
    pub const fn is_data(self) -> bool {
        matches!(self, Self::Request | Self::Response | Self::Data | Self::DataAck)
    }
    /// Bytes of the header without options: 12 to 28. `extended` is the header's X.
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

    /// The layouts of RFC 4340 sections 5.1 to 5.7 and RFC 5596 section 2.2.1 (Data Offset of five or more).
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
