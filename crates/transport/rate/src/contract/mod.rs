//! Interface between a controller and its carrier.
//!
//! A controller is a pair of halves, like a DCCP CCID: the sender half decides when data may be sent, the receiver half
//! what is reported about its arrival. A carrier (a DCCP connection, an agent of the simulator, an RTP session) drives
//! both: it numbers packets, measures round trips, and transfers reports from the receiver half to the sender half.

mod context;
mod received;
mod sending;

pub use context::{Need, ReceiverContext, SenderContext};
pub use received::{LossClassification, Received, Timing};
pub use sending::{CongestionEvents, Next, Permit, Scale, Sending, Stamp, Status};

use crate::report::{Feedback, Report, ReportForm};
use headway_units::{Instant, Rate};

/// Sender half of a controller: decides when data may be sent.
///
/// After each call that may change the state, call [`poll_send`](Self::poll_send) while data waits and the result is
/// [`Permit::Now`], then [`poll_timeout`](Self::poll_timeout).
pub trait SenderHalf {
    /// Requirements on the carrier: the connection or simulator agent that drives the half.
    const NEEDS: &'static [Need] = &[];

    /// Returns whether the data packet `next` may be sent at `now`, or when.
    fn poll_send(&mut self, now: Instant, next: &Next) -> Permit;

    /// Handles a packet that is sent now and returns its header fields. Also called for packets without data if they
    /// use the same number space (RFC 4340 section 7).
    fn on_send(&mut self, now: Instant, sending: &Sending) -> Stamp;

    /// Handles a permitted packet that was discarded at `now`. Pacing continues as if it had been sent; a window is
    /// unaffected.
    fn on_discard(&mut self, _now: Instant) {}

    /// Handles a time at which [`poll_send`](Self::poll_send) would have permitted a packet but none waited.
    fn on_application_limited(&mut self, _now: Instant) {}

    /// Returns whether [`on_application_limited`](Self::on_application_limited) would change nothing, because no packet
    /// was sent since its last call. A caller without data to send then need not call [`poll_send`](Self::poll_send)
    /// either.
    fn is_application_limited(&self) -> bool {
        false
    }

    /// Handles a received report of the receiver half.
    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>);

    /// Handles the timeout of [`poll_timeout`](Self::poll_timeout).
    fn handle_timeout(&mut self, _now: Instant) {}

    /// Returns when to call [`handle_timeout`](Self::handle_timeout); `None` if no timer runs. Excludes the times of
    /// [`Permit::At`].
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Returns whether the round trip of a packet that a report at `now` acknowledges includes a silence (a time
    /// without reports), so that it does not measure the path (Karn's algorithm, RFC 6298 section 3).
    fn measures_silence(&self, _now: Instant, _number: u64) -> bool {
        false
    }

    /// Returns the current state: rates, window, round-trip time and losses, as far as the controller has them.
    fn status(&self) -> Status;

    /// Returns the pacing rate of [`status`](Self::status).
    fn pacing_rate(&self) -> Option<Rate> {
        self.status().pacing_rate
    }

    /// Returns the counts of loss events and timeouts; zeros if the controller does not count them.
    fn congestion_events(&self) -> CongestionEvents {
        CongestionEvents::default()
    }

    /// Returns the discrete rate that the receiver announced last; `None` unless the controller has discrete rates, as
    /// `udpm`.
    fn scale(&self) -> Option<Scale> {
        None
    }
}

/// Receiver half of a controller: decides when what is reported to the sender half about the arrival of data.
pub trait ReceiverHalf {
    /// Form of the reports, which determines what the carrier records and how reports are encoded.
    const REPORTS: ReportForm = ReportForm::Nothing;
    /// Requirements on the carrier: the connection or simulator agent that drives the half.
    const NEEDS: &'static [Need] = &[];

    /// Returns [`REPORTS`](Self::REPORTS), also for a half whose type is chosen at run time.
    fn report_form(&self) -> ReportForm {
        Self::REPORTS
    }

    /// Handles a packet that has arrived, with or without data. Called once per packet, possibly out of order.
    fn on_packet(&mut self, now: Instant, packet: &Received);

    /// Handles a received packet whose data turned out to be corrupt, which counts as marked (Drop Codes 3 to 7, RFC
    /// 4340 section 11.7.2). With [`Report::Arrivals`] the transport, such as a DCCP connection, reports it to the
    /// sender.
    fn on_corrupt(&mut self, _now: Instant, _number: u64) {}

    /// Handles the loss of a packet on the channel, not in a queue, which a simulator reports. Requires
    /// [`Need::ChannelLosses`].
    fn on_channel_loss(&mut self, _number: u64) {}

    /// Returns the next classification of a loss as congestion or not, oldest first, for a controller with a loss
    /// filter.
    fn poll_loss_classification(&mut self) -> Option<LossClassification> {
        None
    }

    /// Returns the report that is due, if any.
    fn poll_report(&mut self, _now: Instant) -> Option<Report<'_>> {
        None
    }

    /// Handles the timeout of [`poll_timeout`](Self::poll_timeout).
    fn handle_timeout(&mut self, _now: Instant) {}

    /// Returns when to call [`handle_timeout`](Self::handle_timeout); `None` if no timer runs.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Sets the number of data packets per acknowledgement that the sender requests (Ack Ratio, RFC 4340 section 11.3).
    fn set_ack_ratio(&mut self, _packets: u16) {}

    /// Handles a change of the context with which the receiver half started. The loss history is kept.
    fn on_change(&mut self, _context: &ReceiverContext) {}
}
