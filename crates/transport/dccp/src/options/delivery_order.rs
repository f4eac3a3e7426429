//! Position of a datagram in its stream: an experimental option (RFC 4340 section 5.8 reserves types 120 to 126).
//!
//! A retransmitted datagram has a new sequence number. This option states its place among the datagrams of its stream,
//! and which earlier ones may still arrive, so that a receiver can restore the order and knows what to wait for.

/// Position of a datagram in its stream, and the number of positions before it that may still be filled.
///
/// The data of the option is 5 bytes: stream, index and awaited, in network byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryOrder {
    /// Stream whose datagrams are kept in order: the priority of the datagram.
    pub stream: u8,
    /// Position in the stream, from 0 on, modulo 2^16. A retransmission has the position of the original.
    pub index: u16,
    /// Distance to the oldest position that may still arrive, at most [`MAX_AWAITED`](Self::MAX_AWAITED) positions; 0 if
    /// no earlier one will. The sender has given up what is older.
    pub awaited: u16,
}

impl DeliveryOrder {
    /// Greatest distance to an awaited position: half of the range of the index.
    pub const MAX_AWAITED: u16 = (1 << 15) - 1;

    /// Returns the data of the option.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 5] {
        let ([i, j], [a, b]) = (self.index.to_be_bytes(), self.awaited.to_be_bytes());
        [self.stream, i, j, a, b]
    }

    /// Decodes the data of the option; `None` if it has another length.
    pub(crate) fn decode(data: &[u8]) -> Option<Self> {
        let [stream, i, j, a, b] = *data else { return None };
        let awaited = u16::from_be_bytes([a, b]).min(Self::MAX_AWAITED);
        Some(Self { stream, index: u16::from_be_bytes([i, j]), awaited })
    }
}
