//! DCCP connections, with one CCID for both directions.

use super::controlled::{self, Carrier, Controlled};
use super::options::{Tagged, TransportOptions};
use headway_dccp::{Ccid, CcidController, ConnectionOptions};
use headway_media::WriteSize;
use headway_rate::{ControllerOptions, Need};
use headway_units::{Bytes, Dialect, OptionError, Options, Registry};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const DCCP: &str = "dccp";
/// Notation of kinds: this word, and this key with a number.
pub(super) const NUMBERED: (&str, &str) = (DCCP, "ccid");

/// CCIDs in scenarios: number, kind of transport and kind of controller.
const CCIDS: &[(u8, &str, &str)] = &[
    (2, "dccp-2", "tcp-like"), // number, kind, controller
    (3, "dccp-3", "tfrc"),
    (4, "dccp-4", "tfrc-sp"),
    (248, "dccp-248", "udpm"),
    (249, "dccp-249", "spacing"),
    (250, "dccp-250", "tfrc-filtered"),
    (252, "dccp-252", "spacing-fixed"),
    (253, "dccp-253", "spacing-equation"),
    (254, "dccp-254", "rap"),
];
const KINDS: [&str; CCIDS.len()] = {
    let mut kinds = [""; CCIDS.len()];
    let mut index = 0;
    while index < CCIDS.len() {
        kinds[index] = CCIDS[index].1;
        index += 1;
    }
    kinds
};

/// First CCID for experiments (RFC 4340 section 19.5).
const EXPERIMENTS: u8 = 248;
/// IPv4 header and DCCP-Data header that a write's size on the wire includes, and the maximum with common options.
const DATA_HEADERS: Bytes = Bytes::new(36);
const OTHER_HEADERS: u64 = 60;
/// Typical maximum size of a packet without data, in bytes.
const WITHOUT_DATA: u64 = 128;
/// Initial packet size of path MTU probing, in bytes.
const FIRST_PROBE: u64 = 1280;

/// Options of `dccp`, without those of the controller of its CCID.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DccpOptions {
    /// Whether the simulator encodes and decodes each packet before an endpoint handles it, as a test of the DCCP
    /// packet parser. Results do not depend on it.
    pub codec: bool,
    /// Options of both endpoints of the connection.
    pub connection: ConnectionOptions,
}

impl Options for DccpOptions {
    fn preset(dialect: Dialect) -> Self {
        Self { codec: false, connection: ConnectionOptions::preset(dialect) }
    }

    fn check(&self) -> Result<(), OptionError> {
        self.connection.check().map_err(|error| error.within("connection"))
    }
}

impl Carrier for DccpOptions {
    fn fulfils(&self, need: Need) -> Result<(), OptionError> {
        self.connection.fulfils(need).map_err(|error| error.within("connection"))
    }
}

impl Controlled<DccpOptions> {
    /// Sets the CCID and the controller of both endpoints.
    fn agreed(mut self, ccid: u8) -> Self {
        let connection = &mut self.carrier.connection;
        connection.send_ccids = vec![ccid];
        connection.receive_ccids = vec![ccid];
        let (ccid, controller) = (Ccid(ccid), self.controller.clone());
        let row = CcidController::new(ccid, controller);
        // The receiver of spacing-fixed sends no reports, and a client needs acknowledgements to leave PARTOPEN.
        let ack_vectors = row.ack_vectors || matches!(row.controller, ControllerOptions::SpacingFixed(_));
        connection.controllers = vec![CcidController { ack_vectors, ..row }];
        self
    }

    /// Returns a copy with another controller. CCIDs of RFCs cannot have another one.
    pub(super) fn with_own_controller(&self, controller: ControllerOptions) -> Result<Self, OptionError> {
        let ccid = self.ccid().map_or(0, |(ccid, _)| ccid);
        if ccid < EXPERIMENTS {
            let message =
                format!("CCID {ccid} has the controller of its RFC: use an experimental CCID, such as ccid = 249");
            return Err(OptionError::new("ccid", message));
        }
        self.with_controller(controller).map(|options| options.agreed(ccid))
    }

