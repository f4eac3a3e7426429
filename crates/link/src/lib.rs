#![doc = include_str!("../README.md")]
//!
//! # The parts
//!
//! A [`Link`] is offered packets, tells when each transmission starts and ends, and hands them out at the far end. Packets are values in a
//! [`Pool`]; what links of one kind have in common is a [`Common`]. A [`Host`] is where receiving takes time.
#![forbid(unsafe_code)]

mod bucket;
mod capacity;
mod changes;
mod common;
mod correlated;
mod duplicate;
mod host;
mod in_flight;
pub mod jitter;
mod link;
pub mod loss;
mod overtaking;
mod policer;
mod pool;
mod propagation;
pub mod queue;
pub mod reorder;
mod shaper;
mod sublist;
mod unmarked;
mod varying;

pub use bucket::{LARGEST_BURST, LARGEST_PACKET};
pub use capacity::{CapacityTrace, CapacityTraceError};
pub use changes::{LinkChange, LinkChanges, LinkChangesError};
pub use common::{Common, Config};
pub use duplicate::DuplicateOptions;
pub use host::{Host, HostOptions};
pub use jitter::JitterOptions;
pub use link::{Delivery, Departure, Link, Offer, PlainOffer, Transmission};
pub use loss::{LossOptions, LossTrace};
pub use policer::PolicerOptions;
pub use pool::{Handle, Item, Pool};
pub use queue::{Decision, QueueOptions};
pub use reorder::ReorderOptions;
pub use shaper::{ShaperChange, ShaperOptions};
