//! Init Cookies: the state of a connection in RESPOND, stored by its client (RFC 4340 section 8.1.4).
//!
//! Only this listener can create its cookies. A cookie holds the epoch of the key, the service code, the time of the
//! Response, the features that differ from their initial values, and a 128-bit tag. The tag is SipHash-2-4 (Aumasson
//! and Bernstein 2012), a keyed hash for short messages, over these fields, the peer's address and both initial
//! sequence numbers. Cookies contain no secrets and are not encrypted.
//!
//! A cookie replayed within its lifetime would open its connection again and deliver its data again. Section 8.1.4 does
//! not address this. Here the most recently used cookies are remembered and rejected.
//!
//! The sequence number of a Response is a keyed hash of the peer plus the Request's number. Numbers of repeated
//! Responses therefore increase with those of the Requests, and the acknowledgement number of an echoed cookie
//! identifies the Request.

use crate::path::Peer;
use crate::{ServiceCode, Timestamp};
use headway_units::{Duration, Entropy, Instant, Seq48};
use siphasher::sip128::{Hasher128, SipHasher24};
use std::collections::VecDeque;
use std::hash::Hasher;

/// Size of epoch, service code and time, in bytes.
const HEAD: usize = 9;
const TAG: usize = 16;
/// Maximum number of remembered used cookies: 32 kB.
const MAX_SPENT: usize = 4096;

type Key = [u64; 2];

#[derive(Clone, Copy, Debug)]
struct Keys {
    numbers: Key,
    cookies: Key,
}

#[derive(Debug)]
pub(crate) struct CookieKeys {
    random: Box<dyn Entropy>,
    current: Keys,
    previous: Keys,
    /// Number of key changes, modulo 256.
    epoch: u8,
    change_at: Instant,
    lifetime: Duration,
    /// First 64 bits of the tags of used cookies, the oldest first.
    spent: VecDeque<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opened<'a> {
    pub(crate) isr: Seq48,
    pub(crate) service: ServiceCode,
    pub(crate) response_sent: Instant,
    pub(crate) features: &'a [u8],
}

impl CookieKeys {
    pub(crate) fn new(now: Instant, lifetime: Duration, mut random: Box<dyn Entropy>) -> Self {
        let [current, previous] = [(); 2].map(|()| keys(random.as_mut()));
        Self { random, current, previous, epoch: 0, change_at: now + lifetime, lifetime, spent: VecDeque::new() }
    }

    /// Replaces expired keys. The previous keys stay valid for one more lifetime.
    fn rotate(&mut self, now: Instant) {
        // Two changes invalidate all old cookies; more would have no effect.
        for _ in 0..2 {
            if now < self.change_at {
                return;
            }
            self.previous = std::mem::replace(&mut self.current, keys(self.random.as_mut()));
            self.epoch = self.epoch.wrapping_add(1);
            self.change_at = (self.change_at + self.lifetime).max(now.checked_sub(self.lifetime).unwrap_or(now));
        }
        self.change_at = now + self.lifetime;
    }

    /// Returns the initial sequence number of a connection whose state is kept: a clock with a tick of 4 us, past the
    /// numbers of earlier connections of the peer, plus a keyed offset for each peer (section 7.2). The offset changes
    /// with the keys, so that a former owner of the peer's address and port cannot predict it. Reuse of a recent number
    /// is then as likely as one guess among 2^48.
    pub(crate) fn initial_number(&mut self, now: Instant, peer: &Peer) -> Seq48 {
        self.rotate(now);
        Seq48::new(offset(self.current.numbers, peer)) + now.as_nanos() / 4000
    }
    pub(crate) fn response_number(&mut self, now: Instant, peer: &Peer, request: Seq48) -> Seq48 {
        self.rotate(now);
        request + offset(self.current.numbers, peer)
    }

    pub(crate) fn spend(&mut self, cookie: &[u8]) {
        if self.spent.len() == MAX_SPENT {
            self.spent.pop_front();
        }
        self.spent.extend(mark(cookie));
    }
    pub(crate) fn is_spent(&self, cookie: &[u8]) -> bool {
        mark(cookie).is_some_and(|mark| self.spent.contains(&mark))
    }

