//! Packet spacing by feedback: the gap between packets doubles where some were lost, and shrinks where none was.
//!
//! From "packet spacing: an enabling mechanism for delivering multimedia content in computational grids", sections 2.1 and 2.2:
//!
//! ```text
//! rate = 8 s / (tx + ps)                             ps from the end of a packet to the start of the next, tx on the sender's line
//! receiver    each base round trip: how many packets have come
//! sender      ps <- 50 us if it was 0, else min(2 ps, R)    if fewer came than were sent
//!             ps <- shorter                                 else
//! damped      a loss that such a shortening caused restores the ps before it
//! ```
//!
//! How ps becomes shorter stood in a figure of which only the name is left: it is an option ([`Shorten`]), and so is which decision a loss
//! is blamed on ([`Damping`]).

mod options;
mod receiver;
mod rule;
mod sender;

pub use options::{Damping, Shorten, SpacingOptions, SpacingRtt, WhenLimited};
pub use receiver::SpacingReceiver;
pub use sender::SpacingSender;

use crate::report::Own;

/// What a report says: how many packets have come in all, of those up to which number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Count {
    /// The highest number that has come, modulo 2^32.
    highest: u32,
    /// Packets that have come and were not marked, modulo 2^32.
    came: u32,
}

impl Count {
    fn encode(self) -> Own {
        let [a, b, c, d] = self.highest.to_be_bytes();
        let [e, f, g, h] = self.came.to_be_bytes();
        Own::new(&[a, b, c, d, e, f, g, h]).unwrap_or(Own::NONE)
    }

    fn decode(own: Own) -> Option<Self> {
        let (highest, came) = own.as_bytes().split_first_chunk::<4>()?;
        Some(Self { highest: u32::from_be_bytes(*highest), came: u32::from_be_bytes(came.try_into().ok()?) })
    }
}

#[cfg(test)]
mod tests;
