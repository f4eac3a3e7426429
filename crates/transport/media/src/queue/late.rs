//! What happens to a packet that would come too late, when one may go.

#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};

/// What happens to a packet that would come too late, when one may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Late {
    /// It goes all the same: nobody looks.
    Send,
    /// It is thrown away, and the next one is looked at. All may be thrown away, and nothing goes (SFDPS1).
    Discard,
    /// It is thrown away if another one waits behind it: the last one goes even if it is late, so that the receive rate and with
    /// it the allowed rate do not fall (SFDPS2).
    DiscardUnlessLast,
    /// It waits until nothing is left that would come in time, and goes then. Only a full queue throws it away.
    SendLast,
    /// Of the most urgent packets that would come in time, those go first that would do so even if the way took `margin` mean deviations
    /// longer; when none is so sure, the one that expires last. What would come too late is thrown away, but the one that expires last goes
    /// if nothing else is left: of a way on which nothing is sent nobody learns that it is free again.
    SureFirst,
}

impl Late {
    /// Whether a late packet may be dropped.
    pub(super) const fn discards(self) -> bool {
        matches!(self, Self::Discard | Self::DiscardUnlessLast | Self::SureFirst)
    }
}
