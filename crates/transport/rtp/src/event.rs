//! Events of a session.

use crate::error::RefusedFeedback;
use headway_units::{Duration, Rate, SendDrop};

/// Event of a [`Session`](crate::Session).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The encoder should produce this rate from now on: the controller's, smoothed by
    /// [`SessionOptions::encoder`](crate::SessionOptions::encoder). It includes all streams, with RTP headers and
    /// without those below.
    Rate(Rate),
    /// A packet was dropped by the send queue.
    Unsent {
        /// Number that [`Session::send`](crate::Session::send) returned.
        number: u64,
        /// Cause of the drop.
        cause: SendDrop,
        /// Estimated time from the packet's expiry to its arrival, had it been sent; zero if it was not late.
        lateness: Duration,
    },
    /// Packets were sent, and for this long no feedback has acknowledged a packet later than those acknowledged before:
    /// for a second, or four round trips if that is longer. The controller reduces its rate by its own rules.
    FeedbackStopped(Duration),
    /// Feedback has acknowledged a later packet, after [`FeedbackStopped`](Self::FeedbackStopped).
    FeedbackResumed,
    /// Feedback was ignored. Further refusals before this event is read are only
    /// [counted](crate::Counters::refused_feedback).
    RefusedFeedback(RefusedFeedback),
    /// The peer ended a stream that was received (RTCP BYE). The value is its synchronization source.
    Bye(u32),
}

/// Counters of a [`Session`](crate::Session).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// RTP packets sent.
    pub sent_packets: u64,
    /// Bytes of these packets, with RTP headers and without those below.
    pub sent_bytes: u64,
    /// Number of packets sent up to the last one that the peer acknowledged.
    pub acknowledged_packets: u64,
    /// Packets that the peer did not report as received, of those sent at least three before the last acknowledged one.
    pub lost_packets: u64,
    /// Feedback packets of which at least one block was used, and those without blocks.
    pub feedback: u64,
    /// Feedback packets or blocks ignored.
    pub refused_feedback: u64,
    /// RTP packets received.
    pub received_packets: u64,
    /// Received datagrams ignored.
    pub refused_packets: u64,
}
