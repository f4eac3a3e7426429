//! Missing packets of the peer that carried no data, according to NDP Counts (RFC 4340 section 7.7).
//!
//! A lost acknowledgement or path MTU probe is no lost data. An NDP Count is the number of packets without data sent
//! just before its packet.

use super::seen::Seen;
use std::collections::BTreeSet;

#[derive(Clone, Debug, Default)]
pub(crate) struct WithoutData {
    recent: BTreeSet<u64>,
    settled: u64,
}

impl WithoutData {
    /// Records a received packet, and that this many packets without data were sent just before it. Only missing
    /// packets directly below it count: a received packet in between has its own count.
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
        self.recent.extend((first..number).rev().take_while(|number| !seen.contains(*number)));
        let recent = self.recent.split_off(&seen.oldest());
        let settled = std::mem::replace(&mut self.recent, recent);
        self.settled += settled.len() as u64;
    }

    pub(crate) fn count(&self) -> u64 {
        self.settled + self.recent.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the count after packets with these numbers and NDP Counts arrived in this order.
    fn missing(arrivals: &[(u64, u64)]) -> u64 {
        let (mut seen, mut without_data) = (Seen::new(128), WithoutData::default());
        for (number, ndp_count) in arrivals {
            assert!(seen.insert(*number));
            without_data.on_packet(*number, *ndp_count, &seen);
        }
        without_data.count()
    }

    /// RFC 4340 section 7.7, by hand; D is data, N is not. In `D0 N1 N2 D3 D4`, packets 1 to 3 are lost and 4 covers
    /// none. In `D0 N1 N2 D3`, 3 or 2 covers the lost ones. A packet that arrives late is no longer missing.
    #[test]
    fn ndp_counts_cover_missing_packets_without_data() {
        assert_eq!(missing(&[(0, 0), (4, 0)]), 0);
        assert_eq!(missing(&[(0, 0), (3, 2)]), 2);
        assert_eq!(missing(&[(0, 0), (2, 1), (3, 2)]), 1);
        assert_eq!(missing(&[(0, 0), (3, 2), (1, 0)]), 1);
        assert_eq!(missing(&[(0, 0), (4, 0), (3, 2), (2, 1)]), 1);
    }

    /// A peer may repeatedly claim more packets than it has sent. Memory and time remain bounded by the window.
    #[test]
    fn a_false_ndp_count_is_bounded_by_the_window() {
        let far = 1 << 40;
        assert_eq!(missing(&[(0, u64::MAX), (5, u64::MAX)]), 4);
        assert_eq!(missing(&[(0, 0), (far, 1 << 47), (2 * far, 1 << 47)]), 2 * 127);
    }
}
