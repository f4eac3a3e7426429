//! Flows whose packets programs or the kernel's TCP send. Only `headway lab` runs them.

use super::options::{Tagged, TransportOptions, kinds_of};
use headway_media::WriteSize;
use headway_units::{Bytes, Dialect, OptionError, Options, schema_of_kinds};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const KERNEL_TCP: &str = "kernel-tcp";

/// Ethernet packet (RFC 894). The scenario does not contain the size of the packets.
const FULL_PACKET: Bytes = Bytes::new(1500);
/// Headers of IPv4 and UDP: the smallest packet of a program, which determines the routes of a flow.
const SMALLEST_PACKET: Bytes = Bytes::new(28);

/// Endpoints outside the simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExternalOptions {
    /// One connection of the kernel's TCP.
    KernelTcp(KernelTcpOptions),
    /// Programs. A flow has the key `program` in place of a transport.
    Program(ProgramOptions),
}

/// Options of the transport `kernel-tcp`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelTcpOptions {
    /// Congestion control, a name of the sysctl net.ipv4.tcp_available_congestion_control, such as reno, cubic or bbr.
    pub congestion: String,
}

/// Programs at both ends of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProgramOptions {
    /// Shell command that starts at the sending node when the flow starts.
    pub program: String,
    /// Shell command that starts at the receiving node before the run; `None` for none.
    pub server: Option<String>,
}

impl Options for KernelTcpOptions {
    /// The default of Linux.
    fn preset(_: Dialect) -> Self {
        Self { congestion: "cubic".to_owned() }
    }

    fn check(&self) -> Result<(), OptionError> {
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        // TCP_CA_NAME_MAX of Linux is 16, with a terminating zero.
        if self.congestion.is_empty() || self.congestion.len() > 15 || !self.congestion.chars().all(is_letter) {
            let message = "a congestion control has a name of 1 to 15 letters, digits and _ -: write one";
            return Err(OptionError::new("congestion", message).with_example("\"bbr\""));
        }
        Ok(())
    }
}

impl TransportOptions for ExternalOptions {
    const KINDS: &'static [&'static str] = &[KERNEL_TCP];
    const SERIES: usize = 2;

    fn kind(&self) -> &'static str {
        match self {
            Self::KernelTcp(_) => KERNEL_TCP,
            Self::Program(_) => "program",
        }
    }

    fn preset(kind: &str, dialect: Dialect) -> Option<Self> {
        (kind == KERNEL_TCP).then(|| Self::KernelTcp(Options::preset(dialect)))
    }

    fn deserialize<'de, D: Deserializer<'de>>(_: &str, options: D) -> Result<Self, D::Error> {
        Deserialize::deserialize(options).map(Self::KernelTcp)
    }

    fn check(&self) -> Result<(), OptionError> {
        match self {
            Self::KernelTcp(options) => options.check(),
            Self::Program(_) => Ok(()),
        }
    }

    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kind = self.kind();
        match self {
            Self::KernelTcp(options) => Tagged { kind, options }.serialize(serializer),
            Self::Program(options) => Tagged { kind, options }.serialize(serializer),
        }
    }

    fn schemas(generator: &mut schemars::SchemaGenerator) -> Vec<serde_json::Value> {
        kinds_of(schema_of_kinds(vec![(KERNEL_TCP, KernelTcpOptions::json_schema(generator))]))
    }

    fn full_packet(&self) -> Bytes {
        FULL_PACKET
    }

    fn largest_packets(&self, _: Option<WriteSize>) -> (Bytes, Option<Bytes>) {
        (SMALLEST_PACKET, Some(SMALLEST_PACKET))
    }

    fn write_header(&self) -> Option<Bytes> {
        None
    }
}
