//! Selection of the packet that a full queue drops.

use super::waiting::Waiting;
use super::{Full, Media};
use headway_units::{Duration, Instant};
use std::cmp::Reverse;

impl Full {
    /// Returns the packet to drop for `newcomer`; `None` refuses `newcomer`.
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
