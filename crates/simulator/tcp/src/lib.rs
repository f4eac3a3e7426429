#![doc = include_str!("../README.md")]
//!
//! # The parts
//!
//! A [`Sender`] and a [`Sink`] exchange [`Segment`]s that count whole packets, as ns-2's one-way agents do: number 0 is
//! the SYN, data starts at 1, a sink answers with the next number it waits for. A kind composes one loss recovery
//! with one window growth; its rules are [`Rules`].
#![forbid(unsafe_code)]

mod counters;
mod fack_board;
mod growth;
mod keys;
mod kinds;
mod linux_window;
mod open_state;
mod opening;
mod options;
mod prr;
mod rack;
mod ranges;
mod rto;
mod scoreboard;
mod segment;
mod sender;
mod sink;
mod state;
mod unit;

pub use counters::Counters;
pub use kinds::cubic::CubicOptions;
pub use kinds::dctcp::DctcpOptions;
pub use kinds::vegas::{VegasOptions, VegasRules};
pub use kinds::westwood::{BandwidthFilter, WestwoodOptions};
pub use kinds::{OwnOptions, Sender, TcpOptions};
pub use options::{
    AckCounting, EcnEcho, HalvedWindow, Halving, Increase, NewRenoOptions, PartialAckTimer, Pipe, RenoOptions, Restart,
    Rules, SackOptions,
};
pub use segment::{SackBlocks, Segment};
pub use sink::Sink;
