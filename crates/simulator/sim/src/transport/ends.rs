//! The two ends of a flow as the flow drives them.

use super::Taken;
use super::dccp::ends::{Client, Server};
use crate::clocks::Meter;
use crate::observe::{RoundTrip, Setbacks};
use crate::packet::{Envelope, Packet};
use crate::send_queue::SendQueue;
use headway_engine::{EventQueue, Moment};
use headway_media::{Backlog, Source};
use headway_rate::{Judgement, Status};
use headway_record::WrittenFrame;
use headway_tcp::{Counters, Sender};
use headway_units::Instant;

/// Both ends of a flow. [`Driver`](crate::flow::Driver) calls them by static dispatch, which is chosen once for each event.
///
/// After each call that may act, poll an end until it has no more packets, and then for its next deadline. All times are those of
/// the clock of the end that receives them: [`Driver`](crate::flow::Driver) translates them.
pub(crate) trait Ends: SendingEnd + ReceivingEnd + Capabilities {
    /// Prefetches the end at which a packet will arrive.
    fn fetch(&self, _receiving: bool) {}
}

/// The end of a flow that sends data.
pub(crate) trait SendingEnd {
    /// Returns whether the sending end opens a connection when the flow starts, and closes it when the flow stops.
    #[inline(always)]
    fn connects(&self) -> bool {
        false
    }

    /// Accepts the next write that the source has made by `due`.
    fn take(&mut self, now: Instant, due: Instant, source: &mut Source, meter: &mut Meter<'_>) -> Taken;

    /// Sets how much data the source has from now on.
    fn set_backlog(&mut self, _now: Instant, _backlog: Backlog) {}

    /// Closes the connection when the flow stops.
    fn close(&mut self, _now: Instant) {}

    /// Handles a packet that arrives at the sending end. `sent` is by the clock of the receiving end. Returns the measured round trip, if any.
    fn on_feedback(&mut self, _now: Instant, _sent: Instant, _packet: &Packet) -> Option<RoundTrip> {
        None
    }

    /// Handles the deadline of the sending end.
    fn handle_sender_timeout(&mut self, _now: Instant) {}

    /// Returns the next packet that the sending end sends now, if any.
    fn poll_transmit(&mut self, _now: Instant, _meter: &mut Meter<'_>) -> Option<Envelope> {
        None
    }

    /// Returns the next deadline of the sending end.
    fn poll_sender_timeout(&self) -> Option<Instant> {
        None
    }

    /// Returns the time from the last packet to that deadline, in s, if nanoseconds would round it.
    fn gap_s(&self) -> Option<f64> {
        None
    }

    /// Records that the changed deadlines of a sending end with many deadlines were set now. Returns when its next deadline was set.
    #[inline]
    fn place_sender_timers(&mut self, _now: Moment, _events: &mut EventQueue) -> Option<Moment> {
        None
    }
}

/// The end of a flow that receives data.
pub(crate) trait ReceivingEnd {
    /// Returns whether the receiving end sends packets.
    #[inline(always)]
    fn answers(&self) -> bool {
        true
    }

    /// Handles a packet that arrives at the receiving end. `sent` is by the clock of the sending end. Returns the bytes of application data.
    fn deliver(&mut self, now: Instant, sent: Instant, packet: &Packet) -> u32;

    /// Notifies the receiving end of a packet that the channel has lost.
    fn on_channel_loss(&mut self, _number: u64) {}

    /// Returns the next judgement of the receiving end about losses.
    fn poll_judgement(&mut self) -> Option<Judgement> {
        None
    }

    /// Returns the next complete frame, if packets do not contain the number of their frame.
    fn poll_frame(&mut self) -> Option<WrittenFrame> {
        None
    }

    /// Handles the deadline of the receiving end.
    fn handle_receiver_timeout(&mut self, _now: Instant) {}

    /// Returns the next packet that the receiving end sends now, if any.
    fn poll_answer(&mut self, _now: Instant) -> Option<Envelope> {
        None
    }

    /// Returns the next packet that the receiving end sends now to another host than the sender, and the start of its route.
    fn poll_aside(&mut self, _now: Instant) -> Option<(u32, Envelope)> {
        None
    }

    /// Returns the next deadline of the receiving end.
    fn poll_receiver_timeout(&self) -> Option<Instant> {
        None
    }

    /// Does for the receiving end what [`place_sender_timers`](Self::place_sender_timers) does for the sending end.
    #[inline]
    fn place_receiver_timers(&mut self, _now: Moment, _events: &mut EventQueue) -> Option<Moment> {
        None
    }
}

/// What only some transports have.
pub(crate) trait Capabilities {
    /// Returns the send queue, if a rate controller paces the sending end.
    fn send_queue(&mut self) -> Option<&mut SendQueue> {
        None
    }

    /// Returns the state of that rate controller.
    fn status(&self) -> Option<Status> {
        None
    }

    /// Returns the TCP sender, if there is exactly one.
    fn tcp(&self) -> Option<&Sender> {
        None
    }

    /// Returns the counters of all TCP senders.
    fn counters(&self) -> Option<Counters> {
        self.tcp().map(Sender::counters)
    }

    /// Returns the losses and timeouts of the sending end so far.
    fn setbacks(&self) -> Setbacks {
        self.tcp().map_or_else(Setbacks::default, |sender| sender.counters().into())
    }

    /// Returns whether a session has ended of which the source is not notified yet.
    #[inline]
    fn has_ended(&self) -> bool {
        false
    }

    /// Notifies the source of sessions that have ended.
    fn notify_source(&mut self, _now: Instant, _source: &mut Source, _meter: &mut Meter<'_>) {}

    /// Returns the number of open sessions, if the source makes sessions.
    fn open_sessions(&self) -> Option<usize> {
        None
    }

    /// Returns the ends of a DCCP connection, which accept packets of attackers.
    fn connection(&mut self) -> Option<(&mut Client, &mut Server)> {
        None
    }

    /// Returns why the connection was not established, or why it ended before it was closed.
    fn failure(&self) -> Option<String> {
        None
    }
}
