//! Replays a send queue over the slots of a trace.

use crate::{Packet, Slots};
use headway_units::Instant;
use std::collections::BTreeMap;

/// Send queue under test. Packets are identified by their index in the replayed list.
pub trait Sender {
    /// Adds packet `index` to the queue.
    fn arrive(&mut self, now: Instant, index: usize);
    /// Returns the index of the packet to send now, or `None` to send nothing. Called once for each send opportunity
    /// (slot).
    fn opportunity(&mut self, now: Instant) -> Option<usize>;
}

/// Outcome of the packets of one priority. `offered` is the sum of the other fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Number of packets of this priority in the replayed list.
    pub offered: u64,
    /// Packets sent that arrive by their expiry. The arrival of a slot is measured, or interpolated if its packet was
    /// lost.
    pub on_time: u64,
    /// Packets sent that arrive after their expiry. The arrival of a slot is measured, or interpolated if its packet
    /// was lost.
    pub late: u64,
    /// Packets that the send queue refused or discarded, or that were still queued after the last slot.
    pub never_sent: u64,
}

/// Result of the replay of a send queue over a trace of transmission opportunities (slots).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Outcome by priority; priorities without packets are absent.
    pub by_priority: BTreeMap<u8, Outcome>,
    /// Number of transmission opportunities (slots) that carried a packet, on time or late.
    pub used: u64,
    /// Number of transmission opportunities (slots) in which the sender sent no packet.
    pub unused: u64,
}

impl Replayed {
    /// Returns the number of packets on time, of `priority` and all more urgent priorities together; at most
    /// [`UnitBound::up_to`](crate::UnitBound::up_to).
    #[must_use]
    pub fn up_to(&self, priority: u8) -> u64 {
        self.by_priority.range(..=priority).map(|(_, outcome)| outcome.on_time).sum()
    }
}

/// The sender returned a packet that it does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "at {now} the sender sent packet {index}, which is not queued; expected a packet that has arrived and was not sent"
)]
pub struct ReplayError {
    /// Index of the packet that the sender returned.
    pub index: usize,
    /// Departure time of the slot in which the sender returned it.
    pub now: Instant,
}

