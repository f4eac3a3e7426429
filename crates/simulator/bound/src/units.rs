//! The bound where each opportunity carries one packet of any size: TFRC paced in packets, windows in packets.
//!
//! The most packets on time is a maximum matching of packets and slots. Slots are taken in the order of departure; each
//! carries, of the packets that are there and would be in time in it, the one that expires first (Glover 1967 for
//! convex bipartite graphs). The exchange that proves it: of the packets that are there at a slot, the one that expires
//! first is in time in the fewest of the later slots, and those are among the later slots of any other; so what an optimal
//! matching does otherwise can be swapped without loss. The proof needs the order of departures only, so the matching is
//! exact on paths that reorder, too: there a packet that is too late for this slot is kept for a later one that overtakes.
//!
//! The sets of packets that can be matched are the independent sets of a transversal matroid (Edmonds and Fulkerson 1965).
//! A largest set of the packets of priority ≤ k is therefore part of some largest set of those of priority ≤ k + 1, and
//! the most of each priority, given the most of those before it, is the difference of two maximum matchings.

use crate::{Packet, Slots};
use headway_units::Instant;
use std::collections::{BTreeMap, BTreeSet};

/// What the bound says of one priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Packets of this priority.
    pub offered: u64,
    /// The most of them on time, given the most of each more urgent priority.
    pub on_time: u64,
}

/// The most packets on time over a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnitBound {
    /// Each priority that was offered.
    pub by_priority: BTreeMap<u8, Share>,
    /// Slots that carry a packet on time.
    pub used: u64,
    /// Slots that nothing could use. They are idle, or free for what is late.
    pub unused: u64,
}

impl UnitBound {
    /// The most packets on time of `priority` and all more urgent ones together: no sender has more.
    #[must_use]
    pub fn up_to(&self, priority: u8) -> u64 {
        self.by_priority.range(..=priority).map(|(_, share)| share.on_time).sum()
    }
}

/// The most of priority 0 that any sender could have on time, then the most of priority 1, and so on. Exact.
///
/// Time: one matching, O((packets + slots) log packets), for each priority that is offered.
#[must_use]
pub fn unit_bound(slots: &Slots, packets: &[Packet]) -> UnitBound {
    let mut order: Vec<&Packet> = packets.iter().collect();
    order.sort_by_key(|packet| packet.created);
    let mut bound = UnitBound::default();
    for packet in packets {
        bound.by_priority.entry(packet.priority).or_default().offered += 1;
    }
    for (&priority, share) in &mut bound.by_priority {
        let matched = matching(slots, order.iter().filter(|packet| packet.priority <= priority));
        share.on_time = matched - bound.used;
        bound.used = matched;
    }
    bound.unused = slots.as_slice().len() as u64 - bound.used;
    bound
}

