//! The transports: a file each, which drives both ends of one, and a line each in the table below.

mod agent;
mod carrier;
mod clocked;
pub(crate) mod dccp;
mod sessions;
mod tcp;
mod udp;

pub(crate) use carrier::{Setup, Taken, stream};
pub(crate) use dccp::{SERVICE, Strangers, Verdict};

use crate::clocks::{FlowClocks, Meter};
use crate::event_queue::EventQueue;
use crate::observe::{RoundTrip, Setbacks};
use crate::packet::{Envelope, Packet};
use crate::send_queue::SendQueue;
use carrier::Carrier;
use clocked::Clocked;
use dccp::ends::{Client, Server};
use headway_media::{Backlog, Source, SourceOptions};
use headway_rate::{Judgement, Status};
use headway_record::{WrittenFrame, ns2::PacketType};
use headway_scenario::Transport as Options;
use headway_units::{Instant, Moment};
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

        macro_rules! each {
            ($value:expr, $name:ident => $body:expr) => {
                match $value { $( Transport::$Variant($name) => $body, )+ Transport::Sessions($name) => $body, Transport::Clocked($name) => $body }
            };
        }

        impl Transport {
            /// Both ends of a flow.
            pub(crate) fn new(setup: &Setup<'_>) -> Self {
                match &*setup.flow.transport {
                    Options::Tcp(options) if setup.flow.source.makes_sessions() => {
                        Self::Sessions(Box::new(Sessions::new(options, setup)))
                    }
                    $( Options::$Variant(options) => Self::$Variant(<$carrier as Carrier>::new(options, setup)) ),+
                }
            }

            /// See [`Carrier::ANSWERS`].
            #[inline(always)]
            pub(crate) const fn answers(&self) -> bool {
                match self {
                    $( Self::$Variant(_) => <$carrier as Carrier>::ANSWERS, )+
                    Self::Sessions(_) => Sessions::ANSWERS,
                    Self::Clocked(clocked) => clocked.answers(),
                }
            }

            /// See [`Carrier::CONNECTS`].
            pub(crate) const fn connects(&self) -> bool {
                match self {
                    $( Self::$Variant(_) => <$carrier as Carrier>::CONNECTS, )+
                    Self::Sessions(_) => Sessions::CONNECTS,
                    Self::Clocked(clocked) => clocked.connects(),
                }
            }
        }

        /// See [`Carrier::ANSWERS`].
        pub(crate) const fn answers(options: &Options) -> bool {
            match options { $( Options::$Variant(_) => <$carrier as Carrier>::ANSWERS ),+ }
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
    /// The clocks of its ends, if they are not both the simulator's.
    #[inline]
    pub(crate) fn clocks(&self) -> Option<&FlowClocks> {
        match self {
            Self::Clocked(clocked) => Some(clocked.clocks()),
            _ => None,
        }
    }

    /// The same with ends that live by these clocks.
    pub(crate) fn clocked(self, clocks: FlowClocks) -> Self {
        Self::Clocked(Box::new(Clocked::new(self, clocks)))
    }
}

