//! Reports from a receiver half to the sender half, one module per form, with the encoding where no RFC defines one.
//!
//! | form | under DCCP | between agents of the simulator |
//! |---|---|---|
//! | [arrivals](Run) | Ack Vectors (RFC 4340 section 11.4) | unencoded |
//! | [arrivals with times](TimedReport) | option 192, in the format of RFC 8888 | unencoded |
//! | [TFRC's](TfrcReport) | options 192 to 195 (RFC 4342 section 8, RFC 5622 section 8.7) | unencoded |
//! | a controller's [own](Own) | option 192 | unencoded |

mod arrival_window;
mod arrivals;
mod ccfb;
mod own;
mod tfrc;
mod timed;

pub(crate) use arrival_window::ArrivalWindow;
pub use arrivals::{Arrival, Run};
pub use ccfb::{CcfbBlock, CcfbError, CcfbLog, CcfbPacket, NumReports};
pub use own::Own;
pub use tfrc::{LossForm, LossInterval, Losses, TfrcReport};
pub use timed::{TimedArrival, TimedReport};

use headway_units::{Bytes, Duration};

/// Form of a controller's reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportForm {
    /// No reports.
    #[default]
    Nothing,
    /// [`Report::Arrivals`]: the transport, such as a DCCP connection, records which packets arrived.
    Arrivals,
    /// [`Report::Timed`]: the transport, such as a DCCP connection, records which packets arrived and when.
    Timed,
    /// [`Report::Tfrc`]: receive rate and losses.
    Tfrc,
    /// [`Report::Own`]: private data of the controller.
    Own,
}

/// Report from the receiver half of a controller to its sender half.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Report<'a> {
    /// Reception state of each packet. A receiver half returns it without runs. The transport records and adds them,
    /// since its encoding, such as an Ack Vector, determines how far back they reach.
    Arrivals(&'a [Run]),
    /// Reception state and arrival time of each packet. A receiver half returns it [empty](TimedReport::EMPTY), and the
    /// transport adds the packets.
    Timed(TimedReport<'a>),
    /// TFRC's receive rate and losses (RFC 5348 section 3.2.2).
    Tfrc(TfrcReport<'a>),
    /// Private data of the controller for its sender half.
    Own(Own),
}

/// Report as received by the sender half.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Feedback<'a> {
    /// Greatest packet number received when the report was sent.
    pub acknowledged: u64,
    /// Time from sending the packet `acknowledged` to receiving this report, minus the time for which the receiver held
    /// it. Measured by the transport, such as a DCCP connection, which has the timestamps and elapsed times.
    pub rtt_sample: Option<Duration>,
    /// Contents of the report.
    pub report: Report<'a>,
    /// Size of the data that this report is the first to show as received; `None` unless the report has a state for
    /// each packet.
    pub delivered: Option<Bytes>,
    /// Acknowledgements lost or marked since the last report (RFC 4341 section 6.1.2).
    pub lost_acks: u64,
    /// Whether the receiver cannot keep up (Slow Receiver, RFC 4340 section 11.6).
    pub slow_receiver: bool,
    /// Packets newly reported as dropped in the receiver's buffer (Data Dropped code 2, RFC 4340 section 11.7).
    pub receive_buffer_drops: u64,
}

impl<'a> Feedback<'a> {
    /// Creates feedback without optional signals.
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
