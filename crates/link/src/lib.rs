//! What the network does to a packet: a queue in front of a transmitter, loss, rate and delay. Sans-I/O.
//!
//! A [`Link`] is one direction. It is offered packets, tells when each transmission starts and ends, and hands them
//! out at the far end. It knows nothing of what it carries: a packet is a value of any type, with a size, in a [`Pool`].
#![forbid(unsafe_code)]

mod common;
mod link;
pub mod loss;
mod pool;
pub mod queue;

pub use common::{Common, Config};
pub use link::{Delivery, Link, Offer, Transmission};
pub use loss::LossOptions;
pub use pool::{Handle, Item, Pool};
pub use queue::QueueOptions;
