//! SCReAM v2 (draft-ietf-ccwg-rfc8298bis-screamv2-01): a window that follows losses, ECN marks and the queue delay, and
//! a media rate that follows the window.
//!
//! ```text
//! each report     qdelay = one-way delay above the line below the delays of a minute
//! each reaction   ref_wnd *= 0.7 on loss, 0.8 on a classic mark, 1 - b on an L4S mark or a queue delay above half
//!                 the target; at most once per min(25 ms, s_rtt)
//! each report     ref_wnd += acknowledged bytes times a factor of at most MSS/ref_wnd, below it near the window of
//!                 the last reaction, above it after 100 round trips without congestion
//! target rate     8 ref_wnd/s_rtt, reduced by 17 % and more
//! ```
//!
//! [`window`] is the algorithm. [`rules`] has the constants and rules of each version: the draft, Ericsson's sender and
//! libwebrtc's module. Differences from the draft, in all versions unless stated:
//!
//! - **The base of the queue delay** is a line, not a minimum, so that a skew of the clocks does not count as a queue.
//! - **Without reports**, which the draft leaves undefined: if packets are not reported for a retransmission timeout
//!   (RFC 6298) of at least the round-trip time + 200 ms, the window shrinks as by a loss. The sender forgets what is
//!   in flight and sends one packet per 200 ms or round trip, until a report arrives.
//! - **Start**, which the draft leaves undefined: `start_rate` times the first round-trip time, at least the minimum
//!   window of the version.
//! - **Losses** are those of three later packets (RFC 5681), not of a time, except in Ericsson's version. The draft
//!   states no initial reordering window.
//! - **The MSS** is the size of the largest datagram.
//! - **The target rate** of the draft ignores the time for which the receiver collects arrivals, so the sender cannot send
//!   it over a much shorter round trip. Here it is at most the limit of the bytes in flight per time from the sending of
//!   a packet to its report. The two implementations add this time to the round trip.
//! - **Optional parts of the draft** that a version has: relaxed pacing in the draft's; jitter reduction, the threshold of
//!   the loss rate and the correction for frames that wait in Ericsson's. No version has the policer, the repetition of
//!   the base delay, competing flows, the correction for the deviation of frame sizes, or several streams.

mod frames;
mod losses;
mod options;
mod queue_delay;
mod receiver;
mod rtt;
mod rules;
mod sender;
mod window;

use headway_units::{Duration, Instant};

pub use options::{Scream2Options, Scream2Version};
pub use receiver::Scream2Receiver;
pub use sender::Scream2Sender;

/// Returns whether `interval_s` has passed since `last`.
fn is_due(last: Option<Instant>, now: Instant, interval_s: f64) -> bool {
    last.is_none_or(|last| now.since(last) >= Duration::from_secs_f64(interval_s))
}
