#![doc = include_str!("../README.md")]
//!
//! **Model.** The controller permits one packet at each time of a trace, with a given arrival. Packet *p* is on time in
//! slot *i* if created(p) ≤ at(i) and arrives(i) ≤ expires(p). The trace is fixed: an empty slot does not move any
//! other, although a real controller may slow down after it. Queues never overflow. Packets are counted, not frames.
//!
//! **Losses are not used.** A slot whose packet was lost remains a slot, with an arrival interpolated from its
//! neighbors ([`Slots::new`]). A bound that avoided lost slots would not be reachable by any sender. For a fair
//! comparison, a queue is replayed over the same [`Slots`] and a packet in a lost slot counts by its interpolated
//! arrival. Shares on time are therefore those without losses, for the bound and for the queue.
//!
//! **Objective.** The bound is lexicographic: the maximum of priority 0, then the maximum of priority 1 given that, and
//! so on. The cumulative sums from priority 0 on ([`UnitBound::up_to`]) bound every queue. A queue that neglects audio
//! may deliver more video than the bound, but not more of both together.
//!
//! - [`unit_bound`]: each opportunity carries one packet of any size. Exact.
//! - [`byte_bound`]: each opportunity carries bytes. An upper bound.
//! - [`replay`]: the result of a given [`Sender`] over the slots of [`unit_bound`].
#![forbid(unsafe_code)]

mod bytes;
mod fold;
mod replay;
mod slots;
#[cfg(test)]
mod testing;
mod units;

pub use bytes::{ByteShare, Credit, Unused, byte_bound};
pub use replay::{Outcome, ReplayError, Replayed, Sender, replay};
pub use slots::{Opportunity, Slot, Slots};
pub use units::{Share, UnitBound, unit_bound};

use headway_units::{Bytes, Instant};

/// Packet that an application passes to the send queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Priority; 0 is the most urgent.
    pub priority: u8,
    /// Time at which the application passes the packet to the queue; it can be sent from this time on, inclusive.
    pub created: Instant,
    /// Latest useful arrival, inclusive; `None` for no limit.
    pub expires: Option<Instant>,
    /// Size of the packet, which [`byte_bound`] charges to its [credits](Credit). Not used by [`unit_bound`].
    pub size: Bytes,
}

impl Packet {
    fn in_time(&self, arrives: Instant) -> bool {
        self.expires.is_none_or(|expires| arrives <= expires)
    }
}
