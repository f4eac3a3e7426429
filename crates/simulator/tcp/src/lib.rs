#![doc = include_str!("../README.md")]
//!
//! # The parts
//!
//! A [`Sender`] and a [`Sink`] exchange [`Segment`]s that count whole packets, as ns-2's one-way agents do: number 0 is
//! the SYN, data starts at 1, a sink answers with the next number it waits for. A kind composes one loss recovery
//! with one window growth; its rules are [`Rules`].
#![forbid(unsafe_code)]

mod aimd;
mod arizona;
mod bandwidth;
mod bic;
mod counters;
mod cubic;
mod dctcp;
mod fack;
mod fack_board;
mod growth;
mod hystart;
mod jtcp;
mod keys;
mod kinds;
mod linux_window;
mod newreno;
mod open_state;
mod opening;
mod options;
mod prr;
mod rack;
mod ranges;
mod reno;
mod rto;
mod sack;
mod sack1;
mod scoreboard;
mod segment;
mod sender;
mod sink;
mod state;
mod tahoe;
mod unit;
mod vegas;
mod veno;
mod westwood;
mod westwood_linux;

pub use counters::Counters;
pub use cubic::CubicOptions;
pub use dctcp::DctcpOptions;
pub use kinds::{Sender, TcpOptions};
pub use newreno::{NewRenoOptions, PartialAckTimer};
pub use options::{AckCounting, EcnEcho, HalvedWindow, Halving, Increase, Restart, Rules};
pub use reno::RenoOptions;
pub use sack::{Pipe, SackOptions};
pub use segment::{SackBlocks, Segment};
pub use sink::Sink;
pub use vegas::{VegasOptions, VegasRules};
pub use westwood::{BandwidthFilter, WestwoodOptions};
