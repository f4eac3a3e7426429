//! What the halves start with, and what they need of their carrier.

use crate::tfrc::TfrcContext;
use headway_units::{Bytes, Duration, Instant, Random, Rate};
use std::fmt;

/// What a half needs of its carrier beside numbers, arrivals and reports. A carrier that does not give it is refused before it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Need {
    /// The receiver half: when each packet was sent, by the sender's clock ([`Timing::sent`](crate::Timing::sent)).
    SenderClock,
    /// The receiver half: the sender's round trip, on each packet ([`Received::rtt`](crate::Received::rtt)).
    RoundTrip,
    /// The receiver half: which packets the channel has taken ([`ReceiverHalf::on_channel_loss`](crate::ReceiverHalf::on_channel_loss)). Only a simulator
    /// knows.
    ChannelLosses,
    /// The sender half: how fast the wire behind it takes packets ([`SenderContext::line_rate`]).
    LineRate,
    /// The sender half: that packets may go as ECT(1) ([`Stamp::ecn`](crate::Stamp::ecn), RFC 9331).
    Ect1,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SenderClock => "the sender's clock on its packets",
            Self::RoundTrip => "the sender's round trip on its packets",
            Self::ChannelLosses => "to be told which losses are the channel's",
            Self::LineRate => "the rate of the sender's line",
            Self::Ect1 => "packets that go as ECT(1)",
        })
    }
}

/// What a sender half starts with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SenderContext {
    /// When it starts.
    pub now: Instant,
    /// The round trip, if something has measured it: a handshake, an earlier connection.
    pub rtt: Option<Duration>,
    /// The data of a full packet, without headers: the MPS of a connection, `packetSize_` of an ns-2 agent.
    pub packet_size: Bytes,
    /// What headers add to each packet on that wire, as far as the carrier knows.
    pub header: Bytes,
    /// How fast the wire behind it takes packets, if anybody knows.
    pub line_rate: Option<Rate>,
    /// The controller's own stream.
    pub random: Random,
    /// What only TFRC asks for.
    pub tfrc: TfrcContext,
}

impl SenderContext {
    /// One of which no more is known than this.
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

/// What a receiver half starts with.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ReceiverContext {
    /// When it starts.
    pub now: Instant,
    /// The data of a full packet, without headers.
    pub packet_size: Bytes,
    /// The number of the next packet, if nothing is lost until then: more than 0 where a handshake took some.
    pub upcoming: u64,
    /// What only TFRC asks for.
    pub tfrc: TfrcContext,
}

impl ReceiverContext {
    /// One of which no more is known than this.
    #[must_use]
    pub fn new(now: Instant, packet_size: Bytes) -> Self {
        Self { now, packet_size, upcoming: 0, tfrc: TfrcContext::default() }
    }
}
