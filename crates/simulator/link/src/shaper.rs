//! A shaper: a token bucket that delays what comes above a rate, but for bursts (RFC 2475 section 2.3.3.3; Linux `tbf`).
//!
//! The packet that leaves the queue is transmitted as soon as the bucket has its own size in tokens, which it takes then; what is behind it waits in the
//! queue meanwhile. So over any time t transmissions of at most `burst` + `rate` t begin. Nothing is dropped for want of tokens: that is the queue's
//! affair. The rate of a burst (`tbf`'s `peakrate`) is the link's own.

use crate::bucket::{self, Bucket};
use crate::changes::{LinkChange, LinkChanges};
use headway_units::{Bytes, Duration, Instant, OptionError, Rate};
use serde::{Deserialize, Serialize};

/// What a shaper lets through. Sizes are those of IP packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShaperOptions {
    /// The rate in the long run, more than 0bps.
    pub rate: Rate,
    /// How much may go at once on top of it: at least the link's mtu, or 1500B without one; at most 2GB. Larger packets are dropped.
    pub burst: Bytes,
    /// Other rates, in order of time. Tokens are kept at a change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ShaperChange>,
}

/// Another rate of a shaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShaperChange {
    /// When, after the start of the run.
    pub at: Duration,
    /// The rate from then on. The last one is above 0bps.
    pub rate: Rate,
}

impl ShaperOptions {
    /// Ranges that the types do not already keep, for a link with that MTU.
    ///
    /// # Errors
    /// Names the key, what is wrong with it and what would be right.
    pub fn check(&self, mtu: Option<Bytes>) -> Result<(), OptionError> {
        bucket::check("shaper", self.rate, self.burst, mtu)?;
        match LinkChanges::new(self.link_changes()) {
            Ok(_) => Ok(()),
            Err(why) => Err(OptionError::new("changes", format!("change {}: {why}", why.index()))),
        }
    }

    /// Returns the mean of its rate from one instant to another, in bit/s.
    #[must_use]
    pub fn mean_rate(&self, from: Instant, to: Instant) -> f64 {
        let changes = LinkChanges::new(self.link_changes());
        changes.map_or(self.rate.bits_per_second() as f64, |changes| changes.mean_rate(self.rate, from, to))
    }

    /// Returns from when until when the rate is zero.
    #[must_use]
    pub fn outages(&self) -> Vec<(Instant, Instant)> {
        LinkChanges::new(self.link_changes()).map_or_else(|_| Vec::new(), |changes| changes.outages())
    }

    /// Its rates as those of a link.
    fn link_changes(&self) -> Vec<LinkChange> {
        let change = |change: &ShaperChange| LinkChange { at: change.at, rate: Some(change.rate), delay: None };
        self.changes.iter().map(change).collect()
    }
}

/// A running shaper.
#[derive(Debug)]
pub(crate) struct Shaper(Bucket);

impl Shaper {
    /// Full, at time zero.
    pub(crate) fn new(options: &ShaperOptions) -> Self {
        let changes = options.changes.iter().map(|change| (Instant::ZERO + change.at, change.rate));
        Self(Bucket::new(options.rate, options.burst, changes))
    }

    /// When the transmission of a packet begins that could begin at `start`.
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

    /// 3 Mb/s are a packet of 1000 B each 2666666.67 ns. Of a full bucket of 2000 B two packets go at once; the others go at the first nanosecond at which
    /// there are tokens, and the third of a nanosecond that is left each time is not lost: three take 8 ms.
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

    /// 7 Mb/s are 12000 bits each 1714285.714 ns. With a burst of one packet the bucket is full at the exact time of each start: the thousandth packet after the first
    /// begins at 1714285714.286 ns. It was up to a nanosecond later for each packet.
    #[test]
    fn a_packet_as_large_as_the_burst_loses_no_tokens() {
        let mut shaper = shaper("7Mbps", 1500);
        let last = (0..=1000).fold(Instant::ZERO, |start, _| shaper.begins(start, 1500));
        assert_eq!(last, Instant::from_nanos(1_714_285_715));
    }

    /// RFC 2475 section 2.3.3.3: a shaper delays. What comes within the profile is not delayed, and a silence fills the bucket and no more.
    #[test]
    fn what_is_within_the_profile_is_not_delayed() {
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
        /// A packet begins at the first instant at which no time that ends there holds more than burst + rate t, to the last token. Packets are smaller than the
        /// burst by more than a nanosecond of tokens: one that needs all of it begins within a nanosecond (`a_packet_as_large_as_the_burst_loses_no_tokens`).
        #[test]
        fn never_more_than_burst_and_rate_and_never_later(
            rate in 1_000u64..20_000_000_000,
            burst in 1510u64..100_000,
            packets in prop::collection::vec((0u64..3_000_000, 1u32..1501), 1..80),
        ) {
            let rate_bps = Rate::from_bits_per_second(rate);
            let mut shaper = Shaper::new(&ShaperOptions { rate: rate_bps, burst: Bytes::new(burst), changes: Vec::new() });
            let tokens = |bytes: u64| u128::from(bytes) * 8_000_000_000;
            let mut begun: Vec<(u64, u128)> = Vec::new();
            let (mut came, mut free) = (0, 0);
            for (gap, bytes) in packets {
                came += gap;
                let start = came.max(free);
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