    pub(crate) fn seal(
        &mut self,
        now: Instant,
        peer: &Peer,
        iss: Seq48,
        isr: Seq48,
        service: ServiceCode,
        features: &[u8],
    ) -> Vec<u8> {
        self.rotate(now);
        let mut cookie = Vec::with_capacity(HEAD + features.len() + TAG);
        cookie.push(self.epoch);
        cookie.extend_from_slice(&service.0.to_be_bytes());
        cookie.extend_from_slice(&Timestamp::at(now).0.to_be_bytes());
        cookie.extend_from_slice(features);
        let tag = tag(self.current.cookies, peer, iss, isr, &cookie);
        cookie.extend_from_slice(&tag);
        cookie
    }

    /// Returns the contents of a cookie echoed with this acknowledgement number; `None` if it has
    /// expired or is not ours.
    pub(crate) fn open<'a>(&mut self, now: Instant, peer: &Peer, ack: Seq48, cookie: &'a [u8]) -> Option<Opened<'a>> {
        self.rotate(now);
        let (payload, found) = cookie.split_at_checked(cookie.len().checked_sub(TAG)?)?;
        let (&[epoch, a, b, c, d, e, f, g, h], features) = payload.split_first_chunk::<HEAD>()?;
        let keys = match self.epoch.wrapping_sub(epoch) {
            0 => self.current,
            1 => self.previous,
            _ => return None,
        };
        let isr = ack - offset(keys.numbers, peer);
        let wanted = tag(keys.cookies, peer, ack, isr, payload);
        // Compare in constant time, so that the response time does not show how much of a guess was right.
        let difference = wanted.iter().zip(found).fold(0, |all, (a, b)| all | (a ^ b));
        if difference != 0 {
            return None;
        }
        let age = Timestamp(u32::from_be_bytes([e, f, g, h])).until(now);
        let response_sent = now.checked_sub(age)?;
        Some(Opened { isr, service: ServiceCode(u32::from_be_bytes([a, b, c, d])), response_sent, features })
    }
}

fn keys(random: &mut dyn Entropy) -> Keys {
    let [numbers, cookies] = [(); 2].map(|()| [random.bits(), random.bits()]);
    Keys { numbers, cookies }
}

/// Returns the first 64 bits of the cookie's tag, which identify it.
fn mark(cookie: &[u8]) -> Option<u64> {
    let tag = cookie.len().checked_sub(TAG)?;
    cookie.get(tag..)?.first_chunk().map(|mark| u64::from_be_bytes(*mark))
}

fn offset(numbers: Key, peer: &Peer) -> u64 {
    let mut hasher = hasher(numbers);
    hasher.write(peer.as_bytes());
    hasher.finish128().h1 >> 16
}

fn hasher(key: Key) -> SipHasher24 {
    SipHasher24::new_with_keys(key[0], key[1])
}

