//! Cookies (RFC 6347 section 4.2.1, RFC 9147 section 5.1) without a byte of state until they come back.
//!
//! The library has cookies, but each of its objects knows only its own, so that each client that is asked would cost an object until it
//! answers or a time has passed. Here the object that asks is dropped at once. What it needs to go on, the client has: the cookie says that the
//! client is where it says it is, and the ClientHello that brings it says what the first was ([`Hello::first`]). A new object is
//! told of that one, asks in the same words, which go nowhere, and then gets the second. The cookie holds what may differ, the padding's length:
//! ```text
//! cookie = HMAC-SHA-256(key, path, client's random, padding, period)[..30] | padding
//! ```
//! It is good in the period in which it was made, and in the next.
//!
//! The library computes its cookie as the HMAC of the client's random number: that one value is replaced, through the
//! library's own interface for cryptography. All else passes through.

use super::hello::Hello;
use super::path_bytes;
use dimpl::CryptoError;
use dimpl::crypto::aws_lc_rs::default_provider;
use dimpl::crypto::{CryptoProvider, HashAlgorithm, HmacProvider};
use headway_dccp::Path;
use headway_units::Instant;
use std::cell::Cell;

const LEN: usize = 32;
const TAG: usize = 30;
/// Stands for no padding at all.
const NO_PADDING: u16 = u16::MAX;
/// A cookie comes back within a round trip, or after a retransmission.
const PERIOD_NANOS: u64 = 10_000_000_000;

pub(super) type Cookie = [u8; LEN];

/// The key of one server.
#[derive(Debug)]
pub(super) struct Cookies([u8; 32]);

impl Cookies {
    pub(super) fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// What this client is asked to bring back.
    pub(super) fn bake(&self, now: Instant, path: Path, hello: &Hello<'_>) -> Option<Cookie> {
        self.of(now.as_nanos() / PERIOD_NANOS, path, &hello.random, hello.padding.unwrap_or(NO_PADDING))
    }

    /// How long the first one's padding was, if what it brings back is what it was given.
    pub(super) fn open(&self, now: Instant, path: Path, hello: &Hello<'_>) -> Option<(Cookie, Option<u16>)> {
        let cookie = Cookie::try_from(hello.cookie()?).ok()?;
        let padding = u16::from_be_bytes([cookie[TAG], cookie[TAG + 1]]);
        let period = now.as_nanos() / PERIOD_NANOS;
        let good = [Some(period), period.checked_sub(1)].into_iter().flatten().any(|period| {
            let expected = self.of(period, path, &hello.random, padding);
            expected.is_some_and(|expected| expected.iter().zip(cookie).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0)
        });
        good.then_some((cookie, Some(padding).filter(|&padding| padding != NO_PADDING)))
    }

    fn of(&self, period: u64, path: Path, random: &[u8; 32], padding: u16) -> Option<Cookie> {
        let padding = padding.to_be_bytes();
        let data = [&path_bytes(path)[..], random, &padding, &period.to_be_bytes()].concat();
        let mut cookie = default_provider().hmac_provider.hmac_sha256(&self.0, &data).ok()?;
        cookie[TAG..].copy_from_slice(&padding);
        Some(cookie)
    }
}

thread_local! {
    /// A client's random number, and the cookie that stands for its HMAC. The library's interface has no place for it, and calls
    /// back on the thread that calls it.
    static INSTEAD: Cell<Option<([u8; 32], Cookie)>> = const { Cell::new(None) };
}

/// Cryptography in which [`with`] can replace a cookie.
pub(super) fn provider() -> CryptoProvider {
    CryptoProvider { hmac_provider: &Hmac, ..default_provider() }
}

/// While `call` runs, this is the cookie of the client that has this random number.
pub(super) fn with<T>(random: [u8; 32], cookie: Cookie, call: impl FnOnce() -> T) -> T {
    INSTEAD.set(Some((random, cookie)));
    let result = call();
    INSTEAD.set(None);
    result
}

#[derive(Debug)]
struct Hmac;

impl HmacProvider for Hmac {
    fn hmac_sha256(&self, key: &[u8], data: &[u8]) -> Result<[u8; 32], CryptoError> {
        match INSTEAD.get() {
            Some((random, cookie)) if data == random => Ok(cookie),
            _ => default_provider().hmac_provider.hmac_sha256(key, data),
        }
    }
    fn hmac(&self, hash: HashAlgorithm, key: &[u8], data: &[u8], out: &mut [u8]) -> Result<usize, CryptoError> {
        default_provider().hmac_provider.hmac(hash, key, data, out)
    }
}