/// Replays the send queue `sender` over a trace of send opportunities (slots). Packets created at the time of a slot
/// arrive before it, in list order. Packets created after the last slot never reach the sender and count as never sent.
///
/// # Errors
/// Returns an error if the sender returns a packet twice, before its arrival, or an unknown index.
pub fn replay(slots: &Slots, packets: &[Packet], sender: &mut impl Sender) -> Result<Replayed, ReplayError> {
    let mut order: Vec<usize> = (0..packets.len()).collect();
    order.sort_by_key(|&index| packets[index].created);
    let mut upcoming = order.into_iter().peekable();
    let mut held = vec![false; packets.len()];
    let mut replayed = Replayed::default();
    for packet in packets {
        let outcome = replayed.by_priority.entry(packet.priority).or_default();
        outcome.offered += 1;
        outcome.never_sent += 1;
    }
    for slot in slots.as_slice() {
        while let Some(index) = upcoming.next_if(|&index| packets[index].created <= slot.at) {
            held[index] = true;
            sender.arrive(packets[index].created, index);
        }
        let Some(index) = sender.opportunity(slot.at) else {
            replayed.unused += 1;
            continue;
        };
        if !held.get_mut(index).is_some_and(std::mem::take) {
            return Err(ReplayError { index, now: slot.at });
        }
        let packet = &packets[index];
        let outcome = replayed.by_priority.entry(packet.priority).or_default();
        outcome.never_sent -= 1;
        if packet.in_time(slot.arrives) {
            outcome.on_time += 1;
        } else {
            outcome.late += 1;
        }
        replayed.used += 1;
    }
    Ok(replayed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Shape, calls, ms, packet, slots};
    use crate::{Slot, unit_bound};
    use proptest::prelude::*;

    /// Sends the packet with the smallest `key`; first discards packets for which `hopeless` is true.
    struct Sorted<'a, K, H> {
        packets: &'a [Packet],
        waiting: Vec<usize>,
        key: K,
        hopeless: H,
    }

    impl<T: Ord, K: Fn(&Packet) -> T, H: FnMut(Instant, &Packet) -> bool> Sender for Sorted<'_, K, H> {
        fn arrive(&mut self, now: Instant, index: usize) {
            assert_eq!(now, self.packets[index].created);
            self.waiting.push(index);
        }
        fn opportunity(&mut self, now: Instant) -> Option<usize> {
            self.waiting.retain(|&index| !(self.hopeless)(now, &self.packets[index]));
            let best = (0..self.waiting.len()).min_by_key(|&at| (self.key)(&self.packets[self.waiting[at]]))?;
            Some(self.waiting.remove(best))
        }
    }

    /// Earliest deadline first with knowledge of each arrival, so that no slot carries a late packet.
    struct Clairvoyant<'a> {
        packets: &'a [Packet],
        slots: &'a [Slot],
        waiting: Vec<usize>,
    }

    impl Sender for Clairvoyant<'_> {
        fn arrive(&mut self, _: Instant, index: usize) {
            self.waiting.push(index);
        }
        fn opportunity(&mut self, _: Instant) -> Option<usize> {
            let (slot, rest) = self.slots.split_first()?;
            self.slots = rest;
            self.waiting.retain(|&index| slot.arrives <= expiry(&self.packets[index]));
            let best = (0..self.waiting.len()).min_by_key(|&at| expiry(&self.packets[self.waiting[at]]))?;
            Some(self.waiting.remove(best))
        }
    }

    fn run<T: Ord>(
        slots: &Slots,
        packets: &[Packet],
        key: impl Fn(&Packet) -> T,
        hopeless: impl FnMut(Instant, &Packet) -> bool,
    ) -> Replayed {
        replay(slots, packets, &mut Sorted { packets, waiting: Vec::new(), key, hopeless }).unwrap()
    }

    fn expiry(packet: &Packet) -> Instant {
        packet.expires.unwrap_or(Instant::FAR_FUTURE)
    }

    /// Example of the crate's documentation. The bound is two audio and one video packets.
    #[test]
    fn worked_by_hand() {
        let slots = slots(&[(0, 50), (10, 60), (20, 70)]);
        let packets = [packet(0, 0, 70), packet(1, 0, 55), packet(1, 0, 65), packet(0, 10, 60)];
        let outcome = |on_time, late, never_sent| Outcome { offered: 2, on_time, late, never_sent };
        // FIFO: audio at 50 ms, video at 60 and 70 ms, both late. The last audio packet stays queued.
        let fifo = run(&slots, &packets, |_| 0, |_, _| false);
        assert_eq!(fifo.by_priority, BTreeMap::from([(0, outcome(1, 0, 1)), (1, outcome(0, 2, 0))]));
        assert_eq!((fifo.used, fifo.unused), (3, 0));
        // Priority with half a round trip of 50 ms: both audio packets. Video is late by then and discarded.
        let late = |now: Instant, packet: &Packet| expiry(packet) < now + ms(50).since(Instant::ZERO);
        let sorted = run(&slots, &packets, |packet| (packet.priority, expiry(packet)), late);
        assert_eq!(sorted.by_priority, BTreeMap::from([(0, outcome(2, 0, 0)), (1, outcome(0, 0, 2))]));
        assert_eq!((sorted.used, sorted.unused), (2, 1));
        assert_eq!((sorted.up_to(0), sorted.up_to(1), sorted.up_to(255)), (2, 2, 2));
    }

    #[test]
    fn sending_a_packet_that_is_not_queued_is_an_error() {
        struct FixedIndex(usize);
        impl Sender for FixedIndex {
            fn arrive(&mut self, _: Instant, _: usize) {}
            fn opportunity(&mut self, _: Instant) -> Option<usize> {
                Some(self.0)
            }
        }
        let slots = slots(&[(0, 50), (10, 60)]);
        let packets = [packet(0, 0, 90), packet(0, 5, 90)];
        for (index, now) in [(0, ms(10)), (1, ms(0)), (2, ms(0))] {
            assert_eq!(replay(&slots, &packets, &mut FixedIndex(index)), Err(ReplayError { index, now }));
        }
        let message = ReplayError { index: 0, now: ms(10) }.to_string();
        assert!(message.starts_with("at 10ms the sender sent packet 0"), "{message}");
    }

    type Key = fn(&Packet) -> (u8, Instant);

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        /// The cumulative sums of any sender are at most the bound.
        #[test]
        fn no_sender_exceeds_the_bound((slots, packets) in calls(30, 30, Shape::Reordered), fifo: bool, delay in 0u64..8) {
            let bound = unit_bound(&slots, &packets);
            let keys: [Key; 4] = [
                |_| (0, Instant::ZERO),
                |packet| (0, expiry(packet)),
                |packet| (packet.priority, Instant::ZERO),
                |packet| (packet.priority, expiry(packet)),
            ];
            for key in keys {
                let late = |now: Instant, packet: &Packet| !fifo && expiry(packet) < now + ms(delay).since(Instant::ZERO);
                let replayed = run(&slots, &packets, key, late);
                prop_assert_eq!(replayed.used + replayed.unused, slots.as_slice().len() as u64);
                for (&priority, outcome) in &replayed.by_priority {
                    prop_assert_eq!(outcome.offered, bound.by_priority[&priority].offered);
                    prop_assert_eq!(outcome.offered, outcome.on_time + outcome.late + outcome.never_sent);
                    prop_assert!(replayed.up_to(priority) <= bound.up_to(priority));
                }
            }
        }

        /// With one class and ordered arrivals, earliest deadline first with known arrivals reaches the bound.
        #[test]
        fn earliest_deadline_first_reaches_the_bound((slots, mut packets) in calls(30, 30, Shape::Fifo)) {
            for packet in &mut packets {
                packet.priority = 0;
            }
            let replayed = replay(&slots, &packets, &mut Clairvoyant {
                packets: &packets,
                slots: slots.as_slice(),
                waiting: Vec::new(),
            });
            let replayed = replayed.unwrap();
            prop_assert_eq!(replayed.by_priority.get(&0).map_or(0, |outcome| outcome.late), 0);
            prop_assert_eq!(replayed.up_to(0), unit_bound(&slots, &packets).up_to(0));
        }
    }
}
