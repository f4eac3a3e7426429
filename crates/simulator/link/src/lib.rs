#![doc = include_str!("../README.md")]
//!
//! # The parts
//!
//! [`Ports`] are offered packets, schedule their events and return the packets at the far ends. Packets are values in a
//! [`Pool`]. A [`Handler`] of the owner is notified of marks and drops. A [`Host`] needs CPU time to receive packets.
#![forbid(unsafe_code)]

mod bucket;
mod capacity;
mod changes;
mod common;
mod config;
mod correlated;
mod duplicate;
mod host;
mod in_flight;
pub mod jitter;
pub mod loss;
mod overtaking;
mod policer;
mod pool;
mod port;
mod ports;
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
pub use config::Config;
pub use duplicate::DuplicateOptions;
pub use host::{Host, HostOptions};
pub use jitter::JitterOptions;
pub use loss::{LossOptions, LossTrace};
pub use policer::PolicerOptions;
pub use pool::{Handle, Item, Pool};
pub use port::Port;
pub use ports::{DroppedPacket, Handler, PortSample, Ports};
pub use queue::{Decision, QueueOptions};
pub use reorder::ReorderOptions;
pub use shaper::{ShaperChange, ShaperOptions};
