//! The transports as one set of kinds: `udp`, every TCP, every rate controller with the agents that carry it, and `dccp` with a
//! number for each CCID that has a controller.

mod agent;
mod controlled;
mod dccp;

pub use agent::AgentOptions;
pub use controlled::Controlled;
pub use dccp::DccpOptions;

use crate::model::Transport;
use controlled::schemas;
use headway_dccp::{Ccid, CcidController};
use headway_media::UdpOptions;
use headway_rate::{ControllerOptions, ReportForm};
use headway_tcp::TcpOptions;
use headway_units::{Dialect, OptionError, Options as _, Registry, schema_of_kinds};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const UDP: &str = "udp";
const DCCP: &str = "dccp";
/// The first controller is `none`, which as a transport is `udp`.
const CONTROLLERS: &[&str] = ControllerOptions::KINDS.split_at(1).1;
/// The CCIDs in scenarios: their number, the kind that it makes of `dccp`, and their controller.
const CCIDS: [(u8, &str, &str); 3] = [(2, "dccp-2", "tcp-like"), (3, "dccp-3", "tfrc"), (4, "dccp-4", "tfrc-sp")];
const KINDS: [&str; 1 + TcpOptions::KINDS.len() + CONTROLLERS.len() + CCIDS.len()] = {
    let mut kinds = [UDP; 1 + TcpOptions::KINDS.len() + CONTROLLERS.len() + CCIDS.len()];
    let (tcp, agents) = (TcpOptions::KINDS.len(), CONTROLLERS.len());
    let mut index = 0;
    while index + 1 < kinds.len() {
        kinds[index + 1] = if index < tcp {
            TcpOptions::KINDS[index]
        } else if index < tcp + agents {
            CONTROLLERS[index - tcp]
        } else {
            CCIDS[index - tcp - agents].1
        };
        index += 1;
    }
    kinds
};

/// The CCID of a kind of DCCP, and its controller's kind.
fn ccid_of(kind: &str) -> Option<(u8, &'static str)> {
    CCIDS.iter().find(|(_, known, _)| *known == kind).map(|(ccid, _, controller)| (*ccid, *controller))
}

impl Registry for Transport {
    const WHAT: &'static str = "transport";
    const KINDS: &'static [&'static str] = &KINDS;
    const NUMBERED: Option<(&'static str, &'static str)> = Some((DCCP, "ccid"));

    fn kind(&self) -> &'static str {
        match self {
            Self::Udp(_) => UDP,
            Self::Tcp(options) => options.kind(),
            Self::Agent(options) => options.controller.kind(),
            Self::Dccp(options) => {
                let kind = options.controller.kind();
                CCIDS.iter().find(|(.., controller)| *controller == kind).map_or(DCCP, |(_, dccp, _)| dccp)
            }
        }
    }

    fn preset(kind: &str, dialect: Dialect) -> Option<Self> {
        if let Some((ccid, controller)) = ccid_of(kind) {
            return Controlled::<DccpOptions>::preset(controller, dialect).map(|options| Self::dccp(options, ccid));
        }
        match kind {
            UDP => Some(Self::Udp(UdpOptions::preset(dialect))),
            _ if CONTROLLERS.contains(&kind) => Controlled::<AgentOptions>::preset(kind, dialect).map(Self::Agent),
            _ => TcpOptions::preset(kind, dialect).map(Self::Tcp),
        }
    }

    fn deserialize<'de, D: Deserializer<'de>>(kind: &str, options: D) -> Result<Self, D::Error> {
        if let Some((ccid, controller)) = ccid_of(kind) {
            return Controlled::deserialize(controller, options).map(|options| Self::dccp(options, ccid));
        }
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
            Self::Dccp(options) => options.check(),
        }
    }
}

impl Transport {
    /// A connection whose both ends agree on one CCID with one controller, the flow's.
    fn dccp(mut options: Controlled<DccpOptions>, ccid: u8) -> Self {
        let connection = &mut options.carrier.connection;
        connection.send_ccids = vec![ccid];
        connection.receive_ccids = vec![ccid];
        let (ccid, controller) = (Ccid(ccid), options.controller.clone());
        connection.controllers =
            vec![CcidController { ccid, ack_vectors: controller.reports() == ReportForm::Arrivals, controller }];
        Self::Dccp(options)
    }
}

impl Serialize for Transport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Tagged<'a, T> {
            kind: &'static str,
            #[serde(skip_serializing_if = "Option::is_none")]
            ccid: Option<u8>,
            #[serde(flatten)]
            options: &'a T,
        }
        let numbered = ccid_of(self.kind());
        let (kind, ccid) = numbered.map_or((self.kind(), None), |(ccid, _)| (DCCP, Some(ccid)));
        match self {
            Self::Udp(options) => Tagged { kind, ccid, options }.serialize(serializer),
            Self::Tcp(options) => options.serialize(serializer),
            Self::Agent(options) => Tagged { kind, ccid, options }.serialize(serializer),
            Self::Dccp(options) => Tagged { kind, ccid, options }.serialize(serializer),
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
        let number = |(mut schema, kind): (serde_json::Value, &str)| {
            let (ccid, _) = ccid_of(kind)?;
            let properties = schema.get_mut("properties")?.as_object_mut()?;
            properties.insert("kind".into(), serde_json::json!({ "const": DCCP }));
            let ccid = serde_json::json!({ "const": ccid, "description": "Which controller: 2 TCP-like, 3 TFRC, 4 TFRC for small packets." });
            properties.insert("ccid".into(), ccid);
            schema.as_object_mut()?.insert("required".into(), serde_json::json!(["kind", "ccid"]));
            Some(schema)
        };
        let of = |controller: &str| CCIDS.iter().find(|(.., known)| *known == controller).map(|(_, dccp, _)| *dccp);
        let connections = schemas::<DccpOptions>(generator, of);
        let connections = connections.into_iter().zip(CCIDS.map(|(_, kind, _)| kind)).filter_map(number);
        if let Some(one_of) = all.get_mut("oneOf").and_then(|kinds| kinds.as_array_mut()) {
            one_of.extend(tcp.chain(agents).chain(connections));
        }
        all
    }
}
