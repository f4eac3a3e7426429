//! Stateless cookies (RFC 6347 section 4.2.1, RFC 9147 section 5.1).
//!
//! An object of the library knows only its own cookie, so each client asked for one would cost an object until it
//! answers or times out. Here the object that asks is dropped at once. The client returns what is needed to
//! continue: the cookie proves its address, and its second ClientHello contains the first ([`Hello::first`]). A new
//! object receives the first ClientHello, sends the same request, which is discarded, and then receives the second.
//! The cookie also holds what may differ, the length of the padding:
//! ```text
//! cookie = HMAC-SHA-256(key, path, client's random, padding, period)[..30] | padding
//! ```
//! It is valid in the period in which it was made and in the next.
//!
//! The library computes its cookie as the HMAC of the client's random number. That value is replaced, through the
//! library's interface for cryptography; all other calls pass through.

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
/// Marks a ClientHello without padding.
const NO_PADDING: u16 = u16::MAX;
/// Period of a cookie, in nanoseconds. A cookie returns within a round trip or after a retransmission.
const PERIOD_NANOS: u64 = 10_000_000_000;

pub(super) type Cookie = [u8; LEN];

/// Cookie key of a server.
#[derive(Debug)]
pub(super) struct Cookies([u8; 32]);

impl Cookies {
    pub(super) fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// Returns the cookie for this client.
    pub(super) fn make(&self, now: Instant, path: Path, hello: &Hello<'_>) -> Option<Cookie> {
        self.of(now.as_nanos() / PERIOD_NANOS, path, &hello.random, hello.padding.unwrap_or(NO_PADDING))
    }

    /// Verifies a returned cookie. Returns it with the padding length of the first ClientHello.
    pub(super) fn verify(&self, now: Instant, path: Path, hello: &Hello<'_>) -> Option<(Cookie, Option<u16>)> {
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
    /// Client's random number and the cookie that replaces its HMAC. The library's interface cannot pass it, but
    /// calls back on the same thread.
    static REPLACEMENT: Cell<Option<([u8; 32], Cookie)>> = const { Cell::new(None) };
}

/// Returns a provider in which [`with`] can replace a cookie.
pub(super) fn provider() -> CryptoProvider {
    CryptoProvider { hmac_provider: &Hmac, ..default_provider() }
}

/// Runs `call` with this cookie for the client with this random number.
pub(super) fn with<T>(random: [u8; 32], cookie: Cookie, call: impl FnOnce() -> T) -> T {
    REPLACEMENT.set(Some((random, cookie)));
    let result = call();
    REPLACEMENT.set(None);
    result
}

#[derive(Debug)]
struct Hmac;

impl HmacProvider for Hmac {
    fn hmac_sha256(&self, key: &[u8], data: &[u8]) -> Result<[u8; 32], CryptoError> {
        match REPLACEMENT.get() {
            Some((random, cookie)) if data == random => Ok(cookie),
            _ => default_provider().hmac_provider.hmac_sha256(key, data),
        }
    }
    fn hmac(&self, hash: HashAlgorithm, key: &[u8], data: &[u8], out: &mut [u8]) -> Result<usize, CryptoError> {
        default_provider().hmac_provider.hmac(hash, key, data, out)
    }
}
