//! How often something may happen that costs us: tokens, by where they come from.

use headway_units::{Duration, Instant};
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};

/// Places for tokens. Prefixes that share one share its tokens; who does not know the key cannot choose with whom.
const PLACES: usize = 1024;

/// A token bucket, told by the instant at which it is full again.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket(Instant);

/// How many at once, and how many a second from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Allowance {
    pub(super) burst: u64,
    pub(super) per_second: u64,
}

impl Allowance {
    /// Takes one, if `spare` of them are left then.
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

/// One for each source of datagrams.
#[derive(Debug)]
pub(super) struct BySource {
    allowance: Allowance,
    key: RandomState,
    buckets: Vec<Bucket>,
}

impl BySource {
    pub(super) fn new(allowance: Allowance) -> Self {
        Self { allowance, key: RandomState::new(), buckets: vec![Bucket::default(); PLACES] }
    }
    /// For who has shown that it is there.
    pub(super) fn take(&mut self, now: Instant, source: IpAddr) -> bool {
        self.take_but(now, source, 0)
    }
    /// For who may be anybody: the lower half is kept for the others, so that it cannot be used up in their name.
    pub(super) fn take_unproven(&mut self, now: Instant, source: IpAddr) -> bool {
        self.take_but(now, source, self.allowance.burst / 2)
    }
    fn take_but(&mut self, now: Instant, source: IpAddr, spare: u64) -> bool {
        let place = self.key.hash_one(source) % PLACES as u64;
        self.buckets.get_mut(place as usize).is_some_and(|bucket| self.allowance.take(bucket, now, spare))
    }
}

/// One for all.
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

/// What one customer of a provider has at least: a /24 of IPv4, a /48 of IPv6.
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

    /// Ten at once, then two a second; and half of them are not for anybody.
    #[test]
    fn tokens_come_back() {
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
    fn a_prefix_is_a_customer() {
        let of = |text: &str| prefix(text.parse().unwrap()).to_string();
        assert_eq!(of("192.0.2.77"), "192.0.2.0");
        assert_eq!(of("::ffff:192.0.2.77"), "192.0.2.0");
        assert_eq!(of("2001:db8:1:2:3::4"), "2001:db8:1::");
    }
}
