//! Rate limits: token buckets for each source and in total.

use headway_units::{Duration, Instant};
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};

/// Number of buckets. Prefixes may share a bucket; without the hash key an attacker cannot choose which.
const BUCKETS: usize = 1024;

/// Token bucket, stored as the time when it is full.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket(Instant);

/// Size of a bucket, and tokens per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Allowance {
    pub(super) burst: u64,
    pub(super) per_second: u64,
}

impl Allowance {
    /// Takes a token if at least `spare` tokens remain.
    fn take(self, bucket: &mut Bucket, now: Instant, spare: u64) -> bool {
        let each = Duration::from_nanos(1_000_000_000 / self.per_second.max(1));
        let full = bucket.0.max(now) + each;
        let fits = full.since(now) <= each * self.burst.saturating_sub(spare);
        if fits {
            bucket.0 = full;
        }
        fits
    }
}

/// One bucket for each source of datagrams.
#[derive(Debug)]
pub(super) struct BySource {
    allowance: Allowance,
    key: RandomState,
    buckets: Vec<Bucket>,
}

impl BySource {
    pub(super) fn new(allowance: Allowance) -> Self {
        Self { allowance, key: RandomState::new(), buckets: vec![Bucket::default(); BUCKETS] }
    }
    /// Takes a token for a source that has proved its address.
    pub(super) fn take(&mut self, now: Instant, source: IpAddr) -> bool {
        self.take_leaving(now, source, 0)
    }
    /// Takes a token for an unproven source. Half of the bucket is reserved for proven sources, so that spoofed
    /// datagrams cannot empty it.
    pub(super) fn take_unproven(&mut self, now: Instant, source: IpAddr) -> bool {
        self.take_leaving(now, source, self.allowance.burst / 2)
    }
    fn take_leaving(&mut self, now: Instant, source: IpAddr, spare: u64) -> bool {
        let index = self.key.hash_one(source) % BUCKETS as u64;
        self.buckets.get_mut(index as usize).is_some_and(|bucket| self.allowance.take(bucket, now, spare))
    }
}

/// One bucket for all sources.
#[derive(Debug)]
pub(super) struct Overall(Allowance, Bucket);

impl Overall {
    pub(super) fn new(allowance: Allowance) -> Self {
        Self(allowance, Bucket::default())
    }
    pub(super) fn take(&mut self, now: Instant) -> bool {
        self.0.take(&mut self.1, now, 0)
    }
}

/// Returns the prefix that one customer of a provider has at least: /24 in IPv4, /48 in IPv6.
pub(super) fn prefix(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            IpAddr::from([a, b, c, 0])
        }
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 80))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten tokens at once, half of them for unproven sources, then two per second.
    #[test]
    fn tokens_are_refilled() {
        let mut limits = BySource::new(Allowance { burst: 10, per_second: 2 });
        let source = IpAddr::from([192, 0, 2, 0]);
        let now = Instant::from_secs(9);
        assert_eq!((0..20).filter(|_| limits.take_unproven(now, source)).count(), 5);
        assert_eq!((0..20).filter(|_| limits.take(now, source)).count(), 5);
        let later = now + Duration::from_millis(1500);
        assert_eq!((0..20).filter(|_| limits.take(later, source)).count(), 3);
        assert!(limits.take(Instant::from_secs(1000), source));
    }

    #[test]
    fn prefixes_are_24_and_48_bits_long() {
        let of = |text: &str| prefix(text.parse().unwrap()).to_string();
        assert_eq!(of("192.0.2.77"), "192.0.2.0");
        assert_eq!(of("::ffff:192.0.2.77"), "192.0.2.0");
        assert_eq!(of("2001:db8:1:2:3::4"), "2001:db8:1::");
    }
}
