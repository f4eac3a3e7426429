//! Information about packets to be sent and the sender half's decisions.

use crate::report::Own;
use headway_units::{Bytes, Duration, Ecn, Instant, Probability, Rate};

/// Packet that would be sent next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Next {
    /// Size of the data, without headers; zero if no packet waits and the caller only asks when one may be sent.
    pub size: Bytes,
    /// Size of the data of all waiting packets, including this one.
    pub waiting: Bytes,
    /// Time since the application created the packet.
    pub age: Duration,
    /// Time after which the packet is of no use to the receiver; `None` if there is no such time.
    pub expires: Option<Instant>,
    /// Whether the packet is the last of a frame, so that a pause may follow.
    pub ends_frame: bool,
}

impl Next {
    /// Creates a packet of which only the size is known.
    #[must_use]
    pub const fn new(size: Bytes) -> Self {
        Self { size, waiting: size, age: Duration::ZERO, expires: None, ends_frame: false }
    }
}

/// Decision of a sender half on whether a packet may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    /// The packet may be sent immediately.
    Now,
    /// The packet may be sent at this time, which is in the future, but not earlier.
    At(Instant),
    /// The packet may not be sent before another event: a report or a timeout.
    Blocked,
}

/// Packet that is sent now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sending {
    /// Packet number, one more than that of the previous packet. The first number is chosen by the transport, such as a
    /// DCCP connection.
    pub number: u64,
    /// Size of the data, without headers.
    pub size: Bytes,
    /// Whether the packet carries application data; true for a datagram of zero bytes.
    pub data: bool,
}

impl Sending {
    /// Creates a packet with this number. `data` is the number of application bytes, if the packet carries any.
    #[must_use]
    pub fn new(number: u64, data: Option<Bytes>) -> Self {
        Self { number, size: data.unwrap_or_default(), data: data.is_some() }
    }
}

/// Header fields that the sender half sets on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stamp {
    /// CCVal of DCCP, four bits: the window counter of TFRC (RFC 4342 section 8.1).
    pub ccval: u8,
    /// ECN codepoint, if the transport uses ECN: ECT(0) for a controller that treats a mark as a loss (RFC 8311),
    /// ECT(1) for one that responds to marks by RFC 9331, Not-ECT for one that does not respond.
    pub ecn: Ecn,
    /// Sender's round-trip time, for transports that carry it on data packets (RFC 5348 section 3.2.1).
    pub rtt: Option<Duration>,
    /// Sender's `t_RTO`, for transports that carry it on data packets (ns-2 `tzero`).
    pub t_rto: Option<Duration>,
    /// Counter of the sender's round trips, for transports that carry it on data packets (ns-2 `round_id`).
    pub round: u32,
    /// Request for an immediate report, for transports that carry it on data packets (ns-2 `UrgentFlag`).
    pub urgent: bool,
    /// Private data of the controller for its receiver half.
    pub own: Own,
}

impl Default for Stamp {
    /// Returns a stamp with ECT(0) and no other field.
    fn default() -> Self {
        Self { ccval: 0, ecn: Ecn::Ect0, rtt: None, t_rto: None, round: 0, urgent: false, own: Own::NONE }
    }
}

/// State of a sender half, as far as its controller has these values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Status {
    /// Data rate that an encoder should produce. `None`: unlimited, or not known before the first round-trip sample.
    pub target_rate: Option<Rate>,
    /// Rate at which waiting data is sent. `None`: without pacing, at the rate of the interface.
    pub pacing_rate: Option<Rate>,
    /// Size of the data that may be in flight, for controllers with a window.
    pub window: Option<Bytes>,
    /// Data packets that may be in flight, for controllers whose window counts packets.
    pub window_packets: Option<f64>,
    /// Slow start threshold of `tcp-like`, in data packets; `None` if unlimited, and for other controllers.
    pub ssthresh: Option<f64>,
    /// Smoothed round-trip time.
    pub rtt: Option<Duration>,
    /// Loss event rate of TFRC.
    pub loss_event_rate: Option<Probability>,
    /// Ack Ratio: data packets per acknowledgement (RFC 4341 section 6.1).
    pub ack_ratio: Option<u16>,
}

impl Status {
    /// Returns whether `target_rate` is valid for an encoder. A controller with a window has no rate before its first
    /// round-trip sample. Without a window, no rate means unlimited.
    #[must_use]
    pub const fn is_rate_known(&self) -> bool {
        self.target_rate.is_some() || self.window.is_none()
    }
}

/// One of a controller's discrete rates (only `udpm` has them), which the receiver announced. An application with one
/// encoding per rate sends the encoding with this index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Index of the rate, from 0 for the lowest.
    pub index: u8,
    /// Number of the controller's discrete rates, 1 to 256.
    pub levels: u16,
    /// Rate with this index.
    pub rate: Rate,
}

/// Counts of congestion events of a sender half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CongestionEvents {
    /// Loss or mark events to which the sender responded.
    pub loss_events: u64,
    /// Timeouts because no feedback arrived after data had been sent.
    pub timeouts: u64,
}
