//! The transports: a file each, which drives both ends of one, and a line each in the table below.

mod agent;
mod carrier;
pub(crate) mod dccp;
mod ends;
mod ns2_gap;
mod sessions;
mod tcp;
mod udp;

pub(crate) use carrier::{Setup, Taken, stream};
pub(crate) use dccp::{SERVICE, Strangers, Verdict};
pub(crate) use ends::Ends;

use crate::clocks::FlowClocks;
use carrier::Carrier;
use headway_media::SourceOptions;
use headway_record::ns2::PacketType;
use headway_scenario::Transport as Options;
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

        /// Evaluates the expression with the ends of any transport, by static dispatch, and with their clocks. Ends with clocks of
        /// their own are the trait object that `$object` returns.
        macro_rules! with_ends {
            ($value:expr, $object:ident, ($name:ident, $clocks:ident) => $body:expr) => {
                match $value {
                    $( $crate::transport::Transport::$Variant($name) => { let $clocks = $crate::clocks::TrueTime; $body } )+
                    $crate::transport::Transport::Sessions($name) => { let $clocks = $crate::clocks::TrueTime; $body }
                    $crate::transport::Transport::Clocked(inner) => {
                        let $clocks = Some(inner.clocks);
                        let $name = inner.transport.$object();
                        $body
                    }
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

// The enum is part of its flow, and the ends are boxed. A TCP whose source makes sessions is `Sessions`. If an end has a clock of its own,
// `Clocked` holds the transport.
transports! {
    Udp(Box<udp::Udp>),
    Tcp(tcp::Tcp),
    Agent(agent::Agent),
    Dccp(dccp::Dccp),
}

impl Transport {
    /// Lets the ends use these clocks.
    pub(crate) fn clocked(self, clocks: FlowClocks) -> Self {
        Self::Clocked(Box::new(Clocked { transport: self, clocks }))
    }

    /// Returns the ends, for calls that are not made for each packet.
    pub(crate) fn ends(&self) -> &dyn Ends {
        with_ends!(self, ends, (ends, _clocks) => ends)
    }

    /// Returns the ends, for calls that are not made for each packet.
    pub(crate) fn ends_mut(&mut self) -> &mut dyn Ends {
        with_ends!(self, ends_mut, (ends, _clocks) => ends)
    }

    /// Prefetches the end at which a packet will arrive.
    pub(crate) fn fetch(&self, receiving: bool) {
        with_ends!(self, ends, (ends, _clocks) => ends.fetch(receiving));
    }

    /// Returns the clocks of the ends, unless both use the simulator's.
    pub(crate) fn clocks(&self) -> Option<FlowClocks> {
        if let Self::Clocked(inner) = self { Some(inner.clocks) } else { None }
    }
}

/// A transport whose ends have clocks of their own.
#[derive(Debug)]
pub(crate) struct Clocked {
    pub(crate) transport: Transport,
    pub(crate) clocks: FlowClocks,
}
