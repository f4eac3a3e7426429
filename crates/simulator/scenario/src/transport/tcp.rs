//! One-way TCP; each variant is a kind.

use super::options::{TransportOptions, kinds_of};
use headway_media::WriteSize;
use headway_tcp::TcpOptions;
use headway_units::{Bytes, Dialect, OptionError, Registry, SchemaRegistry};
use schemars::JsonSchema as _;
use serde::{Deserializer, Serialize, Serializer};

impl TransportOptions for TcpOptions {
    const KINDS: &'static [&'static str] = <Self as Registry>::KINDS;
    /// Throughput, losses, congestion window and slow start threshold.
    const SERIES: usize = 4;
    const OPENS_SESSIONS: bool = true;

    fn kind(&self) -> &'static str {
        Registry::kind(self)
    }

    fn preset(kind: &str, dialect: Dialect) -> Option<Self> {
        <Self as Registry>::preset(kind, dialect)
    }

    fn deserialize<'de, D: Deserializer<'de>>(kind: &str, options: D) -> Result<Self, D::Error> {
        <Self as SchemaRegistry>::deserialize(kind, options)
    }

    fn check(&self) -> Result<(), OptionError> {
        Registry::check(self)
    }

    fn unused(&self) -> Vec<OptionError> {
        Registry::unused(self)
    }

    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Serialize::serialize(self, serializer)
    }

    fn schemas(generator: &mut schemars::SchemaGenerator) -> Vec<serde_json::Value> {
        kinds_of(Self::json_schema(generator))
    }

    fn full_packet(&self) -> Bytes {
        self.rules.segment
    }

    fn largest_packets(&self, _: Option<WriteSize>) -> (Bytes, Option<Bytes>) {
        (self.rules.segment, Some(self.rules.largest_ack()))
    }

    fn write_header(&self) -> Option<Bytes> {
        None
    }
}
