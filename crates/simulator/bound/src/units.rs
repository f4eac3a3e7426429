//! The bound for opportunities that carry one packet of any size, such as TFRC paced in packets and windows in packets.
//!
//! The largest number of packets on time is a maximum matching of packets and slots. Slots are visited by departure.
//! Each carries the available packet that would be on time and expires first (Glover 1967 for convex bipartite graphs).
//! Proof by exchange: among the packets available at a slot, the one that expires first is on time in the fewest later
//! slots, and these are a subset of those of any other packet. Any optimal matching can therefore be exchanged into
//! this one without loss. The proof needs only the order of departures, so the matching is also exact on paths that
//! reorder. A packet too late for this slot is kept for a later slot that overtakes it.
//!
//! The sets of packets that can be matched are the independent sets of a transversal matroid (Edmonds and Fulkerson
//! 1965). A maximum set for priorities ≤ k is therefore part of a maximum set for priorities ≤ k + 1. The maximum of
//! each priority, given the maxima before it, is the difference of two maximum matchings.

use crate::{Packet, Slots};
use headway_units::Instant;
use std::collections::{BTreeMap, BTreeSet};

/// Upper bound of the packets on time for one priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Number of packets of this priority.
    pub offered: u64,
    /// Maximum number of packets on time, given the maximum of each more urgent priority.
    pub on_time: u64,
}

/// Maximum number of packets on time over a trace of transmission opportunities (slots), for any send queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnitBound {
    /// Bound by priority; priorities without packets are absent.
    pub by_priority: BTreeMap<u8, Share>,
    /// Number of transmission opportunities (slots) that carry a packet on time.
    pub used: u64,
    /// Number of transmission opportunities (slots) that are not in `used`. They stay empty: no packet that is left
    /// would arrive on time if it were sent in them.
    pub unused: u64,
}

impl UnitBound {
    /// Returns the maximum number of packets on time, of the priorities from 0 (most urgent) to `priority` together.
    #[must_use]
    pub fn up_to(&self, priority: u8) -> u64 {
        self.by_priority.range(..=priority).map(|(_, share)| share.on_time).sum()
    }
}

/// Computes the maximum number of packets on time of priority 0 (most urgent), then of priority 1 given that maximum,
/// and so on. Exact.
///
/// Runs one matching, in O((packets + slots) log packets), per offered priority.
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

/// Returns the size of a maximum matching. `packets` is sorted by creation.
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

    /// One slot every 10 ms with a delay of 50 ms: arrivals at 50, 60, 70 and 80 ms.
    #[test]
    fn worked_by_hand() {
        let slots = slots(&[(0, 50), (10, 60), (20, 70), (30, 80)]);
        // All three expire at 60 ms: two slots are on time.
        let same = [packet(0, 0, 60); 3];
        let bound = unit_bound(&slots, &same);
        assert_eq!((on_time(&bound), bound.used, bound.unused), (vec![2], 2, 2));
        assert_eq!(bound.by_priority[&0].offered, 3);
        // Each in its own slot, for any order of the list.
        let bound = unit_bound(&slots, &[packet(0, 0, 70), packet(0, 0, 50), packet(0, 0, 60)]);
        assert_eq!(on_time(&bound), [3]);
        // An arrival at the expiry is on time, 1 ms later is not. A packet created at the slot can use it, 1 ms later
        // it cannot.
        assert_eq!(on_time(&unit_bound(&slots, &[packet(0, 30, 80)])), [1]);
        assert_eq!(on_time(&unit_bound(&slots, &[packet(0, 30, 79)])), [0]);
        assert_eq!(on_time(&unit_bound(&slots, &[packet(0, 31, 99)])), [0]);
        // Without expiry, any later slot is on time.
        let unlimited = Packet { expires: None, ..packet(0, 11, 0) };
        assert_eq!(on_time(&unit_bound(&slots, &[unlimited; 5])), [2]);
    }

    /// One slot, two packets on time: the more urgent packet gets it although the other expires first.
    #[test]
    fn priority_takes_precedence_over_expiry() {
        let slots = slots(&[(0, 50)]);
        assert_eq!(on_time(&unit_bound(&slots, &[packet(3, 0, 50), packet(1, 0, 90)])), [1, 0]);
    }

    /// The second slot overtakes: a packet too late for the first slot is on time in the second.
    #[test]
    fn a_packet_can_use_a_later_slot_that_overtakes() {
        let slots = slots(&[(0, 90), (10, 60)]);
        assert_eq!(on_time(&unit_bound(&slots, &[packet(0, 0, 60), packet(0, 0, 90)])), [2]);
        // Both packets are on time only in the slot that overtakes.
        assert_eq!(on_time(&unit_bound(&slots, &[packet(0, 0, 60), packet(0, 5, 90)])), [1]);
    }

    #[test]
    fn without_slots_or_packets_the_bound_is_zero() {
        assert_eq!(unit_bound(&Slots::default(), &[]), UnitBound::default());
        let bound = unit_bound(&Slots::default(), &[packet(7, 0, 1)]);
        assert_eq!(bound.by_priority[&7], Share { offered: 1, on_time: 0 });
        let bound = unit_bound(&slots(&[(0, 1)]), &[]);
        assert_eq!((bound.used, bound.unused), (0, 1));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        /// Compares with exhaustive search over all sets of up to ten packets, on ordered paths with losses.
        #[test]
        fn unit_bound_equals_the_best_set((slots, packets) in calls(10, 10, Shape::Fifo)) {
            prop_assert_eq!(on_time(&unit_bound(&slots, &packets)), brute_force(&slots, &packets));
        }

        #[test]
        fn unit_bound_equals_the_best_set_on_a_reordering_path((slots, packets) in calls(10, 10, Shape::Reordered)) {
            prop_assert_eq!(on_time(&unit_bound(&slots, &packets)), brute_force(&slots, &packets));
        }

        #[test]
        fn the_order_of_the_list_does_not_matter((slots, packets) in calls(30, 30, Shape::Reordered)) {
            let reversed: Vec<Packet> = packets.iter().rev().copied().collect();
            prop_assert_eq!(unit_bound(&slots, &packets), unit_bound(&slots, &reversed));
        }
    }

    /// A minute of a call at 60 slots/s: 50 audio packets/s and ten frames/s of five packets.
    #[test]
    fn a_minute_of_a_call() {
        let trace: Vec<(u64, u64)> = (0..3_600u64).map(|n| (n * 60_000 / 3_600, n * 60_000 / 3_600 + 40)).collect();
        let mut packets: Vec<Packet> = (0..3_000).map(|n| packet(0, n * 20, n * 20 + 200)).collect();
        packets.extend((0..600).flat_map(|n| [packet(1, n * 100, n * 100 + 200); 5]));
        let bound = unit_bound(&slots(&trace), &packets);
        // 50 of 60 slots/s carry audio and 10 carry video. At the end few packets are left that fit.
        assert_eq!(bound.by_priority[&0].on_time, 3_000);
        assert!((590..=600).contains(&bound.by_priority[&1].on_time), "{bound:?}");
    }
}
