//! Behavior of a full queue.

#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};

/// Behavior of a full queue when a packet arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Full {
    /// Refuses the new packet.
    Refuse,
    /// Drops the oldest packet.
    DropOldest,
    /// Drops the oldest of the least urgent waiting packets, even if it is more urgent than the new one (Linux
    /// `qpolicy_prio_worst_skb`; the ring as described by the authors of SFDPS).
    DropLeastUrgent,
    /// Drops the oldest packet that would arrive late; otherwise the oldest of the least urgent packets, including the
    /// new one.
    DropWorst,
}
