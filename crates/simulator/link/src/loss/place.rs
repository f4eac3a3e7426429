//! Where on a link the channel loses packets.

use serde::{Deserialize, Serialize};

/// Where on a link the channel loses packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// Before the queue: the packet uses no queue space and no link time (ns-2 `lossmodel`, Linux netem).
    BeforeQueue,
    /// After the transmission: the packet has used the link (a wireless channel).
    AfterTransmission,
}
