//! Identifiers and enumerations shared by all crates.

use std::fmt;

/// Index of a flow in the order of the scenario, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// ECN field of the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: the sender does not react to marks.
    #[default]
    NotEct = 0b00,
    /// ECN-capable, codepoint 01.
    Ect1 = 0b01,
    /// ECN-capable, codepoint 10.
    Ect0 = 0b10,
    /// Congestion experienced.
    Ce = 0b11,
}

impl Ecn {
    /// Returns whether a queue may mark the packet instead of dropping it.
    #[must_use]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

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

/// Cause of a packet drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropCause {
    /// The queue was full.
    QueueFull,
    /// Active queue management dropped it before the queue was full.
    Early,
    /// Random loss of the channel.
    Channel,
    /// Larger than the link's MTU.
    TooBig,
    /// The receiving host had no space for it.
    Host,
    /// Above the rate and burst of the link's policer.
    Policer,
}

impl DropCause {
    /// All causes, in order.
    pub const ALL: [Self; 6] = [Self::QueueFull, Self::Early, Self::Channel, Self::TooBig, Self::Host, Self::Policer];

    /// Returns the name used in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue_full",
            Self::Early => "early",
            Self::Channel => "channel",
            Self::TooBig => "too_big",
            Self::Host => "host",
            Self::Policer => "policer",
        }
    }
}

/// Place of a drop in a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostDrop {
    /// Ring of the interface, before any processing by the CPU.
    Ring,
    /// Queue for delivery, after processing by the CPU.
    Queue,
}

/// Reason for which a packet was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SendDrop {
    /// It was rejected because the sender's queue was full.
    Refused,
    /// It was removed from the sender's full queue in favor of another packet.
    PushedOut,
    /// It would have arrived too late.
    Expired,
}

impl SendDrop {
    /// All causes, in order.
    pub const ALL: [Self; 3] = [Self::Refused, Self::PushedOut, Self::Expired];

    /// Returns the name used in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::PushedOut => "pushed_out",
            Self::Expired => "expired",
        }
    }
}
/// Returns the number with its noun, such as `1 packet` or `2 packets`.
#[must_use]
pub fn counted(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
