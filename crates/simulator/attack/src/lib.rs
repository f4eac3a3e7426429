#![doc = include_str!("../README.md")]
//!
//! # The parts
//!
//! What is public, the addresses, the ports and the service code, is a [`Target`]. Who is on the path is handed packets by [`Attack::handle`].
//!
//! Whoever drives it runs the loop of every endpoint here: [`Attack::handle`], [`Attack::poll_transmit`] until there is
//! nothing, [`Attack::poll_timeout`] for when to come back. What it sends are whole DCCP packets with their checksums, which the
//! other end takes apart again: nothing of an attack is played by agreement.
#![forbid(unsafe_code)]

pub mod drop;
pub mod flood;
pub mod forge;
pub mod lie;
pub mod reorder;
pub mod replay;
pub mod tamper;
pub mod truncate;

mod every;
mod packets;

use headway_dccp::ServiceCode;
use headway_units::{Duration, Instant, Random, registry};
use std::net::Ipv4Addr;

registry! {
    /// What an attacker does.
    options AttackOptions;
    /// An attack under way.
    machine Attack;
    what "attack"; dispatch each;
    "drop" => Drop(drop::Options, drop::Drop),
    "flood" => Flood(flood::Options, flood::Flood),
    "forge" => Forge(forge::Options, forge::Forge),
    "lie" => Lie(lie::Options, lie::Lie),
    "reorder" => Reorder(reorder::Options, reorder::Reorder),
    "replay" => Replay(replay::Options, replay::Replay),
    "tamper" => Tamper(tamper::Options, tamper::Tamper),
    "truncate" => Truncate(truncate::Options, truncate::Truncate),
}

impl AttackOptions {
    /// The packets that it sends by itself in so long; those that answer or repeat others do not count.
    #[must_use]
    pub const fn shots_within(&self, length: Duration) -> u64 {
        let interval = match self {
            Self::Flood(options) => options.interval,
            Self::Forge(options) => options.interval,
            Self::Drop(_) | Self::Lie(_) | Self::Reorder(_) | Self::Replay(_) | Self::Tamper(_) | Self::Truncate(_) => {
                return 0;
            }
        };
        if interval.is_zero() { u64::MAX } else { length.as_nanos() / interval.as_nanos() }
    }

    /// Whether the attacker must stand on the path, where it gets the packets that it keeps, copies or changes.
    #[must_use]
    pub const fn needs_path(&self) -> bool {
        match self {
            Self::Flood(_) => false,
            Self::Forge(options) => options.unknown_bits < forge::ALL_BITS,
            Self::Drop(_) | Self::Lie(_) | Self::Reorder(_) | Self::Replay(_) | Self::Tamper(_) | Self::Truncate(_) => {
                true
            }
        }
    }
}

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
    const fn index(self) -> usize {
        match self {
            Self::ToServer => 0,
            Self::ToClient => 1,
        }
    }
    const fn back(self) -> Self {
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
    fn is_on(&self, now: Instant) -> bool {
        self.start <= now && now < self.stop
    }

    /// Whether this one of many is hit, which happens with probability `share`.
    fn hits(&mut self, now: Instant, share: headway_units::Probability) -> bool {
        self.is_on(now) && self.random.uniform() < share.value()
    }
}

impl Attack {
    /// The attack that the options describe.
    #[must_use]
    pub fn new(options: &AttackOptions, context: Context) -> Self {
        match options {
            AttackOptions::Drop(options) => Self::Drop(drop::Drop::new(options, context)),
            AttackOptions::Flood(options) => Self::Flood(flood::Flood::new(options, context)),
            AttackOptions::Forge(options) => Self::Forge(forge::Forge::new(options, context)),
            AttackOptions::Lie(options) => Self::Lie(lie::Lie::new(options, context)),
            AttackOptions::Reorder(options) => Self::Reorder(reorder::Reorder::new(options, context)),
            AttackOptions::Replay(options) => Self::Replay(replay::Replay::new(options, context)),
            AttackOptions::Tamper(options) => Self::Tamper(tamper::Tamper::new(options, context)),
            AttackOptions::Truncate(options) => Self::Truncate(truncate::Truncate::new(options, context)),
        }
    }

    /// A packet of the connection passes, to an attacker on its path.
    pub fn handle(&mut self, now: Instant, way: Way, bytes: &[u8]) -> Fate {
        match self {
            Self::Drop(attack) => attack.handle(now),
            Self::Flood(_) => Fate::Passes,
            Self::Forge(attack) => attack.handle(way, bytes),
            Self::Lie(attack) => attack.handle(now, way, bytes),
            Self::Reorder(attack) => attack.handle(now),
            Self::Replay(attack) => attack.handle(now, way, bytes),
            Self::Tamper(attack) => attack.handle(now, way, bytes),
            Self::Truncate(attack) => attack.handle(now, way, bytes),
        }
    }

    /// The next packet that goes now, if any.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Shot> {
        match self {
            Self::Flood(attack) => attack.poll_transmit(now),
            Self::Forge(attack) => attack.poll_transmit(now),
            Self::Replay(attack) => attack.poll_transmit(now),
            Self::Drop(_) | Self::Lie(_) | Self::Reorder(_) | Self::Tamper(_) | Self::Truncate(_) => None,
        }
    }

    /// When [`Self::poll_transmit`] has something.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Flood(attack) => attack.poll_timeout(),
            Self::Forge(attack) => attack.poll_timeout(),
            Self::Replay(attack) => attack.poll_timeout(),
            Self::Drop(_) | Self::Lie(_) | Self::Reorder(_) | Self::Tamper(_) | Self::Truncate(_) => None,
        }
    }
}

#[cfg(test)]
mod testing;
