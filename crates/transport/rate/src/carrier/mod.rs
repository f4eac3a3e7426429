//! What every carrier of a controller does, written once: a DCCP connection, a bare agent of the simulator and a socket only wire it.
//!
//! - [`Outbound`] drives a sender half: it numbers packets, remembers when each went, keeps the instant at which the next one may go,
//!   finds out that the application had nothing, measures round trips, and gathers what the next report says beside its own numbers.
//! - [`Inbound`] drives a receiver half: it knows the newest packet and when it came, and when a report is due.
//!
//! The loop is that of the contract: in, drain, next deadline.

mod arrival_log;
mod inbound;
mod ledger;
mod outbound;
mod wrapped;

pub use inbound::{Due, Inbound};
pub use ledger::Ledger;
pub use outbound::{Acknowledged, Outbound, Trip};
pub use wrapped::Wrapped;
