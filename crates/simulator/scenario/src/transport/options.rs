//! What every transport's file says of it.

use headway_dccp::ConnectionOptions;
use headway_media::WriteSize;
use headway_rate::ControllerOptions;
use headway_units::{Bytes, Dialect, OptionError};
use serde::{Deserializer, Serialize, Serializer};

/// What the options of a way of carrying packets say of it.
pub(crate) trait TransportOptions: Sized {
    /// The kinds of transports that it makes.
    const KINDS: &'static [&'static str];
    /// Values in a sample of the series: throughput and losses, and what else its flows have.
    const SERIES: usize;
    /// Whether it takes as much as a source has, when it can send it. Else it sends at once whatever is written.
    const TAKES_BACKLOG: bool = true;

    /// Whether it opens a connection for each session of a source.
    const OPENS_SESSIONS: bool = false;

    /// Which of its kinds this is.
    fn kind(&self) -> &'static str;

    /// The options of one of its kinds under a dialect.
    fn preset(kind: &str, dialect: Dialect) -> Option<Self>;

    /// Reads the options of one of its kinds from a table without the key `kind`.
    fn deserialize<'de, D: Deserializer<'de>>(kind: &str, options: D) -> Result<Self, D::Error>;

    /// Ranges that the types do not already keep.
    fn check(&self) -> Result<(), OptionError>;

    /// Returns the keys that have no effect ([`headway_units::Options::unused`]).
    fn unused(&self) -> Vec<OptionError> {
        Vec::new()
    }

    /// Writes the table, `kind` first.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;

    /// The schemas of its kinds' tables.
    fn schemas(generator: &mut schemars::SchemaGenerator) -> Vec<serde_json::Value>;

    /// A full packet of data, with its headers.
    fn full_packet(&self) -> Bytes;

    /// The largest packets of a flow, there and, if any go there, back; `write` is the largest of its source, `None` for a backlog.
    fn largest_packets(&self, write: Option<WriteSize>) -> (Bytes, Option<Bytes>);

    /// What a write's size on the wire counts besides data, where writes are cut into packets of their own.
    fn write_header(&self) -> Option<Bytes>;

    /// How many packets a write makes at once, if it is not for a window or a rate to say when they go.
    fn packets_at_once(&self, _write: WriteSize) -> u64 {
        1
    }

    /// The rate controller that paces it, if one does.
    fn controller(&self) -> Option<&ControllerOptions> {
        None
    }

    /// The rules of a DCCP connection, if it is one.
    fn connection(&self) -> Option<&ConnectionOptions> {
        None
    }
}

/// A table of options behind its kind.
#[derive(Serialize)]
pub(super) struct Tagged<'a, T> {
    pub(super) kind: &'static str,
    #[serde(flatten)]
    pub(super) options: &'a T,
}

/// The kinds of a schema that [`schema_of_kinds`](headway_units::schema_of_kinds) has made.
pub(super) fn kinds_of(schema: schemars::Schema) -> Vec<serde_json::Value> {
    match schema.to_value().get_mut("oneOf").map(serde_json::Value::take) {
        Some(serde_json::Value::Array(kinds)) => kinds,
        _ => Vec::new(),
    }
}
