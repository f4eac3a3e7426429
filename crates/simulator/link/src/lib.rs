#![doc = include_str!("../README.md")]
//!
//! # The parts of a link
//!
//! - Configuration of a direction: [`Config`].
//! - Losses of the channel, before the queue or after the transmission: [`loss`].
//! - Policer, drops above a rate: [`PolicerOptions`].
//! - Queue disciplines, drops and ECN marks: [`queue`].
//! - Shaper, delays above a rate: [`ShaperOptions`].
//! - Bandwidth: [`Config::rate`], its changes [`LinkChanges`], or a measured [`CapacityTrace`].
//! - Propagation delay: [`Config::delay`], also changed by [`LinkChanges`].
//! - Jitter, random additional delay: [`jitter`].
//! - Reordering: [`reorder`].
//! - Duplication: [`DuplicateOptions`].
//! - Changes of the ECN field: [`EcnRewrite`].
//! - Queue, transmitter and meter of a direction at run time: [`Port`]; all of a network: [`Ports`].
//! - Packets on the links: [`Pool`]; drops, marks and other notifications: [`Handler`].
//! - Receiving host with limited CPU time: [`Host`].
#![forbid(unsafe_code)]

mod bucket;
mod capacity;
mod changes;
mod common;
mod config;
mod correlated;
mod duplicate;
mod ecn_rewrite;
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
pub use ecn_rewrite::EcnRewrite;
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
