use super::*;
use crate::testing::{Shape, ms, packet, packets, traces};
use crate::unit_bound;
use proptest::prelude::*;

fn sized(priority: u8, created: u64, expires: u64, size: u64) -> Packet {
    Packet { size: Bytes::new(size), ..packet(priority, created, expires) }
}
fn credit(at: u64, bytes: u64, arrives: u64) -> Credit {
    Credit { at: ms(at), bytes: Bytes::new(bytes), arrives: Some(ms(arrives)) }
}
fn up_to(credits: &[Credit], packets: &[Packet], unused: Unused) -> Vec<f64> {
    byte_bound(credits, packets, unused).values().map(|share| share.up_to).collect()
}

/// 300 B and 500 B, both expiring at 60 ms, over 400 B at 0 ms and 200 B at 10 ms: the small packet whole, 300/500 of
/// the other.
#[test]
fn worked_by_hand() {
    let credits = [credit(0, 400, 50), credit(10, 200, 60), credit(20, 900, 70)];
    let close = |got: &[f64], want: &[f64]| {
        assert_eq!(got.len(), want.len());
        assert!(got.iter().zip(want).all(|(got, want)| (got - want).abs() < 1e-8), "{got:?} {want:?}");
    };
    let both = [sized(0, 0, 60, 500), sized(0, 0, 60, 300)];
    close(&up_to(&credits, &both, Unused::Lapses), &[1.6]);
    // 500 B of audio and 300 B of video: the smaller first for both together; audio alone is whole.
    let two = [sized(0, 0, 60, 500), sized(1, 0, 60, 300)];
    close(&up_to(&credits, &two, Unused::Lapses), &[1.0, 1.6]);
    // Created at 5 ms: the first credit has expired, or is kept.
    let later = [sized(0, 5, 60, 400)];
    close(&up_to(&credits, &later, Unused::Lapses), &[0.5]);
    close(&up_to(&credits, &later, Unused::Kept), &[1.0]);
    // A packet created after the last credit on time is never sent, with or without kept credit.
    close(&up_to(&credits, &[sized(0, 11, 69, 1)], Unused::Kept), &[0.0]);
    // A packet of 0 B uses no credit but needs an opportunity on time.
    close(&up_to(&credits, &[sized(0, 0, 60, 0), sized(0, 0, 49, 0)], Unused::Lapses), &[1.0]);
}

/// Shows why cumulative sums are bounded: with split packets, 1.5 audio packets fit and no video. A sender of whole
/// packets delivers one of each.
#[test]
fn the_bound_is_cumulative_over_priorities() {
    let credits = [credit(0, 300, 50)];
    let packets = [sized(0, 0, 50, 200), sized(0, 0, 50, 200), sized(1, 0, 50, 100)];
    assert_eq!(up_to(&credits, &packets, Unused::Lapses), [1.5, 2.0]);
}

/// A packet that both credits pay for arrives with the second credit, which overtakes the first.
#[test]
fn a_later_credit_may_arrive_earlier() {
    let credits = [credit(0, 100, 90), credit(10, 100, 60)];
    assert_eq!(up_to(&credits, &[sized(0, 0, 60, 200)], Unused::Lapses), [1.0]);
}

/// Three thirds are one packet. Rounding down would give a bound below a feasible schedule.
#[test]
fn parts_are_rounded_up() {
    let credits = [credit(0, 1, 50), credit(10, 1, 60), credit(20, 1, 70)];
    let thirds = [sized(0, 0, 50, 3), sized(0, 10, 60, 3), sized(0, 20, 70, 3)];
    let parts = up_to(&credits, &thirds, Unused::Lapses)[0];
    assert!((1.0..1.0 + 1e-8).contains(&parts), "{parts}");
}

#[test]
fn no_amount_overflows() {
    let credits = [credit(0, u64::MAX, 50); 3];
    let packets = [sized(0, 0, 50, u64::MAX); 5];
    assert_eq!(up_to(&credits, &packets, Unused::Kept), [3.0]);
    assert_eq!(byte_bound(&[], &packets, Unused::Lapses)[&0], ByteShare { offered: 5, up_to: 0.0 });
    assert!(byte_bound(&credits, &[], Unused::Lapses).is_empty());
}

