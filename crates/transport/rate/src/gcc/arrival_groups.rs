//! Groups of packets, and the differences of their sending and arrival times (section 5.2 of the draft;
//! `inter_arrival_delta.cc` of libwebrtc).
//!
//! Packets sent within 5 ms form a group. A packet that arrives at most 5 ms after the previous one, and closer to it
//! than it was sent, belongs to its group, while the group arrives for less than 100 ms: a queue released it in a burst.

use super::ms_between;
use headway_units::Instant;

/// Maximum time from the first to the last packet of a group, in ms.
const GROUP_MS: f64 = 5.0;
const BURST_GAP_MS: f64 = 5.0;
const MAX_BURST_MS: f64 = 100.0;
/// Number of groups in a row that arrive out of order, after which the groups start again.
const MAX_REORDERED: u8 = 3;

/// Differences between the last packets of two consecutive groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Deltas {
    pub(super) sent_ms: f64,
    pub(super) arrival_ms: f64,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    first_sent: Instant,
    sent: Instant,
    first_arrived: Instant,
    arrived: Instant,
}

impl Group {
    const fn new(sent: Instant, arrived: Instant) -> Self {
        Self { first_sent: sent, sent, first_arrived: arrived, arrived }
    }

    fn includes(&self, sent: Instant, arrived: Instant) -> bool {
        let (sent_ms, arrival_ms) = (ms_between(self.sent, sent), ms_between(self.arrived, arrived));
        let is_burst = arrival_ms < sent_ms
            && arrival_ms <= BURST_GAP_MS
            && ms_between(self.first_arrived, arrived) < MAX_BURST_MS;
        sent_ms == 0.0 || is_burst || ms_between(self.first_sent, sent) <= GROUP_MS
    }
}

/// The open group and the one before it.
#[derive(Clone, Debug, Default)]
pub(super) struct ArrivalGroups {
    current: Option<Group>,
    previous: Option<Group>,
    reordered: u8,
}

impl ArrivalGroups {
    /// Adds a packet, in the order of arrival. Returns the differences of the last two groups if the packet starts
    /// another one. A packet that was sent before its group is skipped.
    pub(super) fn add(&mut self, sent: Instant, arrived: Instant) -> Option<Deltas> {
        let Some(current) = &mut self.current else {
            self.current = Some(Group::new(sent, arrived));
            return None;
        };
        if ms_between(current.first_sent, sent) < 0.0 {
            return None;
        }
        if current.includes(sent, arrived) {
            current.sent = current.sent.max(sent);
            current.arrived = arrived;
            return None;
        }
        let current = *current;
        let deltas = self.previous.map(|previous| Deltas {
            sent_ms: ms_between(previous.sent, current.sent),
            arrival_ms: ms_between(previous.arrived, current.arrived),
        });
        if deltas.is_some_and(|deltas| deltas.arrival_ms < 0.0) {
            self.reordered += 1;
            if self.reordered >= MAX_REORDERED {
                *self = Self::default();
            }
            return None;
        }
        self.reordered = 0;
        self.previous = Some(current);
        self.current = Some(Group::new(sent, arrived));
        deltas
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the differences of packets with (sending time, arrival time) in ms.
    fn deltas(packets: &[(u64, u64)]) -> Vec<(f64, f64)> {
        let mut groups = ArrivalGroups::default();
        let mut add = |&(sent, arrived)| groups.add(Instant::from_millis(sent), Instant::from_millis(arrived));
        packets.iter().filter_map(&mut add).map(|deltas| (deltas.sent_ms, deltas.arrival_ms)).collect()
    }

    /// Packets of 0 and 5 ms are one group, that of 10 ms starts another one, which that of 20 ms ends.
    #[test]
    fn a_group_is_five_milliseconds() {
        assert_eq!(deltas(&[(0, 50), (5, 56), (10, 62), (20, 75)]), [(5.0, 6.0)]);
        assert_eq!(deltas(&[(0, 50), (6, 56), (12, 62), (18, 69)]), [(6.0, 6.0), (6.0, 6.0)]);
    }

    /// Packets sent every 20 ms, which a link releases every 5 ms after a stall: the burst is one group.
    #[test]
    fn a_burst_is_one_group() {
        let packets = [(0, 50), (20, 70), (40, 170), (60, 175), (80, 180), (100, 200), (120, 220)];
        assert_eq!(deltas(&packets), [(20.0, 20.0), (60.0, 110.0), (20.0, 20.0)]);
    }

    /// A burst ends after 100 ms: packets sent every 10 ms arrive every 4 ms, the first at 50 ms.
    #[test]
    fn a_burst_ends_after_100_ms() {
        let mut packets = vec![(0, 0)];
        packets.extend((0..30).map(|packet| (20 + 10 * packet, 50 + 4 * packet)));
        // The 25th packet of the burst arrives at 146 ms, and the 26th at 150 ms starts another group.
        assert_eq!(deltas(&packets), [(260.0, 146.0)]);
    }

    #[test]
    fn packets_and_groups_out_of_order_are_skipped() {
        assert_eq!(deltas(&[(0, 50), (10, 60), (5, 61), (20, 70)]), [(10.0, 10.0)]);
        // The receiver's clock steps back by 90 ms at the third packet. Three groups later, the groups start again.
        let before = [(0, 50), (20, 90)];
        let after = (0..7).map(|packet| (40 + 20 * packet, 20 + 21 * packet));
        assert_eq!(deltas(&before.into_iter().chain(after).collect::<Vec<_>>()), [(20.0, 21.0)]);
    }
}
