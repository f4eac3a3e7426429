//! TCP-like congestion control, CCID 2 (RFC 4341): the window of SACK TCP without retransmission.
//!
//! The carrier implements the parts of acknowledgement congestion control that need sequence numbers of the reverse
//! direction: it counts lost acknowledgements (section 6.1.1), negotiates the Ack Ratio of
//! [`Status::ack_ratio`](crate::Status::ack_ratio) at most once per round trip, acknowledges acknowledgements (section
//! 6.2), and detects quiescence (section 6.2.1).
//!
//! Differences and choices where the RFC allows them:
//! - Only data packets cause congestion events, as in ns-2 and Linux. Lost acknowledgements concern the reverse
//!   half-connection (section 6.1).
//! - Losses in one report are detected together and form at most one event.
//! - Packets sent before the detection of an event do not open the window: they belong to a window of data with losses.
//! - `ns2`: marked packets do not count as acknowledged in slow start; the Ack Ratio falls after cwnd / (R^2 - R)
//!   windows, not after more than that.
//! - `linux`: RTTVAR is that of RFC 6298; Linux uses the largest deviation in a flight and a sample per acknowledged
//!   packet. Packets without data count among the three that make one lost. The window is not limited to the Sequence
//!   Window, which the carrier knows. Packets acknowledged before a congestion event do not count towards growth after
//!   it. The timer does not run with nothing in flight. The Ack Ratio never exceeds ceil(cwnd / 2); Linux lowers it
//!   only once it exceeds cwnd.

mod ack_ratio;
mod options;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;
mod window;

pub use options::{AckRatioRule, Restart, TcpLikeExpert, TcpLikeOptions, UnusedWindow};
pub use receiver::TcpLikeReceiver;
pub use sender::TcpLikeSender;
