//! The transports as one set of kinds: `udp` and every TCP.

use crate::model::Transport;
use headway_media::UdpOptions;
use headway_tcp::TcpOptions;
use headway_units::{Dialect, OptionError, Options as _, Registry, schema_of_kinds};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const UDP: &str = "udp";
const KINDS: [&str; 1 + TcpOptions::KINDS.len()] = {
    let mut kinds = [UDP; 1 + TcpOptions::KINDS.len()];
    let mut index = 1;
    while index < kinds.len() {
        kinds[index] = TcpOptions::KINDS[index - 1];
        index += 1;
    }
    kinds
};

impl Registry for Transport {
    const WHAT: &'static str = "transport";
    const KINDS: &'static [&'static str] = &KINDS;

    fn kind(&self) -> &'static str {
        match self {
            Self::Udp(_) => UDP,
            Self::Tcp(options) => options.kind(),
        }
    }

    fn preset(kind: &str, dialect: Dialect) -> Option<Self> {
        if kind == UDP {
            return Some(Self::Udp(UdpOptions::preset(dialect)));
        }
        TcpOptions::preset(kind, dialect).map(Self::Tcp)
    }

    fn deserialize<'de, D: Deserializer<'de>>(kind: &str, options: D) -> Result<Self, D::Error> {
        if kind == UDP {
            return UdpOptions::deserialize(options).map(Self::Udp);
        }
        <TcpOptions as Registry>::deserialize(kind, options).map(Self::Tcp)
    }

    fn check(&self) -> Result<(), OptionError> {
        match self {
            Self::Udp(options) => options.check(),
            Self::Tcp(options) => options.check(),
        }
    }
}

impl Serialize for Transport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Udp<'a> {
            kind: &'static str,
            #[serde(flatten)]
            options: &'a UdpOptions,
        }
        match self {
            Self::Udp(options) => Udp { kind: UDP, options }.serialize(serializer),
            Self::Tcp(options) => options.serialize(serializer),
        }
    }
}

impl schemars::JsonSchema for Transport {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Transport".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut all = schema_of_kinds(vec![(UDP, UdpOptions::json_schema(generator))]);
        let tcp = TcpOptions::json_schema(generator).to_value();
        let kinds = tcp.get("oneOf").and_then(|kinds| kinds.as_array()).into_iter().flatten().cloned();
        if let Some(one_of) = all.get_mut("oneOf").and_then(|kinds| kinds.as_array_mut()) {
            one_of.extend(kinds);
        }
        all
    }
}
