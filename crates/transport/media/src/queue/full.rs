//! Behavior of a full queue.

#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};

/// Behavior of a full send queue when the application writes a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Full {
    /// Refuses the new packet.
    Refuse,
    /// Drops the packet that has waited longest.
    DropOldest,
    /// Drops the oldest of the least urgent waiting packets, even if it is more urgent than the new one (Linux
    /// `qpolicy_prio_worst_skb`; the ring as described by the authors of SFDPS).
    DropLeastUrgent,
    /// Drops the oldest waiting packet that would arrive late. If there is none, drops the oldest of the least urgent
    /// packets, among which the new one is the youngest.
    DropWorst,
}
