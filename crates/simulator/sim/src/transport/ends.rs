//! Interface of a flow's endpoints to its driver.

use super::WriteOutcome;
use super::dccp::ends::{Client, Server};
use crate::clocks::Meter;
use crate::observe::{CongestionEvents, RoundTrip};
use crate::packet::{Envelope, Packet};
use crate::send_queue::SendQueue;
use headway_engine::{EventQueue, Moment};
use headway_media::{Backlog, Source};
use headway_rate::{LossClassification, Status};
use headway_record::WrittenFrame;
use headway_tcp::{Counters, Sender};
use headway_units::{Bytes, Instant};

/// Both endpoints of a flow. [`Driver`](crate::flow::Driver) selects their type once per event.
///
/// After each call that may cause packets, poll an endpoint until it has none, and then for its next deadline. All
/// times use the clock of the endpoint that receives them; [`Driver`](crate::flow::Driver) converts them.
pub(crate) trait Ends: SendingEnd + ReceivingEnd + Capabilities {
    /// Prefetches the endpoint at which a packet will arrive.
    fn fetch(&self, _receiving: bool) {}
}

/// Sender of a flow.
pub(crate) trait SendingEnd {
    /// Returns whether the sender opens a connection when the flow starts, and closes it when the flow stops.
    #[inline(always)]
    fn connects(&self) -> bool {
        false
    }

    /// Accepts the next write of the source due by `due`.
    fn take(&mut self, now: Instant, due: Instant, source: &mut Source, meter: &mut Meter<'_>) -> WriteOutcome;

    /// Sets how much data the source has from now on.
    fn set_backlog(&mut self, _now: Instant, _backlog: Backlog) {}

    fn close(&mut self, _now: Instant) {}

    /// Handles a packet that arrives at the sender. `sent` uses the receiver's clock. Returns the measured round trip.
    fn on_feedback(&mut self, _now: Instant, _sent: Instant, _packet: &Packet) -> Option<RoundTrip> {
        None
    }

    fn handle_sender_timeout(&mut self, _now: Instant) {}

    fn poll_transmit(&mut self, _now: Instant, _meter: &mut Meter<'_>) -> Option<Envelope> {
        None
    }

    fn poll_sender_timeout(&self) -> Option<Instant> {
        None
    }

    /// Returns the time from the last packet to the next deadline, in seconds, if not a whole number of nanoseconds.
    fn gap_s(&self) -> Option<f64> {
        None
    }

    /// Records that changed deadlines were set now, for senders with many. Returns when the next deadline was set.
    #[inline]
    fn place_sender_timers(&mut self, _now: Moment, _events: &mut EventQueue) -> Option<Moment> {
        None
    }
}

/// Receiver of a flow.
pub(crate) trait ReceivingEnd {
    /// Returns whether the receiver sends packets.
    #[inline(always)]
    fn answers(&self) -> bool {
        true
    }

    /// Handles a packet that arrives at the receiver. `sent` uses the sender's clock. Returns the application bytes.
    fn deliver(&mut self, now: Instant, sent: Instant, packet: &Packet) -> u32;

    fn on_channel_loss(&mut self, _number: u64) {}

    fn poll_loss_classification(&mut self) -> Option<LossClassification> {
        None
    }

    /// Returns the next complete frame, if packets do not contain the number of their frame.
    fn poll_frame(&mut self) -> Option<WrittenFrame> {
        None
    }

    fn handle_receiver_timeout(&mut self, _now: Instant) {}

    fn poll_answer(&mut self, _now: Instant) -> Option<Envelope> {
        None
    }

    /// Returns the next packet to a host other than the sender, and the start of its route.
    fn poll_aside(&mut self, _now: Instant) -> Option<(u32, Envelope)> {
        None
    }

    fn poll_receiver_timeout(&self) -> Option<Instant> {
        None
    }

    /// Does the same as [`place_sender_timers`](SendingEnd::place_sender_timers) for the receiver.
    #[inline]
    fn place_receiver_timers(&mut self, _now: Moment, _events: &mut EventQueue) -> Option<Moment> {
        None
    }
}

/// Features of some transports.
pub(crate) trait Capabilities {
    /// Returns the send queue, if a rate controller paces the sender.
    fn send_queue(&mut self) -> Option<&mut SendQueue> {
        None
    }

    /// Returns the state of that rate controller.
    fn status(&self) -> Option<Status> {
        None
    }

    /// Returns the size of the data that this sender has sent, with retransmissions and without headers.
    fn sent_data(&self) -> Option<Bytes> {
        None
    }

    /// Returns the TCP sender, if there is exactly one.
    fn tcp(&self) -> Option<&Sender> {
        None
    }

    fn counters(&self) -> Option<Counters> {
        self.tcp().map(Sender::counters)
    }

    /// Returns the losses and timeouts of the sender so far.
    fn congestion_events(&self) -> CongestionEvents {
        self.tcp().map_or_else(CongestionEvents::default, |sender| sender.counters().into())
    }

    /// Returns whether a session has ended that the source was not notified of yet.
    #[inline]
    fn has_ended(&self) -> bool {
        false
    }

    fn notify_source(&mut self, _now: Instant, _source: &mut Source, _meter: &mut Meter<'_>) {}

    /// Returns the number of open sessions, if the source opens sessions.
    fn open_sessions(&self) -> Option<usize> {
        None
    }

    /// Returns the endpoints of a DCCP connection, which accept packets of attackers.
    fn connection(&mut self) -> Option<(&mut Client, &mut Server)> {
        None
    }

    /// Returns why the connection was not established, or why it ended before it was closed.
    fn failure(&self) -> Option<String> {
        None
    }
}
