//! TCP-like congestion control, CCID 2 (RFC 4341): SACK TCP's window without retransmission.
//!
//! Of the section on acknowledgements, what needs sequence numbers of the other direction is the carrier's: it counts
//! acknowledgements lost (section 6.1.1), negotiates the Ack Ratio that [`Status::ack_ratio`](crate::Status::ack_ratio)
//! wants, at most once a round trip, acknowledges acknowledgements (section 6.2), and finds quiescence (section 6.2.1).
//!
//! Departures, and rules chosen where the RFC leaves a choice:
//! - Only data packets make congestion events, as in ns-2 and Linux. Lost acknowledgements are the other half-connection's
//!   (section 6.1).
//! - All that one report tells is detected at once, and is so one event at most.
//! - What was sent before an event was detected does not open the window: it belongs to a window of data with losses.
//! - `ns2`: marked packets do not count as acknowledged in slow start; the Ack Ratio falls after cwnd / (R^2 - R)
//!   windows, not after more than that.
//! - `linux`: RTTVAR is RFC 6298's, not that of Linux's estimator, which looks at the largest deviation of a flight, and
//!   takes a sample for each packet acknowledged; packets without data count among the three that make one lost; the
//!   window is not held below the Sequence Window, which the carrier knows; what was acknowledged before a congestion
//!   event does not count towards growth after it; the timer does not run with nothing under way; the Ack Ratio never
//!   exceeds ceil(cwnd / 2), where Linux lowers it only once it exceeds cwnd.

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
