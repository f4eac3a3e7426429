//! Order of packets.

#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};

/// Order in which a send queue sends packets. Packets of equal rank are sent in the order in which they were enqueued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Order {
    /// First in, first out.
    Arrival,
    /// Most urgent first (priority 0 before 1).
    Priority,
    /// Earliest expiry first; packets without expiry last.
    Expiry,
    /// Most urgent first, then earliest expiry (SFDPS).
    PriorityExpiry,
    /// Least score first. The score is the time of expiry, plus `priority_weight` times the priority (0 is the most
    /// urgent) and `size_weight` for each KiB of data.
    Score,
}
