//! The bound for opportunities that carry bytes: an upper bound, with packets that may be split.
//!
//! Filling byte credits with whole packets is a knapsack problem. With split packets the problem is easy. Let x(p) ≤
//! size(p) be the bytes of packet *p* on time. The feasible x form a polymatroid (a flow from credits to packets;
//! Edmonds 1970), and every schedule of whole packets is feasible. The largest Σ x(p) / size(p) over all packets of
//! priority ≤ k is therefore an upper bound of their number. A greedy algorithm finds it: smallest packets first.
//!
//! **The bound applies to cumulative sums, not to each priority separately.** The maximum of video *given the maximum
//! of audio* is no bound with split packets: half an audio packet may use bytes with which a sender, which cannot send
//! half a packet, sends video.
//!
//! A packet leaves when its last byte is paid. A credit at or after its creation may pay for it if a packet that leaves
//! at this credit or a later one would be on time. The arrival of a credit is therefore the earliest of this and all
//! later ones. These arrivals are in order even if the path reorders, and the credits of a packet form an interval
//! [from, until).
//!
//! The implementation is equivalent to the greedy algorithm but needs one pass. Packets are inserted by descending
//! *from*, so only intervals that begin at the *from* of the inserted packet can be full (Hall's condition): those
//! where slack(u) = credits[from..u] − Σ {x(q): until(q) ≤ u} is zero. If a packet meets a full interval, it replaces
//! the largest packet in it, if that is larger. This is the matroid rule that the largest element of the circuit is
//! removed.

use crate::fold::Row;
use crate::{Opportunity, Packet, Slots};
use headway_units::{Bytes, Instant};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Bytes that the controller permits at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    /// Earliest departure of a packet that this credit pays for.
    pub at: Instant,
    /// Number of bytes that the controller permits.
    pub bytes: Bytes,
    /// Arrival of a packet sent at `at`; `None` if it was lost. The bound replaces a loss by an interpolated arrival
    /// ([`Slots::new`]).
    pub arrives: Option<Instant>,
}

/// What happens to credit that no packet uses when it is issued. Credit never pays for a packet that leaves before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unused {
    /// The credit expires, unless a packet is queued that it partly pays for.
    Lapses,
    /// The credit is kept without limit for packets created later. This gives a higher bound than `Lapses`.
    Kept,
}

/// Upper bound of the packets on time for one priority.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ByteShare {
    /// Number of packets of this priority.
    pub offered: u64,
    /// Upper bound of the number of packets on time, of this and all more urgent priorities together. Packets may be
    /// split: the part that is sent counts as a fraction, rounded up to a multiple of 2^-32. For a sender of whole
    /// packets, the bound rounded down is a bound, too. A packet of 0 B counts as one if it can leave at all.
    pub up_to: f64,
}

/// Computes an upper bound of the number of packets that arrive on time if the controller permits these bytes
/// (`credits`). The bound of a priority includes all more urgent priorities; 0 is the most urgent.
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
        let parts: u128 =
            urgent.iter().zip(max_on_time_bytes(&bytes, &urgent)).map(|(load, sent)| load.share(sent)).sum();
        share.up_to = parts as f64 / WHOLE as f64;
    }
    shares
}

/// Units per packet in which fractions are summed; exact in an `f64` for two million packets.
const WHOLE: u128 = 1 << 32;

/// Packet for which at least one credit can pay.
#[derive(Clone, Copy, Debug)]
struct Load {
    /// Index of the first credit that may pay for it.
    from: usize,
    /// Index after the last such credit.
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

/// Returns the largest number of bytes on time of each load. `loads` is sorted by `until`.
///
/// Each exchange completes the inserted load, removes an older one, or moves the first full place closer. A minute of a
/// call takes milliseconds.
fn max_on_time_bytes(credits: &[u64], loads: &[Load]) -> Vec<u64> {
    let mut sent = vec![0u64; loads.len()];
    // Place i represents u = until(i): the sum of the first i + 1 numbers is slack(u). Entries are the sizes of loads
    // that are sent in part or whole.
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
                // Between the two places, slack only decreases: `new` takes bytes that `old` does not free.
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

/// Returns the least slack of the places in `from..to`.
fn least(slack: &Row, from: usize, to: usize) -> i128 {
    slack.over(0..from).sum + slack.over(from..to).least
}

/// Returns the first place from `from` on with zero slack; the caller guarantees that it exists.
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
