//! RTP packets (RFC 3550 section 5).
//!
//! ```text
//! 0                   1                   2                   3
//! 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! |V=2|P|X|  CC   |M|     PT      |       sequence number         |
//! |                           timestamp                           |
//! |           synchronization source (SSRC) identifier            |
//! |            contributing source (CSRC) identifiers             | CC times
//! |      defined by profile       |           length              | if X, length in 32-bit words
//! |                        header extension                       |
//! ```

/// Version in the first two bits.
const VERSION: u8 = 2;
const PADDING: u8 = 1 << 5;
const EXTENSION: u8 = 1 << 4;
const MARKER: u8 = 1 << 7;
/// Maximum number of contributing sources, a field of four bits.
const MAX_CSRCS: usize = 15;

/// RTP packet (RFC 3550 section 5.1), which refers to the bytes of its variable parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RtpPacket<'a> {
    /// Marker bit. Most video profiles set it in the last packet of a frame.
    pub marker: bool,
    /// Payload type, 0 to 127.
    pub payload_type: u8,
    /// Sequence number, which wraps after 65,535.
    pub sequence: u16,
    /// Sampling time, in units of the payload type's clock.
    pub timestamp: u32,
    /// Synchronization source: the stream of the packet.
    pub ssrc: u32,
    /// Contributing sources, at most 15, each in network byte order.
    pub csrcs: &'a [[u8; 4]],
    /// Header extension, if any.
    pub extension: Option<RtpExtension<'a>>,
    /// Payload, without padding.
    pub payload: &'a [u8],
    /// Number of padding bytes after the payload, including the last byte, which contains this number; 0 for none.
    pub padding: u8,
}

/// Header extension of an RTP packet (RFC 3550 section 5.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RtpExtension<'a> {
    /// First 16 bits, whose meaning a profile defines: 0xBEDE for the one-byte headers of RFC 8285.
    pub profile: u16,
    /// Data, a multiple of 4 bytes, at most 262,140.
    pub data: &'a [u8],
}

/// Reason why bytes are no RTP packet, or why a packet cannot be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RtpError {
    /// The version is not 2.
    #[error("the RTP version is {0}; expected 2")]
    Version(u8),
    /// The packet ends within its header.
    #[error("the RTP packet ends within its header")]
    Truncated,
    /// The number of padding bytes is 0, or larger than the payload with its padding.
    #[error("the RTP packet states {0} B of padding; expected 1 B up to the end of the header")]
    Padding(u8),
    /// The payload type does not fit into 7 bits.
    #[error("the payload type is {0}; expected 0 to 127")]
    PayloadType(u8),
    /// There are more than 15 contributing sources.
    #[error("the RTP packet has {0} contributing sources; expected at most 15")]
    TooManyCsrcs(usize),
    /// The length of the header extension is not a multiple of 4 bytes, or above 262,140.
    #[error("the header extension has {0} B; expected a multiple of 4 B up to 262140 B")]
    Extension(usize),
}

