//! Reasons why a session refuses a packet.

use crate::packet::RtpError;
use crate::rtcp::RtcpError;
use headway_rate::CcfbError;

/// Reason why a received datagram is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// The datagram is neither RTP nor RTCP, by its first two bytes and its length (RFC 5761 section 4).
    #[error("the datagram is neither RTP nor RTCP")]
    Unknown,
    /// The RTP packet is malformed.
    #[error(transparent)]
    Rtp(#[from] RtpError),
    /// The RTCP datagram is malformed. Its packets before the malformed one were handled.
    #[error(transparent)]
    Rtcp(#[from] RtcpError),
    /// The stream has the synchronization source of this session, by a loop or a collision (RFC 3550 section 8.2).
    #[error("the stream {ssrc:#010x} is one that this session sends")]
    OwnStream {
        /// Synchronization source of the stream.
        ssrc: u32,
    },
    /// There are 64 received streams, and none was silent for 10 s.
    #[error("the stream {ssrc:#010x} is one more than the 64 that are recorded")]
    TooManyStreams {
        /// Synchronization source of the stream.
        ssrc: u32,
    },
    /// The sequence number is more than 1024 below the greatest one of the stream. If the next packet follows it, the
    /// stream restarts there (RFC 3550 appendix A.1).
    #[error("sequence number {sequence} is far below the greatest one of the stream {ssrc:#010x}")]
    Sequence {
        /// Synchronization source of the stream.
        ssrc: u32,
        /// Sequence number of the packet.
        sequence: u16,
    },
}

/// Reason why congestion control feedback, or a part of it, is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RefusedFeedback {
    /// The packet is malformed. A peer may have the other reading of `num_reports`
    /// ([`SessionOptions::num_reports`](crate::SessionOptions::num_reports)).
    #[error(transparent)]
    Malformed(#[from] CcfbError),
    /// A block is about a stream that this session does not send. The other blocks of the packet are used.
    #[error("the feedback is about the stream {ssrc:#010x}, which this session does not send")]
    UnknownStream {
        /// Synchronization source of the stream.
        ssrc: u32,
    },
    /// The packet reports the arrival of a packet that was not sent. No block of it is used.
    #[error("the feedback reports the arrival of packet {sequence} of the stream {ssrc:#010x}, which was not sent")]
    NeverSent {
        /// Synchronization source of the stream.
        ssrc: u32,
        /// Sequence number of the packet.
        sequence: u16,
    },
}

/// Reason why a packet of the program is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The packet is not RTP.
    #[error(transparent)]
    Rtp(#[from] RtpError),
    /// The payload type is 64 to 95 and the marker bit is set, or the RTCP packet has a type that is none: the peer
    /// could not distinguish RTP from RTCP on one port (RFC 5761 section 4).
    #[error(
        "the first bytes of the packet are those of the other protocol, RTP or RTCP; expected a payload type \
             other than 64 to 95, or an RTCP packet type of 192 to 223"
    )]
    Ambiguous,
    /// The packet is larger than [`SessionOptions::packet_size`](crate::SessionOptions::packet_size).
    #[error("the packet has {len} B; expected at most {largest} B")]
    TooLarge {
        /// Size of the packet in bytes.
        len: usize,
        /// Largest size of a packet in bytes.
        largest: usize,
    },
    /// The session sends 64 streams.
    #[error("the stream {ssrc:#010x} is one more than the 64 that a session can send")]
    TooManyStreams {
        /// Synchronization source of the stream.
        ssrc: u32,
    },
    /// 64 RTCP datagrams wait already.
    #[error("64 RTCP datagrams wait already")]
    TooManyReports,
    /// The session [stopped](crate::Session::stop).
    #[error("the session has stopped sending")]
    Stopped,
}
