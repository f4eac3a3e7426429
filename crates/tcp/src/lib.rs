//! The competition: one-way, packet-level TCP senders and sinks.
//!
//! A [`Sender`] and a [`Sink`] exchange [`Segment`]s that count whole packets, as ns-2's one-way agents do: number 0 is
//! the SYN, data starts at 1, a sink answers with the next number it waits for. A kind composes one loss recovery
//! (Tahoe, Reno, NewReno, SACK) with one window growth (AIMD, CUBIC); every rule in which ns-2.35, the RFCs and Linux
//! differ is an option in [`Rules`], and a dialect is a preset of them.
//!
//! Sans-I/O: time, randomness and packets are passed in.
//!
//! ```
//! use headway_tcp::{Sender, Sink, TcpOptions};
//! use headway_units::{Dialect, Instant, Random, Registry};
//!
//! let options = TcpOptions::preset("tcp-newreno", Dialect::Ns2).unwrap();
//! let mut sender = Sender::new(&options, Random::new(1, "example"));
//! let mut sink = Sink::new(&options);
//! sender.write(Instant::ZERO, 10);
//! for round in 0..6 {
//!     let now = Instant::from_millis(100 * round);
//!     while let Some(segment) = sender.poll_transmit(now) {
//!         sink.handle(now, &segment);
//!     }
//!     while let Some(ack) = sink.poll_transmit(now) {
//!         sender.handle(now, &ack);
//!     }
//! }
//! assert!(sender.is_finished());
//! assert_eq!(sink.received_segments(), 10);
//! ```
#![forbid(unsafe_code)]

mod aimd;
mod cubic;
mod growth;
mod hystart;
mod kinds;
mod newreno;
mod options;
mod prr;
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

pub use kinds::{Sender, TcpOptions};
pub use options::{AckCounting, HalvedWindow, Halving, Increase, PartialAckTimer, Pipe, Restart, Rules};
pub use segment::{SackBlocks, Segment};
pub use sender::Counters;
pub use sink::Sink;
