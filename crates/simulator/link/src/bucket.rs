//! A token bucket, for policers and shapers.
//!
//! It holds at most `burst` bytes of tokens, is full at the start and fills at `rate`. Tokens are counted in 1e-9 bit:
//! at a rate in whole bit/s the bucket gains a whole number of them per nanosecond, so that nothing is rounded.

use headway_units::{Bytes, Instant, OptionError, Rate};
use std::collections::VecDeque;

/// Minimum burst of a policer or shaper on a link without an MTU: the largest IP packet on Ethernet.
pub const LARGEST_PACKET: Bytes = Bytes::new(1500);
/// Maximum burst of a policer or shaper. With it, a full bucket has less than 2^64 tokens of 1e-9 bit.
pub const LARGEST_BURST: Bytes = Bytes::new(2_000_000_000);
const TOKENS_A_BYTE: u64 = 8_000_000_000;

/// Checks rate and burst of `what`, for a link with this MTU.
pub(crate) fn check(what: &str, rate: Rate, burst: Bytes, mtu: Option<Bytes>) -> Result<(), OptionError> {
    if rate.is_zero() {
        let message =
            format!("a {what} of 0bps passes nothing after its first burst; expected a rate such as \"2Mbps\"");
        return Err(OptionError::new("rate", message));
    }
    let least = mtu.unwrap_or(LARGEST_PACKET);
    if burst < least {
        let message = format!(
            "a packet of {least} never passes a burst of {burst}; expected {least} or more, or a smaller link mtu"
        );
        return Err(OptionError::new("burst", message));
    }
    if burst > LARGEST_BURST {
        return Err(OptionError::new("burst", format!("{burst} is out of range; expected at most {LARGEST_BURST}")));
    }
    Ok(())
}

/// A token bucket. Times of calls must not decrease.
#[derive(Debug)]
pub(crate) struct Bucket {
    /// Tokens per nanosecond.
    rate: u64,
    /// Future changes of the rate, in order of time.
    changes: VecDeque<(Instant, u64)>,
    capacity: u64,
    tokens: u64,
    at: Instant,
}

impl Bucket {
    pub(crate) fn new(rate: Rate, burst: Bytes, changes: impl Iterator<Item = (Instant, Rate)>) -> Self {
        let capacity = burst.count().saturating_mul(TOKENS_A_BYTE);
        let changes = changes.map(|(at, rate)| (at, rate.bits_per_second())).collect();
        Self { rate: rate.bits_per_second(), changes, capacity, tokens: capacity, at: Instant::ZERO }
    }

    fn fill(&mut self, now: Instant) {
        while let Some((at, rate)) = self.changes.front().copied().filter(|(at, _)| *at <= now) {
            self.gain(at);
            self.rate = rate;
            self.changes.pop_front();
        }
        self.gain(now);
    }

    fn gain(&mut self, now: Instant) {
        // A saturated value is more than a full bucket.
        let gained = self.rate.saturating_mul(now.since(self.at).as_nanos());
        self.tokens = self.tokens.saturating_add(gained).min(self.capacity);
        self.at = now;
    }

    /// Removes tokens for this many bytes, if there are enough at `now`. Returns whether there were.
    pub(crate) fn take(&mut self, bytes: u32, now: Instant) -> bool {
        self.fill(now);
        let Some(left) = self.tokens.checked_sub(cost(bytes)) else { return false };
        self.tokens = left;
        true
    }

    /// Removes tokens for this many bytes at the first time from `from` on at which the bucket has enough of them.
    /// Returns that time. `bytes` is at most the burst: the link drops larger packets.
    pub(crate) fn take_from(&mut self, bytes: u32, from: Instant) -> Instant {
        self.fill(from);
        let cost = cost(bytes);
        loop {
            let lacks = cost.saturating_sub(self.tokens);
            let takes = if lacks == 0 || self.rate > 0 { lacks.div_ceil(self.rate.max(1)) } else { u64::MAX };
            let ready = Instant::from_nanos(self.at.as_nanos().saturating_add(takes));
            if let Some((at, _)) = self.changes.front().copied().filter(|(at, _)| *at < ready) {
                self.fill(at);
                continue;
            }
            // The packet begins within the last nanosecond, and the bucket fills until the end of it. It is not full
            // then, even if the packet needed the whole burst.
            self.tokens = self.tokens.saturating_add(self.rate.saturating_mul(takes)).saturating_sub(cost);
            self.at = ready;
            return ready;
        }
    }
}

fn cost(bytes: u32) -> u64 {
    u64::from(bytes).saturating_mul(TOKENS_A_BYTE)
}
