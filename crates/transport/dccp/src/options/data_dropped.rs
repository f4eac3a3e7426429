//! Data Dropped (RFC 4340 section 11.7): received packets whose data did not reach the application, or arrived corrupt.

use headway_units::Seq48;
use std::fmt;

/// Data of a Data Dropped option. More than 253 blocks continue in the next option of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataDropped<'a>(&'a [u8]);

/// Reason why data was dropped, 0 to 7; 4 to 6 are reserved (RFC 4340 section 11.7, Table 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DropCode(u8);

impl DropCode {
    /// Data was not allowed, or the checksum covered too little of it.
    pub const PROTOCOL_CONSTRAINTS: Self = Self(0);
    /// The application does not listen.
    pub const APPLICATION_NOT_LISTENING: Self = Self(1);
    /// A receive buffer was full.
    pub const RECEIVE_BUFFER: Self = Self(2);
    /// The data was corrupt.
    pub const CORRUPT: Self = Self(3);
    /// The data was corrupt and was delivered.
    pub const DELIVERED_CORRUPT: Self = Self(7);

    /// Creates the Drop Code with this number; `None` above 7.
    #[must_use]
    pub const fn new(number: u8) -> Option<Self> {
        if number < 8 { Some(Self(number)) } else { None }
    }
    /// Returns the number of the Drop Code, 0 to 7.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }
    /// Returns whether the code counts like an ECN mark: 3 to 7 (section 11.7.2).
    pub(crate) const fn counts_as_mark(self) -> bool {
        self.0 >= 3
    }
}

impl fmt::Display for DropCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Self::PROTOCOL_CONSTRAINTS => "Protocol Constraints",
            Self::APPLICATION_NOT_LISTENING => "Application Not Listening",
            Self::RECEIVE_BUFFER => "Receive Buffer",
            Self::CORRUPT => "Corrupt",
            Self::DELIVERED_CORRUPT => "Delivered Corrupt",
            Self(number) => return write!(f, "Reserved {number}"),
        })
    }
}

/// Consecutive packets with equal state: one block of a Data Dropped option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DropRun {
    /// Reason why the data was dropped; `None` in a Normal Block, whose received data was delivered.
    pub code: Option<DropCode>,
    /// Number of packets: 1 to 128 in a Normal Block, 1 to 16 in a Drop Block.
    pub packets: u8,
}

impl DropRun {
    /// Decodes a block of a Data Dropped option, which is one byte.
    #[must_use]
    pub const fn from_byte(byte: u8) -> Self {
        if byte < 128 {
            Self { code: None, packets: byte + 1 }
        } else {
            Self { code: Some(DropCode(byte >> 4 & 7)), packets: (byte & 15) + 1 }
        }
    }
    /// Encodes the block as a byte of a Data Dropped option; `None` if `packets` is out of range.
    #[must_use]
    pub const fn to_byte(self) -> Option<u8> {
        match (self.code, self.packets) {
            (None, 1..=128) => Some(self.packets - 1),
            (Some(DropCode(code)), 1..=16) => Some(128 | code << 4 | (self.packets - 1)),
            _ => None,
        }
    }
}

impl<'a> DataDropped<'a> {
    /// Creates the option from bytes of [`DropRun::to_byte`].
    #[must_use]
    pub const fn new(blocks: &'a [u8]) -> Self {
        Self(blocks)
    }
    /// Returns the blocks as bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.0
    }
    /// Returns the blocks, newest first.
    pub fn runs(&self) -> impl Iterator<Item = DropRun> + use<'a> {
        self.0.iter().map(|byte| DropRun::from_byte(*byte))
    }
    /// Returns the packets whose data was dropped, with the reason, from `newest` down. `newest` is
    /// the packet's acknowledgement number for the first Data Dropped option, and for each later
    /// option the number below the oldest of the one before.
    pub fn dropped(&self, newest: Seq48) -> impl Iterator<Item = (Seq48, DropCode)> + use<'a> {
        let codes = self.runs().flat_map(|run| std::iter::repeat_n(run.code, run.packets.into()));
        codes.enumerate().filter_map(move |(n, code)| Some((newest - n as u64, code?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Example of RFC 4340 section 11.7: 0,160,3,162 at acknowledgement number 100. The text names
    /// packet 95 twice; by the rules the last block covers 94, 93 and 92.
    #[test]
    fn the_rfcs_example() {
        let dropped: Vec<_> = DataDropped::new(&[0, 160, 3, 162]).dropped(Seq48::new(100)).collect();
        let wanted = [99, 94, 93, 92].map(|seq| (Seq48::new(seq), DropCode::RECEIVE_BUFFER));
        assert_eq!(dropped, wanted);
    }

    #[test]
    fn every_byte_is_a_block() {
        for byte in 0..=255 {
            assert_eq!(DropRun::from_byte(byte).to_byte(), Some(byte));
        }
        assert_eq!(DropRun { code: None, packets: 129 }.to_byte(), None);
        assert_eq!(DropRun { code: Some(DropCode::CORRUPT), packets: 17 }.to_byte(), None);
    }
}