/// As [`Carrier`] says. What each packet passes is inlined always: a call would cost what a match does.
impl Transport {
    #[inline(always)]
    pub(crate) fn take(&mut self, now: Instant, due: Instant, source: &mut Source, meter: &mut Meter<'_>) -> Taken {
        each!(self, carrier => carrier.take(now, due, source, meter))
    }
    pub(crate) fn set_backlog(&mut self, now: Instant, backlog: Backlog) {
        each!(self, carrier => carrier.set_backlog(now, backlog));
    }
    pub(crate) fn close(&mut self, now: Instant) {
        each!(self, carrier => carrier.close(now));
    }
    #[inline(always)]
    pub(crate) fn hear(&mut self, now: Instant, sent: Instant, packet: &Packet) -> Option<RoundTrip> {
        each!(self, carrier => carrier.hear(now, sent, packet))
    }
    #[inline]
    pub(crate) fn handle_sender_timeout(&mut self, now: Instant) {
        each!(self, carrier => carrier.handle_sender_timeout(now));
    }
    #[inline(always)]
    pub(crate) fn poll_transmit(&mut self, now: Instant, meter: &mut Meter<'_>) -> Option<Envelope> {
        each!(self, carrier => carrier.poll_transmit(now, meter))
    }
    #[inline(always)]
    pub(crate) fn poll_sender_timeout(&self) -> Option<Instant> {
        each!(self, carrier => carrier.poll_sender_timeout())
    }
    pub(crate) fn gap_s(&self) -> Option<f64> {
        each!(self, carrier => carrier.gap_s())
    }
    #[inline(always)]
    pub(crate) fn deliver(&mut self, now: Instant, sent: Instant, packet: &Packet) -> u32 {
        each!(self, carrier => carrier.deliver(now, sent, packet))
    }
    pub(crate) fn on_channel_loss(&mut self, number: u64) {
        each!(self, carrier => carrier.on_channel_loss(number));
    }
    pub(crate) fn poll_judgement(&mut self) -> Option<Judgement> {
        each!(self, carrier => carrier.poll_judgement())
    }
    #[inline]
    pub(crate) fn poll_frame(&mut self) -> Option<WrittenFrame> {
        each!(self, carrier => carrier.poll_frame())
    }
    #[inline]
    pub(crate) fn handle_receiver_timeout(&mut self, now: Instant) {
        each!(self, carrier => carrier.handle_receiver_timeout(now));
    }
    #[inline(always)]
    pub(crate) fn poll_answer(&mut self, now: Instant) -> Option<Envelope> {
        each!(self, carrier => carrier.poll_answer(now))
    }
    #[inline]
    pub(crate) fn poll_aside(&mut self, now: Instant) -> Option<(u32, Envelope)> {
        each!(self, carrier => carrier.poll_aside(now))
    }
    #[inline(always)]
    pub(crate) fn poll_receiver_timeout(&self) -> Option<Instant> {
        each!(self, carrier => carrier.poll_receiver_timeout())
    }
    #[inline]
    pub(crate) fn place_sender_timers(&mut self, now: Moment, events: &mut EventQueue) -> Option<Moment> {
        each!(self, carrier => carrier.place_sender_timers(now, events))
    }
    #[inline]
    pub(crate) fn place_receiver_timers(&mut self, now: Moment, events: &mut EventQueue) -> Option<Moment> {
        each!(self, carrier => carrier.place_receiver_timers(now, events))
    }
    #[inline]
    pub(crate) fn fetch(&self, receiving: bool) {
        each!(self, carrier => carrier.fetch(receiving));
    }
    pub(crate) fn send_queue(&mut self) -> Option<&mut SendQueue> {
        each!(self, carrier => carrier.send_queue())
    }
    pub(crate) fn status(&self) -> Option<Status> {
        each!(self, carrier => carrier.status())
    }
    #[inline]
    pub(crate) fn tcp(&self) -> Option<&headway_tcp::Sender> {
        each!(self, carrier => carrier.tcp())
    }
    pub(crate) fn counters(&self) -> Option<headway_tcp::Counters> {
        each!(self, carrier => carrier.counters())
    }
    pub(crate) fn setbacks(&self) -> Setbacks {
        each!(self, carrier => carrier.setbacks())
    }
    pub(crate) fn open_sessions(&self) -> Option<usize> {
        each!(self, carrier => carrier.open_sessions())
    }
    #[inline]
    pub(crate) fn has_ended(&self) -> bool {
        each!(self, carrier => carrier.has_ended())
    }
    pub(crate) fn tell_source(&mut self, now: Instant, source: &mut Source, meter: &mut Meter<'_>) {
        each!(self, carrier => carrier.tell_source(now, source, meter));
    }
    pub(crate) fn connection(&mut self) -> Option<(&mut Client, &mut Server)> {
        each!(self, carrier => carrier.connection())
    }
    pub(crate) fn failure(&self) -> Option<String> {
        each!(self, carrier => carrier.failure())
    }
}
