//! What a real datagram says of its data: eight bytes in front of it.
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
//! L is set in the last packet of a frame. Numbers are in network byte order. Kinds: 0 data, 1 audio, 2 video, 3 I-, 4 P- and 5 B-frames.

use super::Fragment;
use headway_units::MediaKind;

const LAST: u8 = 0x80;
const KIND: u8 = 0x07;

/// Which packet of which frame a datagram carries, and what it is. A deadline is not in it: the ends' clocks differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaHeader {
    /// Which packet of which frame.
    pub fragment: Fragment,
    /// What it is.
    pub kind: MediaKind,
    /// How urgent: 0 before 1 before 2.
    pub priority: u8,
}

/// The bytes are no media header, or have no room for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Fewer bytes than a header has.
    #[error("{0} bytes are no media header, which has {len}", len = MediaHeader::LEN)]
    TooShort(usize),
    /// A bit is set that has no meaning yet.
    #[error("the first byte of a media header, {0:#04x}, has bits that must be zero")]
    Reserved(u8),
    /// A number for which there is no kind.
    #[error("a media header names the kind {0}, which there is none of")]
    UnknownKind(u8),
}

impl MediaHeader {
    /// Its length in bytes.
    pub const LEN: usize = 8;

    /// Writes it to the front of `buffer`, and returns what is behind it.
    ///
    /// # Errors
    /// [`HeaderError::TooShort`] if the buffer has fewer than [`LEN`](Self::LEN) bytes; nothing is written then.
    pub fn encode<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b mut [u8], HeaderError> {
        let len = buffer.len();
        let (front, behind) = buffer.split_first_chunk_mut::<{ Self::LEN }>().ok_or(HeaderError::TooShort(len))?;
        *front = self.to_bytes();
        Ok(behind)
    }

    /// Its bytes.
    #[must_use]
    pub const fn to_bytes(&self) -> [u8; Self::LEN] {
        let Self { fragment: Fragment { frame, index, last }, kind, priority } = *self;
        let [i0, i1] = index.to_be_bytes();
        let [f0, f1, f2, f3] = frame.to_be_bytes();
        [number_of(kind) | if last { LAST } else { 0 }, priority, i0, i1, f0, f1, f2, f3]
    }

    /// Reads it from the front of a datagram, and returns the data behind it too.
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

/// On the wire, for ever: whatever order the kinds have elsewhere.
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
