//! A DCCP connection as the simulator carries it.

use headway_dccp::ConnectionOptions;
use headway_units::{Dialect, OptionError, Options};
use serde::{Deserialize, Serialize};

/// Options of `dccp`, beside those of its CCID's controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DccpOptions {
    /// Whether each packet is turned into bytes and back before it is handled. The record is the same.
    pub codec: bool,
    /// The rules of both ends.
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
