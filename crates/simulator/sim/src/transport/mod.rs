//! The transports: one file and one line in the table below for each.

mod agent;
mod carrier;
pub(crate) mod dccp;
mod ends;
mod external;
mod ns2_gap;
mod sessions;
mod tcp;
mod udp;

pub(crate) use carrier::{Setup, WriteOutcome, stream};
pub(crate) use dccp::{SERVICE, SpoofedPeers, Verdict};
pub(crate) use ends::Ends;
pub use external::ExternalPacket;

use crate::clocks::FlowClocks;
use carrier::Carrier;
use headway_media::SourceOptions;
use headway_record::ns2::PacketType;
use headway_scenario::Transport as Options;
use sessions::Sessions;

/// Generates the [`Transport`] enum and its static dispatch from the table below.
macro_rules! transports {
    ($( $Variant:ident($carrier:ty) ),+ $(,)?) => {
        #[derive(Debug)]
        pub(crate) enum Transport {
            $( $Variant($carrier), )+
            Sessions(Box<Sessions>),
            Clocked(Box<Clocked>),
        }

        /// Evaluates the expression with the endpoints of any transport, by static dispatch, and with their clocks.
        /// Endpoints with local clocks are the trait object that `$object` returns.
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
            pub(crate) fn new(setup: &Setup<'_>) -> Self {
                match &*setup.flow.transport {
                    Options::Tcp(options) if setup.flow.source.makes_sessions() => {
                        Self::Sessions(<Box<Sessions> as Carrier>::new(options, setup))
                    }
                    $( Options::$Variant(options) => Self::$Variant(<$carrier as Carrier>::new(options, setup)) ),+
                }
            }
        }

        pub(crate) const fn answers(options: &Options) -> bool {
            match options { $( Options::$Variant(_) => <$carrier as Carrier>::ANSWERS ),+ }
        }

        pub(crate) fn ns2_types(options: &Options, source: &SourceOptions) -> [PacketType; 2] {
            match options { $( Options::$Variant(_) => <$carrier as Carrier>::ns2_types(source) ),+ }
        }

        pub(crate) fn bytes_per_number(options: &Options) -> u32 {
            match options { $( Options::$Variant(options) => <$carrier as Carrier>::bytes_per_number(options) ),+ }
        }
    };
}

// The enum is part of its flow; the endpoints are boxed. A TCP whose source opens sessions is `Sessions`. If an
// endpoint has a local clock, `Clocked` contains the transport.
transports! {
    Udp(Box<udp::Udp>),
    Tcp(tcp::Tcp),
    Agent(agent::Agent),
    Dccp(dccp::Dccp),
    External(external::External),
}

impl Transport {
    /// Makes the endpoints use these clocks.
    pub(crate) fn clocked(self, clocks: FlowClocks) -> Self {
        Self::Clocked(Box::new(Clocked { transport: self, clocks }))
    }

    /// Returns whether the endpoints are outside the simulation.
    pub(crate) const fn is_external(&self) -> bool {
        matches!(self, Self::External(_))
    }

    /// Removes and returns the packets that have reached a program, in order of time.
    pub(crate) fn take_delivered(&mut self) -> Vec<ExternalPacket> {
        match self {
            Self::External(ends) => ends.take_delivered(),
            _ => Vec::new(),
        }
    }

    /// Returns the endpoints, for calls that are not made for each packet.
    pub(crate) fn ends(&self) -> &dyn Ends {
        with_ends!(self, ends, (ends, _clocks) => ends)
    }

    /// Returns the endpoints, for calls that are not made for each packet.
    pub(crate) fn ends_mut(&mut self) -> &mut dyn Ends {
        with_ends!(self, ends_mut, (ends, _clocks) => ends)
    }

    pub(crate) fn fetch(&self, receiving: bool) {
        with_ends!(self, ends, (ends, _clocks) => ends.fetch(receiving));
    }

    /// Returns the clocks of the endpoints, unless both use true time.
    pub(crate) fn clocks(&self) -> Option<FlowClocks> {
        if let Self::Clocked(inner) = self { Some(inner.clocks) } else { None }
    }
}

/// A transport whose endpoints have local clocks.
#[derive(Debug)]
pub(crate) struct Clocked {
    pub(crate) transport: Transport,
    pub(crate) clocks: FlowClocks,
}
