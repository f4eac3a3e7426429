//! Packet captures in pcapng format, for example for Wireshark (draft-ietf-opsawg-pcapng).
//!
//! A file has one little-endian section and an interface for each recorded direction or link. Timestamps are in ns
//! (`if_tsresol` 9), and time zero is 1970-01-01. IP packets have no link-layer header (LINKTYPE_RAW). Equal calls give
//! equal bytes on all machines: the file names no machine and no date.

use headway_units::Instant;
use std::io::{self, Write};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// IPv4 or IPv6, given by the first four bits of the packet.
const LINKTYPE_RAW: u16 = 101;

const END_OF_OPTIONS: u16 = 0;
const COMMENT: u16 = 1;
const USER_APPLICATION: u16 = 4; // of a section header
const INTERFACE_NAME: u16 = 2; // of an interface description
const TIMESTAMP_RESOLUTION: u16 = 9; // of an interface description
const FLAGS: u16 = 2; // of an enhanced packet

/// Identifier of an interface in the file of a [`PcapngWriter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PcapngInterface(u32);

/// Direction of a packet at the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum PcapngDirection {
    /// The packet is received at the interface.
    Inbound = 1,
    /// The packet is sent at the interface.
    Outbound = 2,
}

/// A recorded packet.
#[derive(Clone, Copy, Debug)]
pub struct PcapngPacket<'a> {
    /// Interface at which the packet was captured.
    pub interface: PcapngInterface,
    /// Time at which the packet was captured.
    pub at: Instant,
    /// Direction of the packet at the interface.
    pub direction: PcapngDirection,
    /// The IP packet, or its beginning.
    pub bytes: &'a [u8],
    /// Length of the whole IP packet, in bytes; at least the length of `bytes`.
    pub length: u32,
    /// Packet comment, truncated at 65535 bytes; empty for none.
    pub comment: &'a str,
}

/// Writer of a pcapng file, block by block.
#[derive(Debug)]
pub struct PcapngWriter<W> {
    out: W,
    interfaces: u32,
    block: Vec<u8>,
}

impl<W: Write> PcapngWriter<W> {
    /// Creates the writer and writes the section header.
    ///
    /// # Errors
    /// The error of `out`.
    pub fn new(out: W) -> io::Result<Self> {
        let mut writer = Self { out, interfaces: 0, block: vec![] };
        writer.begin(SECTION_HEADER);
        writer.word(BYTE_ORDER_MAGIC);
        writer.word(1); // version 1.0: major, then minor, 16 bits each
        writer.word(u32::MAX); // a section of unknown length, 64 bits
        writer.word(u32::MAX);
        writer.option(USER_APPLICATION, b"Headway");
        writer.end()?;
        Ok(writer)
    }

    /// Adds an interface with this name to the file, and returns its identifier.
    ///
    /// # Errors
    /// The error of `out`.
    pub fn interface(&mut self, name: &str) -> io::Result<PcapngInterface> {
        self.begin(INTERFACE_DESCRIPTION);
        self.word(LINKTYPE_RAW.into());
        self.word(0); // no limit on captured bytes
        self.option(INTERFACE_NAME, truncated(name));
        self.option(TIMESTAMP_RESOLUTION, &[9]);
        self.end()?;
        self.interfaces += 1;
        Ok(PcapngInterface(self.interfaces - 1))
    }

    /// Adds a packet to the file.
    ///
    /// # Errors
    /// The interface is not one of this writer, the packet is 4 GiB or longer, or `out` fails.
    pub fn packet(&mut self, packet: &PcapngPacket<'_>) -> io::Result<()> {
        let invalid = |message| io::Error::new(io::ErrorKind::InvalidInput, message);
        if packet.interface.0 >= self.interfaces {
            return Err(invalid("the packet's interface is not one of this file"));
        }
        let captured =
            u32::try_from(packet.bytes.len()).map_err(|_| invalid("a pcapng packet must be shorter than 4 GiB"))?;
        let nanos = packet.at.as_nanos();
        self.begin(ENHANCED_PACKET);
        for word in [packet.interface.0, (nanos >> 32) as u32, nanos as u32, captured, packet.length.max(captured)] {
            self.word(word);
        }
        self.padded(packet.bytes);
        self.option(FLAGS, &(packet.direction as u32).to_le_bytes());
        if !packet.comment.is_empty() {
            self.option(COMMENT, truncated(packet.comment));
        }
        self.end()
    }

