//! The bound where opportunities carry bytes: an upper bound, from packets that may be split.
//!
//! Which whole packets fit best into byte credits is a knapsack, and hard. Split packets are easy: let x(p) ≤ size(p) be the
//! bytes of packet *p* that are on time; the feasible x are a polymatroid (a flow from credits to packets; Edmonds 1970), and
//! whatever whole packets a sender has on time is one of them. So the largest Σ x(p) / size(p) over all packets of
//! priority ≤ k is an upper bound of their number, and a greedy algorithm finds it: the smallest packets first.
//!
//! **The sums are bounded, not each priority for itself.** The most video *given the most sound* is no bound when packets are
//! split: half a packet of sound may take the bytes with which a sender, who cannot send half of one, sends video.
//!
//! A packet leaves when its last byte is paid. It may be paid from a credit at or after its creation, if a packet that leaves
//! at that credit or at a later one would be in time. In terms of arrivals: that of a credit is the earliest of its own and
//! all later ones, so they are in order even where the path reorders, and the credits of a packet are an interval
//! [from, until).
//!
//! Equal to the greedy algorithm, but in one pass: packets come in the order of *from*, the latest first, so that only
//! intervals that begin at the newcomer's *from* can be too full (Hall's condition): those where
//! slack(u) = credits[from..u] − Σ {x(q): until(q) ≤ u} is zero. A newcomer that meets a full one takes the place of the
//! largest packet in it, if that is larger than itself: the largest of the circuit leaves, as in any matroid.

use super::fold::Row;
use super::{Opportunity, Packet, Slots};
use headway_units::{Bytes, Instant};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// One instant at which the controller permits some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    /// When they may leave.
    pub at: Instant,
    /// How many.
    pub bytes: Bytes,
    /// When the receiver has what leaves at `at`; `None` if it was lost, which the bound does not know ([`Slots::new`]).
    pub arrives: Option<Instant>,
}

/// What becomes of credit that nothing used. No sender may pay with a credit that is yet to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unused {
    /// It lapses, unless a packet is already there that it begins to pay for.
    Lapses,
    /// It is kept without limit, for packets that are yet to be created: the looser bound.
    Kept,
}

/// What the bound says of one priority.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ByteShare {
    /// Packets of this priority.
    pub offered: u64,
    /// No sender has more packets on time of this and all more urgent priorities together. Parts of packets count by their
    /// share of the packet, rounded up to a 2^32nd; whole packets are whole, so the floor is a bound, too. A packet of 0 B
    /// counts whole wherever it may leave.
    pub up_to: f64,
}

/// An upper bound of the packets on time over byte credits, for each priority that is offered, with all more urgent ones.
#[must_use]
pub fn byte_bound(credits: &[Credit], packets: &[Packet], unused: Unused) -> BTreeMap<u8, ByteShare> {
    let mut credits = credits.to_vec();
    credits.sort_by_key(|credit| credit.at);
    let trace: Vec<Opportunity> =
        credits.iter().map(|credit| Opportunity { at: credit.at, arrives: credit.arrives }).collect();
    let bytes: Vec<u64> = credits.iter().map(|credit| credit.bytes.count()).collect();
    let mut loads: Vec<(u8, Load)> = loads(&Slots::new(&trace), packets, unused);
    loads.sort_by_key(|(_, load)| load.until);

    let mut shares = BTreeMap::<u8, ByteShare>::new();
    for packet in packets {
        shares.entry(packet.priority).or_default().offered += 1;
    }
    for (&priority, share) in &mut shares {
        let urgent: Vec<Load> = loads.iter().filter(|one| one.0 <= priority).map(|one| one.1).collect();
        let parts: u128 = urgent.iter().zip(most(&bytes, &urgent)).map(|(load, sent)| load.share(sent)).sum();
        share.up_to = parts as f64 / WHOLE as f64;
    }
    shares
}

/// How many parts a packet has when shares are added: exact in a double for two million packets.
const WHOLE: u128 = 1 << 32;

/// A packet that some credit can pay for.
#[derive(Clone, Copy, Debug)]
struct Load {
    /// The first credit that may pay for it.
    from: usize,
    /// One past the last.
    until: usize,
    size: u64,
}

impl Load {
    fn share(&self, sent: u64) -> u128 {
        if self.size == 0 { WHOLE } else { (u128::from(sent) * WHOLE).div_ceil(self.size.into()) }
    }
}

