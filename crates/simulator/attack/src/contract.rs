//! What an attacker knows, sees and answers.

use headway_dccp::ServiceCode;
use headway_units::{Duration, Instant, Random};
use std::net::Ipv4Addr;

/// Whose end a packet goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// From the client to the server.
    ToServer,
    /// From the server to the client.
    ToClient,
}

impl Way {
    pub(super) const fn index(self) -> usize {
        match self {
            Self::ToServer => 0,
            Self::ToClient => 1,
        }
    }
    pub(super) const fn back(self) -> Self {
        match self {
            Self::ToServer => Self::ToClient,
            Self::ToClient => Self::ToServer,
        }
    }
}

/// An address with a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// The address.
    pub address: Ipv4Addr,
    /// The DCCP port.
    pub port: u16,
}

/// What anybody may know of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Who opened it.
    pub client: Endpoint,
    /// Who listens.
    pub server: Endpoint,
    /// What the server listens for.
    pub service: ServiceCode,
}

impl Target {
    /// The source and the destination of what goes this way.
    #[must_use]
    pub const fn ends(&self, way: Way) -> (Endpoint, Endpoint) {
        match way {
            Way::ToServer => (self.client, self.server),
            Way::ToClient => (self.server, self.client),
        }
    }
}

/// A packet that an attacker sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shot {
    /// Where to.
    pub way: Way,
    /// What its IP header says of where it comes from.
    pub source: Ipv4Addr,
    /// The DCCP packet.
    pub bytes: Vec<u8>,
}

/// What becomes of a packet that passes an attacker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It goes on.
    Passes,
    /// It goes on with these bytes.
    Changed(Vec<u8>),
    /// It goes on so much later.
    Later(Duration),
    /// It goes no further.
    Taken,
}

/// What every attack begins with.
#[derive(Debug)]
pub struct Context {
    /// Whom it is for.
    pub target: Target,
    /// When it begins.
    pub start: Instant,
    /// When it is over; far in the future: never.
    pub stop: Instant,
    /// The attacker's own.
    pub random: Random,
}

impl Context {
    pub(super) fn is_on(&self, now: Instant) -> bool {
        self.start <= now && now < self.stop
    }

    /// Whether this one of many is hit, which happens with probability `share`.
    pub(super) fn hits(&mut self, now: Instant, share: headway_units::Probability) -> bool {
        self.is_on(now) && self.random.uniform() < share.value()
    }
}
