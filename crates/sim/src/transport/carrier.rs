//! What every transport's file says of it.

use super::dccp::ends::{Client, Server};
use crate::clocks::Meter;
use crate::event_queue::EventQueue;
use crate::observe::{RoundTrip, Setbacks};
use crate::packet::{Envelope, Packet};
use crate::send_queue::SendQueue;
use headway_media::{Backlog, Source, SourceOptions};
use headway_rate::{Judgement, Status};
use headway_record::{WrittenFrame, ns2::PacketType};
use headway_scenario::Flow;
use headway_tcp::{Counters, Sender};
use headway_units::{FlowId, Instant, Moment, Random};

/// The two ends of a flow.
///
/// Each is driven as every endpoint is: whatever came in, its poll is asked until it has nothing, and then when to come back. All
/// instants are of the clock of the end that they are handed to.
pub(crate) trait Carrier: Sized {
    /// What the scenario says.
    type Options;
    /// Whether anything goes back.
    const ANSWERS: bool = true;
    /// Whether the sending end opens a connection when the flow starts, and closes it when the flow stops.
    const CONNECTS: bool = false;

    /// Both ends.
    fn new(options: &Self::Options, setup: &Setup<'_>) -> Self;

    /// ns-2's types of its packets there and back, with this source.
    fn ns2_types(source: &SourceOptions) -> [PacketType; 2];

    /// Bytes that each of its packet's numbers stands for, where they count no bytes and a capture does.
    fn bytes_a_number(_options: &Self::Options) -> u32 {
        0
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

/// What became of what a source has written.
#[derive(Debug)]
pub(crate) enum Taken {
    /// There is nothing.
    Nothing,
    /// It goes when a window or a rate lets it.
    Kept,
    /// It is sent at once.
    Goes(Envelope),
}

/// What a flow's ends are made with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup<'a> {
    pub(crate) flow: &'a Flow,
    pub(crate) id: FlowId,
    /// When the flow starts, by the clock of its sending end and by that of its receiving end.
    pub(crate) starts: [Instant; 2],
    /// Whether these two clocks show the same.
    pub(crate) clocks_agree: bool,
    /// The scenario's.
    pub(crate) seed: u64,
}

impl Setup<'_> {
    /// One of the flow's random streams.
    pub(crate) fn stream(&self, what: &str) -> Random {
        stream(self.seed, self.flow, what)
    }
}

/// One of a flow's random streams, in a scenario with this seed.
pub(crate) fn stream(seed: u64, flow: &Flow, what: &str) -> Random {
    Random::new(seed, &format!("flow {} {what}", flow.name))
}