fn credits(max: usize, shape: Shape) -> impl Strategy<Value = Vec<Credit>> {
    (traces(max, shape), prop::collection::vec(0u64..9, max)).prop_map(|(trace, bytes)| {
        let credit =
            |(one, bytes): (&Opportunity, &u64)| Credit { at: one.at, bytes: Bytes::new(*bytes), arrives: one.arrives };
        trace.iter().zip(&bytes).map(credit).collect()
    })
}

/// Computes the maximum flow into a set of packets as the minimum cut (Ford and Fulkerson): some packets are cut at
/// their size, the credits of all others are spent. `edges[p]` lists the credits that may pay for packet p.
fn flow(set: &[usize], edges: &[Vec<bool>], bytes: &[u64], sizes: &[u64]) -> u64 {
    (0u32..1 << set.len())
        .map(|cut| {
            let (off, on): (Vec<usize>, Vec<usize>) = (0..set.len()).partition(|&i| cut >> i & 1 == 1);
            let spent = (0..bytes.len()).filter(|&c| on.iter().any(|&i| edges[set[i]][c])).map(|c| bytes[c]);
            off.iter().map(|&i| sizes[set[i]]).sum::<u64>() + spent.sum::<u64>()
        })
        .min()
        .unwrap_or(0)
}

/// Returns the best vertex of the polymatroid by trying every fill order (Edmonds 1970).
fn best_vertex(left: &[usize], filled: &mut Vec<usize>, value: &dyn Fn(&[usize]) -> f64) -> f64 {
    let mut best = value(filled);
    for (i, &next) in left.iter().enumerate() {
        let mut others = left.to_vec();
        others.remove(i);
        filled.push(next);
        best = best.max(best_vertex(&others, filled, value));
        filled.pop();
    }
    best
}

/// Returns the bytes that earliest deadline first delivers on time on an ordered path, which is the maximum.
fn earliest_deadline(credits: &[Credit], slots: &Slots, packets: &[Packet]) -> u64 {
    let mut left: Vec<u64> = packets.iter().map(|packet| packet.size.count()).collect();
    let mut sent = 0;
    for (slot, credit) in slots.as_slice().iter().zip(credits) {
        let mut there: Vec<usize> =
            (0..packets.len()).filter(|&p| packets[p].created <= slot.at && packets[p].in_time(slot.arrives)).collect();
        there.sort_by_key(|&p| packets[p].expires.unwrap_or(Instant::FAR_FUTURE));
        let mut bytes = credit.bytes.count();
        for p in there {
            let part = bytes.min(left[p]);
            left[p] -= part;
            bytes -= part;
            sent += part;
        }
    }
    sent
}

