//! RTCP packets (RFC 3550 section 6), in compound or reduced-size datagrams (RFC 5506).
//!
//! ```text
//! 0                   1                   2                   3
//! 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! |V=2|P|  count  |  packet type  |             length            | in 32-bit words, minus 1
//! |                             SSRC                              |
//! ```

mod report;
mod write;

pub use report::{ReportBlock, ReportBlocks, SenderInfo};
pub(crate) use report::{middle_bits, ntp};
pub(crate) use write::{
    BYTES_WITHOUT_CNAME, HEADER_BYTES, MAX_BLOCKS, MAX_CNAME, SSRC_BYTES, cname_bytes, report_bytes, write_bye,
    write_cnames, write_report,
};

/// Version in the first two bits.
const VERSION: u8 = 2;
const PADDING: u8 = 1 << 5;
const SENDER_REPORT: u8 = 200;
const RECEIVER_REPORT: u8 = 201;
const SOURCE_DESCRIPTION: u8 = 202;
const BYE: u8 = 203;
/// Transport-Layer Feedback Message (RFC 4585 section 6.1), and the format of congestion control feedback (RFC 8888).
const TRANSPORT_FEEDBACK: u8 = 205;
const CONGESTION_CONTROL: u8 = 11;

/// One packet of an RTCP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RtcpPacket<'a> {
    /// Sender report (RFC 3550 section 6.4.1).
    SenderReport {
        /// Synchronization source of the sender.
        ssrc: u32,
        /// Clocks and counters of the sender.
        info: SenderInfo,
        /// Reception of other streams.
        blocks: ReportBlocks<'a>,
    },
    /// Receiver report (RFC 3550 section 6.4.2).
    ReceiverReport {
        /// Synchronization source of the sender of the report.
        ssrc: u32,
        /// Reception of streams.
        blocks: ReportBlocks<'a>,
    },
    /// End of streams (RFC 3550 section 6.6).
    Bye {
        /// Synchronization sources that end, each in network byte order.
        sources: &'a [[u8; 4]],
    },
    /// Congestion control feedback (RFC 8888): the whole packet, for
    /// [`CcfbPacket::decode`](headway_rate::CcfbPacket::decode).
    CongestionFeedback(&'a [u8]),
    /// Any other packet, such as a source description.
    Other {
        /// Packet type.
        packet_type: u8,
        /// Low 5 bits of the first byte: a count or a format.
        count: u8,
        /// The bytes after the first 32 bits, without padding.
        body: &'a [u8],
    },
}

/// Reason why a datagram is not RTCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RtcpError {
    /// The version of a packet is not 2.
    #[error("the RTCP version is {0}; expected 2")]
    Version(u8),
    /// The datagram ends within a packet, or a packet ends within its contents.
    #[error("the RTCP packet of type {packet_type} ends after {bytes} B, within its contents")]
    Truncated {
        /// Packet type; 0 if the datagram ends within the first 32 bits of a packet.
        packet_type: u8,
        /// Number of bytes that are there.
        bytes: usize,
    },
    /// The number of padding bytes is 0, not a multiple of 4, or larger than the packet.
    #[error("the RTCP packet states {0} B of padding; expected a multiple of 4 B within the packet")]
    Padding(u8),
}

/// Iterator over the packets of an RTCP datagram, which ends after the first malformed one. The first packet may have
/// any type (RFC 5506).
#[derive(Clone, Debug)]
pub struct RtcpPackets<'a> {
    rest: &'a [u8],
}

impl<'a> RtcpPackets<'a> {
    /// Creates an iterator over the packets of a datagram.
    #[must_use]
    pub const fn new(datagram: &'a [u8]) -> Self {
        Self { rest: datagram }
    }

    fn take(&mut self) -> Result<RtcpPacket<'a>, RtcpError> {
        let truncated = RtcpError::Truncated { packet_type: 0, bytes: self.rest.len() };
        let &[first, packet_type, l0, l1] = self.rest.first_chunk().ok_or(truncated)?;
        if first >> 6 != VERSION {
            return Err(RtcpError::Version(first >> 6));
        }
        let bytes = 4 * (usize::from(u16::from_be_bytes([l0, l1])) + 1);
        let truncated = RtcpError::Truncated { packet_type, bytes: self.rest.len().min(bytes) };
        let (packet, rest) = self.rest.split_at_checked(bytes).ok_or(truncated)?;
        self.rest = rest;
        let mut body = packet.get(4..).unwrap_or_default();
        if first & PADDING != 0 {
            let padding = body.last().copied().unwrap_or_default();
            let kept = body.len().checked_sub(padding.into()).filter(|_| padding > 0 && padding % 4 == 0);
            body = kept.and_then(|kept| body.get(..kept)).ok_or(RtcpError::Padding(padding))?;
        }
        let count = first & 0x1f;
        RtcpPacket::of(packet, packet_type, count, body).ok_or(truncated)
    }
}

impl<'a> RtcpPacket<'a> {
    fn of(packet: &'a [u8], packet_type: u8, count: u8, body: &'a [u8]) -> Option<Self> {
        Some(match (packet_type, count) {
            (SENDER_REPORT, _) => {
                let (ssrc, rest) = body.split_first_chunk()?;
                let (info, rest) = rest.split_first_chunk()?;
                let blocks = ReportBlocks::first(rest, count)?;
                Self::SenderReport { ssrc: u32::from_be_bytes(*ssrc), info: SenderInfo::of(info), blocks }
            }
            (RECEIVER_REPORT, _) => {
                let (ssrc, rest) = body.split_first_chunk()?;
                Self::ReceiverReport { ssrc: u32::from_be_bytes(*ssrc), blocks: ReportBlocks::first(rest, count)? }
            }
            (BYE, _) => Self::Bye { sources: body.as_chunks().0.get(..count.into())? },
            (TRANSPORT_FEEDBACK, CONGESTION_CONTROL) => Self::CongestionFeedback(packet),
            _ => Self::Other { packet_type, count, body },
        })
    }
}

