//! TFRC: TCP-Friendly Rate Control (RFC 5348, which replaces RFC 3448 for CCIDs too, by its section 1), as CCID 3 (RFC
//! 4342) and as CCID 4 for small packets (RFC 4828, RFC 5622).
//!
//! The receiver keeps a loss history (`losses`), averages the intervals between loss events (`average`) and reports p
//! and the receive rate about once per round trip (`receiver`). The sender applies the throughput equation (`equation`)
//! to p and its round-trip time (`rtt`), limits the rate to twice the receive rate (`limit`, `allowed`) and paces
//! packets (`pace`). If data packets do not carry the sender's clock, CCVal counts quarters of its round trip
//! (`counter`).

mod allowed;
pub(crate) mod arrivals;
pub(crate) mod average;
mod context;
mod counter;
mod equation;
mod events;
mod limit;
mod losses;
mod options;
mod pace;
mod receiver;
mod reported;
mod rtt;
mod segment;
mod sender;
mod sent;
#[cfg(test)]
mod vectors;

pub use context::TfrcContext;
pub use options::{
    CounterSamples, DiscountKept, FeedbackClock, FirstInterval, Idle, Increase, InitialWindow, LossEvents, Nofeedback,
    OpenInterval, Paced, Pacing, ReceiveLimit, RtoRule, Segment, SlowStart, TfrcExpert, TfrcOptions,
};
pub use receiver::TfrcReceiver;
pub use sender::TfrcSender;
