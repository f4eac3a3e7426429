//! The transports: a file each, which drives both ends of one, and a line each in the table below.

mod agent;
mod carrier;
mod clocked;
pub(crate) mod dccp;
mod ends;
mod sessions;
mod tcp;
mod udp;

pub(crate) use carrier::{Setup, Taken, stream};
pub(crate) use dccp::{SERVICE, Strangers, Verdict};
pub(crate) use ends::Ends;

use crate::clocks::{FlowClocks, Meter};
use crate::observe::{RoundTrip, Setbacks};
use crate::packet::{Envelope, Packet};
use crate::send_queue::SendQueue;
use carrier::Carrier;
use clocked::Clocked;
use dccp::ends::{Client, Server};
use headway_engine::{EventQueue, Moment};
use headway_media::{Backlog, Source, SourceOptions};
use headway_rate::{Judgement, Status};
use headway_record::{WrittenFrame, ns2::PacketType};
use headway_scenario::Transport as Options;
use headway_units::Instant;
use sessions::Sessions;

/// Makes of the lines below what carries a flow, with static dispatch.
macro_rules! transports {
    ($( $Variant:ident($carrier:ty) ),+ $(,)?) => {
        /// What carries a flow.
        #[derive(Debug)]
        pub(crate) enum Transport {
            $( $Variant($carrier), )+
            Sessions(Box<Sessions>),
            Clocked(Box<Clocked>),
        }

        /// Does the same with the ends of any transport, by static dispatch.
        macro_rules! with_ends {
            ($value:expr, $name:ident => $body:expr) => {
                match $value {
                    $( $crate::transport::Transport::$Variant($name) => $body, )+
                    $crate::transport::Transport::Sessions($name) => $body,
                    $crate::transport::Transport::Clocked($name) => $body,
                }
            };
        }

        pub(crate) use with_ends;

        impl Transport {
            /// Both ends of a flow.
            pub(crate) fn new(setup: &Setup<'_>) -> Self {
                match &*setup.flow.transport {
                    Options::Tcp(options) if setup.flow.source.makes_sessions() => {
                        Self::Sessions(<Box<Sessions> as Carrier>::new(options, setup))
                    }
                    $( Options::$Variant(options) => Self::$Variant(<$carrier as Carrier>::new(options, setup)) ),+
                }
            }
        }

        /// See [`Ends::ANSWERS`].
        pub(crate) const fn answers(options: &Options) -> bool {
            match options { $( Options::$Variant(_) => <$carrier as Ends>::ANSWERS ),+ }
        }

        /// See [`Carrier::ns2_types`].
        pub(crate) fn ns2_types(options: &Options, source: &SourceOptions) -> [PacketType; 2] {
            match options { $( Options::$Variant(_) => <$carrier as Carrier>::ns2_types(source) ),+ }
        }

        /// See [`Carrier::bytes_a_number`].
        pub(crate) fn bytes_a_number(options: &Options) -> u32 {
            match options { $( Options::$Variant(options) => <$carrier as Carrier>::bytes_a_number(options) ),+ }
        }
    };
}

// It lies within its flow: the ends themselves are elsewhere. A TCP whose source makes sessions is `Sessions`. Where an end has a clock of
// its own, any of them is in a `Clocked`.
transports! {
    Udp(Box<udp::Udp>),
    Tcp(tcp::Tcp),
    Agent(agent::Agent),
    Dccp(dccp::Dccp),
}

impl Transport {
    /// The same with ends that live by these clocks.
    pub(crate) fn clocked(self, clocks: FlowClocks) -> Self {
        Self::Clocked(Box::new(Clocked::new(self, clocks)))
    }
}