impl<'a> RtpPacket<'a> {
    /// Decodes a packet.
    ///
    /// # Errors
    ///
    /// The first fault of the packet.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, RtpError> {
        let Some((&[first, second, s0, s1, t0, t1, t2, t3, r0, r1, r2, r3], rest)) = bytes.split_first_chunk() else {
            return Err(bytes.first().map_or(RtpError::Truncated, |first| match first >> 6 {
                VERSION => RtpError::Truncated,
                version => RtpError::Version(version),
            }));
        };
        if first >> 6 != VERSION {
            return Err(RtpError::Version(first >> 6));
        }
        let csrc_bytes = 4 * usize::from(first & 0x0f);
        let (csrcs, rest) = rest.split_at_checked(csrc_bytes).ok_or(RtpError::Truncated)?;
        let (extension, rest) = if first & EXTENSION == 0 {
            (None, rest)
        } else {
            let (&[p0, p1, l0, l1], rest) = rest.split_first_chunk().ok_or(RtpError::Truncated)?;
            let words = usize::from(u16::from_be_bytes([l0, l1]));
            let (data, rest) = rest.split_at_checked(4 * words).ok_or(RtpError::Truncated)?;
            (Some(RtpExtension { profile: u16::from_be_bytes([p0, p1]), data }), rest)
        };
        let padding = if first & PADDING == 0 { 0 } else { rest.last().copied().ok_or(RtpError::Padding(0))? };
        if first & PADDING != 0 && padding == 0 {
            return Err(RtpError::Padding(0));
        }
        let payload_bytes = rest.len().checked_sub(padding.into()).ok_or(RtpError::Padding(padding))?;
        Ok(Self {
            marker: second & MARKER != 0,
            payload_type: second & !MARKER,
            sequence: u16::from_be_bytes([s0, s1]),
            timestamp: u32::from_be_bytes([t0, t1, t2, t3]),
            ssrc: u32::from_be_bytes([r0, r1, r2, r3]),
            csrcs: csrcs.as_chunks().0,
            extension,
            payload: rest.get(..payload_bytes).unwrap_or_default(),
            padding,
        })
    }

    /// Appends the encoded packet to `buffer`.
    ///
    /// # Errors
    ///
    /// A payload type, number of contributing sources or extension that the format cannot express. `buffer` is then
    /// unchanged.
    pub fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), RtpError> {
        let Self { marker, payload_type, sequence, timestamp, ssrc, csrcs, extension, payload, padding } = *self;
        if payload_type >= MARKER {
            return Err(RtpError::PayloadType(payload_type));
        }
        if csrcs.len() > MAX_CSRCS {
            return Err(RtpError::TooManyCsrcs(csrcs.len()));
        }
        let words = match extension.map(|extension| extension.data.len()) {
            Some(bytes) if bytes % 4 != 0 => return Err(RtpError::Extension(bytes)),
            Some(bytes) => u16::try_from(bytes / 4).map_err(|_| RtpError::Extension(bytes))?,
            None => 0,
        };
        let flags = if padding > 0 { PADDING } else { 0 } | if extension.is_some() { EXTENSION } else { 0 };
        buffer.push(VERSION << 6 | flags | csrcs.len() as u8);
        buffer.push(if marker { MARKER } else { 0 } | payload_type);
        buffer.extend(sequence.to_be_bytes());
        buffer.extend(timestamp.to_be_bytes());
        buffer.extend(ssrc.to_be_bytes());
        buffer.extend(csrcs.as_flattened());
        if let Some(RtpExtension { profile, data }) = extension {
            buffer.extend(profile.to_be_bytes());
            buffer.extend(words.to_be_bytes());
            buffer.extend(data);
        }
        buffer.extend(payload);
        if padding > 0 {
            buffer.extend(std::iter::repeat_n(0, usize::from(padding) - 1));
            buffer.push(padding);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 3550 section 5.1, field by field: padding, extension, two contributing sources, marker and payload type 96.
    const FULL: [u8; 36] = [
        0xb2, 0xe0, 0xff, 0xfe, // V=2 P X CC=2, M PT=96, sequence number 65534
        0x01, 0x02, 0x03, 0x04, // timestamp
        0xde, 0xad, 0xbe, 0xef, // SSRC
        0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x02, // CSRC list
        0xbe, 0xde, 0x00, 0x01, 0x10, 0x07, 0x00, 0x00, // extension of one word
        b'h', b'e', b'a', b'd', b'!', 0x00, 0x00, 0x03, // payload and 3 B of padding
    ];

    #[test]
    fn the_fields_of_section_5_1() {
        let packet = RtpPacket {
            marker: true,
            payload_type: 96,
            sequence: 65_534,
            timestamp: 0x0102_0304,
            ssrc: 0xdead_beef,
            csrcs: &[[0, 0, 0, 1], [0, 0, 0, 2]],
            extension: Some(RtpExtension { profile: 0xbede, data: &[0x10, 7, 0, 0] }),
            payload: b"head!",
            padding: 3,
        };
        assert_eq!(RtpPacket::parse(&FULL), Ok(packet));
        let mut encoded = vec![];
        packet.encode(&mut encoded).unwrap();
        assert_eq!(encoded, FULL);
    }

    /// A packet of 12 B without payload is complete.
    #[test]
    fn the_smallest_packet() {
        let bytes = [0x80, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3];
        let packet = RtpPacket { sequence: 1, timestamp: 2, ssrc: 3, ..RtpPacket::default() };
        assert_eq!(RtpPacket::parse(&bytes), Ok(packet));
    }

    #[test]
    fn malformed_packets_are_refused_with_a_reason() {
        let mut bytes = FULL;
        bytes[0] ^= 0x40;
        assert_eq!(RtpPacket::parse(&bytes), Err(RtpError::Version(3)));
        assert_eq!(RtpPacket::parse(&bytes[..3]), Err(RtpError::Version(3)));
        // With its padding bit cleared, each end within the header is found.
        bytes = FULL;
        bytes[0] &= !PADDING;
        for end in 0..28 {
            assert_eq!(RtpPacket::parse(&bytes[..end]), Err(RtpError::Truncated), "{end}");
        }
        assert_eq!(RtpPacket::parse(&bytes[..28]).unwrap().payload, b"");
        // Padding is at least 1 B, and at most what follows the header.
        for (padding, payload_bytes) in [(0, None), (8, Some(0)), (9, None)] {
            bytes = FULL;
            bytes[35] = padding;
            let payload = RtpPacket::parse(&bytes).map(|packet| packet.payload.len());
            assert_eq!(payload, payload_bytes.ok_or(RtpError::Padding(padding)), "{padding}");
        }
        assert_eq!(RtpPacket::parse(&FULL[..28]), Err(RtpError::Padding(0)));
    }

    #[test]
    fn packets_that_cannot_be_expressed_are_refused() {
        let encode = |packet: RtpPacket<'_>| {
            let mut buffer = vec![7];
            let encoded = packet.encode(&mut buffer);
            assert!(encoded.is_ok() || buffer == [7]);
            encoded
        };
        let extension = |bytes| Some(RtpExtension { profile: 0, data: &[0; 262_144][..bytes] });
        for (packet, error) in [
            (RtpPacket { payload_type: 128, ..RtpPacket::default() }, Some(RtpError::PayloadType(128))),
            (RtpPacket { csrcs: &[[0; 4]; 16], ..RtpPacket::default() }, Some(RtpError::TooManyCsrcs(16))),
            (RtpPacket { csrcs: &[[0; 4]; 15], ..RtpPacket::default() }, None),
            (RtpPacket { extension: extension(6), ..RtpPacket::default() }, Some(RtpError::Extension(6))),
            (RtpPacket { extension: extension(262_144), ..RtpPacket::default() }, Some(RtpError::Extension(262_144))),
            (RtpPacket { extension: extension(262_140), ..RtpPacket::default() }, None),
        ] {
            assert_eq!(encode(packet).err(), error);
        }
    }

    proptest! {
        #[test]
        fn decoding_inverts_encoding(
            (marker, payload_type, sequence, timestamp) in (any::<bool>(), 0..128_u8, any::<u16>(), any::<u32>()),
            ssrc: u32,
            csrcs in prop::collection::vec(any::<[u8; 4]>(), 0..16),
            (profile, words) in (prop::option::of(any::<u16>()), prop::collection::vec(any::<[u8; 4]>(), 0..5)),
            payload in prop::collection::vec(any::<u8>(), 0..50),
            padding: u8,
        ) {
            let extension = profile.map(|profile| RtpExtension { profile, data: words.as_flattened() });
            let packet = RtpPacket {
                marker, payload_type, sequence, timestamp, ssrc, csrcs: &csrcs, extension, payload: &payload, padding
            };
            let mut encoded = vec![];
            packet.encode(&mut encoded).unwrap();
            prop_assert_eq!(RtpPacket::parse(&encoded), Ok(packet));
        }

        /// Encoding inverts decoding, except for the value of padding.
        #[test]
        fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100), first in 0x80..0xc0_u8) {
            let mut bytes = bytes;
            if let Some(byte) = bytes.first_mut() {
                *byte = first;
            }
            if let Ok(packet) = RtpPacket::parse(&bytes) {
                let mut encoded = vec![];
                packet.encode(&mut encoded).unwrap();
                let kept = bytes.len() - usize::from(packet.padding);
                prop_assert_eq!(encoded.len(), bytes.len());
                prop_assert_eq!(&encoded[..kept], &bytes[..kept]);
            }
        }
    }
}
