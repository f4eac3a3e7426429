//! Packets on their way that may overtake one another: in the order in which they arrive.

use crate::pool::{Handle, UNSETTLED};
use headway_engine::Moment;
use headway_units::Instant;
use std::collections::BTreeMap;

/// A packet whose transmission has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnWay {
    pub(crate) packet: Handle,
    arrival: Moment,
    /// When its transmission ends.
    pub(crate) end: Instant,
    /// Whether its arrival is in the caller's event queue.
    pending: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Overtaking {
    /// By the instant of arrival, and within that in the order of transmission: to arrive with another is not to overtake it.
    on_way: BTreeMap<(Instant, u64), OnWay>,
    transmitted: u64,
    /// RFC 4737 section 3.3: one more than the largest number that has arrived (`NextExp`).
    expected: u64,
}

impl Overtaking {
    /// A packet is transmitted until `end` and arrives then. `pending` is whether the next arrival is in the caller's event queue, and will be whether
    /// the next one then is.
    pub(crate) fn insert(&mut self, packet: Handle, end: Instant, arrival: Moment, pending: &mut bool) {
        let key = (arrival.at, self.transmitted);
        self.transmitted += 1;
        match self.on_way.first_entry() {
            // An event of its own, before that of the one that was next, which stays.
            Some(mut next) if key < *next.key() => next.get_mut().pending = std::mem::take(pending),
            _ => {}
        }
        self.on_way.insert(key, OnWay { packet, arrival, end, pending: false });
    }

    /// When the next packet arrives; [`UNSETTLED`] if there is none.
    pub(crate) fn next_arrival(&self) -> Moment {
        self.on_way.first_key_value().map_or(UNSETTLED, |(_, next)| next.arrival)
    }

    /// The packet that arrives next, and its number in the order of transmission.
    pub(crate) fn arrive(&mut self, pending: &mut bool) -> Option<(Handle, u64)> {
        let ((_, number), OnWay { packet, .. }) = self.on_way.pop_first()?;
        *pending = self.on_way.first_key_value().is_some_and(|(_, next)| next.pending);
        Some((packet, number))
    }

    /// Whether the packet with this number, which has arrived, is reordered by RFC 4737 section 3.3: one with a larger number has arrived before it.
    pub(crate) fn is_reordered(&mut self, number: u64) -> bool {
        let reordered = number < self.expected;
        self.expected = self.expected.max(number + 1);
        reordered
    }

    pub(crate) fn on_way(&self) -> impl Iterator<Item = OnWay> + '_ {
        self.on_way.values().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4737 section 3.3: of packets 1 to 10 that arrive as 1, 2, 3, 7, 4, 5, 6, 8, 9, 10 three are reordered: 4, 5 and 6.
    #[test]
    fn reordered_is_what_a_later_packet_has_overtaken() {
        let mut overtaking = Overtaking::default();
        let reordered: Vec<u64> =
            [1, 2, 3, 7, 4, 5, 6, 8, 9, 10].into_iter().filter(|number| overtaking.is_reordered(*number)).collect();
        assert_eq!(reordered, [4, 5, 6]);
    }

    /// Each packet's arrival is put into an event queue once, when it is the next: those that were next before stay there.
    #[test]
    fn each_arrival_is_one_event() {
        let at = |millis| Moment::new(Instant::from_millis(millis));
        let (mut overtaking, mut pending) = (Overtaking::default(), false);
        let mut events = Vec::new();
        let mut schedule = |overtaking: &Overtaking, pending: &mut bool| {
            if !std::mem::replace(pending, true) {
                events.push(overtaking.next_arrival().at.as_nanos() / 1_000_000);
            }
        };
        for (slot, millis) in [30, 40, 10, 20].into_iter().enumerate() {
            overtaking.insert(Handle(slot as u32), Instant::ZERO, at(millis), &mut pending);
            schedule(&overtaking, &mut pending);
        }
        let mut order = Vec::new();
        while let Some((packet, number)) = overtaking.arrive(&mut pending) {
            order.push((packet.0, number));
            if overtaking.next_arrival() != UNSETTLED {
                schedule(&overtaking, &mut pending);
            }
        }
        assert_eq!(order, [(2, 2), (3, 3), (0, 0), (1, 1)]);
        assert_eq!(events, [30, 10, 20, 40]);
    }
}
