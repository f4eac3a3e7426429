//! The transports of scenarios: one file and one line of `transports!` each.

mod agent;
mod controlled;
mod dccp;
mod external;
mod options;
mod tcp;
mod udp;

pub use agent::AgentOptions;
pub use controlled::Controlled;
pub use dccp::DccpOptions;
pub use external::{ExternalOptions, KernelTcpOptions, ProgramOptions};

use headway_dccp::ConnectionOptions;
use headway_media::{UdpOptions, WriteSize};
use headway_rate::ControllerOptions;
use headway_tcp::TcpOptions;
use headway_units::{Bytes, Dialect, OptionError, Registry, SchemaRegistry};
use options::TransportOptions;
use serde::{Deserializer, Serialize, Serializer};

/// Defines the enum of transports and its dispatch.
macro_rules! transports {
    ($( $(#[$meta:meta])* $Variant:ident($options:ty) ),+ $(,)?) => {
        /// Transport of a flow.
        #[derive(Clone, Debug, PartialEq)]
        #[expect(clippy::large_enum_variant, reason = "the replicas of a flow share one")]
        pub enum Transport {
            $( $(#[$meta])* $Variant($options) ),+
        }

        const KINDS: &[&[&str]] = &[$( <$options as TransportOptions>::KINDS ),+];

        macro_rules! each {
            ($value:expr, $name:ident => $body:expr) => {
                match $value { $( Transport::$Variant($name) => $body ),+ }
            };
        }

        impl Transport {
            /// Returns the number of series of a flow with this transport.
            pub(crate) const fn series(&self) -> usize {
                match self { $( Self::$Variant(_) => <$options as TransportOptions>::SERIES ),+ }
            }

            /// Returns whether the transport pulls data from a source with a backlog.
            pub(crate) const fn takes_backlog(&self) -> bool {
                match self { $( Self::$Variant(_) => <$options as TransportOptions>::TAKES_BACKLOG ),+ }
            }

            /// Returns whether the transport opens a connection for each session of a source.
            pub(crate) const fn opens_sessions(&self) -> bool {
                match self { $( Self::$Variant(_) => <$options as TransportOptions>::OPENS_SESSIONS ),+ }
            }

            fn preset_of(kind: &str, dialect: Dialect) -> Option<Self> {
                None$( .or_else(|| <$options as TransportOptions>::preset(kind, dialect).map(Self::$Variant)) )+
            }

            fn deserialize_of<'de, D: Deserializer<'de>>(kind: &str, options: D) -> Result<Self, D::Error> {
                $( if <$options as TransportOptions>::KINDS.contains(&kind) {
                    return <$options as TransportOptions>::deserialize(kind, options).map(Self::$Variant);
                } )+
                Err(serde::de::Error::unknown_variant(kind, Self::KINDS))
            }

            fn schemas(generator: &mut schemars::SchemaGenerator) -> Vec<serde_json::Value> {
                let mut all = Vec::new();
                $( all.extend(<$options as TransportOptions>::schemas(generator)); )+
                all
            }
        }
    };
}

transports! {
    /// UDP without a rate controller: datagrams are sent when the source writes them.
    Udp(UdpOptions),
    /// One-way TCP: data in one direction, acknowledgements in the other.
    Tcp(TcpOptions),
    /// Agents with a rate controller and without a handshake, as in ns-2.
    Agent(Controlled<AgentOptions>),
    /// DCCP connection with the rate controller of its CCID.
    Dccp(Controlled<DccpOptions>),
    /// The kernel's TCP or programs, outside the simulation.
    External(ExternalOptions),
}

impl Transport {
    /// Returns the rate controller, if the transport has one. Only such transports have a send queue.
    #[must_use]
    pub fn controller(&self) -> Option<&ControllerOptions> {
        each!(self, options => options.controller())
    }

    /// Returns a copy with another controller, which may be a custom implementation.
    ///
    /// # Errors
    /// The transport has no rate controller, is DCCP with a CCID of an RFC, or does not meet the needs of the
    /// controller.
    pub fn with_controller(&self, controller: ControllerOptions) -> Result<Self, OptionError> {
        match self {
            Self::Agent(options) => options.with_controller(controller).map(Self::Agent),
            Self::Dccp(options) => options.with_own_controller(controller).map(Self::Dccp),
            Self::Udp(_) | Self::Tcp(_) | Self::External(_) => {
                Err(OptionError::new("kind", "this transport has no rate controller to replace"))
            }
        }
    }

    /// Returns the endpoints outside the simulation, if only `headway lab` can run the flow.
    #[must_use]
    pub const fn external(&self) -> Option<&ExternalOptions> {
        if let Self::External(options) = self { Some(options) } else { None }
    }

    /// Returns the options of the DCCP connection; `None` for other transports.
    #[must_use]
    pub fn connection(&self) -> Option<&ConnectionOptions> {
        each!(self, options => options.connection())
    }

    /// Returns the size of a full data packet as an IP packet.
    #[must_use]
    pub fn full_packet(&self) -> Bytes {
        each!(self, options => options.full_packet())
    }

    pub(crate) fn largest_packets(&self, write: Option<WriteSize>) -> (Bytes, Option<Bytes>) {
        each!(self, options => options.largest_packets(write))
    }

    pub(crate) fn write_header(&self) -> Option<Bytes> {
        each!(self, options => options.write_header())
    }

    pub(crate) fn packets_at_once(&self, write: WriteSize) -> u64 {
        each!(self, options => options.packets_at_once(write))
    }
}

const fn count(lists: &[&[&str]]) -> usize {
    let (mut list, mut all) = (0, 0);
    while list < lists.len() {
        all += lists[list].len();
        list += 1;
    }
    all
}

const fn concatenated<const N: usize>(lists: &[&'static [&'static str]]) -> [&'static str; N] {
    let mut all = [""; N];
    let (mut list, mut filled) = (0, 0);
    while list < lists.len() {
        let mut index = 0;
        while index < lists[list].len() {
            all[filled] = lists[list][index];
            (filled, index) = (filled + 1, index + 1);
        }
        list += 1;
    }
    all
}

impl Registry for Transport {
    const WHAT: &'static str = "transport";
    const KINDS: &'static [&'static str] = &concatenated::<{ count(KINDS) }>(KINDS);
    const NUMBERED: Option<(&'static str, &'static str)> = Some(dccp::NUMBERED);

    fn kind(&self) -> &'static str {
        each!(self, options => TransportOptions::kind(options))
    }

    fn preset(kind: &str, dialect: Dialect) -> Option<Self> {
        Self::preset_of(kind, dialect)
    }

    fn check(&self) -> Result<(), OptionError> {
        each!(self, options => TransportOptions::check(options))
    }

    fn unused(&self) -> Vec<OptionError> {
        each!(self, options => TransportOptions::unused(options))
    }
}

impl SchemaRegistry for Transport {
    fn deserialize<'de, D: Deserializer<'de>>(kind: &str, options: D) -> Result<Self, D::Error> {
        Self::deserialize_of(kind, options)
    }
}

impl Serialize for Transport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        each!(self, options => TransportOptions::serialize(options, serializer))
    }
}

impl schemars::JsonSchema for Transport {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Transport".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = schemars::Schema::default();
        schema.insert("oneOf".into(), Self::schemas(generator).into());
        schema
    }
}
