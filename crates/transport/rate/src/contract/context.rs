//! Contexts that the halves start with, and their requirements on the carrier.

use crate::tfrc::TfrcContext;
use headway_units::{Bytes, Duration, Instant, Random, Rate};
use std::fmt;

/// Requirement of the sender or receiver half of a controller on its carrier: the connection or simulator agent that
/// drives it. Packet numbers, arrivals and reports are always available. A carrier that does not meet a requirement is
/// rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Need {
    /// Receiver half: the sending time of each packet, by the sender's clock ([`Timing::sent`](crate::Timing::sent)).
    SenderClock,
    /// Receiver half: the round-trip time that the sender has measured, on each packet
    /// ([`Received::rtt`](crate::Received::rtt)).
    RoundTrip,
    /// Receiver half: the packets lost on the channel and not in a queue
    /// ([`ReceiverHalf::on_channel_loss`](crate::ReceiverHalf::on_channel_loss)), which only a simulator knows.
    ChannelLosses,
    /// Sender half: the rate of the sender's interface ([`SenderContext::line_rate`]).
    LineRate,
    /// Sender half: packets sent as ECT(1) ([`Stamp::ecn`](crate::Stamp::ecn), RFC 9331).
    Ect1,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SenderClock => "the sender's clock on its packets",
            Self::RoundTrip => "the sender's round trip on its packets",
            Self::ChannelLosses => "to know which packets the channel lost",
            Self::LineRate => "the rate of the sender's line",
            Self::Ect1 => "packets sent as ECT(1)",
        })
    }
}

/// Context that the sender half of a controller starts with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SenderContext {
    /// Start time.
    pub now: Instant,
    /// Round-trip time, if measured before, by a handshake or an earlier connection.
    pub rtt: Option<Duration>,
    /// Size of the data in a full packet, without headers: the maximum packet size of a connection, or `packetSize_` of
    /// an ns-2 agent.
    pub packet_size: Bytes,
    /// Bytes of headers per packet on this path, as far as the transport knows them; 0 if unknown.
    pub header: Bytes,
    /// Rate of the sender's interface, if known.
    pub line_rate: Option<Rate>,
    /// Random stream of the controller.
    pub random: Random,
    /// Context for TFRC only.
    pub tfrc: TfrcContext,
}

impl SenderContext {
    /// Creates a context without optional information.
    #[must_use]
    pub fn new(now: Instant, packet_size: Bytes, random: Random) -> Self {
        Self {
            now,
            rtt: None,
            packet_size,
            header: Bytes::new(0),
            line_rate: None,
            random,
            tfrc: TfrcContext::default(),
        }
    }
}

/// Context that the receiver half of a controller starts with.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ReceiverContext {
    /// Start time.
    pub now: Instant,
    /// Size of the data in a full packet, without headers.
    pub packet_size: Bytes,
    /// Number of the packet that the receiver expects next; above 0 if packets of a handshake used some numbers.
    pub upcoming: u64,
    /// Context for TFRC only.
    pub tfrc: TfrcContext,
}

impl ReceiverContext {
    /// Creates a context without optional information.
    #[must_use]
    pub fn new(now: Instant, packet_size: Bytes) -> Self {
        Self { now, packet_size, upcoming: 0, tfrc: TfrcContext::default() }
    }
}
