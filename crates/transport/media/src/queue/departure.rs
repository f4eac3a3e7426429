//! Selection of the next packet.

use super::waiting::Waiting;
use super::{Late, Media};
use headway_units::{Duration, Instant};
use std::cmp::Reverse;

/// Selected packet, by its index before any packet is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) chosen: usize,
    /// Number of packets at the head, without the selected one, that are dropped if they are late and their rule drops
    /// late packets.
    pub(super) skipped: usize,
}

/// Selects the first packet that is on time, or that `late_of` sends although it is late. Returns `None` if no packet
/// is sent and all are dropped.
pub(super) fn first_sendable<T>(
    waiting: &Waiting<T>,
    late_of: impl Fn(&Media<T>) -> Late,
    now: Instant,
    travel: Duration,
) -> Option<Choice> {
    let last = waiting.len().checked_sub(1)?;
    let mut deferred = None;
    for (index, media) in waiting.iter().enumerate() {
        let chosen = media.lateness(now, travel).is_zero()
            || match late_of(media) {
                Late::Send => true,
                Late::DiscardUnlessLast => index == last && deferred.is_none(),
                Late::SendLast => {
                    deferred.get_or_insert(index);
                    false
                }
                Late::Discard | Late::SureFirst => false,
            };
        if chosen {
            return Some(Choice { chosen: index, skipped: index });
        }
    }
    deferred.map(|chosen| Choice { chosen, skipped: last })
}

/// Selects a packet by [`Late::SureFirst`].
pub(super) fn surest_packet<T>(
    waiting: &Waiting<T>,
    now: Instant,
    travel: Duration,
    margin: Duration,
) -> Option<Choice> {
    let rank = |media: &Media<T>| {
        let sure = media.lateness(now, travel + margin).is_zero();
        (media.priority, !sure, if sure { None } else { media.expires.map(Reverse) })
    };
    let in_time = waiting.iter().enumerate().filter(|(_, media)| media.lateness(now, travel).is_zero());
    let best = in_time.min_by_key(|(_, media)| rank(media));
    let freshest = || waiting.iter().enumerate().max_by_key(|(_, media)| media.expires);
    let (chosen, _) = best.or_else(freshest)?;
    Some(Choice { chosen, skipped: waiting.len() - 1 })
}
