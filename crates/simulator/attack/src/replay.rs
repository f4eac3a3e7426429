//! An on-path attacker that replays packets: duplicates, bursts of duplicates and old packets.

use crate::{Context, Direction, Fate, SentPacket};
use headway_units::{Dialect, Duration, Instant, OptionError, Probability};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Maximum number of pending packets; further packets are not copied.
const MAX_PENDING: usize = 1 << 16;
const MAX_COPIES: u32 = 1000;

/// Options of an attack of `kind = "replay"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Probability that the attacker sends copies of a packet of the flow, in either direction, later.
    pub share: Probability,
    /// Time from the passing of the original packet, which is forwarded unchanged, to the sending of its copies.
    pub after: Duration,
    /// Number of copies of a replayed packet, 1 to 1000, all sent at the same time.
    #[schemars(range(min = 1, max = 1000))]
    pub copies: u32,
}

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        Self { share: Probability::new(1.0).unwrap_or(Probability::ZERO), after: Duration::from_secs(1), copies: 1 }
    }

    fn check(&self) -> Result<(), OptionError> {
        if (1..=MAX_COPIES).contains(&self.copies) {
            return Ok(());
        }
        Err(OptionError::new("copies", format!("{} is out of range: from 1 to {MAX_COPIES}", self.copies)))
    }
}

/// State of a running attack that sends copies of packets.
#[derive(Debug)]
pub struct Replay {
    options: Options,
    context: Context,
    /// Pending packets by time, each with the number of remaining copies.
    waiting: VecDeque<(Instant, u32, SentPacket)>,
}

impl Replay {
    pub(crate) fn new(options: &Options, context: Context) -> Self {
        Self { options: options.clone(), context, waiting: VecDeque::new() }
    }

    pub(crate) fn handle(&mut self, now: Instant, direction: Direction, bytes: &[u8]) -> Fate {
        if self.context.hits(now, self.options.share) && self.waiting.len() < MAX_PENDING {
            let source = self.context.target.ends(direction).0.address;
            let shot = SentPacket { direction, source, bytes: bytes.to_vec() };
            self.waiting.push_back((now + self.options.after, self.options.copies, shot));
        }
        Fate::Forwarded
    }

    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<SentPacket> {
        let (at, left, shot) = self.waiting.front_mut()?;
        if *at > now {
            return None;
        }
        if *left > 1 {
            *left -= 1;
            return Some(shot.clone());
        }
        self.waiting.pop_front().map(|(.., shot)| shot)
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.waiting.front().map(|(at, ..)| *at)
    }
}
