//! Where on a link the channel loses packets.

use serde::{Deserialize, Serialize};

/// Where on a link the channel loses packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// The channel loses packets before the queue: a lost packet uses no queue space and no link time (ns-2
    /// `lossmodel`, Linux netem).
    BeforeQueue,
    /// The channel loses packets after their transmission: a lost packet has used queue and link (as on a wireless
    /// channel).
    AfterTransmission,
}
