//! A token bucket: what a policer drops by and a shaper delays by.
//!
//! It holds `burst` bytes of tokens at most, at the start too, and fills at `rate` all the time. Tokens are counted in 1e-9 bit, of which a rate in whole
//! bit/s gains whole ones each nanosecond: nothing is ever rounded.

use headway_units::{Bytes, Instant, OptionError, Rate};
use std::collections::VecDeque;

/// Largest packet of a link without an MTU: that of Ethernet.
pub const LARGEST_PACKET: Bytes = Bytes::new(1500);
/// Largest burst: a full bucket has less than 2^64 tokens.
pub const LARGEST_BURST: Bytes = Bytes::new(2_000_000_000);
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
    /// Other rates, each from an instant on, in order of time. Those that are over are removed.
    changes: VecDeque<(Instant, u64)>,
    /// Tokens of a full bucket.
    most: u64,
    tokens: u64,
    /// When `tokens` was so.
    at: Instant,
}

impl Bucket {
    /// Full, at time zero.
    pub(crate) fn new(rate: Rate, burst: Bytes, changes: impl Iterator<Item = (Instant, Rate)>) -> Self {
        let most = burst.count().saturating_mul(TOKENS_A_BYTE);
        let changes = changes.map(|(at, rate)| (at, rate.bits_per_second())).collect();
        Self { rate: rate.bits_per_second(), changes, most, tokens: most, at: Instant::ZERO }
    }

    /// Adds what the rates gain until `now`.
    fn fill(&mut self, now: Instant) {
        while let Some((at, rate)) = self.changes.front().copied().filter(|(at, _)| *at <= now) {
            self.gain(at);
            self.rate = rate;
            self.changes.pop_front();
        }
        self.gain(now);
    }

    fn gain(&mut self, now: Instant) {
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
        loop {
            let lacks = cost.saturating_sub(self.tokens);
            let takes = if lacks == 0 || self.rate > 0 { lacks.div_ceil(self.rate.max(1)) } else { u64::MAX };
            let ready = Instant::from_nanos(self.at.as_nanos().saturating_add(takes));
            if let Some((at, _)) = self.changes.front().copied().filter(|(at, _)| *at < ready) {
                self.fill(at);
                continue;
            }
            // The packet begins within the last nanosecond, and the bucket gains until that is over: it is not full then, though the packet may have needed all of it.
            self.tokens = self.tokens.saturating_add(self.rate.saturating_mul(takes)).saturating_sub(cost);
            self.at = ready;
            return ready;
        }
    }
}

fn cost(bytes: u32) -> u64 {
    u64::from(bytes).saturating_mul(TOKENS_A_BYTE)
}
