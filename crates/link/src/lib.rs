#![doc = include_str!("../README.md")]
//!
//! # The parts
//!
//! A [`Link`] is offered packets, tells when each transmission starts and ends, and hands them out at the far end. Packets are values in a
//! [`Pool`]; what links of one kind have in common is a [`Common`]. A [`Host`] is where receiving takes time.
#![forbid(unsafe_code)]

mod capacity;
mod changes;
mod common;
mod host;
mod link;
pub mod loss;
mod policer;
mod pool;
pub mod queue;
mod sublist;
mod unmarked;
mod varying;

pub use capacity::{CapacityTrace, CapacityTraceError};
pub use changes::{LinkChange, LinkChanges};
pub use common::{Common, Config};
pub use host::{Host, HostOptions};
pub use link::{Delivery, Link, Offer, Transmission};
pub use loss::{LossOptions, LossTrace};
pub use policer::PolicerOptions;
pub use pool::{Handle, Item, Pool};
pub use queue::{Decision, QueueOptions};
