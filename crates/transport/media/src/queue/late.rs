//! Behavior for packets that would arrive late.

#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};

/// Behavior of a send queue for a packet that would arrive after its expiry, when the controller permits a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Late {
    /// Sends the packet without checking whether it would arrive late.
    Send,
    /// Drops the late packet and checks the next one in the queue. If all are dropped, none is sent (SFDPS1).
    Discard,
    /// Drops the late packet unless no other packet waits. The last one is sent even if it is late, so that the receive
    /// rate and thus the allowed rate do not decrease (SFDPS2).
    DiscardUnlessLast,
    /// Keeps the late packet until no packet is left that would arrive on time, then sends it. Only a full queue drops
    /// it.
    SendLast,
    /// Among the most urgent packets that would arrive on time, sends first those that would be on time even if the
    /// path delay were `margin` mean deviations longer. If none of them would, sends the one of them that expires last.
    /// Late packets are dropped. If all packets are late, the one that expires last is sent: without any packet sent,
    /// the sender cannot detect that the path has recovered.
    SureFirst,
}

impl Late {
    /// Returns whether a late packet may be dropped.
    pub(super) const fn discards(self) -> bool {
        matches!(self, Self::Discard | Self::DiscardUnlessLast | Self::SureFirst)
    }
}
