//! Packet spacing by feedback: the gap between packets doubles after losses and shrinks without.
//!
//! From "packet spacing: an enabling mechanism for delivering multimedia content in computational grids", sections 2.1
//! and 2.2:
//!
//! ```text
//! rate = 8 s / (tx + ps)                             ps from the end of a packet to the start of the next, tx on the
//! sender's line
//! receiver    each base round trip: the number of packets received
//! sender      ps <- 50 us if it was 0, else min(2 ps, R)    if fewer were received than sent
//!             ps <- shorter                                 otherwise
//! damped      a loss caused by such a shortening restores the previous ps
//! ```
//!
//! The rule of shortening was in a figure of which only the caption is known, so it is an option ([`Shorten`]), as is
//! the decision to which a loss is attributed ([`Damping`]).

mod options;
mod receiver;
mod rule;
mod sender;

pub use options::{Damping, Shorten, SpacingOptions, SpacingRtt, WhenLimited};
pub use receiver::SpacingReceiver;
pub use sender::SpacingSender;

use crate::report::Own;

/// Contents of a report: the total number of packets received, up to a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Count {
    /// Highest number received, modulo 2^32.
    highest: u32,
    /// Packets received without a mark, modulo 2^32.
    received: u32,
}

impl Count {
    fn encode(self) -> Own {
        let [a, b, c, d] = self.highest.to_be_bytes();
        let [e, f, g, h] = self.received.to_be_bytes();
        Own::new(&[a, b, c, d, e, f, g, h]).unwrap_or(Own::NONE)
    }

    fn decode(own: Own) -> Option<Self> {
        let (highest, received) = own.as_bytes().split_first_chunk::<4>()?;
        Some(Self { highest: u32::from_be_bytes(*highest), received: u32::from_be_bytes(received.try_into().ok()?) })
    }
}

#[cfg(test)]
mod tests;
