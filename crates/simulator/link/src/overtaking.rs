//! Packets in transmission and propagation that may overtake one another, in order of arrival.

use crate::pool::{Handle, UNSETTLED};
use headway_engine::Moment;
use headway_units::Instant;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
pub(crate) struct InTransit {
    pub(crate) packet: Handle,
    arrival: Moment,
    pub(crate) end: Instant,
    /// Whether its arrival is in the caller's event queue.
    pending: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Overtaking {
    /// By time of arrival, then in the order of transmission: simultaneous arrivals are not reordered.
    in_transit: BTreeMap<(Instant, u64), InTransit>,
    transmitted: u64,
    /// RFC 4737 section 3.3: one more than the largest number that has arrived (`NextExp`).
    expected: u64,
}

impl Overtaking {
    /// Adds a packet that is transmitted until `end`. `pending` is whether the next arrival is in the caller's event
    /// queue; it is updated for the new next arrival.
    pub(crate) fn insert(&mut self, packet: Handle, end: Instant, arrival: Moment, pending: &mut bool) {
        let key = (arrival.at, self.transmitted);
        self.transmitted += 1;
        match self.in_transit.first_entry() {
            // The new arrival gets a separate, earlier event; the event of the previous next arrival remains.
            Some(mut next) if key < *next.key() => next.get_mut().pending = std::mem::take(pending),
            _ => {}
        }
        self.in_transit.insert(key, InTransit { packet, arrival, end, pending: false });
    }

    /// Returns when the next packet arrives; [`UNSETTLED`] if there is none.
    pub(crate) fn next_arrival(&self) -> Moment {
        self.in_transit.first_key_value().map_or(UNSETTLED, |(_, next)| next.arrival)
    }

    /// Removes the packet that arrives next. Returns it and its number in the order of transmission.
    pub(crate) fn arrive(&mut self, pending: &mut bool) -> Option<(Handle, u64)> {
        let ((_, number), InTransit { packet, .. }) = self.in_transit.pop_first()?;
        *pending = self.in_transit.first_key_value().is_some_and(|(_, next)| next.pending);
        Some((packet, number))
    }

    /// Returns whether the packet with this number is reordered by RFC 4737 section 3.3: a larger number has arrived
    /// before it.
    pub(crate) fn is_reordered(&mut self, number: u64) -> bool {
        let reordered = number < self.expected;
        self.expected = self.expected.max(number + 1);
        reordered
    }

    pub(crate) fn in_transit(&self) -> impl Iterator<Item = InTransit> + '_ {
        self.in_transit.values().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4737 section 3.3: if packets 1 to 10 arrive as 1, 2, 3, 7, 4, 5, 6, 8, 9, 10, 4, 5 and 6 are reordered.
    #[test]
    fn a_packet_is_reordered_if_a_later_one_has_arrived() {
        let mut overtaking = Overtaking::default();
        let reordered: Vec<u64> =
            [1, 2, 3, 7, 4, 5, 6, 8, 9, 10].into_iter().filter(|number| overtaking.is_reordered(*number)).collect();
        assert_eq!(reordered, [4, 5, 6]);
    }

    /// The arrival of each packet is scheduled once, when it becomes the next; earlier events remain.
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
