//! Test strategies and the bound by exhaustive search.

use crate::{Opportunity, Packet, Slots};
use headway_units::{Bytes, Instant};
use proptest::prelude::*;

pub(crate) fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

pub(crate) fn packet(priority: u8, created: u64, expires: u64) -> Packet {
    Packet { priority, created: ms(created), expires: Some(ms(expires)), size: Bytes::new(200) }
}

/// Creates slots from (departure, arrival) pairs in ms.
pub(crate) fn slots(trace: &[(u64, u64)]) -> Slots {
    let trace: Vec<Opportunity> =
        trace.iter().map(|&(at, arrives)| Opportunity { at: ms(at), arrives: Some(ms(arrives)) }).collect();
    Slots::new(&trace)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Arrivals in the order of departures.
    Fifo,
    /// Arrivals in any order.
    Reordered,
}

pub(crate) fn traces(max: usize, shape: Shape) -> impl Strategy<Value = Vec<Opportunity>> {
    prop::collection::vec((0u64..20, 0u64..15, prop::bool::weighted(0.2)), 0..=max).prop_map(move |mut all| {
        all.sort_by_key(|one| one.0);
        let mut last = 0;
        all.into_iter()
            .map(|(at, delay, lost)| {
                let arrives = if shape == Shape::Fifo { last.max(at + delay / 3) } else { at + delay };
                last = arrives;
                Opportunity { at: ms(at), arrives: (!lost).then(|| ms(arrives)) }
            })
            .collect()
    })
}

pub(crate) fn packets(max: usize) -> impl Strategy<Value = Vec<Packet>> {
    let one = (0u8..3, 0u64..20, prop::option::weighted(0.9, 0u64..15), 0u64..7).prop_map(
        |(priority, created, lifetime, size)| Packet {
            priority,
            created: ms(created),
            expires: lifetime.map(|lifetime| ms(created + lifetime)),
            size: Bytes::new(size),
        },
    );
    prop::collection::vec(one, 0..=max)
}

pub(crate) fn calls(max_slots: usize, max_packets: usize, shape: Shape) -> impl Strategy<Value = (Slots, Vec<Packet>)> {
    (traces(max_slots, shape).prop_map(|trace| Slots::new(&trace)), packets(max_packets))
}

/// Returns the lexicographically largest counts per priority over all sets of packets that can be matched. Each set is
/// checked with augmenting paths over the definition of "may use".
pub(crate) fn brute_force(slots: &Slots, packets: &[Packet]) -> Vec<u64> {
    let slots = slots.as_slice();
    let edges: Vec<Vec<usize>> = packets
        .iter()
        .map(|packet| {
            (0..slots.len())
                .filter(|&i| packet.created <= slots[i].at)
                .filter(|&i| packet.expires.is_none_or(|expires| slots[i].arrives <= expires))
                .collect()
        })
        .collect();
    let mut priorities: Vec<u8> = packets.iter().map(|packet| packet.priority).collect();
    priorities.sort_unstable();
    priorities.dedup();
    let mut best = vec![0; priorities.len()];
    for set in 0u32..1 << packets.len() {
        let members: Vec<usize> = (0..packets.len()).filter(|p| set >> p & 1 == 1).collect();
        let count = |priority: &u8| members.iter().filter(|&&p| packets[p].priority == *priority).count() as u64;
        let counts: Vec<u64> = priorities.iter().map(count).collect();
        if counts > best && matches_all(&members, &edges, slots.len()) {
            best = counts;
        }
    }
    best
}

fn matches_all(members: &[usize], edges: &[Vec<usize>], slots: usize) -> bool {
    fn augment(p: usize, edges: &[Vec<usize>], seen: &mut [bool], holder: &mut [Option<usize>]) -> bool {
        edges[p].iter().any(|&slot| {
            if std::mem::replace(&mut seen[slot], true) {
                return false;
            }
            let free = holder[slot].is_none_or(|other| augment(other, edges, seen, holder));
            if free {
                holder[slot] = Some(p);
            }
            free
        })
    }
    let mut holder = vec![None; slots];
    members.iter().all(|&p| augment(p, edges, &mut vec![false; slots], &mut holder))
}
