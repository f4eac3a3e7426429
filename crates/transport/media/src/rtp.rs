//! Distinguishes RTP and RTCP from other UDP payloads by their first bytes.

/// Kind of a UDP payload, judged by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtpHeader {
    /// A packet of RTP (RFC 3550 section 5.1).
    Rtp {
        /// Payload type, 0 to 127.
        payload_type: u8,
    },
    /// A packet of RTCP (RFC 3550 section 6).
    Rtcp,
}

/// Version in the first two bits (RFC 3550 section 5.1).
const VERSION: u8 = 2;
/// Packet types of RTCP, which the second byte of RTP must avoid (RFC 5761 section 4).
const RTCP_TYPES: std::ops::RangeInclusive<u8> = 192..=223;
const RTP_BYTES: usize = 12;
const RTCP_BYTES: usize = 8;

impl RtpHeader {
    /// Returns the kind of a UDP payload of `length` bytes. `start`: its first bytes, at least two. `None` if the
    /// payload is neither RTP nor RTCP.
    #[must_use]
    pub fn of(start: &[u8], length: usize) -> Option<Self> {
        let [first, second, ..] = *start else { return None };
        if first >> 6 != VERSION {
            None
        } else if RTCP_TYPES.contains(&second) {
            (length >= RTCP_BYTES).then_some(Self::Rtcp)
        } else {
            (length >= RTP_BYTES).then_some(Self::Rtp { payload_type: second & 0x7f })
        }
    }
}
