//! A token bucket: what a policer drops by and a shaper delays by.
//!
//! It holds `burst` bytes of tokens at most, at the start too, and fills at `rate` all the time. Tokens are counted in 1e-9 bit, of which a rate in whole
//! bit/s gains whole ones each nanosecond: nothing is ever rounded.

use headway_units::{Bytes, Instant, OptionError, Rate};

/// What Ethernet carries, where a link has no MTU of its own.
const LARGEST_PACKET: Bytes = Bytes::new(1500);
/// A full bucket is below 2^64 tokens.
const LARGEST_BURST: Bytes = Bytes::new(2_000_000_000);
const TOKENS_A_BYTE: u64 = 8_000_000_000;

/// Whether a bucket of these is of use on a link with that MTU; `what` has it.
pub(crate) fn check(what: &str, rate: Rate, burst: Bytes, mtu: Option<Bytes>) -> Result<(), OptionError> {
    if rate.is_zero() {
        let message = format!("a {what} of 0bps passes nothing for long: write a rate such as \"2Mbps\"");
        return Err(OptionError::new("rate", message));
    }
    let least = mtu.unwrap_or(LARGEST_PACKET);
    if burst < least {
        let message = format!(
            "a packet of {least} would never pass a burst of {burst}: write {least} at least, or a smaller mtu for the link"
        );
        return Err(OptionError::new("burst", message));
    }
    if burst > LARGEST_BURST {
        return Err(OptionError::new("burst", format!("{burst} is out of range: at most {LARGEST_BURST}")));
    }
    Ok(())
}

/// A token bucket, asked at instants that never go back.
#[derive(Debug)]
pub(crate) struct Bucket {
    /// Tokens a nanosecond.
    rate: u64,
    /// Tokens of a full bucket.
    most: u64,
    tokens: u64,
    /// When `tokens` was so.
    at: Instant,
}

impl Bucket {
    /// Full, at time zero.
    pub(crate) fn new(rate: Rate, burst: Bytes) -> Self {
        let most = burst.count().saturating_mul(TOKENS_A_BYTE);
        Self { rate: rate.bits_per_second(), most, tokens: most, at: Instant::ZERO }
    }

    fn fill(&mut self, now: Instant) {
        // What saturates is more than a full bucket.
        let gained = self.rate.saturating_mul(now.since(self.at).as_nanos());
        self.tokens = self.tokens.saturating_add(gained).min(self.most);
        self.at = now;
    }

    /// Takes tokens for so many bytes, if there are as many at `now`.
    pub(crate) fn take(&mut self, bytes: u32, now: Instant) -> bool {
        self.fill(now);
        let Some(left) = self.tokens.checked_sub(cost(bytes)) else { return false };
        self.tokens = left;
        true
    }

    /// Takes tokens for this many bytes at the first instant from `from` on at which the bucket holds enough of them, and returns that instant. `bytes` is
    /// at most the burst: the link drops larger packets.
    pub(crate) fn take_from(&mut self, bytes: u32, from: Instant) -> Instant {
        self.fill(from);
        let cost = cost(bytes);
        let lacks = cost.saturating_sub(self.tokens);
        let ready = Instant::from_nanos(from.as_nanos().saturating_add(lacks.div_ceil(self.rate.max(1))));
        self.fill(ready);
        self.tokens = self.tokens.saturating_sub(cost);
        ready
    }
}

fn cost(bytes: u32) -> u64 {
    u64::from(bytes).saturating_mul(TOKENS_A_BYTE)
}
