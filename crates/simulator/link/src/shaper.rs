//! A shaper: a token bucket that delays packets above a rate and a burst (RFC 2475 section 2.3.3.3; Linux `tbf`).
//!
//! The departing packet is transmitted as soon as the bucket has tokens for its size; the packets after it wait in the
//! queue. In any time t, transmissions of at most `burst` + `rate` t begin. The shaper itself drops nothing. The rate
//! of a burst (`tbf`'s `peakrate`) is that of the link.

use crate::bucket::{self, Bucket};
use crate::changes::{LinkChange, LinkChanges};
use headway_units::{Bytes, Duration, Instant, OptionError, Rate};
use serde::{Deserialize, Serialize};

/// The rate and burst of a shaper. Sizes are those of IP packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShaperOptions {
    /// Rate at which packets pass continuously, above 0bps.
    pub rate: Rate,
    /// Size of the token bucket: bytes that pass at once in addition to the rate. At least the mtu of the link, or
    /// 1500B without one; at most 2GB. Packets above this size are dropped.
    pub burst: Bytes,
    /// Changes of the shaper's rate, in order of time. At a change the bucket keeps its tokens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ShaperChange>,
}

/// A change of the rate of a shaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShaperChange {
    /// Time of the change, from the start of the run.
    pub at: Duration,
    /// Rate of the shaper from the time of the change on; 0bps is an outage. The rate of the last change is above 0bps.
    pub rate: Rate,
}

impl ShaperOptions {
    /// Checks that rate, burst and changes are in range for a link with this MTU.
    ///
    /// # Errors
    /// Returns the first key that is out of range.
    pub fn check(&self, mtu: Option<Bytes>) -> Result<(), OptionError> {
        bucket::check("shaper", self.rate, self.burst, mtu)?;
        match LinkChanges::new(self.link_changes()) {
            Ok(_) => Ok(()),
            Err(why) => Err(OptionError::new("changes", format!("change {}: {why}", why.index()))),
        }
    }

    /// Returns the mean of the configured rate between two times, in bit/s.
    #[must_use]
    pub fn mean_rate(&self, from: Instant, to: Instant) -> f64 {
        let changes = LinkChanges::new(self.link_changes());
        changes.map_or(self.rate.bits_per_second() as f64, |changes| changes.mean_rate(self.rate, from, to))
    }

    /// Returns start and end of each outage: the times in which the rate is zero.
    #[must_use]
    pub fn outages(&self) -> Vec<(Instant, Instant)> {
        LinkChanges::new(self.link_changes()).map_or_else(|_| Vec::new(), |changes| changes.outages())
    }

    fn link_changes(&self) -> Vec<LinkChange> {
        let change = |change: &ShaperChange| LinkChange { at: change.at, rate: Some(change.rate), delay: None };
        self.changes.iter().map(change).collect()
    }
}

#[derive(Debug)]
pub(crate) struct Shaper(Bucket);

impl Shaper {
    pub(crate) fn new(options: &ShaperOptions) -> Self {
        let changes = options.changes.iter().map(|change| (Instant::ZERO + change.at, change.rate));
        Self(Bucket::new(options.rate, options.burst, changes))
    }