fn loads(slots: &Slots, packets: &[Packet], unused: Unused) -> Vec<(u8, Load)> {
    let mut earliest = Instant::FAR_FUTURE;
    let mut arrivals: Vec<Instant> = slots
        .as_slice()
        .iter()
        .rev()
        .map(|slot| {
            earliest = earliest.min(slot.arrives);
            earliest
        })
        .collect();
    arrivals.reverse();
    let load = |packet: &Packet| {
        let first = slots.as_slice().partition_point(|slot| slot.at < packet.created);
        let until = arrivals.partition_point(|&arrives| packet.in_time(arrives));
        let from = if unused == Unused::Kept { 0 } else { first };
        (first < until).then_some((packet.priority, Load { from, until, size: packet.size.count() }))
    };
    packets.iter().filter_map(load).collect()
}

/// How many bytes of each load are on time, in the best case. `loads` in the order of `until`.
///
/// Each exchange ends a newcomer, or an old one, or brings the first full place nearer; a minute of a call takes milliseconds.
fn most(credits: &[u64], loads: &[Load]) -> Vec<u64> {
    let mut sent = vec![0u64; loads.len()];
    // Place i stands for u = until(i): the sum of the first i + 1 numbers is slack(u). The entries are the sizes of those
    // of which something is sent.
    let mut slack = Row::new(loads.len());
    let mut order: Vec<usize> = (0..loads.len()).collect();
    order.sort_by_key(|&new| Reverse(loads[new].from));
    let mut begin = credits.len();
    for new in order {
        let Load { from, size, .. } = loads[new];
        while begin > from {
            begin -= 1;
            let reaches = loads.partition_point(|load| load.until <= begin);
            if reaches < loads.len() {
                slack.add(reaches, credits[begin].into());
            }
        }
        let mut left = size;
        while left > 0 {
            let room = least(&slack, new, loads.len());
            if room > 0 {
                let part = part_of(left, room);
                slack.add(new, -i128::from(part));
                sent[new] += part;
                left -= part;
                continue;
            }
            let full = first_full(&slack, new, loads.len());
            let (largest, old) = slack.over(0..full + 1).largest;
            if largest <= size {
                break;
            }
            let mut part = left.min(sent[old]);
            if old > new {
                // In between, the newcomer takes and the old one does not give.
                part = part_of(part, least(&slack, new, old));
            }
            slack.add(old, part.into());
            slack.add(new, -i128::from(part));
            sent[old] -= part;
            sent[new] += part;
            left -= part;
            if sent[old] == 0 {
                slack.enter(old, 0);
            }
        }
        if sent[new] > 0 {
            slack.enter(new, size);
        }
    }
    sent
}

/// The least slack of the places from `from` to before `to`.
fn least(slack: &Row, from: usize, to: usize) -> i128 {
    slack.over(0..from).sum + slack.over(from..to).least
}

