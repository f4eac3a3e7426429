//! Causes for which a link, a host or a sender drops a packet.

// The compiler reports every `match` that a new cause needs. Three lists it does not report: `DropCause::ALL`, the
// causes of rejected packets in `findings/standing.rs` of headway-run, and the letters in the viewer's `colors.ts`.

/// Cause for which a link or a receiving host drops a packet. The page `docs/src/records.md` of the book describes each
/// cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropCause {
    /// The queue of the link was full, or RED had to drop the packet because its average queue length was too high (a
    /// forced drop).
    QueueFull,
    /// Active queue management dropped the packet early, not because the queue was full.
    Early,
    /// Random loss of the channel.
    Channel,
    /// The packet was larger than the link's MTU, or than the burst of its shaper, so that it could never pass.
    TooBig,
    /// The receiving host had no space for the packet in its receive ring or its queue ([`HostDrop`]).
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

/// Place at which a receiving host drops a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostDrop {
    /// Receive ring of the interface, before any processing by the CPU.
    Ring,
    /// Queue for delivery, after processing by the CPU.
    Queue,
}

/// Reason for which a send queue dropped a packet instead of sending it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SendDrop {
    /// The new packet was rejected because the send queue was full.
    Refused,
    /// The packet was removed from the full send queue in favor of another packet.
    PushedOut,
    /// The packet would have arrived at the receiver after its time of expiry.
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