impl<'a> Iterator for RtcpPackets<'a> {
    type Item = Result<RtcpPacket<'a>, RtcpError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let taken = self.take();
        if taken.is_err() {
            self.rest = &[];
        }
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(datagram: &[u8]) -> Vec<Result<RtcpPacket<'_>, RtcpError>> {
        RtcpPackets::new(datagram).collect()
    }

    /// RFC 3550 sections 6.4.1, 6.5, 6.6: a compound datagram of a sender report with one block, a source description,
    /// and a BYE with a reason; then RFC 8888's feedback without blocks.
    #[test]
    fn the_packets_of_a_compound_datagram() {
        let block = [
            0, 0, 0, 9, 64, 0xff, 0xff, 0xfe, 0, 1, 0, 2, 0, 0, 0, 3, 0x11, 0x22, 0x33, 0x44, 0, 1, 0x80, 0, //
        ];
        let info = [0, 0, 0, 1, 0x80, 0, 0, 0, 0, 0, 0, 90, 0, 0, 0, 5, 0, 0, 1, 0];
        let report = [&[0x81, 200, 0, 12, 0, 0, 0, 7][..], &info, &block].concat();
        let names = [0x81, 202, 0, 2, 0, 0, 0, 7, 1, 1, b'a', 0];
        let bye = [0x81, 203, 0, 2, 0, 0, 0, 7, 2, b'e', b'n', b'd'];
        let feedback = [0x8b, 205, 0, 2, 0, 0, 0, 7, 0, 1, 0x80, 0];
        let datagram = [&report[..], &names, &bye, &feedback].concat();
        let packets: Vec<RtcpPacket<'_>> = all(&datagram).into_iter().map(Result::unwrap).collect();
        let RtcpPacket::SenderReport { ssrc: 7, info, blocks } = packets[0] else { panic!("{packets:?}") };
        let expected = SenderInfo { ntp: 0x1_8000_0000, rtp_timestamp: 90, packets: 5, octets: 256 };
        assert_eq!(info, expected);
        let expected = ReportBlock {
            ssrc: 9,
            fraction_lost: 64,
            cumulative_lost: -2,
            extended_highest: 0x1_0002,
            jitter: 3,
            last_sr: 0x1122_3344,
            delay_since_last_sr: 0x1_8000,
        };
        assert_eq!(blocks.collect::<Vec<_>>(), [expected]);
        assert_eq!(packets[1], RtcpPacket::Other { packet_type: 202, count: 1, body: &names[4..] });
        assert_eq!(packets[2], RtcpPacket::Bye { sources: &[[0, 0, 0, 7]] });
        assert_eq!(packets[3], RtcpPacket::CongestionFeedback(&feedback));
        assert_eq!(packets.len(), 4);
    }

    /// RFC 3550 section 6.4.1: padding ends the last packet, and counts itself.
    #[test]
    fn padding_is_removed() {
        let datagram = [0xa0, 201, 0, 2, 0, 0, 0, 7, 0, 0, 0, 4];
        let [Ok(RtcpPacket::ReceiverReport { ssrc: 7, mut blocks })] = all(&datagram)[..] else { panic!() };
        assert_eq!(blocks.next(), None);
        for padding in [0, 3, 12] {
            let mut wrong = datagram;
            wrong[11] = padding;
            assert_eq!(all(&wrong), [Err(RtcpError::Padding(padding))]);
        }
    }

    #[test]
    fn malformed_datagrams_are_refused_with_a_reason() {
        let good = [0x80, 201, 0, 1, 0, 0, 0, 7];
        for (second, error) in [
            (&[0x40, 201, 0, 1, 0, 0, 0, 7][..], RtcpError::Version(1)),
            (&[0x80, 201, 0], RtcpError::Truncated { packet_type: 0, bytes: 3 }),
            (&[0x80, 201, 0, 2, 0, 0, 0, 7], RtcpError::Truncated { packet_type: 201, bytes: 8 }),
            (&[0x81, 201, 0, 1, 0, 0, 0, 7], RtcpError::Truncated { packet_type: 201, bytes: 8 }),
            (&[0x80, 200, 0, 1, 0, 0, 0, 7], RtcpError::Truncated { packet_type: 200, bytes: 8 }),
            (&[0x82, 203, 0, 1, 0, 0, 0, 7], RtcpError::Truncated { packet_type: 203, bytes: 8 }),
            (&[0x80, 201, 0, 0], RtcpError::Truncated { packet_type: 201, bytes: 4 }),
        ] {
            let datagram = [&good[..], second].concat();
            let packets = all(&datagram);
            assert!(packets[0].is_ok());
            assert_eq!(packets[1..], [Err(error)], "{second:?}");
        }
    }

    proptest! {
        /// Any bytes give at most one packet per 4 B, and the last one at most is malformed.
        #[test]
        fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), kinds: [u8; 3]) {
            let mut bytes = bytes;
            for (place, kind) in bytes.chunks_mut(40).zip(kinds) {
                if let [first, second, _, length, ..] = place {
                    (*first, *second, *length) = (0x80 | *first & 0x3f, 200 + kind % 7, *length % 12);
                }
            }
            let packets = all(&bytes);
            prop_assert!(packets.len() <= bytes.len().div_ceil(4));
            let malformed = packets.iter().position(Result::is_err);
            prop_assert!(malformed.is_none_or(|place| place + 1 == packets.len()));
        }
    }
}
