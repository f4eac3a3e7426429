//! RTCP Congestion Control Feedback packets (RFC 8888): the arrivals of RTP packets, per stream.
//!
//! ```text
//! 0                   1                   2                   3
//! 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! |V=2|P| FMT=11  |   PT = 205    |          length               |
//! |                 SSRC of RTCP packet sender                    |
//! |                   SSRC of a RTP stream                        | for each stream
//! |          begin_seq            |          num_reports          |
//! |R|ECN|  arrival time offset    | ...                           |
//! |                 report timestamp (32 bits)                    | 1/65536 s
//! ```
//!
//! [`CcfbPacket`] is the packet. [`CcfbLog`] records the arrivals of one stream at the receiver and makes its blocks.

mod error;
mod log;
#[cfg(test)]
mod tests;

pub use error::CcfbError;
pub use log::CcfbLog;

use super::TimedArrival;

/// Version in the first two bits, and the format in the last five (RFC 4585 section 6.1).
const VERSION: u8 = 2;
const FORMAT: u8 = 11;
/// Transport-Layer Feedback Message.
const PACKET_TYPE: u8 = 205;
const PADDING: u8 = 1 << 5;
/// Header with the SSRC of its sender.
const HEADER_BYTES: usize = 8;
const TIMESTAMP_BYTES: usize = 4;

/// Meaning of the field `num_reports` of a block in a feedback packet of RFC 8888.
///
/// RFC 8888 section 3.1 says that a block covers the packets "`begin_seq` to `begin_seq+num_reports` inclusive", and
/// also that a block with `num_reports` 0 covers no packet. Implementations differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NumReports {
    /// The field contains the number of packets. libwebrtc, pion and webrtc-rs write and read this form.
    #[default]
    Count,
    /// The field contains the number of packets minus one. Ericsson's SCReAM writes and reads this form. A block cannot
    /// be empty.
    LastOffset,
}

/// Block of a feedback packet (RFC 8888): the arrivals of one RTP stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CcfbBlock {
    /// Synchronization source of the stream.
    pub ssrc: u32,
    /// RTP sequence number of the first packet.
    pub begin_seq: u16,
    /// States of the packets `begin_seq`, `begin_seq + 1`, ..., modulo 2^16.
    pub arrivals: Vec<TimedArrival>,
}

/// RTCP Congestion Control Feedback packet (RFC 8888).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CcfbPacket {
    /// Synchronization source of the sender of this packet.
    pub sender_ssrc: u32,
    /// One block per stream.
    pub blocks: Vec<CcfbBlock>,
    /// Time to which [`TimedArrival::Received::before`] refers, in 1/65536 s: the middle 32 bits of an NTP timestamp.
    /// Wraps after 18.2 h; [`Wrapped`](crate::Wrapped) extends it.
    pub report_timestamp: u32,
}

impl CcfbBlock {
    /// Largest number of packets in a block: a quarter of the sequence numbers.
    pub const MAX_PACKETS: usize = 16_384;
    /// Size of a block without packets, in bytes.
    pub const HEADER_BYTES: usize = 8;

    /// Returns the encoded size of the block in bytes, with padding to 32 bits.
    #[must_use]
    pub const fn encoded_bytes(&self) -> usize {
        Self::HEADER_BYTES + 4 * self.arrivals.len().div_ceil(2)
    }
}

impl CcfbPacket {
    /// Size of a feedback packet without blocks, in bytes.
    pub const EMPTY_BYTES: usize = HEADER_BYTES + TIMESTAMP_BYTES;

    /// Appends the encoded packet to `buffer`. `reading` is the meaning of `num_reports` that the peer expects.
    ///
    /// # Errors
    /// A block with more than [`CcfbBlock::MAX_PACKETS`] packets, an empty block under [`NumReports::LastOffset`], or
    /// more than 256 KiB in total. `buffer` is then unchanged.
    pub fn encode(&self, reading: NumReports, buffer: &mut Vec<u8>) -> Result<(), CcfbError> {
        let bytes = Self::EMPTY_BYTES + self.blocks.iter().map(CcfbBlock::encoded_bytes).sum::<usize>();
        let length = u16::try_from(bytes / 4 - 1).map_err(|_| CcfbError::TooLong { bytes })?;
        for block in &self.blocks {
            reading.field(block)?;
        }
        buffer.reserve(bytes);
        buffer.extend([VERSION << 6 | FORMAT, PACKET_TYPE]);
        buffer.extend(length.to_be_bytes());
        buffer.extend(self.sender_ssrc.to_be_bytes());
        for block in &self.blocks {
            buffer.extend(block.ssrc.to_be_bytes());
            buffer.extend(block.begin_seq.to_be_bytes());
            buffer.extend(reading.field(block)?.to_be_bytes());
            buffer.extend(block.arrivals.iter().flat_map(|arrival| arrival.word().to_be_bytes()));
            if block.arrivals.len() % 2 == 1 {
                buffer.extend([0, 0]);
            }
        }
        buffer.extend(self.report_timestamp.to_be_bytes());
        Ok(())
    }

