#![doc = include_str!("../README.md")]
//!
//! **Model.** The controller permits one packet at each instant of a trace; a packet sent then would arrive at a given
//! instant. Packet *p* is on time in slot *i* if created(p) ≤ at(i) and arrives(i) ≤ expires(p). The trace is taken as it
//! is: a slot that is left empty moves no other, though a real controller may slow down for it. No queue is ever full, and
//! packets are counted, not frames.
//!
//! **Loss is not known.** A lost slot stays a slot, with the arrival that its neighbours suggest ([`Slots::new`]). A bound
//! that stepped round the losses would hold nothing that a sender can do. So that like is compared with like, a queue is
//! replayed over the same [`Slots`] and counted alike: what it sends in a lost slot counts by the would-be arrival. Shares
//! on time are therefore those before loss, for the bound and for the queue.
//!
//! **Order of wishes.** The most of priority 0, then the most of priority 1 that leaves this, and so on. What holds for
//! every queue are the sums from priority 0 on ([`UnitBound::up_to`]): one that neglects sound may well show more pictures
//! than the bound does, but not more of both together.
//!
//! - [`unit_bound`]: each opportunity carries one packet of any size. Exact.
//! - [`byte_bound`]: each opportunity carries bytes. An upper bound.
//! - [`replay`]: what a given [`Sender`] gets out of the slots of [`unit_bound`].
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

/// What an application hands to the send queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// 0 is the most urgent.
    pub priority: u8,
    /// When the application hands it over: no opportunity before this is of use to it.
    pub created: Instant,
    /// Until when its arrival is of use, this instant included; `None` is for ever.
    pub expires: Option<Instant>,
    /// What it takes of a byte credit. Of no account where an opportunity carries any packet.
    pub size: Bytes,
}

impl Packet {
    fn in_time(&self, arrives: Instant) -> bool {
        self.expires.is_none_or(|expires| arrives <= expires)
    }
}