    /// Returns the `out` of the writer.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Flushes and returns the `out` of the writer.
    ///
    /// # Errors
    /// The error of `out`.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn begin(&mut self, block: u32) {
        self.block.clear();
        self.word(block);
        self.word(0); // length, set by `end`
    }

    fn word(&mut self, word: u32) {
        self.block.extend(word.to_le_bytes());
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.block.extend(bytes);
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.block.extend(code.to_le_bytes());
        self.block.extend((value.len() as u16).to_le_bytes());
        self.padded(value);
    }

    fn end(&mut self) -> io::Result<()> {
        self.option(END_OF_OPTIONS, &[]);
        let length = u32::try_from(self.block.len() + 4)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a pcapng block must be shorter than 4 GiB"))?;
        self.word(length);
        self.block[4..8].copy_from_slice(&length.to_le_bytes());
        self.out.write_all(&self.block)
    }
}

/// Returns the longest prefix of a text that fits into an option.
fn truncated(text: &str) -> &[u8] {
    &text.as_bytes()[..text.floor_char_boundary(u16::MAX.into())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: String = text.lines().map(|line| line.split('#').next().unwrap()).collect();
        let digits: Vec<_> = digits.chars().filter(|c| !c.is_whitespace()).collect();
        digits.chunks(2).map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap()).collect()
    }

    /// Assembled by hand from draft-ietf-opsawg-pcapng sections 4.1 to 4.3; tshark 4.0.17 reads it without errors.
    #[test]
    fn a_file_with_two_interfaces_and_one_packet() {
        let mut writer = PcapngWriter::new(vec![]).unwrap();
        writer.interface("a-b").unwrap();
        let interface = writer.interface("b-a!").unwrap();
        writer
            .packet(&PcapngPacket {
                interface,
                at: Instant::from_nanos(0x1_0000_0002),
                direction: PcapngDirection::Outbound,
                bytes: &[0x45, 1, 2, 3, 4],
                length: 40,
                comment: "late",
            })
            .unwrap();
        let expected = "
            0a0d0d0a 2c000000 4d3c2b1a 0100 0000 ffffffffffffffff   # section header
            0400 0700 48656164776179 00  0000 0000  2c000000        # Headway
            01000000 28000000 6500 0000 00000000                    # interface 0
            0200 0300 612d62 00  0900 0100 09 000000  0000 0000  28000000
            01000000 28000000 6500 0000 00000000                    # interface 1
            0200 0400 622d6121  0900 0100 09 000000  0000 0000  28000000
            06000000 3c000000 01000000 01000000 02000000 05000000 28000000
            4501020304 000000  0200 0400 02000000  0100 0400 6c617465  0000 0000  3c000000";
        assert_eq!(writer.finish().unwrap(), hex(expected));
    }

    #[test]
    fn foreign_interfaces_are_errors_and_long_comments_are_truncated() {
        let mut other = PcapngWriter::new(vec![]).unwrap();
        let interface = other.interface("x").unwrap();
        let packet = PcapngPacket {
            interface,
            at: Instant::ZERO,
            direction: PcapngDirection::Inbound,
            bytes: &[],
            length: 0,
            comment: &"ä".repeat(40_000),
        };
        let mut writer = PcapngWriter::new(vec![]).unwrap();
        let error = writer.packet(&packet).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        // The comment is truncated between two characters.
        let before = other.finish().unwrap().len();
        let mut other = PcapngWriter::new(vec![]).unwrap();
        other.interface("x").unwrap();
        other.packet(&packet).unwrap();
        assert_eq!(other.finish().unwrap().len() - before, 28 + 8 + 4 + 65_536 + 4 + 4);
    }
}
