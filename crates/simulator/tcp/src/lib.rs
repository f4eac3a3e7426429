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
mod kinds;
mod linux_window;
mod newreno;
mod open_state;
mod opening;
mod options;
mod presets;
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
pub use kinds::{Sender, TcpOptions};
pub use options::{
    AckCounting, BandwidthFilter, EcnEcho, HalvedWindow, Halving, Increase, PartialAckTimer, Pipe, Restart, Rules,
    VegasRules,
};
pub use segment::{SackBlocks, Segment};
pub use sink::Sink;