/// Sends whole packets in the order of `key` and returns the number on time by priority.
fn send_whole_packets<T: Ord>(
    credits: &[Credit],
    packets: &[Packet],
    unused: Unused,
    key: impl Fn(&Packet) -> T,
) -> BTreeMap<u8, u64> {
    let trace: Vec<_> = credits.iter().map(|one| Opportunity { at: one.at, arrives: one.arrives }).collect();
    let mut waiting: Vec<Packet> = packets.to_vec();
    let (mut budget, mut on_time, mut current) = (0, BTreeMap::new(), None::<Packet>);
    for (slot, credit) in Slots::new(&trace).as_slice().iter().zip(credits) {
        budget += credit.bytes.count();
        loop {
            if current.is_none() {
                waiting.sort_by_key(&key);
                let there = |one: &Packet| one.created <= slot.at && one.in_time(slot.arrives);
                current = waiting.iter().position(there).map(|place| waiting.remove(place));
            }
            let Some(packet) = current.take_if(|one| one.size.count() <= budget) else { break };
            budget -= packet.size.count();
            *on_time.entry(packet.priority).or_default() += u64::from(packet.in_time(slot.arrives));
        }
        if current.is_none() && unused == Unused::Lapses {
            budget = 0;
        }
    }
    on_time
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Compares with all vertices of the polymatroid, with an explicit definition of "may pay".
    #[test]
    fn byte_bound_equals_the_best_split(
        credits in credits(6, Shape::Reordered),
        packets in packets(5),
        kept: bool,
    ) {
        let trace: Vec<_> = credits.iter().map(|one| Opportunity { at: one.at, arrives: one.arrives }).collect();
        let slots = Slots::new(&trace);
        let slots = slots.as_slice();
        let leaves = |p: &Packet, s: usize| {
            p.created <= slots[s].at && p.expires.is_none_or(|expires| slots[s].arrives <= expires)
        };
        let pays = |p: &Packet, c: usize| (kept || p.created <= slots[c].at) && (c..slots.len()).any(|s| leaves(p, s));
        let edges: Vec<Vec<bool>> = packets.iter().map(|p| (0..slots.len()).map(|c| pays(p, c)).collect()).collect();
        let bytes: Vec<u64> = credits.iter().map(|credit| credit.bytes.count()).collect();
        let sizes: Vec<u64> = packets.iter().map(|packet| packet.size.count()).collect();
        let unused = if kept { Unused::Kept } else { Unused::Lapses };
        for (priority, share) in byte_bound(&credits, &packets, unused) {
            let urgent: Vec<usize> = (0..packets.len()).filter(|&p| packets[p].priority <= priority).collect();
            let free = urgent.iter().filter(|&&p| sizes[p] == 0 && edges[p].contains(&true)).count() as f64;
            let urgent: Vec<usize> = urgent.into_iter().filter(|&p| sizes[p] > 0).collect();
            let value = |order: &[usize]| {
                let filled = |count| flow(&order[..count], &edges, &bytes, &sizes);
                (0..order.len()).map(|i| (filled(i + 1) - filled(i)) as f64 / sizes[order[i]] as f64).sum::<f64>()
            };
            let best = free + best_vertex(&urgent, &mut Vec::new(), &value);
            prop_assert!((share.up_to - best).abs() < 1e-7, "{}: {} {}", priority, share.up_to, best);
        }
    }

    /// Compares with the textbook greedy algorithm: smallest packets first, each with its increment of the flow.
    #[test]
    fn byte_bound_equals_the_greedy_algorithm(credits in credits(40, Shape::Fifo), mut packets in packets(40)) {
        let trace: Vec<_> = credits.iter().map(|one| Opportunity { at: one.at, arrives: one.arrives }).collect();
        let slots = Slots::new(&trace);
        packets.retain(|packet| packet.size.count() > 0);
        packets.sort_by_key(|packet| packet.size);
        for (priority, share) in byte_bound(&credits, &packets, Unused::Lapses) {
            let urgent: Vec<Packet> = packets.iter().filter(|one| one.priority <= priority).copied().collect();
            let flow = |count| earliest_deadline(&credits, &slots, &urgent[..count]) as f64;
            let sum: f64 = (0..urgent.len())
                .map(|i| (flow(i + 1) - flow(i)) / urgent[i].size.count() as f64)
                .sum();
            prop_assert!((share.up_to - sum).abs() < 1e-6, "{}: {} {}", priority, share.up_to, sum);
        }
    }

    /// With equal packet sizes and credits of one packet each, the byte bound equals the unit bound.
    #[test]
    fn equal_sizes_give_the_unit_bound((trace, mut packets) in (traces(30, Shape::Fifo), packets(30)), size in 1u64..2000) {
        for packet in &mut packets {
            packet.size = Bytes::new(size);
        }
        let credit = |one: &Opportunity| Credit { at: one.at, bytes: Bytes::new(size), arrives: one.arrives };
        let credits: Vec<Credit> = trace.iter().map(credit).collect();
        let units = unit_bound(&Slots::new(&trace), &packets);
        let kept = byte_bound(&credits, &packets, Unused::Kept);
        for (priority, share) in byte_bound(&credits, &packets, Unused::Lapses) {
            prop_assert_eq!(share.up_to, units.up_to(priority) as f64);
            prop_assert_eq!(share.offered, units.by_priority[&priority].offered);
            prop_assert!(kept[&priority].up_to >= share.up_to);
        }
    }

    #[test]
    fn no_sender_beats_the_bound(credits in credits(20, Shape::Reordered), packets in packets(30)) {
        for unused in [Unused::Lapses, Unused::Kept] {
            let bound = byte_bound(&credits, &packets, unused);
            for sent in [
                send_whole_packets(&credits, &packets, unused, |_| 0),
                send_whole_packets(&credits, &packets, unused, |packet| (packet.priority, packet.expires)),
                send_whole_packets(&credits, &packets, unused, |packet| packet.size),
            ] {
                for (&priority, share) in &bound {
                    let sum: u64 = sent.range(..=priority).map(|(_, count)| count).sum();
                    prop_assert!(sum as f64 <= share.up_to.floor(), "{} {:?}", sum, share);
                }
            }
        }
    }
}
