//! What a controller is told, and what it answers.
//!
//! A controller is a pair of halves, as a DCCP CCID is: the sender half decides when data may go, the receiver half
//! what the sender is told of its arrival. A carrier (a DCCP connection, a bare agent of the simulator, an RTP session)
//! drives both: it numbers the packets, measures round trips, and moves reports from one half to the other.

mod context;
mod received;
mod sending;

pub use context::{Need, ReceiverContext, SenderContext};
pub use received::{Judgement, Received, Timing};
pub use sending::{Next, Permit, Scale, Sending, Setbacks, Stamp, Status};

use crate::report::{Feedback, Report, ReportForm};
use headway_units::{Instant, Rate};

/// The half at the data's sender.
///
/// In, drain, next deadline: after each call that may act, ask [`poll_send`](Self::poll_send) as long as there is data
/// and it answers [`Permit::Now`], then [`poll_timeout`](Self::poll_timeout).
pub trait SenderHalf {
    /// What its carrier must give it.
    const NEEDS: &'static [Need] = &[];

    /// Whether a data packet may go at `now`.
    fn poll_send(&mut self, now: Instant, next: &Next) -> Permit;

    /// A packet goes now: what is to be written on it. Packets without data are told too, where they take numbers from
    /// the same count (RFC 4340 section 7).
    fn on_send(&mut self, now: Instant, sending: &Sending) -> Stamp;

    /// A packet that was permitted at `now` was thrown away, and the permission is used up: pacing continues as if it had gone. A window has
    /// nothing to use up.
    fn on_discard(&mut self, _now: Instant) {}

    /// The application had nothing to send although [`poll_send`](Self::poll_send) would have let it.
    fn on_application_limited(&mut self, _now: Instant) {}

    /// Returns whether [`on_application_limited`](Self::on_application_limited) would change nothing, because no packet has gone since the last
    /// call of it. A carrier without data then need not call [`poll_send`](Self::poll_send) either.
    fn is_application_limited(&self) -> bool {
        false
    }

    /// A report has come.
    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>);

    /// The instant of [`poll_timeout`](Self::poll_timeout) has come.
    fn handle_timeout(&mut self, _now: Instant) {}

    /// When [`handle_timeout`](Self::handle_timeout) must be called. When the next packet may go is
    /// [`Permit::At`]'s to say, not this.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Returns whether the round trip of a packet includes a silence, so that it does not measure the path (Karn's rule, RFC 6298
    /// section 3). A report at `now` names it.
    fn measures_silence(&self, _now: Instant, _number: u64) -> bool {
        false
    }

    /// What it holds now.
    fn status(&self) -> Status;

    /// Returns the pacing rate of its [`status`](Self::status).
    fn pacing_rate(&self) -> Option<Rate> {
        self.status().pacing_rate
    }

    /// What has set it back so far. One that does not count says nothing.
    fn setbacks(&self) -> Setbacks {
        Setbacks::default()
    }

    /// The scale that the receiver has announced, for a controller with a ladder of rates.
    fn scale(&self) -> Option<Scale> {
        None
    }
}

/// The half at the data's receiver.
pub trait ReceiverHalf {
    /// What its reports are, by which a carrier knows what it must keep, and how they travel.
    const REPORTS: ReportForm = ReportForm::Nothing;
    /// What its carrier must give it.
    const NEEDS: &'static [Need] = &[];

    /// [`REPORTS`](Self::REPORTS), also of a half that may be any.
    fn report_form(&self) -> ReportForm {
        Self::REPORTS
    }

    /// A packet has come: each is told once, not always in order. Packets without data are told too, where they take numbers from the same
    /// count.
    fn on_packet(&mut self, now: Instant, packet: &Received);

    /// The data of a packet that has come turned out to be corrupt, so that it counts as marked (Drop Codes 3 to 7, RFC 4340
    /// section 11.7.2). Where reports are [`Report::Arrivals`] the carrier tells the sender.
    fn on_corrupt(&mut self, _now: Instant, _number: u64) {}

    /// The channel has lost this packet, not a queue: where the carrier knows ([`Need::ChannelLosses`]).
    fn on_channel_loss(&mut self, _number: u64) {}

    /// What it has made of losses since it was asked last, the oldest first, if it tells them apart. Nobody has to ask.
    fn poll_judgement(&mut self) -> Option<Judgement> {
        None
    }

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

    /// Something of what it started with has changed. What it knows of losses stays.
    fn on_change(&mut self, _context: &ReceiverContext) {}
}
