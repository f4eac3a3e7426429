//! TFRC: TCP-Friendly Rate Control (RFC 5348, which RFC 5348 section 1 puts in the place of RFC 3448 for CCIDs too), as CCID 3 (RFC 4342) and as CCID 4 for small packets (RFC 4828, RFC 5622).
//!
//! The receiver keeps a history of losses (`losses`), averages the intervals between loss events (`average`) and reports
//! p and the receive rate about once a round trip (`receiver`). The sender puts p and its round trip (`rtt`) into TCP's
//! throughput equation (`equation`), keeps within twice what arrives (`limit`, `allowed`) and paces (`pace`).
//! Without room for the sender's clock on data packets, four bits count quarters of its round trip (`counter`).

mod allowed;
mod arrivals;
mod average;
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
    OpenInterval, Pacing, ReceiveLimit, RtoRule, Segment, SlowStart, TfrcExpert, TfrcOptions,
};
pub use receiver::TfrcReceiver;
pub use sender::TfrcSender;
