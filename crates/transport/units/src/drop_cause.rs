//! Causes for which a link, a host or a sender drops a packet.

// The compiler reports every `match` that a new cause needs. Three lists it does not report: `DropCause::ALL`, the
// causes of rejected packets in `findings/standing.rs` of headway-run, and the letters in the viewer's `colors.ts`.

/// Cause of a packet drop. The page `docs/src/records.md` of the book describes each cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropCause {
    /// The queue was full.
    QueueFull,
    /// Active queue management dropped the packet before the queue was full.
    Early,
    /// Random loss of the channel.
    Channel,
    /// The packet was larger than the link's MTU, or than the burst of its shaper, so that it could never pass.
    TooBig,
    /// The receiving host had no space for the packet.
    Host,
    /// The packet exceeded the rate and burst of the link's policer.
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
    /// Receive ring of the interface, before any processing by the CPU.
    Ring,
    /// Queue for delivery, after processing by the CPU.
    Queue,
}

/// Reason for which a packet was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SendDrop {
    /// The packet was rejected because the sender's queue was full.
    Refused,
    /// The packet was removed from the sender's full queue in favor of another packet.
    PushedOut,
    /// The packet would have arrived after its time of expiry.
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