fn tag(key: Key, peer: &Peer, iss: Seq48, isr: Seq48, payload: &[u8]) -> [u8; TAG] {
    let mut hasher = hasher(key);
    for word in [iss.value(), isr.value()] {
        hasher.write(&word.to_be_bytes());
    }
    hasher.write(peer.as_bytes());
    hasher.write(payload);
    let hash = hasher.finish128();
    let mut tag = [0; TAG];
    tag[..8].copy_from_slice(&hash.h1.to_be_bytes());
    tag[8..].copy_from_slice(&hash.h2.to_be_bytes());
    tag
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Path;
    use crate::path::Ports;
    use headway_units::Random;
    use proptest::prelude::*;

    const LIFETIME: Duration = Duration::from_secs(240);
    const SERVICE: ServiceCode = ServiceCode(7);

    fn peer(host: u32) -> Peer {
        let path = Path::Ipv4 { local: [192, 0, 2, 1].into(), remote: host.into() };
        path.peer(Ports { local: 5004, remote: 50000 })
    }

    fn keys() -> CookieKeys {
        CookieKeys::new(Instant::ZERO, LIFETIME, Box::new(Random::new(1, "listener")))
    }

    #[test]
    fn an_echoed_cookie_is_accepted() {
        let (mut keys, isr, sent) = (keys(), Seq48::new(5), Instant::from_secs(3));
        let iss = keys.response_number(sent, &peer(1), isr);
        let cookie = keys.seal(sent, &peer(1), iss, isr, SERVICE, &[1, 2, 3]);
        let opened = keys.open(Instant::from_secs(4), &peer(1), iss, &cookie);
        let wanted = Opened { isr, service: SERVICE, response_sent: sent, features: &[1, 2, 3] };
        assert_eq!(opened, Some(wanted));
        assert_eq!(keys.open(sent, &peer(2), iss, &cookie), None);
        assert_eq!(keys.open(sent, &peer(1), iss + 1, &cookie), None);
    }

    /// Section 7.2: "an implementation MUST provide each 4-tuple with an independent initial sequence number space".
    /// New numbers are past those of a recent connection at up to 250,000 packets per second (a clock of 4 us).
    #[test]
    fn initial_numbers_are_independent_for_each_peer() {
        let mut keys = keys();
        let (now, later) = (Instant::from_secs(3), Instant::from_secs(239));
        let first = keys.initial_number(now, &peer(1));
        assert_ne!(keys.initial_number(now, &peer(2)), first);
        assert_eq!(keys.initial_number(later, &peer(1)).distance_from(first), 236 * 250_000);
        let mut other_host = CookieKeys::new(Instant::ZERO, LIFETIME, Box::new(Random::new(2, "listener")));
        assert_ne!(other_host.initial_number(now, &peer(1)), first);
    }

    /// Section 7.2, sequence number attacks: a former owner of the peer's address and port knows its numbers only until
    /// the keys change. The initial number of a cookie's Response is recovered while the cookie is valid.
    #[test]
    fn initial_numbers_change_with_the_keys() {
        let (mut keys, isr) = (keys(), Seq48::new(5));
        let (before, after) = (Instant::from_secs(239), Instant::from_secs(240));
        let numbers = [before, after].map(|now| keys.initial_number(now, &peer(1)));
        assert_ne!(numbers[1].distance_from(numbers[0]), 250_000);
        let mut keys = self::keys();
        let iss = keys.response_number(before, &peer(1), isr);
        let cookie = keys.seal(before, &peer(1), iss, isr, SERVICE, &[]);
        assert_ne!(keys.response_number(after, &peer(1), isr), iss);
        assert_eq!(keys.open(after, &peer(1), iss, &cookie).map(|opened| opened.isr), Some(isr));
    }

    #[test]
    fn the_last_spent_cookies_are_remembered() {
        let (mut keys, peers) = (keys(), 0..5000_u32);
        let cookie = |keys: &mut CookieKeys, host: u32| {
            keys.seal(Instant::ZERO, &peer(host), Seq48::new(1), Seq48::new(5), SERVICE, &[])
        };
        for peer in peers.clone() {
            let cookie = cookie(&mut keys, peer);
            assert!(!keys.is_spent(&cookie));
            keys.spend(&cookie);
        }
        let spent = peers.filter(|peer| {
            let cookie = cookie(&mut keys, *peer);
            keys.is_spent(&cookie)
        });
        assert!(spent.eq(5000 - 4096..5000));
        keys.spend(&[1; 15]);
        assert!(!keys.is_spent(&[]));
    }

    /// Keys create cookies for one lifetime, and the cookies stay valid for one more.
    #[test]
    fn cookies_expire_after_two_key_lifetimes() {
        for (made, back, good) in
            [(0, 239, true), (239, 479, true), (0, 480, false), (0, 100_000, false), (0, 61_440, false)]
        {
            let (mut keys, isr) = (keys(), Seq48::new(5));
            let iss = keys.response_number(Instant::from_secs(made), &peer(1), isr);
            let cookie = keys.seal(Instant::from_secs(made), &peer(1), iss, isr, SERVICE, &[]);
            let opened = keys.open(Instant::from_secs(back), &peer(1), iss, &cookie);
            assert_eq!(opened.is_some(), good, "{made} {back}");
        }
    }

    proptest! {
        /// Truncated or modified cookies are rejected.
        #[test]
        fn changed_cookies_are_rejected(at in 0usize..28, also in 0usize..28, bit in 0u32..8, cut in 0usize..28) {
            let (mut keys, isr) = (keys(), Seq48::new(5));
            let iss = keys.response_number(Instant::ZERO, &peer(1), isr);
            let mut cookie = keys.seal(Instant::ZERO, &peer(1), iss, isr, SERVICE, &[1, 2, 3]);
            prop_assert_eq!(keys.open(Instant::ZERO, &peer(1), iss, &cookie[..cut]), None);
            cookie[at] ^= 1 << bit;
            prop_assert_eq!(keys.open(Instant::ZERO, &peer(1), iss, &cookie), None);
            cookie[also] ^= 1 << bit;
            prop_assert_eq!(keys.open(Instant::ZERO, &peer(1), iss, &cookie).is_some(), at == also);
        }
    }
}
