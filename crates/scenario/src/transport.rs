//! The transports as one set of kinds: `udp`, every TCP, and every rate controller with the agents that carry it.

use crate::agent::AgentOptions;
use crate::controlled::{Controlled, schemas};
use crate::model::Transport;
use headway_media::UdpOptions;
use headway_rate::ControllerOptions;
use headway_tcp::TcpOptions;
use headway_units::{Dialect, OptionError, Options as _, Registry, schema_of_kinds};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const UDP: &str = "udp";
/// The first controller is `none`, which as a transport is `udp`.
const CONTROLLERS: &[&str] = ControllerOptions::KINDS.split_at(1).1;
const KINDS: [&str; 1 + TcpOptions::KINDS.len() + CONTROLLERS.len()] = {
    let mut kinds = [UDP; 1 + TcpOptions::KINDS.len() + CONTROLLERS.len()];
    let mut index = 1;
    while index < kinds.len() {
        let tcp = TcpOptions::KINDS.len();
        kinds[index] = if index <= tcp { TcpOptions::KINDS[index - 1] } else { CONTROLLERS[index - 1 - tcp] };
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
            Self::Agent(options) => options.controller.kind(),
        }
    }

    fn preset(kind: &str, dialect: Dialect) -> Option<Self> {
        match kind {
            UDP => Some(Self::Udp(UdpOptions::preset(dialect))),
            _ if CONTROLLERS.contains(&kind) => Controlled::<AgentOptions>::preset(kind, dialect).map(Self::Agent),
            _ => TcpOptions::preset(kind, dialect).map(Self::Tcp),
        }
    }

    fn deserialize<'de, D: Deserializer<'de>>(kind: &str, options: D) -> Result<Self, D::Error> {
        match kind {
            UDP => UdpOptions::deserialize(options).map(Self::Udp),
            _ if CONTROLLERS.contains(&kind) => Controlled::deserialize(kind, options).map(Self::Agent),
            _ => <TcpOptions as Registry>::deserialize(kind, options).map(Self::Tcp),
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        match self {
            Self::Udp(options) => options.check(),
            Self::Tcp(options) => options.check(),
            Self::Agent(options) => options.check(),
        }
    }
}

impl Serialize for Transport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Tagged<'a, T> {
            kind: &'static str,
            #[serde(flatten)]
            options: &'a T,
        }
        let kind = self.kind();
        match self {
            Self::Udp(options) => Tagged { kind, options }.serialize(serializer),
            Self::Tcp(options) => options.serialize(serializer),
            Self::Agent(options) => Tagged { kind, options }.serialize(serializer),
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
        let tcp = tcp.get("oneOf").and_then(|kinds| kinds.as_array()).into_iter().flatten().cloned();
        let agents = schemas::<AgentOptions>(generator, |kind| CONTROLLERS.contains(&kind).then_some(kind));
        if let Some(one_of) = all.get_mut("oneOf").and_then(|kinds| kinds.as_array_mut()) {
            one_of.extend(tcp.chain(agents));
        }
        all
    }
}
