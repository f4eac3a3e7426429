//! A policer: a token bucket that drops packets above a rate immediately, except for bursts.
//!
//! The bucket holds at most `burst` bytes of tokens, is full at the start and fills at `rate`. A packet that finds
//! tokens for its size uses them and passes; other packets are dropped and use none. In any time t, at most `burst` +
//! `rate` t passes, and no packet waits (`tc police`; RFC 2475 section 2.3.3.4). Unlike in RFC 2697 and RFC 2698,
//! there is no coloring.

use crate::bucket::{self, Bucket};
use headway_units::{Bytes, Instant, OptionError, Rate};
use serde::{Deserialize, Serialize};

/// The rate and burst of a policer. Sizes are those of IP packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicerOptions {
    /// Rate at which packets pass continuously, above 0bps.
    pub rate: Rate,
    /// Size of the token bucket: bytes that pass at once in addition to the rate. At least the mtu of the link, or
    /// 1500B without one; at most 2GB.
    pub burst: Bytes,
}

impl PolicerOptions {
    /// Checks that rate and burst are in range for a link with this MTU.
    ///
    /// # Errors
    /// Returns the first key that is out of range.
    pub fn check(&self, mtu: Option<Bytes>) -> Result<(), OptionError> {
        bucket::check("policer", self.rate, self.burst, mtu)
    }
}

#[derive(Debug)]
pub(crate) struct Policer(Bucket);

impl Policer {
    pub(crate) fn new(options: &PolicerOptions) -> Self {
        Self(Bucket::new(options.rate, options.burst, std::iter::empty()))
    }

    pub(crate) fn passes(&mut self, bytes: u32, now: Instant) -> bool {
        self.0.take(bytes, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn policer(rate: &str, burst: u64) -> Policer {
        Policer::new(&PolicerOptions { rate: rate.parse().unwrap(), burst: Bytes::new(burst) })
    }

    /// 1 Mb/s are a packet of 1000 B every 8 ms. Of five packets at once, three find tokens in a full bucket of 3000
    /// B. One more passes 8 ms later, but not a nanosecond earlier.
    #[test]
    fn a_full_bucket_passes_a_burst_and_then_the_rate() {
        let mut bucket = policer("1Mbps", 3000);
        let at_once: Vec<_> = (0..5).map(|_| bucket.passes(1000, Instant::from_secs(1))).collect();
        assert_eq!(at_once, [true, true, true, false, false]);
        assert!(!bucket.passes(1000, Instant::from_nanos(1_007_999_999)));
        assert!(bucket.passes(1000, Instant::from_nanos(1_008_000_000)));
        assert!(!bucket.passes(1, Instant::from_nanos(1_008_000_000)));
        // 5 ms are 625 B: enough for a packet of that size, but not of 626 B, which uses no tokens.
        assert!(!bucket.passes(626, Instant::from_millis(1013)));
        assert!(bucket.passes(625, Instant::from_millis(1013)));
    }

    /// 60 s of packets of 1000 B at 3 Mb/s, 8/3 ms apart, through 2 Mb/s and 10 kB: 10 kB and 15 MB are 15010
    /// of 22500.
    #[test]
    fn two_thirds_of_a_load_of_150_percent_pass() {
        let mut bucket = policer("2Mbps", 10_000);
        let passed = (0..22_500u64).filter(|n| bucket.passes(1000, Instant::from_nanos(n * 8_000_000 / 3))).count();
        // The last packet arrives 8/3 ms before 60 s, and one more may be partly filled.
        assert!((15_008..=15_010).contains(&passed), "{passed}");
    }

    #[test]
    fn an_idle_time_fills_the_bucket_up_to_the_burst() {
        let mut bucket = policer("18000000Tbps", 2_000_000_000);
        assert!(bucket.passes(2_000_000_000, Instant::ZERO));
        let later = Instant::from_secs(1_000_000);
        assert!(bucket.passes(2_000_000_000, later));
        assert!(!bucket.passes(1, later));
        assert!(!bucket.passes(u32::MAX, Instant::from_secs(2_000_000)));
    }

    #[test]
    fn a_packet_must_fit_into_the_bucket() {
        let check = |rate: &str, burst, mtu: Option<u64>| {
            let options = PolicerOptions { rate: rate.parse().unwrap(), burst: Bytes::new(burst) };
            options.check(mtu.map(Bytes::new)).map_err(|error| (error.key, error.message))
        };
        assert_eq!(check("1Mbps", 1500, None), Ok(()));
        assert_eq!(check("1Mbps", 200, Some(200)), Ok(()));
        for (rate, burst, mtu, key, part) in [
            ("0bps", 1500, None, "rate", "passes nothing"),
            ("1Mbps", 1499, None, "burst", "a packet of 1.5kB never passes a burst of 1.499kB; expected 1.5kB or more"),
            ("1Mbps", 1500, Some(9000), "burst", "a packet of 9kB never passes"),
            ("1Mbps", 2_000_000_001, None, "burst", "at most 2GB"),
        ] {
            let (found, message) = check(rate, burst, mtu).unwrap_err();
            assert_eq!(found, key, "{message}");
            assert!(message.contains(part), "{message}");
        }
    }

    proptest! {
        /// In any time t at most burst + rate t passes, to the token; traffic within that bound is never dropped.
        #[test]
        fn never_more_than_burst_and_rate(
            rate in 1u64..20_000_000_000,
            burst in 1500u64..100_000,
            packets in prop::collection::vec((0u64..3_000_000, 1u32..1501), 1..80),
        ) {
            let rate_bps = Rate::from_bits_per_second(rate);
            let mut bucket = Policer::new(&PolicerOptions { rate: rate_bps, burst: Bytes::new(burst) });
            let mut now = 0;
            // Times, and the tokens that passed then.
            let mut passed: Vec<(u64, u128)> = Vec::new();
            for (gap, bytes) in packets {
                now += gap;
                let cost = u128::from(bytes) * 8_000_000_000;
                let full = u128::from(burst) * 8_000_000_000;
                // Whether with this packet all intervals that end now are within the bound.
                let room = |passed: &[(u64, u128)]| (0..=passed.len()).all(|first| {
                    let begin = passed.get(first).map_or(now, |(at, _)| *at);
                    let within: u128 = passed[first..].iter().map(|(_, cost)| cost).sum();
                    within + cost <= full + u128::from(rate) * u128::from(now - begin)
                });
                let fits = room(&passed);
                let passes = bucket.passes(bytes, Instant::from_nanos(now));
                prop_assert_eq!(passes, fits);
                if passes {
                    passed.push((now, cost));
                }
            }
        }
    }
}
