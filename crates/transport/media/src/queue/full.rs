//! What happens when there is no room for a newcomer.

#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};

/// What happens when there is no room for a newcomer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Full {
    /// It is refused.
    Refuse,
    /// The packet that came first is thrown away for it, whatever it is.
    DropOldest,
    /// Of the least urgent packets the one that came first is thrown away for it, even if that is more urgent than the
    /// newcomer (Linux `qpolicy_prio_worst_skb`; the ring as SFDPS's authors read it).
    DropLeastUrgent,
    /// A packet that is late already is thrown away for it, the one that came first; else the least urgent one that came
    /// first, the newcomer being counted among them.
    DropWorst,
}
