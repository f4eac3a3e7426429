//! The trait that each transport implements for its options.

use headway_dccp::ConnectionOptions;
use headway_media::WriteSize;
use headway_rate::ControllerOptions;
use headway_units::{Bytes, Dialect, OptionError};
use serde::{Deserializer, Serialize, Serializer};

/// Options of a transport, and its properties.
pub(crate) trait TransportOptions: Sized {
    /// Kinds of this transport.
    const KINDS: &'static [&'static str];
    /// Number of series of a flow: throughput, losses and those of the transport.
    const SERIES: usize;
    /// Whether the transport pulls data from a source with a backlog. Otherwise it sends each write immediately.
    const TAKES_BACKLOG: bool = true;

    /// Whether the transport opens a connection for each session of a source.
    const OPENS_SESSIONS: bool = false;

    fn kind(&self) -> &'static str;

    fn preset(kind: &str, dialect: Dialect) -> Option<Self>;

    /// Reads the options of `kind` from a table without the key `kind`.
    fn deserialize<'de, D: Deserializer<'de>>(kind: &str, options: D) -> Result<Self, D::Error>;

    /// Checks ranges that the types do not enforce.
    fn check(&self) -> Result<(), OptionError>;

    /// Returns the keys that have no effect ([`headway_units::Options::unused`]).
    fn unused(&self) -> Vec<OptionError> {
        Vec::new()
    }

    /// Serializes the table with `kind` as first key.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;

    /// Returns the schema of the table of each kind.
    fn schemas(generator: &mut schemars::SchemaGenerator) -> Vec<serde_json::Value>;

    /// Returns the size of a full data packet as an IP packet.
    fn full_packet(&self) -> Bytes;

    /// Returns the sizes of the largest packets on the forward path and on the reverse path, if it has any. `write` is
    /// the largest write of the source; `None` for a backlog.
    fn largest_packets(&self, write: Option<WriteSize>) -> (Bytes, Option<Bytes>);

    /// Returns the headers that a write's size on the wire includes, if each write is sent in separate packets.
    fn write_header(&self) -> Option<Bytes>;

    /// Returns the number of packets that a write sends at once without a window or a rate controller.
    fn packets_at_once(&self, _write: WriteSize) -> u64 {
        1
    }

    /// Returns the rate controller, if the transport has one.
    fn controller(&self) -> Option<&ControllerOptions> {
        None
    }

    /// Returns the options of the DCCP connection, if it is one.
    fn connection(&self) -> Option<&ConnectionOptions> {
        None
    }
}

/// Table of options with its kind as first key.
#[derive(Serialize)]
pub(super) struct Tagged<'a, T> {
    pub(super) kind: &'static str,
    #[serde(flatten)]
    pub(super) options: &'a T,
}

/// Returns the schemas of the kinds from the result of [`schema_of_kinds`](headway_units::schema_of_kinds).
pub(super) fn kinds_of(schema: schemars::Schema) -> Vec<serde_json::Value> {
    match schema.to_value().get_mut("oneOf").map(serde_json::Value::take) {
        Some(serde_json::Value::Array(kinds)) => kinds,
        _ => Vec::new(),
    }
}
