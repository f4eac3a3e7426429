//! Which packet goes, and which are looked at before it.

use super::waiting::Waiting;
use super::{Late, Media};
use headway_units::{Duration, Instant};
use std::cmp::Reverse;

/// Which packet goes, by its index before anything is thrown away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) goes: usize,
    /// Number of packets at the head, without the chosen one, of which late ones are dropped if their rule is to drop them.
    pub(super) looked_at: usize,
}

/// Chooses the first packet that is in time, or that `late_of` sends although it is late. `None`: nothing goes, and all that waits is dropped.
pub(super) fn first_to_go<T>(
    waiting: &Waiting<T>,
    late_of: impl Fn(&Media<T>) -> Late,
    now: Instant,
    travel: Duration,
) -> Option<Choice> {
    let last = waiting.len().checked_sub(1)?;
    let mut put_off = None;
    for (index, media) in waiting.iter().enumerate() {
        let goes = media.lateness(now, travel).is_zero()
            || match late_of(media) {
                Late::Send => true,
                Late::DiscardUnlessLast => index == last && put_off.is_none(),
                Late::SendLast => {
                    put_off.get_or_insert(index);
                    false
                }
                Late::Discard | Late::SureFirst => false,
            };
        if goes {
            return Some(Choice { goes: index, looked_at: index });
        }
    }
    put_off.map(|goes| Choice { goes, looked_at: last })
}

/// Chooses by [`Late::SureFirst`].
pub(super) fn surest<T>(waiting: &Waiting<T>, now: Instant, travel: Duration, margin: Duration) -> Option<Choice> {
    let rank = |media: &Media<T>| {
        let sure = media.lateness(now, travel + margin).is_zero();
        (media.priority, !sure, if sure { None } else { media.expires.map(Reverse) })
    };
    let in_time = waiting.iter().enumerate().filter(|(_, media)| media.lateness(now, travel).is_zero());
    let best = in_time.min_by_key(|(_, media)| rank(media));
    let freshest = || waiting.iter().enumerate().max_by_key(|(_, media)| media.expires);
    let (goes, _) = best.or_else(freshest)?;
    Some(Choice { goes, looked_at: waiting.len() - 1 })
}
