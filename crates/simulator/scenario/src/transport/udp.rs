//! UDP without a rate controller.

use super::options::{Tagged, TransportOptions, kinds_of};
use headway_media::{UdpOptions, WriteSize, datagrams};
use headway_units::{Bytes, Dialect, OptionError, Options, schema_of_kinds};
use schemars::JsonSchema as _;
use serde::{Deserialize, Deserializer, Serialize as _, Serializer};

const UDP: &str = "udp";

impl TransportOptions for UdpOptions {
    const KINDS: &'static [&'static str] = &[UDP];
    const SERIES: usize = 2;
    const TAKES_BACKLOG: bool = false;

    fn kind(&self) -> &'static str {
        UDP
    }

    fn preset(kind: &str, dialect: Dialect) -> Option<Self> {
        (kind == UDP).then(|| Options::preset(dialect))
    }

    fn deserialize<'de, D: Deserializer<'de>>(_: &str, options: D) -> Result<Self, D::Error> {
        Deserialize::deserialize(options)
    }

    fn check(&self) -> Result<(), OptionError> {
        Options::check(self)
    }

    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Tagged { kind: UDP, options: self }.serialize(serializer)
    }

    fn schemas(generator: &mut schemars::SchemaGenerator) -> Vec<serde_json::Value> {
        kinds_of(schema_of_kinds(vec![(UDP, Self::json_schema(generator))]))
    }

    fn full_packet(&self) -> Bytes {
        self.datagram
    }

    fn largest_packets(&self, write: Option<WriteSize>) -> (Bytes, Option<Bytes>) {
        let largest = write.and_then(|size| datagrams(size, self).next());
        (largest.map_or(Bytes::new(0), |datagram| datagram.wire), None)
    }

    fn write_header(&self) -> Option<Bytes> {
        Some(self.header)
    }

    fn packets_at_once(&self, write: WriteSize) -> u64 {
        datagrams(write, self).len() as u64
    }
}
