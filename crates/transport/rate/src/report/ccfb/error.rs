//! Faults of feedback packets.

use super::{CcfbBlock, FORMAT, PACKET_TYPE};
use std::fmt;

/// The reason why a feedback packet cannot be decoded or encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CcfbError {
    /// The version is not 2.
    Version(u8),
    /// The packet is another kind of RTCP packet.
    Kind {
        /// Packet type, 205 in feedback packets.
        packet_type: u8,
        /// Format, 11 in feedback packets.
        format: u8,
    },
    /// The length field differs from the length of the packet.
    Length {
        /// Length that the field states, in bytes.
        stated: usize,
        /// Length of the packet in bytes.
        bytes: usize,
    },
    /// The number of padding bytes is 0, not a multiple of 4, or larger than the packet.
    Padding(usize),
    /// The packet ends before its header, within a block, or without a timestamp.
    Truncated,
    /// A block has more packets than [`CcfbBlock::MAX_PACKETS`].
    TooManyPackets {
        /// Synchronization source of the RTP stream of the block.
        ssrc: u32,
        /// Number of packets in the block.
        count: usize,
    },
    /// A block has no packets, which [`NumReports::LastOffset`](super::NumReports::LastOffset) cannot express.
    EmptyBlock {
        /// Synchronization source of the RTP stream of the block.
        ssrc: u32,
    },
    /// The packet is longer than its length field can state.
    TooLong {
        /// Length of the packet, in bytes.
        bytes: usize,
    },
}

impl fmt::Display for CcfbError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(f, "the RTCP version is {version}; expected 2"),
            Self::Kind { packet_type, format } => write!(
                f,
                "the RTCP packet has type {packet_type} and format {format}; expected {PACKET_TYPE} and {FORMAT}"
            ),
            Self::Length { stated, bytes } => {
                write!(f, "the length field states {stated} B, but the RTCP packet has {bytes} B")
            }
            Self::Padding(padding) => {
                write!(f, "the padding has {padding} B; expected a multiple of 4 B within the packet")
            }
            Self::Truncated => f.write_str("the feedback ends within its header, a block or its timestamp"),
            Self::TooManyPackets { ssrc, count } => write!(
                f,
                "the block of stream {ssrc:#010x} has {count} packets; expected at most {}",
                CcfbBlock::MAX_PACKETS
            ),
            Self::EmptyBlock { ssrc } => {
                write!(f, "the block of stream {ssrc:#010x} is empty; with this reading of num_reports it cannot be")
            }
            Self::TooLong { bytes } => write!(f, "the feedback has {bytes} B; expected at most 262144 B"),
        }
    }
}

impl std::error::Error for CcfbError {}
