//! The packets of a queue in sending order.

use super::{Media, Order};
use headway_units::{Bytes, Duration, Instant, QueueSize};
use std::collections::VecDeque;

/// Rank of a packet: smaller keys are sent first.
pub(super) type Key = (u8, Instant);

impl Order {
    #[inline]
    pub(super) fn key<T>(self, media: &Media<T>, priority_weight: Duration, size_weight: Duration) -> Key {
        let expiry = || media.expires.unwrap_or(Instant::FAR_FUTURE);
        match self {
            Self::Arrival => (0, Instant::ZERO),
            Self::Priority => (media.priority, Instant::ZERO),
            Self::Expiry => (0, expiry()),
            Self::PriorityExpiry => (media.priority, expiry()),
            Self::Score => {
                let size = size_weight.as_nanos().saturating_mul(media.size.count()) / 1024;
                let priority = priority_weight.saturating_mul(media.priority.into());
                (0, expiry() + priority + Duration::from_nanos(size))
            }
        }
    }
}

/// Packets by rank, equal ranks in the order of arrival.
#[derive(Debug)]
pub(super) struct Waiting<T> {
    limit: QueueSize,
    bytes: u64,
    arrivals: u64,
    sorted: VecDeque<Placed<T>>,
}

#[derive(Debug)]
pub(super) struct Placed<T> {
    arrival: u64,
    pub(super) media: Media<T>,
}

impl<T> Waiting<T> {
    pub(super) const fn new(limit: QueueSize) -> Self {
        Self { limit, bytes: 0, arrivals: 0, sorted: VecDeque::new() }
    }

    /// Returns whether a packet of `size` fits, with at most `most` waiting packets of any size.
    #[inline]
    pub(super) fn has_room(&self, size: Bytes, most: usize) -> bool {
        self.sorted.len() < most
            && match self.limit {
                QueueSize::Packets(most) => (self.sorted.len() as u64) < most,
                QueueSize::Bytes(most) => self.bytes.saturating_add(size.count()) <= most.count(),
            }
    }

    /// Returns whether a packet would fit into the empty queue.
    pub(super) fn could_hold(&self, size: Bytes) -> bool {
        match self.limit {
            QueueSize::Packets(most) => most > 0,
            QueueSize::Bytes(most) => size <= most,
        }
    }

    /// Inserts a packet after the last one whose key is not greater.
    #[inline]
    pub(super) fn insert(&mut self, media: Media<T>, key: impl Fn(&Media<T>) -> Key) {
        self.bytes += media.size.count();
        let (own, arrival) = (key(&media), self.arrivals);
        let placed = Placed { arrival, media };
        self.arrivals += 1;
        // In the order of arrival, the place is always the last one.
        let precedes = |other: &Placed<T>| key(&other.media) <= own;
        if self.sorted.back().is_none_or(precedes) {
            self.sorted.push_back(placed);
        } else {
            self.insert_before_last(placed, precedes);
        }
    }

    #[inline(never)]
    fn insert_before_last(&mut self, placed: Placed<T>, precedes: impl Fn(&Placed<T>) -> bool) {
        let after = self.sorted.iter().rposition(precedes);
        self.sorted.insert(after.map_or(0, |index| index + 1), placed);
    }

    /// Restores a packet at the index from which it was [taken](Self::take).
    pub(super) fn put_back(&mut self, index: usize, placed: Placed<T>) {
        self.bytes += placed.media.size.count();
        self.sorted.insert(index, placed);
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&Media<T>> {
        self.sorted.get(index).map(|placed| &placed.media)
    }

    #[inline]
    pub(super) fn remove(&mut self, index: usize) -> Option<Media<T>> {
        self.take(index).map(|placed| placed.media)
    }

    #[inline]
    pub(super) fn take(&mut self, index: usize) -> Option<Placed<T>> {
        let placed = if index == 0 { self.sorted.pop_front() } else { self.sorted.remove(index) }?;
        self.bytes -= placed.media.size.count();
        Some(placed)
    }

    /// Removes the `unwanted` packets among the first `count`.
    pub(super) fn remove_of_first(&mut self, count: usize, unwanted: impl Fn(&Media<T>) -> bool) -> Vec<Media<T>> {
        let mut removed = Vec::new();
        let mut index = 0;
        for _ in 0..count {
            if self.get(index).is_some_and(&unwanted) {
                removed.extend(self.remove(index));
            } else {
                index += 1;
            }
        }
        removed
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.sorted.len()
    }

    #[inline]
    pub(super) fn bytes(&self) -> Bytes {
        Bytes::new(self.bytes)
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Media<T>> + ExactSizeIterator {
        self.sorted.iter().map(|placed| &placed.media)
    }

    /// Returns each packet with its index and arrival number.
    pub(super) fn arrivals(&self) -> impl Iterator<Item = (usize, u64, &Media<T>)> {
        self.sorted.iter().enumerate().map(|(index, placed)| (index, placed.arrival, &placed.media))
    }
}
