//! Carrier: the driver that is common to all controllers. A DCCP connection, a simulator agent and a socket only
//! connect it.
//!
//! - [`Outbound`] drives a sender half: it numbers packets, records when each was sent, keeps the time of the next
//!   permission, detects application-limited periods, measures round trips, and collects the further signals that the
//!   next report includes.
//! - [`Inbound`] drives a receiver half: it tracks the newest packet and its arrival time, and reports that are due.
//!
//! The loop is that of the contract: handle input, drain output, wait for the next deadline.

mod arrival_log;
mod inbound;
mod ledger;
mod outbound;
mod wrapped;

pub use inbound::{Due, Inbound};
pub use ledger::SentPackets;
pub use outbound::{Acknowledged, Outbound, Trip};
pub use wrapped::Wrapped;