    /// Decodes one RTCP packet, without the other packets of a compound one. `reading` is the meaning of `num_reports`
    /// that the peer uses. Ignores the value of padding.
    ///
    /// A peer with the other reading of `num_reports` is usually detected: if it reports an even number of packets, its
    /// length differs. If it reports an odd number, its packets are decoded without the last one, or with one more that
    /// is not received.
    ///
    /// # Errors
    /// The first fault of the packet.
    pub fn decode(bytes: &[u8], reading: NumReports) -> Result<Self, CcfbError> {
        let mut rest = checked(bytes)?;
        let Some((sender_ssrc, after)) = number(rest) else { return Err(CcfbError::Truncated) };
        rest = after;
        let mut blocks = Vec::new();
        while rest.len() > TIMESTAMP_BYTES {
            let block = rest.split_first_chunk::<{ CcfbBlock::HEADER_BYTES }>().ok_or(CcfbError::Truncated)?;
            let ([s0, s1, s2, s3, b0, b1, n0, n1], after) = block;
            let ssrc = u32::from_be_bytes([*s0, *s1, *s2, *s3]);
            let count = reading.packets(u16::from_be_bytes([*n0, *n1]));
            if count > CcfbBlock::MAX_PACKETS {
                return Err(CcfbError::TooManyPackets { ssrc, count });
            }
            let (words, after) = after.split_at_checked(4 * count.div_ceil(2)).ok_or(CcfbError::Truncated)?;
            let (words, _) = words.as_chunks();
            let arrivals = words.iter().take(count).map(|word| TimedArrival::of_word(u16::from_be_bytes(*word)));
            blocks.push(CcfbBlock { ssrc, begin_seq: u16::from_be_bytes([*b0, *b1]), arrivals: arrivals.collect() });
            rest = after;
        }
        let Some((report_timestamp, [])) = number(rest) else { return Err(CcfbError::Truncated) };
        Ok(Self { sender_ssrc, blocks, report_timestamp })
    }
}

impl NumReports {
    fn field(self, block: &CcfbBlock) -> Result<u16, CcfbError> {
        let (ssrc, count) = (block.ssrc, block.arrivals.len());
        let too_many = CcfbError::TooManyPackets { ssrc, count };
        if count > CcfbBlock::MAX_PACKETS {
            return Err(too_many);
        }
        let field = match self {
            Self::Count => count,
            Self::LastOffset => count.checked_sub(1).ok_or(CcfbError::EmptyBlock { ssrc })?,
        };
        u16::try_from(field).map_err(|_| too_many)
    }

    fn packets(self, field: u16) -> usize {
        usize::from(field) + usize::from(self == Self::LastOffset)
    }
}

/// Checks the first 32 bits (RFC 3550 section 6.4.1, RFC 4585 section 6.1). Returns what follows, without padding.
fn checked(bytes: &[u8]) -> Result<&[u8], CcfbError> {
    let ([first, packet_type, l0, l1], rest) = bytes.split_first_chunk().ok_or(CcfbError::Truncated)?;
    if first >> 6 != VERSION {
        return Err(CcfbError::Version(first >> 6));
    }
    if (*packet_type, first & 0x1f) != (PACKET_TYPE, FORMAT) {
        return Err(CcfbError::Kind { packet_type: *packet_type, format: first & 0x1f });
    }
    let stated = 4 * (usize::from(u16::from_be_bytes([*l0, *l1])) + 1);
    if stated != bytes.len() {
        return Err(CcfbError::Length { stated, bytes: bytes.len() });
    }
    if first & PADDING == 0 {
        return Ok(rest);
    }
    // The last octet counts the padding, itself included.
    let padding = usize::from(rest.last().copied().unwrap_or_default());
    let kept = rest.len().checked_sub(padding).filter(|_| padding > 0 && padding % 4 == 0);
    kept.and_then(|kept| rest.get(..kept)).ok_or(CcfbError::Padding(padding))
}

fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    bytes.split_first_chunk().map(|(number, rest)| (u32::from_be_bytes(*number), rest))
}
