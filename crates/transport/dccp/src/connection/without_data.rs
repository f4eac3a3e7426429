//! Packets of the peer that have not arrived and carried no data, as NDP Counts name them (RFC 4340 section 7.7).
//!
//! A lost acknowledgment or path MTU probe is no lost data. The next packet has the number of packets without data that were sent just before it.

use super::seen::Seen;
use std::collections::BTreeSet;

/// Missing packets without data.
#[derive(Clone, Debug, Default)]
pub(crate) struct WithoutData {
    /// Those that may still arrive.
    recent: BTreeSet<u64>,
    /// Those that are too old to arrive.
    settled: u64,
}

impl WithoutData {
    /// Notes a packet that has arrived, and that this many packets without data were sent just before it. Of those only the missing packets
    /// directly below it count: a packet in between has its own count.
    #[inline]
    pub(crate) fn on_packet(&mut self, number: u64, ndp_count: u64, seen: &Seen) {
        if !self.recent.is_empty() {
            self.recent.remove(&number);
        }
        if ndp_count > 0 {
            self.name(number, ndp_count, seen);
        }
    }

    #[inline(never)]
    fn name(&mut self, number: u64, ndp_count: u64, seen: &Seen) {
        let first = number.saturating_sub(ndp_count).max(seen.oldest());
        self.recent.extend((first..number).rev().take_while(|number| !seen.has_come(*number)));
        let recent = self.recent.split_off(&seen.oldest());
        let settled = std::mem::replace(&mut self.recent, recent);
        self.settled += settled.len() as u64;
    }

    /// Number of missing packets that carried no data.
    pub(crate) fn count(&self) -> u64 {
        self.settled + self.recent.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The packets arrive in this order, each with its NDP Count.
    fn missing(arrivals: &[(u64, u64)]) -> u64 {
        let (mut seen, mut without_data) = (Seen::new(128), WithoutData::default());
        for (number, ndp_count) in arrivals {
            assert!(seen.insert(*number));
            without_data.on_packet(*number, *ndp_count, &seen);
        }
        without_data.count()
    }

    /// RFC 4340 section 7.7, by hand: D is data, N is not. Of `D0 N1 N2 D3 D4` packets 1 to 3 are lost: 4 names none. Of `D0 N1 N2 D3` the lost ones
    /// are named by 3, or by 2, and one that arrives late is missing no more.
    #[test]
    fn missing_packets_without_data_are_named_by_the_next_one() {
        assert_eq!(missing(&[(0, 0), (4, 0)]), 0);
        assert_eq!(missing(&[(0, 0), (3, 2)]), 2);
        assert_eq!(missing(&[(0, 0), (2, 1), (3, 2)]), 1);
        assert_eq!(missing(&[(0, 0), (3, 2), (1, 0)]), 1);
        assert_eq!(missing(&[(0, 0), (4, 0), (3, 2), (2, 1)]), 1);
    }

    /// A peer may name more packets than it has sent, again and again: memory and time stay within the window.
    #[test]
    fn a_count_that_lies_costs_no_more_than_the_window() {
        let far = 1 << 40;
        assert_eq!(missing(&[(0, u64::MAX), (5, u64::MAX)]), 4);
        assert_eq!(missing(&[(0, 0), (far, 1 << 47), (2 * far, 1 << 47)]), 2 * 127);
    }
}