    /// Returns the CCID and its kind of transport.
    fn ccid(&self) -> Option<(u8, &'static str)> {
        let controller = self.controller.kind();
        CCIDS.iter().find(|(.., known)| *known == controller).map(|&(ccid, kind, _)| (ccid, kind))
    }
}

impl TransportOptions for Controlled<DccpOptions> {
    const KINDS: &'static [&'static str] = &KINDS;
    const SERIES: usize = controlled::SERIES;

    fn kind(&self) -> &'static str {
        self.ccid().map_or(DCCP, |(_, kind)| kind)
    }

    fn preset(kind: &str, dialect: Dialect) -> Option<Self> {
        let (ccid, _, controller) = CCIDS.iter().find(|(_, known, _)| *known == kind)?;
        Self::with(controller, dialect).map(|options| options.agreed(*ccid))
    }

    fn deserialize<'de, D: Deserializer<'de>>(kind: &str, options: D) -> Result<Self, D::Error> {
        let known = CCIDS.iter().find(|(_, known, _)| *known == kind);
        let (ccid, _, controller) = known.ok_or_else(|| serde::de::Error::unknown_variant(kind, &KINDS))?;
        Self::read(controller, options).map(|options| options.agreed(*ccid))
    }

    /// CCIDs of RFCs report every loss to the sender, and their data packets have no timestamp for a loss filter.
    fn check(&self) -> Result<(), OptionError> {
        self.controller.check_terms().map_err(|error| error.within("controller"))?;
        self.check_both()?;
        let ccid = self.ccid().map_or(0, |(ccid, _)| ccid);
        if self.controller.classifies_losses() && ccid < EXPERIMENTS {
            let message = format!(
                "CCID {ccid} reports every loss to its sender (RFC 4342 section 8.6): use ccid = 250 for a loss filter"
            );
            return Err(OptionError::new("loss_filter", message).within("controller"));
        }
        Ok(())
    }

    fn unused(&self) -> Vec<OptionError> {
        self.unused_of_both(&["connection"])
    }

    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Numbered<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            ccid: Option<u8>,
            #[serde(flatten)]
            options: &'a Controlled<DccpOptions>,
        }
        let options = Numbered { ccid: self.ccid().map(|(ccid, _)| ccid), options: self };
        Tagged { kind: DCCP, options: &options }.serialize(serializer)
    }

    fn schemas(generator: &mut schemars::SchemaGenerator) -> Vec<serde_json::Value> {
        let of = |controller: &str| CCIDS.iter().find(|(.., known)| *known == controller).map(|(_, kind, _)| *kind);
        let number = |mut schema: serde_json::Value| {
            let properties = schema.get_mut("properties")?.as_object_mut()?;
            let kind = properties.get("kind")?.get("const")?;
            let (ccid, _, controller) = CCIDS.iter().find(|(_, known, _)| kind == known)?;
            properties.insert("kind".into(), serde_json::json!({ "const": DCCP }));
            let ccid = serde_json::json!({ "const": ccid, "description": format!("The controller: {controller}.") });
            properties.insert("ccid".into(), ccid);
            schema.as_object_mut()?.insert("required".into(), serde_json::json!(["kind", "ccid"]));
            Some(schema)
        };
        controlled::schemas::<DccpOptions>(generator, of).into_iter().filter_map(number).collect()
    }

    fn full_packet(&self) -> Bytes {
        self.carrier.connection.mtu
    }

    fn largest_packets(&self, write: Option<WriteSize>) -> (Bytes, Option<Bytes>) {
        let connection = &self.carrier.connection;
        let largest = write.map_or(u64::MAX, |size| size.payload(DATA_HEADERS).count() + OTHER_HEADERS);
        let most = if connection.probe_mtu { FIRST_PROBE } else { u64::MAX };
        let most = connection.mtu.count().min(most);
        // Acknowledgements without data are rarely larger than this; links drop larger ones.
        (Bytes::new(most.min(largest.max(WITHOUT_DATA))), Some(Bytes::new(most.min(WITHOUT_DATA))))
    }

    fn write_header(&self) -> Option<Bytes> {
        Some(DATA_HEADERS)
    }

    fn controller(&self) -> Option<&ControllerOptions> {
        Some(&self.controller)
    }

    fn connection(&self) -> Option<&ConnectionOptions> {
        Some(&self.carrier.connection)
    }
}
