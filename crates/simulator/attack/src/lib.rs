#![doc = include_str!("../README.md")]
//!
//! # Components
//!
//! A [`Target`] holds what every attacker knows of the attacked connection: addresses, ports and service code.
//!
//! The driver runs the usual sans-I/O loop: [`Attack::handle`] for each packet of the connection that passes an on-path
//! attacker, [`Attack::poll_transmit`] until it returns `None`, and [`Attack::poll_timeout`] for the next deadline.
//! Attackers send complete DCCP packets with checksums, which the receiving endpoint parses as any other packet.
#![forbid(unsafe_code)]

pub mod drop;
pub mod flood;
pub mod forge;
pub mod lie;
pub mod reorder;
pub mod replay;
pub mod tamper;
pub mod truncate;

mod contract;
mod every;
mod packets;

pub use contract::{Context, Direction, Endpoint, Fate, SentPacket, Target};
use headway_units::{Duration, Instant, registry};

registry! {
    /// Options of an attack, by kind.
    options AttackOptions;
    /// State of an attack.
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
    /// Returns the number of packets that the attack `flood` or `forge` sends within `length`; 0 for other attacks,
    /// which only act on packets of the connection.
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

    /// Returns whether the attacker must be on the path of the connection, because the attack observes, copies, delays,
    /// changes or drops its packets.
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

impl Attack {
    /// Creates the attack that the options describe.
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

    /// Handles a packet of the connection that passes the on-path attacker, and returns what the attacker does with it.
    pub fn handle(&mut self, now: Instant, direction: Direction, bytes: &[u8]) -> Fate {
        match self {
            Self::Drop(attack) => attack.handle(now),
            Self::Flood(_) => Fate::Forwarded,
            Self::Forge(attack) => attack.handle(direction, bytes),
            Self::Lie(attack) => attack.handle(now, direction, bytes),
            Self::Reorder(attack) => attack.handle(now),
            Self::Replay(attack) => attack.handle(now, direction, bytes),
            Self::Tamper(attack) => attack.handle(now, direction, bytes),
            Self::Truncate(attack) => attack.handle(now, direction, bytes),
        }
    }

    /// Returns the next packet that the attacker sends at `now`; `None` if no further packet is due.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<SentPacket> {
        match self {
            Self::Flood(attack) => attack.poll_transmit(now),
            Self::Forge(attack) => attack.poll_transmit(now),
            Self::Replay(attack) => attack.poll_transmit(now),
            Self::Drop(_) | Self::Lie(_) | Self::Reorder(_) | Self::Tamper(_) | Self::Truncate(_) => None,
        }
    }

    /// Returns when to call [`Self::poll_transmit`] next; `None` if the attacker has no packet to send.
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
