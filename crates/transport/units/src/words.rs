//! The words everyone shares.

use std::fmt;

/// Which flow of a scenario a packet belongs to, counted from 0 in the order of the scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// The ECN field of the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// The sender does not react to marks.
    #[default]
    NotEct = 0b00,
    /// ECN-capable, codepoint 01.
    Ect1 = 0b01,
    /// ECN-capable, codepoint 10.
    Ect0 = 0b10,
    /// Congestion was experienced.
    Ce = 0b11,
}

impl Ecn {
    /// Whether a queue may mark instead of drop.
    #[must_use]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

/// What a piece of media is, as far as priority and metrics care.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum MediaKind {
    /// Anything else: a file, filler.
    #[default]
    Data,
    /// Sound.
    Audio,
    /// Video of no particular frame type.
    Video,
    /// A video frame that stands alone.
    VideoI,
    /// A video frame predicted from earlier ones.
    VideoP,
    /// A video frame predicted from both sides.
    VideoB,
}

impl MediaKind {
    /// Every kind, in order.
    pub const ALL: [Self; 6] = [Self::Data, Self::Audio, Self::Video, Self::VideoI, Self::VideoP, Self::VideoB];

    /// As written in scenarios and records.
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

/// Why a packet went no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropCause {
    /// The queue had no room.
    QueueFull,
    /// Active queue management chose it before the queue was full.
    Early,
    /// The channel lost it (random loss).
    Channel,
    /// It is larger than the link's MTU.
    TooBig,
    /// The host that it had reached had no room for it.
    Host,
    /// It was above the rate and burst that the link's policer lets through.
    Policer,
}

impl DropCause {
    /// Every cause, in order.
    pub const ALL: [Self; 6] = [Self::QueueFull, Self::Early, Self::Channel, Self::TooBig, Self::Host, Self::Policer];

    /// As written in records.
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

/// Where a host had no room for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostDrop {
    /// On the ring of its interface: the CPU never knew of it.
    Ring,
    /// In the queue for delivery: the CPU had worked for it.
    Queue,
}

/// Why a packet was never sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SendDrop {
    /// It came when its sender's queue was full.
    Refused,
    /// It was thrown away for another one when its sender's queue was full.
    PushedOut,
    /// It would have come too late.
    Expired,
}

impl SendDrop {
    /// Every cause, in order.
    pub const ALL: [Self; 3] = [Self::Refused, Self::PushedOut, Self::Expired];

    /// As written in records.
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
