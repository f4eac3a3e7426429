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

use crate::fold::Row;
use crate::{Opportunity, Packet, Slots};
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
mod tests;
