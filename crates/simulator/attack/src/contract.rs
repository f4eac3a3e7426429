//! Information and actions of an attacker.

use headway_dccp::ServiceCode;
use headway_units::{Duration, Instant, Random};
use std::net::Ipv4Addr;

/// Direction of a packet of the attacked DCCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the client to the server.
    ToServer,
    /// From the server to the client.
    ToClient,
}

impl Direction {
    pub(super) const fn index(self) -> usize {
        match self {
            Self::ToServer => 0,
            Self::ToClient => 1,
        }
    }
    pub(super) const fn reversed(self) -> Self {
        match self {
            Self::ToServer => Self::ToClient,
            Self::ToClient => Self::ToServer,
        }
    }
}

/// IPv4 address and DCCP port of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// The address.
    pub address: Ipv4Addr,
    /// The DCCP port.
    pub port: u16,
}

/// Public information about a DCCP connection under attack: addresses, ports and service code.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Endpoint that opened the connection.
    pub client: Endpoint,
    /// Endpoint that listens.
    pub server: Endpoint,
    /// Service code of the listener.
    pub service: ServiceCode,
}

impl Target {
    /// Returns source and destination of packets in this direction.
    #[must_use]
    pub const fn ends(&self, direction: Direction) -> (Endpoint, Endpoint) {
        match direction {
            Direction::ToServer => (self.client, self.server),
            Direction::ToClient => (self.server, self.client),
        }
    }
}

/// Packet sent by an attacker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentPacket {
    /// Endpoint to which the attacker sends the packet: the server or the client.
    pub direction: Direction,
    /// Source address in the IP header.
    pub source: Ipv4Addr,
    /// DCCP packet with header.
    pub bytes: Vec<u8>,
}

/// Action of an on-path attacker on a packet that passes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Forwards the packet unchanged.
    Forwarded,
    /// Forwards these bytes instead of the packet.
    Changed(Vec<u8>),
    /// Forwards the packet after this delay.
    Delayed(Duration),
    /// Drops the packet.
    Dropped,
}

/// Parameters common to all attacks.
#[derive(Debug)]
pub struct Context {
    /// Connection under attack.
    pub target: Target,
    /// Start of the attack, inclusive.
    pub start: Instant,
    /// End of the attack, exclusive; `FAR_FUTURE` for none.
    pub stop: Instant,
    /// Random stream of the attacker.
    pub random: Random,
}

impl Context {
    pub(super) fn is_on(&self, now: Instant) -> bool {
        self.start <= now && now < self.stop
    }

    /// Returns whether the attack is active and selects this packet, with probability `share`.
    pub(super) fn hits(&mut self, now: Instant, share: headway_units::Probability) -> bool {
        self.is_on(now) && self.random.uniform() < share.value()
    }
}