/// For what happens to a flow now and then: what happens to each packet chooses once, by [`with_ends`].
impl Ends for Transport {
    fn answers(&self) -> bool {
        with_ends!(self, ends => ends.answers())
    }
    fn connects(&self) -> bool {
        with_ends!(self, ends => ends.connects())
    }
    fn clocks(&self) -> Option<&FlowClocks> {
        with_ends!(self, ends => ends.clocks())
    }
    fn take(&mut self, now: Instant, due: Instant, source: &mut Source, meter: &mut Meter<'_>) -> Taken {
        with_ends!(self, ends => ends.take(now, due, source, meter))
    }
    fn set_backlog(&mut self, now: Instant, backlog: Backlog) {
        with_ends!(self, ends => ends.set_backlog(now, backlog));
    }
    fn close(&mut self, now: Instant) {
        with_ends!(self, ends => ends.close(now));
    }
    fn hear(&mut self, now: Instant, sent: Instant, packet: &Packet) -> Option<RoundTrip> {
        with_ends!(self, ends => ends.hear(now, sent, packet))
    }
    fn handle_sender_timeout(&mut self, now: Instant) {
        with_ends!(self, ends => ends.handle_sender_timeout(now));
    }
    fn poll_transmit(&mut self, now: Instant, meter: &mut Meter<'_>) -> Option<Envelope> {
        with_ends!(self, ends => ends.poll_transmit(now, meter))
    }
    fn poll_sender_timeout(&self) -> Option<Instant> {
        with_ends!(self, ends => ends.poll_sender_timeout())
    }
    fn gap_s(&self) -> Option<f64> {
        with_ends!(self, ends => ends.gap_s())
    }
    fn deliver(&mut self, now: Instant, sent: Instant, packet: &Packet) -> u32 {
        with_ends!(self, ends => ends.deliver(now, sent, packet))
    }
    fn on_channel_loss(&mut self, number: u64) {
        with_ends!(self, ends => ends.on_channel_loss(number));
    }
    fn poll_judgement(&mut self) -> Option<Judgement> {
        with_ends!(self, ends => ends.poll_judgement())
    }
    fn poll_frame(&mut self) -> Option<WrittenFrame> {
        with_ends!(self, ends => ends.poll_frame())
    }
    fn handle_receiver_timeout(&mut self, now: Instant) {
        with_ends!(self, ends => ends.handle_receiver_timeout(now));
    }
    fn poll_answer(&mut self, now: Instant) -> Option<Envelope> {
        with_ends!(self, ends => ends.poll_answer(now))
    }
    fn poll_aside(&mut self, now: Instant) -> Option<(u32, Envelope)> {
        with_ends!(self, ends => ends.poll_aside(now))
    }
    fn poll_receiver_timeout(&self) -> Option<Instant> {
        with_ends!(self, ends => ends.poll_receiver_timeout())
    }
    fn place_sender_timers(&mut self, now: Moment, events: &mut EventQueue) -> Option<Moment> {
        with_ends!(self, ends => ends.place_sender_timers(now, events))
    }
    fn place_receiver_timers(&mut self, now: Moment, events: &mut EventQueue) -> Option<Moment> {
        with_ends!(self, ends => ends.place_receiver_timers(now, events))
    }
    fn fetch(&self, receiving: bool) {
        with_ends!(self, ends => ends.fetch(receiving));
    }
    fn send_queue(&mut self) -> Option<&mut SendQueue> {
        with_ends!(self, ends => ends.send_queue())
    }
    fn status(&self) -> Option<Status> {
        with_ends!(self, ends => ends.status())
    }
    fn tcp(&self) -> Option<&headway_tcp::Sender> {
        with_ends!(self, ends => ends.tcp())
    }
    fn counters(&self) -> Option<headway_tcp::Counters> {
        with_ends!(self, ends => ends.counters())
    }
    fn setbacks(&self) -> Setbacks {
        with_ends!(self, ends => ends.setbacks())
    }
    fn open_sessions(&self) -> Option<usize> {
        with_ends!(self, ends => ends.open_sessions())
    }
    fn has_ended(&self) -> bool {
        with_ends!(self, ends => ends.has_ended())
    }
    fn tell_source(&mut self, now: Instant, source: &mut Source, meter: &mut Meter<'_>) {
        with_ends!(self, ends => ends.tell_source(now, source, meter));
    }
    fn connection(&mut self) -> Option<(&mut Client, &mut Server)> {
        with_ends!(self, ends => ends.connection())
    }
    fn failure(&self) -> Option<String> {
        with_ends!(self, ends => ends.failure())
    }
}