    /// Returns when the transmission of a packet begins that could begin at `start`.
    pub(crate) fn begins(&mut self, start: Instant, bytes: u32) -> Instant {
        self.0.take_from(bytes, start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shaper(rate: &str, burst: u64) -> Shaper {
        Shaper::new(&ShaperOptions { rate: rate.parse().unwrap(), burst: Bytes::new(burst), changes: Vec::new() })
    }

    #[test]
    fn outages_are_the_times_with_a_rate_of_zero() {
        let changes = [(5, "0bps"), (7, "1Mbps"), (8, "2Mbps")]
            .map(|(at, rate)| ShaperChange { at: Duration::from_secs(at), rate: rate.parse().unwrap() });
        let options =
            ShaperOptions { rate: "3Mbps".parse().unwrap(), burst: Bytes::new(1500), changes: changes.to_vec() };
        assert_eq!(options.outages(), [(Instant::from_secs(5), Instant::from_secs(7))]);
    }

    /// 3 Mb/s are a packet of 1000 B every 2666666.67 ns. A full bucket of 2000 B passes two packets at once; the
    /// others begin at the first nanosecond at which there are enough tokens. The remaining thirds of a nanosecond are
    /// kept: three packets take 8 ms.
    #[test]
    fn fractions_of_tokens_are_kept() {
        let mut shaper = shaper("3Mbps", 2000);
        let at = |nanos: u64| Instant::from_nanos(1_000_000_000 + nanos);
        let mut start = at(0);
        let seen = [(); 8].map(|()| {
            start = shaper.begins(start, 1000);
            start
        });
        let expected = [0, 0, 2_666_667, 5_333_334, 8_000_000, 10_666_667, 13_333_334, 16_000_000];
        assert_eq!(seen, expected.map(at));
    }

    /// 7 Mb/s are 12000 bits every 1714285.714 ns. With a burst of one packet the bucket is full at the exact time of
    /// each start: the thousandth packet after the first begins at 1714285714.286 ns. It used to be later.
    #[test]
    fn a_packet_as_large_as_the_burst_loses_no_tokens() {
        let mut shaper = shaper("7Mbps", 1500);
        let last = (0..=1000).fold(Instant::ZERO, |start, _| shaper.begins(start, 1500));
        assert_eq!(last, Instant::from_nanos(1_714_285_715));
    }

    /// RFC 2475 section 2.3.3.3: packets within the profile are not delayed, and idle time fills the bucket.
    #[test]
    fn packets_within_the_profile_are_not_delayed() {
        let mut shaper = shaper("1Mbps", 3000);
        for n in 0..100 {
            let at = Instant::from_millis(8 * n);
            assert_eq!(shaper.begins(at, 1000), at);
        }
        let later = Instant::from_secs(1_000_000);
        let begins = [3000, 1, 1].map(|bytes| shaper.begins(later, bytes));
        assert_eq!(begins, [0, 8_000, 8_000].map(|nanos| Instant::from_nanos(later.as_nanos() + nanos)));
    }

    proptest! {
        /// A packet begins at the first time at which no interval that ends there has more than burst + rate t, to the
        /// token. Packets are smaller than the burst by more than the tokens of a nanosecond: one that needs the whole
        /// burst begins within a nanosecond (`a_packet_as_large_as_the_burst_loses_no_tokens`).
        #[test]
        fn packets_begin_at_the_first_time_within_burst_and_rate(
            rate in 1_000u64..20_000_000_000,
            burst in 1510u64..100_000,
            packets in prop::collection::vec((0u64..3_000_000, 1u32..1501), 1..80),
        ) {
            let rate_bps = Rate::from_bits_per_second(rate);
            let mut shaper = Shaper::new(&ShaperOptions { rate: rate_bps, burst: Bytes::new(burst), changes: Vec::new() });
            let tokens = |bytes: u64| u128::from(bytes) * 8_000_000_000;
            let mut begun: Vec<(u64, u128)> = Vec::new();
            let (mut arrival, mut free) = (0, 0);
            for (gap, bytes) in packets {
                arrival += gap;
                let start = arrival.max(free);
                let fits = |at: u64, begun: &[(u64, u128)]| (0..=begun.len()).all(|first| {
                    let begin = begun.get(first).map_or(at, |(at, _)| *at);
                    let within: u128 = begun[first..].iter().map(|(_, cost)| cost).sum();
                    within + tokens(bytes.into()) <= tokens(burst) + u128::from(rate) * u128::from(at - begin)
                });
                free = shaper.begins(Instant::from_nanos(start), bytes).as_nanos();
                prop_assert!(free >= start && fits(free, &begun));
                prop_assert!(free == start || !fits(free - 1, &begun));
                begun.push((free, tokens(bytes.into())));
            }
        }
    }
}
