//! The two ends of a flow as the flow drives them.

use super::Taken;
use super::dccp::ends::{Client, Server};
use crate::clocks::{FlowClocks, Meter};
use crate::event_queue::EventQueue;
use crate::observe::{RoundTrip, Setbacks};
use crate::packet::{Envelope, Packet};
use crate::send_queue::SendQueue;
use headway_media::{Backlog, Source};
use headway_rate::{Judgement, Status};
use headway_record::WrittenFrame;
use headway_tcp::{Counters, Sender};
use headway_units::{Instant, Moment};

/// The two ends of a flow. The flow works on them by static dispatch: it chooses once for each event.
///
/// Each is driven as every endpoint is: whatever came in, its poll is asked until it has nothing, and then when to come back. All
/// instants are of the clock of the end that they are handed to.
pub(crate) trait Ends {
    /// Whether anything goes back.
    const ANSWERS: bool = true;
    /// Whether the sending end opens a connection when the flow starts, and closes it when the flow stops.
    const CONNECTS: bool = false;

    /// See [`ANSWERS`](Self::ANSWERS).
    #[inline(always)]
    fn answers(&self) -> bool {
        Self::ANSWERS
    }

    /// See [`CONNECTS`](Self::CONNECTS).
    #[inline(always)]
    fn connects(&self) -> bool {
        Self::CONNECTS
    }

    /// The clocks of the ends, if they are not both the simulator's.
    #[inline(always)]
    fn clocks(&self) -> Option<&FlowClocks> {
        None
    }

    /// Takes the next of what the source has written by `due`.
    fn take(&mut self, now: Instant, due: Instant, source: &mut Source, meter: &mut Meter<'_>) -> Taken;

    /// The source has as much as this from now on.
    fn set_backlog(&mut self, now: Instant, backlog: Backlog);

    /// The flow stops: the connection is closed.
    fn close(&mut self, _now: Instant) {}

    /// A packet has come to the sending end, of the other's clock `sent`; returns the round trip that it lets measure, if any.
    fn hear(&mut self, now: Instant, sent: Instant, packet: &Packet) -> Option<RoundTrip>;

    /// The sending end's time has come.
    fn handle_sender_timeout(&mut self, now: Instant);

    /// The next packet that the sending end sends now, if any.
    fn poll_transmit(&mut self, now: Instant, meter: &mut Meter<'_>) -> Option<Envelope>;

    /// When the sending end must act next.
    fn poll_sender_timeout(&self) -> Option<Instant>;

    /// How long after the last packet that is, in s, where nanoseconds round it.
    fn gap_s(&self) -> Option<f64> {
        None
    }

    /// A packet has come to the receiving end, of the other's clock `sent`; returns the data bytes that are the application's.
    fn deliver(&mut self, now: Instant, sent: Instant, packet: &Packet) -> u32;

    /// The channel has taken a packet to the receiving end.
    fn on_channel_loss(&mut self, _number: u64) {}

    /// What the receiving end has made of losses.
    fn poll_judgement(&mut self) -> Option<Judgement> {
        None
    }

    /// The next frame that has come whole, where packets do not say which frame they are of.
    fn poll_frame(&mut self) -> Option<WrittenFrame> {
        None
    }

    /// The receiving end's time has come.
    fn handle_receiver_timeout(&mut self, now: Instant);

    /// The next packet that the receiving end sends now, if any.
    fn poll_answer(&mut self, now: Instant) -> Option<Envelope>;

    /// The next packet that the receiving end sends now to somebody else, with where its route starts.
    fn poll_aside(&mut self, _now: Instant) -> Option<(u32, Envelope)> {
        None
    }

    /// When the receiving end must act next.
    fn poll_receiver_timeout(&self) -> Option<Instant>;

    /// Where the sending end has many deadlines: those that have changed were set now. Returns when its next one was set.
    #[inline]
    fn place_sender_timers(&mut self, _now: Moment, _events: &mut EventQueue) -> Option<Moment> {
        None
    }

    /// The same of the receiving end.
    #[inline]
    fn place_receiver_timers(&mut self, _now: Moment, _events: &mut EventQueue) -> Option<Moment> {
        None
    }

    /// Fetches the end that a packet is about to come to: it is itself at hand.
    fn fetch(&self, _receiving: bool) {}

    /// What waits at the sending end, if a rate controller paces it.
    fn send_queue(&mut self) -> Option<&mut SendQueue> {
        None
    }

    /// What that rate controller holds.
    fn status(&self) -> Option<Status> {
        None
    }

    /// A TCP's sender, where there is one.
    fn tcp(&self) -> Option<&Sender> {
        None
    }

    /// What the senders of a TCP have counted.
    fn counters(&self) -> Option<Counters> {
        self.tcp().map(Sender::counters)
    }

    /// What has set the sending end back so far.
    fn setbacks(&self) -> Setbacks {
        self.tcp().map_or_else(Setbacks::default, |sender| sender.counters().into())
    }

    /// Whether something of the source has ended that wants to know of it.
    #[inline]
    fn has_ended(&self) -> bool {
        false
    }

    /// Tells the source what of it has ended.
    fn tell_source(&mut self, _now: Instant, _source: &mut Source, _meter: &mut Meter<'_>) {}

    /// How many sessions are open, if the source makes sessions.
    fn open_sessions(&self) -> Option<usize> {
        None
    }

    /// The ends of a connection, to which anybody may talk.
    fn connection(&mut self) -> Option<(&mut Client, &mut Server)> {
        None
    }

    /// Why there is no connection, or why it ended before anybody wanted it to.
    fn failure(&self) -> Option<String> {
        None
    }
}
