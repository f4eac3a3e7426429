//! The media header: eight bytes before the data of a datagram.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |L| zero  | kind|   priority    |             index             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                             frame                             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! L is set in the last packet of a frame. Numbers are in network byte order. Kinds: 0 data, 1 audio, 2 video, 3 I, 4 P
//! and 5 B frames.

use super::Fragment;
use headway_units::MediaKind;

const LAST: u8 = 0x80;
const KIND: u8 = 0x07;

/// Header of 8 bytes before the data of a datagram: frame, fragment, media kind and priority. It has no deadline, since
/// the clocks of the endpoints differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaHeader {
    /// Frame of the datagram and position of the datagram in it.
    pub fragment: Fragment,
    /// Kind of media.
    pub kind: MediaKind,
    /// Priority; 0 is the most urgent.
    pub priority: u8,
}

/// Error of encoding or decoding a media header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// The buffer or datagram, of this size in bytes, is shorter than a header.
    #[error("{0} bytes are too short for a media header of {len} bytes", len = MediaHeader::LEN)]
    TooShort(usize),
    /// A reserved bit of the first byte, which is the value, is set.
    #[error("the first byte of a media header, {0:#04x}, has reserved bits set")]
    Reserved(u8),
    /// The media kind with this number is unknown.
    #[error("the kind {0} in a media header is unknown: expected 0 to 5")]
    UnknownKind(u8),
}

impl MediaHeader {
    /// Length of the header in bytes.
    pub const LEN: usize = 8;

    /// Writes the header to the start of `buffer` and returns the rest of the buffer.
    ///
    /// # Errors
    /// [`HeaderError::TooShort`] if the buffer has fewer than [`LEN`](Self::LEN) bytes; the buffer is unchanged then.
    pub fn encode<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b mut [u8], HeaderError> {
        let len = buffer.len();
        let (front, rest) = buffer.split_first_chunk_mut::<{ Self::LEN }>().ok_or(HeaderError::TooShort(len))?;
        *front = self.to_bytes();
        Ok(rest)
    }

    /// Returns the header as bytes.
    #[must_use]
    pub const fn to_bytes(&self) -> [u8; Self::LEN] {
        let Self { fragment: Fragment { frame, index, last }, kind, priority } = *self;
        let [i0, i1] = index.to_be_bytes();
        let [f0, f1, f2, f3] = frame.to_be_bytes();
        [number_of(kind) | if last { LAST } else { 0 }, priority, i0, i1, f0, f1, f2, f3]
    }

    /// Reads the header from the start of a datagram and returns it with the remaining data.
    ///
    /// # Errors
    /// See [`HeaderError`].
    pub fn decode(datagram: &[u8]) -> Result<(Self, &[u8]), HeaderError> {
        let short = HeaderError::TooShort(datagram.len());
        let (&[first, priority, i0, i1, f0, f1, f2, f3], data) =
            datagram.split_first_chunk::<{ Self::LEN }>().ok_or(short)?;
        if first & !(LAST | KIND) != 0 {
            return Err(HeaderError::Reserved(first));
        }
        let number = first & KIND;
        let kind = kind_of(number).ok_or(HeaderError::UnknownKind(number))?;
        let fragment = Fragment {
            frame: u32::from_be_bytes([f0, f1, f2, f3]),
            index: u16::from_be_bytes([i0, i1]),
            last: first & LAST != 0,
        };
        Ok((Self { fragment, kind, priority }, data))
    }
}

/// Returns the number on the wire, which must never change.
const fn number_of(kind: MediaKind) -> u8 {
    match kind {
        MediaKind::Data => 0,
        MediaKind::Audio => 1,
        MediaKind::Video => 2,
        MediaKind::VideoI => 3,
        MediaKind::VideoP => 4,
        MediaKind::VideoB => 5,
    }
}

fn kind_of(number: u8) -> Option<MediaKind> {
    MediaKind::ALL.into_iter().find(|kind| number_of(*kind) == number)
}
