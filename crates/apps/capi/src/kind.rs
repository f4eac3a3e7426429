//! Kinds of media.

use crate::failure::Failure;
use headway_net::MediaKind;

/// Kind of media of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum HeadwayKind {
    /// Any other data.
    Data = 0,
    /// Audio.
    Audio = 1,
    /// Video of unspecified frame type.
    Video = 2,
    /// Intra-coded video frame.
    VideoI = 3,
    /// Video frame predicted from earlier frames.
    VideoP = 4,
    /// Video frame predicted from earlier and later frames.
    VideoB = 5,
}

const KINDS: [(HeadwayKind, MediaKind); 6] = [
    (HeadwayKind::Data, MediaKind::Data),
    (HeadwayKind::Audio, MediaKind::Audio),
    (HeadwayKind::Video, MediaKind::Video),
    (HeadwayKind::VideoI, MediaKind::VideoI),
    (HeadwayKind::VideoP, MediaKind::VideoP),
    (HeadwayKind::VideoB, MediaKind::VideoB),
];

/// Returns the kind of media with this number.
pub(crate) fn media_kind(number: i32) -> Result<MediaKind, Failure> {
    let found = KINDS.iter().find(|(kind, _)| *kind as i32 == number);
    found.map(|(_, kind)| *kind).ok_or_else(|| Failure::Argument {
        name: "kind",
        message: format!("{number} is unknown; expected HEADWAY_KIND_DATA (0) to HEADWAY_KIND_VIDEO_B (5)"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_media_has_a_number() {
        assert_eq!([0, 1, 2, 3, 4, 5].map(|number| media_kind(number).unwrap()), MediaKind::ALL);
        for wrong in [-1, 6] {
            assert!(media_kind(wrong).unwrap_err().to_string().contains("expected"), "{wrong}");
        }
    }
}
