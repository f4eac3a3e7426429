//! Order of packets.

#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};

/// Order in which packets are sent. Packets of equal rank are sent in the order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Order {
    /// First in, first out.
    Arrival,
    /// Most urgent first (0 before 1).
    Priority,
    /// Earliest expiry first; packets without expiry last.
    Expiry,
    /// Most urgent first, then earliest expiry (SFDPS).
    PriorityExpiry,
    /// Least score first: the expiry, plus `priority_weight` for each level of priority and `size_weight` for each KiB.
    Score,
}
