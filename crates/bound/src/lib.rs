//! The clairvoyant bound: over a given trace of sending opportunities, the most that any send queue could have on time.
//!
//! A send queue decides without knowing what will be handed to it next, nor how long the path will take. This crate
//! decides with all of that known, so that a queue can be measured by how near it comes, not only by what it beats.
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
//!
//! ```
//! use headway_bound::{Opportunity, Packet, Slots, unit_bound};
//! use headway_units::{Bytes, Instant};
//!
//! let ms = Instant::from_millis;
//! // A path of 50 ms. The second slot is lost; on the line between its neighbours it would have arrived at 60 ms.
//! let slots = Slots::new(&[
//!     Opportunity { at: ms(0), arrives: Some(ms(50)) },
//!     Opportunity { at: ms(10), arrives: None },
//!     Opportunity { at: ms(20), arrives: Some(ms(70)) },
//! ]);
//! let packet = |priority, created, expires| Packet {
//!     priority,
//!     created: ms(created),
//!     expires: Some(ms(expires)),
//!     size: Bytes::new(200),
//! };
//! let packets = [
//!     packet(0, 0, 70),  // sound: in time in any slot
//!     packet(1, 0, 55),  // picture: only in the first
//!     packet(1, 0, 65),  // picture: in the first or the second
//!     packet(0, 10, 60), // sound: only in the second
//! ];
//! // Picture, late sound, early sound. Strict priority would send sound first and have no picture on time.
//! let bound = unit_bound(&slots, &packets);
//! assert_eq!(bound.by_priority[&0].on_time, 2);
//! assert_eq!(bound.by_priority[&1].on_time, 1);
//! assert_eq!((bound.used, bound.unused), (3, 0));
//! ```
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
