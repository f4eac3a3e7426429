//! What a controller is told, and what it answers.
//!
//! A controller is a pair of halves, as a DCCP CCID is: the sender half decides when data may go, the receiver half
//! what the sender is told of its arrival. A carrier (a DCCP connection, a bare agent of the simulator, an RTP session)
//! drives both: it numbers the packets, measures round trips, and moves reports from one half to the other.

use crate::own::Own;
use headway_units::{Bytes, Duration, Ecn, Instant, Probability, Random, Rate};

/// The half at the data's sender.
///
/// In, drain, next deadline: after each call that may act, ask [`poll_send`](Self::poll_send) as long as there is data
/// and it answers [`Permit::Now`], then [`poll_timeout`](Self::poll_timeout).
pub trait SenderHalf {
    /// Whether a data packet may go at `now`.
    fn poll_send(&mut self, now: Instant, next: Next) -> Permit;

    /// A packet goes now: what is to be written on it. Packets without data are told too, where they take numbers from
    /// the same count (RFC 4340 section 7).
    fn on_send(&mut self, now: Instant, sending: &Sending) -> Stamp;

    /// The application had nothing to send although [`poll_send`](Self::poll_send) would have let it.
    fn on_application_limited(&mut self, _now: Instant) {}

    /// A report has come.
    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>);

    /// The carrier verifies what the receiver says: from now on a packet that was told as lost stays lost, although it may come late
    /// (RFC 5348 section 5.1), and what cannot be verified does not count where something else stands for it.
    fn keep_losses(&mut self) {}

    /// The instant of [`poll_timeout`](Self::poll_timeout) has come.
    fn handle_timeout(&mut self, _now: Instant) {}

    /// When [`handle_timeout`](Self::handle_timeout) must be called. When the next packet may go is
    /// [`Permit::At`]'s to say, not this.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// What it holds now.
    fn status(&self) -> Status;
}

/// The half at the data's receiver.
pub trait ReceiverHalf {
    /// What its reports are, by which a carrier knows what it must keep, and how they travel.
    const REPORTS: ReportForm = ReportForm::Nothing;

    /// A packet has come. Packets without data are told too, where they take numbers from the same count.
    fn on_packet(&mut self, now: Instant, packet: &Received);

    /// The data of a packet that has come turned out to be corrupt, so that it counts as marked (Drop Codes 3 to 7, RFC 4340
    /// section 11.7.2). Where reports are [`Report::Arrivals`] the carrier tells the sender.
    fn on_corrupt(&mut self, _now: Instant, _number: u64) {}

    /// What is to be told the sender now, if anything is due.
    fn poll_report(&mut self, _now: Instant) -> Option<Report<'_>> {
        None
    }

    /// The instant of [`poll_timeout`](Self::poll_timeout) has come.
    fn handle_timeout(&mut self, _now: Instant) {}

    /// When [`handle_timeout`](Self::handle_timeout) must be called.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// The sender asks for one acknowledgement for so many data packets (Ack Ratio, RFC 4340 section 11.3).
    fn set_ack_ratio(&mut self, _packets: u16) {}

    /// The sender has another form of telling of losses in mind (Send Loss Event Rate, RFC 4342 section 8.4). What is known
    /// of them stays.
    fn set_loss_form(&mut self, _form: LossForm) {}
}

/// What a sender half starts with.
#[derive(Clone, Debug)]
pub struct SenderContext {
    /// When it starts.
    pub now: Instant,
    /// The round trip, if something has measured it: a handshake, an earlier connection.
    pub rtt: Option<Duration>,
    /// The data of a full packet, without headers: the MPS of a connection, `packetSize_` of an ns-2 agent.
    pub packet_size: Bytes,
    /// The controller's own stream.
    pub random: Random,
}

/// What a receiver half starts with.
#[derive(Clone, Debug)]
pub struct ReceiverContext {
    /// When it starts.
    pub now: Instant,
    /// The data of a full packet, without headers.
    pub packet_size: Bytes,
    /// The form in which TFRC's receiver tells of losses, as negotiated (RFC 4342 section 8.4).
    pub losses: LossForm,
}

/// The packet that would go next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// Its data, without headers; zero if none waits, and only the answer is of interest.
    pub size: Bytes,
}

/// Whether a packet may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    /// Now.
    Now,
    /// Not before then, and later than now.
    At(Instant),
    /// Not before something else happens: a report, a timeout.
    Blocked,
}

/// A packet that goes now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    /// Its number: one more than that of the packet before. A carrier starts where it likes.
    pub number: u64,
    /// Its data, without headers.
    pub size: Bytes,
    /// Whether it carries data of the application; a datagram of zero bytes does.
    pub data: bool,
}

/// What the sender half has written on a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Four bits, CCVal on DCCP's wire: TFRC's window counter (RFC 4342 section 8.1).
    pub ccval: u8,
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