/// The size of a maximum matching. `packets` in the order of their creation.
fn matching<'a>(slots: &Slots, packets: impl Iterator<Item = &'a &'a Packet>) -> u64 {
    let mut packets = packets.enumerate().peekable();
    let mut waiting = BTreeSet::new();
    let mut matched = 0;
    for slot in slots.as_slice() {
        while let Some((number, packet)) = packets.next_if(|(_, packet)| packet.created <= slot.at) {
            waiting.insert((packet.expires.unwrap_or(Instant::FAR_FUTURE), number));
        }
        let first = waiting.range((slot.arrives, 0)..).next().copied();
        if let Some(first) = first {
            waiting.remove(&first);
            matched += 1;
        }
    }
    matched
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Shape, brute_force, calls, packet, slots};
    use proptest::prelude::*;

    fn on_time(bound: &UnitBound) -> Vec<u64> {
        bound.by_priority.values().map(|share| share.on_time).collect()
    }

    /// Three frames at once into a slot each 10 ms, delay 50 ms: slots arrive at 50, 60, 70, 80 ms.
    #[test]
    fn worked_by_hand() {
        let slots = slots(&[(0, 50), (10, 60), (20, 70), (30, 80)]);
        // All three expire at 60 ms: two slots are in time.
        let same = [packet(0, 0, 60); 3];
        let bound = unit_bound(&slots, &same);
        assert_eq!((on_time(&bound), bound.used, bound.unused), (vec![2], 2, 2));
        assert_eq!(bound.by_priority[&0].offered, 3);
        // Each in its own slot, whatever the order in which they are given.
        let bound = unit_bound(&slots, &[packet(0, 0, 70), packet(0, 0, 50), packet(0, 0, 60)]);
        assert_eq!(on_time(&bound), [3]);
        // Equality is on time, 1 ms less is not; created at the slot is in time for it, 1 ms later is not.
        assert_eq!(on_time(&unit_bound(&slots, &[packet(0, 30, 80)])), [1]);
        assert_eq!(on_time(&unit_bound(&slots, &[packet(0, 30, 79)])), [0]);
        assert_eq!(on_time(&unit_bound(&slots, &[packet(0, 31, 99)])), [0]);
        // Without expiry any later slot does.
        let for_ever = Packet { expires: None, ..packet(0, 11, 0) };
        assert_eq!(on_time(&unit_bound(&slots, &[for_ever; 5])), [2]);
    }

    /// One slot, two priorities that both fit: the more urgent has it, though the other expires first.
    #[test]
    fn urgency_before_expiry() {
        let slots = slots(&[(0, 50)]);
        assert_eq!(on_time(&unit_bound(&slots, &[packet(3, 0, 50), packet(1, 0, 90)])), [1, 0]);
    }

    /// The second packet overtakes: what is too late for the first slot is in time in the second.
    #[test]
    fn a_reordered_path() {
        let slots = slots(&[(0, 90), (10, 60)]);
        assert_eq!(on_time(&unit_bound(&slots, &[packet(0, 0, 60), packet(0, 0, 90)])), [2]);
        // Only the slot that overtakes will do for either of these.
        assert_eq!(on_time(&unit_bound(&slots, &[packet(0, 0, 60), packet(0, 5, 90)])), [1]);
    }

    #[test]
    fn nothing_from_nothing() {
        assert_eq!(unit_bound(&Slots::default(), &[]), UnitBound::default());
        let bound = unit_bound(&Slots::default(), &[packet(7, 0, 1)]);
        assert_eq!(bound.by_priority[&7], Share { offered: 1, on_time: 0 });
        let bound = unit_bound(&slots(&[(0, 1)]), &[]);
        assert_eq!((bound.used, bound.unused), (0, 1));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        /// Over all sets of at most ten packets, on ordered paths with losses: the lexicographic maximum.
        #[test]
        fn the_best_of_all_sets((slots, packets) in calls(10, 10, Shape::Fifo)) {
            prop_assert_eq!(on_time(&unit_bound(&slots, &packets)), brute_force(&slots, &packets));
        }

        #[test]
        fn the_best_of_all_sets_on_a_path_that_reorders((slots, packets) in calls(10, 10, Shape::Reordered)) {
            prop_assert_eq!(on_time(&unit_bound(&slots, &packets)), brute_force(&slots, &packets));
        }

        /// The order in which packets are listed is nothing to the bound.
        #[test]
        fn the_order_of_the_list_does_not_matter((slots, packets) in calls(30, 30, Shape::Reordered)) {
            let reversed: Vec<Packet> = packets.iter().rev().copied().collect();
            prop_assert_eq!(unit_bound(&slots, &packets), unit_bound(&slots, &reversed));
        }
    }

    /// A minute of a call, 60 slots a second: 50 packets of sound a second, ten frames of five packets.
    #[test]
    fn a_minute_of_a_call() {
        let trace: Vec<(u64, u64)> = (0..3_600u64).map(|n| (n * 60_000 / 3_600, n * 60_000 / 3_600 + 40)).collect();
        let mut packets: Vec<Packet> = (0..3_000).map(|n| packet(0, n * 20, n * 20 + 200)).collect();
        packets.extend((0..600).flat_map(|n| [packet(1, n * 100, n * 100 + 200); 5]));
        let bound = unit_bound(&slots(&trace), &packets);
        // 50 of the 60 slots a second carry sound, 10 of them video; at the end little is left that fits.
        assert_eq!(bound.by_priority[&0].on_time, 3_000);
        assert!((590..=600).contains(&bound.by_priority[&1].on_time), "{bound:?}");
    }
}
