//! Kinds of media.

use std::fmt;

/// Kind of media, for priorities and metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum MediaKind {
    /// Any other data: a file, filler.
    #[default]
    Data,
    /// Audio.
    Audio,
    /// Video of unspecified frame type.
    Video,
    /// Intra-coded video frame.
    VideoI,
    /// Video frame predicted from earlier frames.
    VideoP,
    /// Video frame predicted from earlier and later frames.
    VideoB,
}

impl MediaKind {
    /// All kinds, in order.
    pub const ALL: [Self; 6] = [Self::Data, Self::Audio, Self::Video, Self::VideoI, Self::VideoP, Self::VideoB];

    /// Returns whether the media is video, of any frame type.
    #[must_use]
    pub const fn is_video(self) -> bool {
        matches!(self, Self::Video | Self::VideoI | Self::VideoP | Self::VideoB)
    }

    /// Returns the name used in scenarios and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Audio => "audio",
            Self::Video => "video",
            Self::VideoI => "video-i",
            Self::VideoP => "video-p",
            Self::VideoB => "video-b",
        }
    }
}

impl fmt::Display for MediaKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
