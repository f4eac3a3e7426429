//! What a receiver half tells the sender half: a file for each shape, with its bytes where no RFC has given it others.
//!
//! | shape | under DCCP | between bare agents |
//! |---|---|---|
//! | [arrivals](Run) | Ack Vectors (RFC 4340 section 11.4) | as they are |
//! | [arrivals with times](TimedReport) | option 192, in the form of RFC 8888 | as they are |
//! | [TFRC's](TfrcReport) | options 192 to 195 (RFC 4342 section 8, RFC 5622 section 8.7) | as they are |
//! | a controller's [own](Own) | option 192 | as they are |

mod arrivals;
mod own;
mod tfrc;
mod timed;

pub use arrivals::{Arrival, Run};
pub use own::Own;
pub use tfrc::{LossForm, LossInterval, Losses, TfrcReport};
pub use timed::{TimedArrival, TimedReport};

use headway_units::{Bytes, Duration};

/// The forms that reports have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportForm {
    /// There are none.
    #[default]
    Nothing,
    /// [`Report::Arrivals`]: the carrier keeps what has come.
    Arrivals,
    /// [`Report::Timed`]: the carrier keeps what has come, and when.
    Timed,
    /// [`Report::Tfrc`].
    Tfrc,
    /// [`Report::Own`].
    Own,
}

/// What a receiver half tells the sender half.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Report<'a> {
    /// Of each packet, whether it has come. A receiver half answers it without runs: carriers keep them, since the wire
    /// decides how far back they go (an Ack Vector).
    Arrivals(&'a [Run]),
    /// Of each packet, whether it has come and when. A receiver half answers it [empty](TimedReport::EMPTY): carriers keep what has come.
    Timed(TimedReport<'a>),
    /// TFRC's own numbers (RFC 5348 section 3.2.2).
    Tfrc(TfrcReport<'a>),
    /// What the controller's file has coded for its sender half.
    Own(Own),
}

/// A report as it reaches the sender.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Feedback<'a> {
    /// The greatest number that had come when it was written.
    pub acknowledged: u64,
    /// The time from sending that packet to this report, less what the receiver held it back. The carrier measures it:
    /// timestamps and elapsed times are its own.
    pub rtt_sample: Option<Duration>,
    /// What it says.
    pub report: Report<'a>,
    /// Data that is newly known to have come, where the report tells of each packet.
    pub delivered: Option<Bytes>,
    /// Acknowledgements that were lost or marked since the last report (RFC 4341 section 6.1.2).
    pub lost_acks: u64,
    /// The receiver cannot keep up (Slow Receiver, RFC 4340 section 11.6).
    pub slow_receiver: bool,
    /// Packets that the receiver newly says it dropped for want of memory (Data Dropped code 2, RFC 4340 section 11.7).
    pub receive_buffer_drops: u64,
}

impl<'a> Feedback<'a> {
    /// One that says no more than this.
    #[must_use]
    pub const fn new(acknowledged: u64, report: Report<'a>) -> Self {
        Self {
            acknowledged,
            rtt_sample: None,
            report,
            delivered: None,
            lost_acks: 0,
            slow_receiver: false,
            receive_buffer_drops: 0,
        }
    }
}
