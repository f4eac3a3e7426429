//! Positions of datagrams in their streams, and which of them may still arrive ([`DeliveryOrder`]).

use crate::DeliveryOrder;
use headway_units::Instant;
use std::collections::{BTreeMap, VecDeque};

/// Position of a datagram in its stream, the datagrams of its priority. Assigned at its first transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    stream: u8,
    index: u64,
}

/// Positions of all streams.
#[derive(Debug, Default)]
pub(super) struct Positions {
    streams: BTreeMap<u8, Stream>,
}

/// Positions of one stream, from the oldest one that may still arrive.
#[derive(Debug, Default)]
struct Stream {
    oldest: u64,
    awaited: VecDeque<Awaited>,
}

#[derive(Clone, Copy, Debug)]
struct Awaited {
    /// Whether no transmission will follow.
    is_settled: bool,
    expires: Option<Instant>,
}

impl Positions {
    /// Assigns the next position of the stream. `expires` is the expiry of the datagram.
    pub(super) fn assign(&mut self, stream: u8, expires: Option<Instant>) -> Position {
        let Stream { oldest, awaited } = self.streams.entry(stream).or_default();
        if awaited.len() > usize::from(DeliveryOrder::MAX_AWAITED) {
            awaited.pop_front();
            *oldest += 1;
        }
        let index = *oldest + awaited.len() as u64;
        awaited.push_back(Awaited { is_settled: false, expires });
        Position { stream, index }
    }

    /// Returns whether the receiver can still assign an index to this position: it is not too far behind the newest.
    pub(super) fn has_index(&self, position: Position) -> bool {
        self.streams.get(&position.stream).is_some_and(|Stream { oldest, awaited }| {
            let newest = *oldest + awaited.len() as u64;
            newest.saturating_sub(position.index) <= u64::from(DeliveryOrder::MAX_AWAITED)
        })
    }

    /// Records that the datagram arrived or will not be sent again.
    pub(super) fn settle(&mut self, position: Position) {
        let Some(stream) = self.streams.get_mut(&position.stream) else { return };
        let place = position.index.checked_sub(stream.oldest).and_then(|place| usize::try_from(place).ok());
        if let Some(awaited) = place.and_then(|place| stream.awaited.get_mut(place)) {
            awaited.is_settled = true;
        }
    }

    /// Returns the option for a transmission. Datagrams that expire before `until` are no longer awaited.
    pub(super) fn order(&mut self, position: Position, until: Instant) -> DeliveryOrder {
        let Position { stream, index } = position;
        let positions = self.streams.entry(stream).or_default();
        let is_over = |one: &Awaited| one.is_settled || one.expires.is_some_and(|expires| expires < until);
        while positions.awaited.front().is_some_and(is_over) {
            positions.awaited.pop_front();
            positions.oldest += 1;
        }
        let awaited = index.saturating_sub(positions.oldest);
        let awaited = u16::try_from(awaited).unwrap_or(u16::MAX).min(DeliveryOrder::MAX_AWAITED);
        // Modulo 2^16.
        DeliveryOrder { stream, index: (index & 0xffff) as u16, awaited }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// A position is awaited until its datagram has arrived, is given up, or has expired. A retransmission has the
    /// position of the original.
    #[test]
    fn positions_are_awaited_until_they_are_settled() {
        let mut positions = Positions::default();
        let all = [100, 110, 120, 130].map(|millis| positions.assign(1, Some(at(millis))));
        let mut awaited = |settled: &[usize], place: usize, until| {
            settled.iter().for_each(|place| positions.settle(all[*place]));
            let DeliveryOrder { stream, index, awaited } = positions.order(all[place], at(until));
            (stream, index, awaited)
        };
        assert_eq!(awaited(&[], 3, 90), (1, 3, 3));
        assert_eq!(awaited(&[1], 3, 90), (1, 3, 3), "the first is missing");
        assert_eq!(awaited(&[], 0, 90), (1, 0, 0), "a retransmission of the first");
        assert_eq!(awaited(&[0], 3, 90), (1, 3, 1));
        assert_eq!(awaited(&[], 3, 121), (1, 3, 0), "the third has expired");
        assert_eq!(awaited(&[0, 1, 2], 2, 121), (1, 2, 0), "settled positions are not awaited again");
    }

    /// Each priority is a separate stream: audio does not wait for video.
    #[test]
    fn streams_are_independent() {
        let mut positions = Positions::default();
        let (_video, audio) = (positions.assign(2, None), positions.assign(0, None));
        assert_eq!(positions.order(audio, at(0)), DeliveryOrder { stream: 0, index: 0, awaited: 0 });
    }

    /// The index is modulo 2^16. Positions beyond the range of the option are no longer awaited, and a datagram that is
    /// sent again after so many others needs another one.
    #[test]
    fn numbers_are_limited() {
        let mut positions = Positions::default();
        let first = positions.assign(0, None);
        let mut last = first;
        for _ in 0..70_000 {
            last = positions.assign(0, None);
        }
        assert!(positions.has_index(last) && !positions.has_index(first));
        assert!(positions.streams[&0].awaited.len() <= 1 + usize::from(DeliveryOrder::MAX_AWAITED));
        let order = positions.order(last, at(0));
        assert_eq!(order, DeliveryOrder { stream: 0, index: 4464, awaited: DeliveryOrder::MAX_AWAITED });
    }
}
