//! What happens to a packet that would come too late, when one may go.

use super::waiting::Waiting;
use headway_units::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// What happens to a packet that would come too late, when one may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
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
}

/// Which packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    /// How many at the head are thrown away: those before the one that goes.
    pub(super) expired: usize,
    /// Its index before anything is thrown away.
    pub(super) goes: usize,
}

impl Late {
    /// `None` if nothing goes, and all that waits is thrown away.
    pub(super) fn choose(self, waiting: &Waiting, now: Instant, travel: Duration) -> Option<Choice> {
        let last = waiting.len().checked_sub(1)?;
        if self == Self::Send {
            return Some(Choice { expired: 0, goes: 0 });
        }
        let first_in_time = waiting.iter().position(|media| media.lateness(now, travel).is_zero());
        match self {
            Self::Send | Self::SendLast => Some(Choice { expired: 0, goes: first_in_time.unwrap_or(0) }),
            Self::Discard => first_in_time.map(|goes| Choice { expired: goes, goes }),
            Self::DiscardUnlessLast => {
                let goes = first_in_time.unwrap_or(last);
                Some(Choice { expired: goes, goes })
            }
        }
    }
}