/// A packet that has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Its number.
    pub number: u64,
    /// Its data, without headers.
    pub size: Bytes,
    /// Whether it carries data of the application.
    pub data: bool,
    /// Its ECN field as it arrived.
    pub ecn: Ecn,
    /// [`Stamp::ccval`].
    pub ccval: u8,
    /// How many packets without data were sent just before it, if it says so (NDP Count, RFC 4340 section 7.7).
    pub ndp_count: Option<u64>,
    /// What only carriers with room for it carry.
    pub timing: Option<Timing>,
    /// [`Stamp::own`].
    pub own: Own,
}

/// The sender's clock on a data packet (RFC 5348 section 3.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// When it was sent, by the sender's clock.
    pub sent: Instant,
    /// [`Stamp::rtt`].
    pub rtt: Option<Duration>,
    /// [`Stamp::t_rto`].
    pub t_rto: Option<Duration>,
    /// [`Stamp::round`].
    pub round: u32,
    /// [`Stamp::urgent`].
    pub urgent: bool,
}

/// A report as it reaches the sender.
#[derive(Clone, Copy, Debug)]
pub struct Feedback<'a> {
    /// The greatest number that had come when it was written.
    pub acknowledged: u64,
    /// The time from sending that packet to this report, less what the receiver held it back. The carrier measures it:
    /// timestamps and elapsed times are its own.
    pub rtt_sample: Option<Duration>,
    /// What it says.
    pub report: Report<'a>,
    /// Acknowledgements that were lost or marked since the last report (RFC 4341 section 6.1.2).
    pub lost_acks: u64,
    /// The receiver cannot keep up (Slow Receiver, RFC 4340 section 11.6).
    pub slow_receiver: bool,
    /// Packets that the receiver newly says it dropped for want of memory (Data Dropped code 2, RFC 4340 section 11.7).
    pub receive_buffer_drops: u64,
}

/// The forms that reports have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportForm {
    /// There are none.
    #[default]
    Nothing,
    /// [`Report::Arrivals`]: the carrier keeps what has come.
    Arrivals,
    /// [`Report::Tfrc`].
    Tfrc,
    /// [`Report::Own`].
    Own,
}

/// What a receiver half tells the sender half.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Report<'a> {
    /// Of each packet, whether it has come. A receiver half answers it without runs: carriers keep them, since the wire
    /// decides how far back they go (an Ack Vector, RFC 8888).
    Arrivals(&'a [Run]),
    /// TFRC's own numbers (RFC 5348 section 3.2.2).
    Tfrc(TfrcReport<'a>),
    /// What the controller's file has coded for its sender half.
    Own(Own),
}

/// Packets with consecutive numbers that fared alike. A report lists runs from [`Feedback::acknowledged`] downwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// How they fared.
    pub arrival: Arrival,
    /// How many they are.
    pub packets: u64,
}

/// How a packet fared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It has come.
    Received,
    /// It has come with Congestion Experienced.
    Marked,
    /// It has not come yet.
    NotReceived,
}

/// What TFRC's receiver reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TfrcReport<'a> {
    /// X_recv: what has come, in data bytes a second.
    pub x_recv: Rate,
    /// What was lost.
    pub losses: Losses<'a>,
    /// Whether a loss event began since the report before (ns-2's `losses`). Carriers without room for it say no.
    pub new_loss_event: bool,
}

/// How a receiver reports losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossForm {
    /// The loss event rate that the receiver has computed (RFC 5348; RFC 4342 section 8.5).
    #[default]
    EventRate,
    /// The intervals of which the sender computes it (RFC 4342 section 8.6).
    Intervals,
}

/// What TFRC's receiver says of losses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Losses<'a> {
    /// p; zero before the first loss.
    EventRate(Probability),
    /// Loss intervals, the newest first.
    Intervals {
        /// Packets at the end whose fate is open (Skip Length).
        skip: u8,
        /// The newest first.
        intervals: &'a [LossInterval],
    },
}

/// Consecutive packets: a lossy part, and behind it a lossless one (RFC 4342 section 8.6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossInterval {
    /// Packets of the lossless part. 24 bits on the wire.
    pub lossless: u32,
    /// Packets from the first lost or marked one to the last of the loss event. 23 bits on the wire.
    pub lossy: u32,
    /// Data packets in both, or the synthetic length of the first interval. 24 bits on the wire.
    pub data: u32,
    /// Packets lost or marked in the lossy part (Dropped Packets, RFC 5622 section 8.7).
    pub dropped: u32,
}

/// What a sender half holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Status {
    /// The data rate that an encoder may count on. `None`: not limited.
    pub rate: Option<Rate>,
    /// Data packets that may be under way, for controllers with a window.
    pub window: Option<f64>,
    /// Where a window's slow start ends.
    pub ssthresh: Option<f64>,
    /// The smoothed round trip.
    pub rtt: Option<Duration>,
    /// TFRC's p.
    pub loss_event_rate: Option<Probability>,
    /// How many acknowledgements the sender wants: one for so many data packets (RFC 4341 section 6.1).
    pub ack_ratio: Option<u16>,
}
