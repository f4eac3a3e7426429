//! What a sender half is told of packets that go, and what it answers.

use crate::report::Own;
use headway_units::{Bytes, Duration, Ecn, Instant, Probability, Rate};

/// The packet that would go next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Next {
    /// Its data, without headers; zero if none waits, and only the answer is of interest.
    pub size: Bytes,
    /// The data that waits, its own included.
    pub waiting: Bytes,
    /// How long it has waited.
    pub age: Duration,
    /// When it is of no more use to the receiver, if ever.
    pub expires: Option<Instant>,
    /// Whether it is the last one of a frame, so that a pause may come behind it.
    pub ends_frame: bool,
}

impl Next {
    /// One of which no more is known than its size.
    #[must_use]
    pub const fn new(size: Bytes) -> Self {
        Self { size, waiting: size, age: Duration::ZERO, expires: None, ends_frame: false }
    }
}

/// Whether a packet may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    /// Now.
    Now,
    /// Not before this instant, which lies in the future.
    At(Instant),
    /// Not before something else happens: a report, a timeout.
    Blocked,
}

/// A packet that goes now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sending {
    /// Its number: one more than that of the packet before. A carrier starts where it likes.
    pub number: u64,
    /// Its data, without headers.
    pub size: Bytes,
    /// Whether it carries data of the application; a datagram of zero bytes does.
    pub data: bool,
}

impl Sending {
    /// One with this number. `data`: the bytes of the application on it, if it carries any.
    #[must_use]
    pub fn new(number: u64, data: Option<Bytes>) -> Self {
        Self { number, size: data.unwrap_or_default(), data: data.is_some() }
    }
}

/// What the sender half has written on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stamp {
    /// Four bits, CCVal on DCCP's wire: TFRC's window counter (RFC 4342 section 8.1).
    pub ccval: u8,
    /// The ECN codepoint to send it with, where the carrier uses ECN: ECT(0) for a controller that takes a mark for a loss (RFC 8311), ECT(1)
    /// for one that answers marks as RFC 9331 wants, Not-ECT for one that does not answer them.
    pub ecn: Ecn,
    /// The sender's round trip, for carriers whose data packets have room for it (RFC 5348 section 3.2.1).
    pub rtt: Option<Duration>,
    /// The sender's `t_RTO`, for such carriers (ns-2 `tzero`).
    pub t_rto: Option<Duration>,
    /// Counts the sender's round trips, for such carriers (ns-2 `round_id`).
    pub round: u32,
    /// Asks for a report at once, for such carriers (ns-2 `UrgentFlag`).
    pub urgent: bool,
    /// What the controller's file has coded for its receiver half.
    pub own: Own,
}

impl Default for Stamp {
    /// Nothing but ECT(0).
    fn default() -> Self {
        Self { ccval: 0, ecn: Ecn::Ect0, rtt: None, t_rto: None, round: 0, urgent: false, own: Own::NONE }
    }
}

/// What a sender half holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Status {
    /// The data rate that an encoder may count on. `None`: not limited.
    pub target_rate: Option<Rate>,
    /// The rate at which data leaves while some waits. `None`: as fast as the line takes it.
    pub pacing_rate: Option<Rate>,
    /// Data that may be under way, for controllers with a window.
    pub window: Option<Bytes>,
    /// The same in data packets, for those that count these.
    pub window_packets: Option<f64>,
    /// Where a window's slow start ends, in the same.
    pub ssthresh: Option<f64>,
    /// The smoothed round trip.
    pub rtt: Option<Duration>,
    /// TFRC's p.
    pub loss_event_rate: Option<Probability>,
    /// How many acknowledgements the sender wants: one for so many data packets (RFC 4341 section 6.1).
    pub ack_ratio: Option<u16>,
}

/// One of the rates of a ladder. An application with an encoding for each rate sends the encoding of this index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Which rate, from 0, the lowest.
    pub index: u8,
    /// Number of rates, 1 to 256.
    pub levels: u16,
    /// The rate itself.
    pub rate: Rate,
}

/// What has set a sender half back so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Setbacks {
    /// Losses or marks that it has answered, each event once.
    pub loss_events: u64,
    /// How often it heard nothing for too long after data had gone.
    pub timeouts: u64,
}
