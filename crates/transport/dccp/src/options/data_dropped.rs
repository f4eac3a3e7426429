//! Data Dropped (RFC 4340 section 11.7): received packets whose data did not reach the application as usual.

use headway_units::Seq48;
use std::fmt;

/// The data of a Data Dropped option. More blocks than 253 go on in the next option of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataDropped<'a>(&'a [u8]);

/// Why data was dropped (Table 7); 4 to 6 are reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DropCode(u8);

impl DropCode {
    /// Data was not allowed there, or too little of it was covered by the checksum.
    pub const PROTOCOL_CONSTRAINTS: Self = Self(0);
    /// The application no longer listens.
    pub const APPLICATION_NOT_LISTENING: Self = Self(1);
    /// No room in a receive buffer.
    pub const RECEIVE_BUFFER: Self = Self(2);
    /// The data was corrupt.
    pub const CORRUPT: Self = Self(3);
    /// The data was corrupt, and delivered all the same.
    pub const DELIVERED_CORRUPT: Self = Self(7);

    /// The code with this number, 0 to 7.
    #[must_use]
    pub const fn new(number: u8) -> Option<Self> {
        if number < 8 { Some(Self(number)) } else { None }
    }
    /// 0 to 7.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }
    /// Whether it counts like an ECN mark: 3 and 7, and those reserved (section 11.7.2).
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

/// Some packets in a row: a block of the option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DropRun {
    /// Why the data was dropped, or `None` in a Normal Block: what was received was delivered.
    pub code: Option<DropCode>,
    /// How many packets: 1 to 128 in a Normal Block, 1 to 16 in a Drop Block.
    pub packets: u8,
}

impl DropRun {
    /// Reads a block.
    #[must_use]
    pub const fn from_byte(byte: u8) -> Self {
        if byte < 128 {
            Self { code: None, packets: byte + 1 }
        } else {
            Self { code: Some(DropCode(byte >> 4 & 7)), packets: (byte & 15) + 1 }
        }
    }
    /// The block; `None` if it cannot hold so many packets, or holds none.
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
    /// Of bytes that [`DropRun::to_byte`] made.
    #[must_use]
    pub const fn new(blocks: &'a [u8]) -> Self {
        Self(blocks)
    }
    /// The blocks as bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.0
    }
    /// The blocks, newest first.
    pub fn runs(&self) -> impl Iterator<Item = DropRun> + use<'a> {
        self.0.iter().map(|byte| DropRun::from_byte(*byte))
    }
    /// The packets whose data was dropped, with the reason, from `newest` down: the packet's acknowledgement number for
    /// the first Data Dropped option of a packet, the number below the last one's oldest for each that follows.
    pub fn dropped(&self, newest: Seq48) -> impl Iterator<Item = (Seq48, DropCode)> + use<'a> {
        let codes = self.runs().flat_map(|run| std::iter::repeat_n(run.code, run.packets.into()));
        codes.enumerate().filter_map(move |(n, code)| Some((newest - n as u64, code?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 4340 section 11.7: 0,160,3,162 at acknowledgement number 100. The text names packet 95 twice;
    /// by the rules the last block covers 94, 93 and 92.
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
