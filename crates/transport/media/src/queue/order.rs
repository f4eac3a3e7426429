//! In which order packets go.

#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};

/// In which order packets go. Equals go as they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Order {
    /// First come, first served.
    Arrival,
    /// The most urgent first (0 before 1).
    Priority,
    /// What expires first, first; what never does, last.
    Expiry,
    /// The most urgent first, of those what expires first (SFDPS).
    PriorityExpiry,
    /// What has the least score first: its expiry, put off by `priority_weight` for each level of priority and by
    /// `size_weight` for each KiB.
    Score,
}