/// The first place from `from` on without slack; there is one.
fn first_full(slack: &Row, from: usize, to: usize) -> usize {
    let (mut low, mut high) = (from, to - 1);
    while low < high {
        let middle = low + (high - low) / 2;
        if least(slack, from, middle + 1) == 0 {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

fn part_of(bytes: u64, room: i128) -> u64 {
    u64::try_from(room).map_or(bytes, |room| bytes.min(room))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::testing::{Shape, ms, packet, packets, traces};
    use crate::bound::unit_bound;
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

    /// 300 B and 500 B until 60 ms, into 400 B at 0 and 200 B at 10 ms: the small one whole, 300/500 of the other.
    #[test]
    fn worked_by_hand() {
        let credits = [credit(0, 400, 50), credit(10, 200, 60), credit(20, 900, 70)];
        let close = |got: &[f64], want: &[f64]| {
            assert_eq!(got.len(), want.len());
            assert!(got.iter().zip(want).all(|(got, want)| (got - want).abs() < 1e-8), "{got:?} {want:?}");
        };
        let both = [sized(0, 0, 60, 500), sized(0, 0, 60, 300)];
        close(&up_to(&credits, &both, Unused::Lapses), &[1.6]);
        // Sound of 500 B and video of 300 B: of both together the smaller first; sound alone is whole.
        let two = [sized(0, 0, 60, 500), sized(1, 0, 60, 300)];
        close(&up_to(&credits, &two, Unused::Lapses), &[1.0, 1.6]);
        // Created at 5 ms: the first credit has lapsed, or is kept.
        let later = [sized(0, 5, 60, 400)];
        close(&up_to(&credits, &later, Unused::Lapses), &[0.5]);
        close(&up_to(&credits, &later, Unused::Kept), &[1.0]);
        // Kept or not, what is created after the last credit in time never leaves.
        close(&up_to(&credits, &[sized(0, 11, 69, 1)], Unused::Kept), &[0.0]);
        // No bytes cost nothing, but need a credit in time.
        close(&up_to(&credits, &[sized(0, 0, 60, 0), sized(0, 0, 49, 0)], Unused::Lapses), &[1.0]);
    }

    /// Why the sums are bounded and not each priority: 1.5 packets of sound fit, so no video beside the most of sound when
    /// packets are split; a sender has one of each.
    #[test]
    fn split_sound_would_crowd_out_video() {
        let credits = [credit(0, 300, 50)];
        let packets = [sized(0, 0, 50, 200), sized(0, 0, 50, 200), sized(1, 0, 50, 100)];
        assert_eq!(up_to(&credits, &packets, Unused::Lapses), [1.5, 2.0]);
    }

    /// What leaves later overtakes: a packet paid by both arrives with the second.
    #[test]
    fn a_reordered_path() {
        let credits = [credit(0, 100, 90), credit(10, 100, 60)];
        assert_eq!(up_to(&credits, &[sized(0, 0, 60, 200)], Unused::Lapses), [1.0]);
    }

    /// Three thirds are one packet: rounding down would forbid what a sender can do.
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

    fn credits(most: usize, shape: Shape) -> impl Strategy<Value = Vec<Credit>> {
        (traces(most, shape), prop::collection::vec(0u64..9, most)).prop_map(|(trace, bytes)| {
            let credit = |(one, bytes): (&Opportunity, &u64)| Credit {
                at: one.at,
                bytes: Bytes::new(*bytes),
                arrives: one.arrives,
            };
            trace.iter().zip(&bytes).map(credit).collect()
        })
    }

    /// The largest flow into a set of packets, by the smallest cut: some packets are cut off at their size, the credits of
    /// all others are spent (Ford and Fulkerson). `edges[p]` says which credits may pay for packet p.
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

    /// The best vertex of the polymatroid: each order of filling up is one (Edmonds 1970), all are tried.
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

    /// The bytes that earliest deadline first has on time on an ordered path: as many as any order has.
    fn earliest_deadline(credits: &[Credit], slots: &Slots, packets: &[Packet]) -> u64 {
        let mut left: Vec<u64> = packets.iter().map(|packet| packet.size.count()).collect();
        let mut sent = 0;
        for (slot, credit) in slots.as_slice().iter().zip(credits) {
            let mut there: Vec<usize> = (0..packets.len())
                .filter(|&p| packets[p].created <= slot.at && packets[p].in_time(slot.arrives))
                .collect();
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

    /// Pays whole packets in the order of `key`, from a purse; returns what is on time by priority.
    fn thrifty<T: Ord>(
        credits: &[Credit],
        packets: &[Packet],
        unused: Unused,
        key: impl Fn(&Packet) -> T,
    ) -> BTreeMap<u8, u64> {
        let trace: Vec<_> = credits.iter().map(|one| Opportunity { at: one.at, arrives: one.arrives }).collect();
        let mut waiting: Vec<Packet> = packets.to_vec();
        let (mut purse, mut on_time, mut begun) = (0, BTreeMap::new(), None::<Packet>);
        for (slot, credit) in Slots::new(&trace).as_slice().iter().zip(credits) {
            purse += credit.bytes.count();
            loop {
                if begun.is_none() {
                    waiting.sort_by_key(&key);
                    let there = |one: &Packet| one.created <= slot.at && one.in_time(slot.arrives);
                    begun = waiting.iter().position(there).map(|place| waiting.remove(place));
                }
                let Some(packet) = begun.take_if(|one| one.size.count() <= purse) else { break };
                purse -= packet.size.count();
                *on_time.entry(packet.priority).or_default() += u64::from(packet.in_time(slot.arrives));
            }
            if begun.is_none() && unused == Unused::Lapses {
                purse = 0;
            }
        }
        on_time
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        /// Against all vertices of the polymatroid, with the definition of "may pay" written out.
        #[test]
        fn the_best_of_all_splits(
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

        /// Against the greedy algorithm as it is written: the smallest first, each with what it adds to the flow.
        #[test]
        fn the_smallest_first(credits in credits(40, Shape::Fifo), mut packets in packets(40)) {
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

        /// A credit for one packet each, packets of one size: the bound of units.
        #[test]
        fn equal_sizes_are_units((trace, mut packets) in (traces(30, Shape::Fifo), packets(30)), size in 1u64..2000) {
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
                    thrifty(&credits, &packets, unused, |_| 0),
                    thrifty(&credits, &packets, unused, |packet| (packet.priority, packet.expires)),
                    thrifty(&credits, &packets, unused, |packet| packet.size),
                ] {
                    for (&priority, share) in &bound {
                        let sum: u64 = sent.range(..=priority).map(|(_, count)| count).sum();
                        prop_assert!(sum as f64 <= share.up_to.floor(), "{} {:?}", sum, share);
                    }
                }
            }
        }
    }
}
