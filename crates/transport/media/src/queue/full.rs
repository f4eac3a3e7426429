//! What happens when there is no room for a newcomer.

use super::Media;
use super::waiting::Waiting;
use headway_units::{Duration, Instant};
use std::cmp::Reverse;

/// What happens when there is no room for a newcomer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
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

impl Full {
    /// Who is thrown away for `newcomer`; `None`: itself.
    pub(super) fn victim<T>(
        self,
        waiting: &Waiting<T>,
        newcomer: &Media<T>,
        now: Instant,
        travel: Duration,
    ) -> Option<usize> {
        let index = |(index, _, _): (usize, u64, &Media<T>)| index;
        let least_urgent = || waiting.arrivals().min_by_key(|(_, arrival, media)| (Reverse(media.priority), *arrival));
        match self {
            Self::Refuse => None,
            Self::DropOldest => waiting.arrivals().min_by_key(|(_, arrival, _)| *arrival).map(index),
            Self::DropLeastUrgent => least_urgent().map(index),
            Self::DropWorst => {
                let late = |(_, _, media): &(usize, u64, &Media<T>)| !media.lateness(now, travel).is_zero();
                let first_late = waiting.arrivals().filter(late).min_by_key(|(_, arrival, _)| *arrival);
                let least = least_urgent().filter(|(.., media)| media.priority >= newcomer.priority);
                first_late.or(least).map(index)
            }
        }
    }
}
