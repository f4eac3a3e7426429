//! The receiver's record of the newest packets, from which reports of arrivals with times are made.

use super::TimedArrival;
use headway_units::{Ecn, Instant};
use std::collections::VecDeque;

/// First copy of a packet.
#[derive(Clone, Copy, Debug)]
struct Copy {
    at: Instant,
    ecn: Ecn,
}

/// Arrivals of the packets up to the greatest number received.
///
/// Of several copies of a packet, the first arrival counts; a mark of any of them counts (RFC 8888 section 3.1).
#[derive(Clone, Debug)]
pub(crate) struct ArrivalWindow {
    capacity: usize,
    /// Number of the last entry of `copies`.
    greatest: u64,
    /// Packets in the order of numbers, at most `capacity`; `None` if not received.
    copies: VecDeque<Option<Copy>>,
}

impl ArrivalWindow {
    /// Creates an empty window of `capacity` packets, at least 1.
    pub(crate) const fn new(capacity: usize) -> Self {
        Self { capacity, greatest: 0, copies: VecDeque::new() }
    }

    /// Returns the greatest number received.
    pub(crate) fn greatest(&self) -> Option<u64> {
        (!self.copies.is_empty()).then_some(self.greatest)
    }

    /// Records an arrival. Returns whether it is the first copy, and not older than the window.
    pub(crate) fn insert(&mut self, now: Instant, number: u64, ecn: Ecn) -> bool {
        let ahead = self.greatest().map_or(1, |greatest| number.saturating_sub(greatest));
        if ahead > 0 {
            let new = usize::try_from(ahead).unwrap_or(usize::MAX).min(self.capacity);
            self.copies.drain(..(self.copies.len() + new).saturating_sub(self.capacity));
            self.copies.extend(std::iter::repeat_n(None, new));
            self.greatest = number;
        }
        let behind = usize::try_from(self.greatest - number).unwrap_or(usize::MAX);
        // Packets before the first one may still arrive.
        while self.copies.len() <= behind && self.copies.len() < self.capacity {
            self.copies.push_front(None);
        }
        let place = self.copies.len().checked_sub(behind.saturating_add(1));
        let Some(copy) = place.and_then(|place| self.copies.get_mut(place)) else { return false };
        if let Some(first) = copy {
            if ecn == Ecn::Ce {
                first.ecn = ecn;
            }
            return false;
        }
        *copy = Some(Copy { at: now, ecn });
        true
    }

    /// Returns the state of each packet at the time `now` of a report, from the greatest number downwards.
    pub(crate) fn states(&self, now: Instant) -> impl DoubleEndedIterator<Item = TimedArrival> {
        self.copies.iter().rev().map(move |copy| {
            copy.map_or(TimedArrival::NotReceived, |Copy { at, ecn }| {
                // The time of an arrival after the report is stated as unknown.
                TimedArrival::Received { ecn, before: (at <= now).then(|| now.since(at)) }
            })
        })
    }
}
