#![doc = include_str!("../README.md")]
//!
//! # Components
//!
//! A [`Sender`] and a [`Sink`] exchange [`Segment`]s that represent whole packets, as in ns-2's one-way agents. Number
//! 0 is the SYN, data starts at 1, and a sink acknowledges with the next number it expects. A kind combines a loss
//! recovery with a window growth; its options are [`Rules`].
#![forbid(unsafe_code)]

mod counters;
mod delivery;
mod ecn_feedback;
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
mod windowed_max;

pub use counters::Counters;
pub use kinds::bbr::{BbrOptions, BbrVersion};
pub use kinds::cubic::CubicOptions;
pub use kinds::dctcp::DctcpOptions;
pub use kinds::prague::PragueOptions;
pub use kinds::vegas::{VegasOptions, VegasRules};
pub use kinds::westwood::{BandwidthFilter, WestwoodOptions};
pub use kinds::{OwnOptions, Sender, TcpOptions};
pub use options::{
    AckCounting, EcnEcho, HalvedWindow, Halving, Increase, NewRenoOptions, PartialAckTimer, Pipe, RenoOptions, Restart,
    Rules, SackOptions,
};
pub use segment::{EcnCounts, SackBlocks, Segment};
pub use sink::Sink;
