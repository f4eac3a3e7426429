//! Sends DCCP-Requests from spoofed addresses, to exhaust the memory of a listener or to reflect its Responses to a
//! victim.

use crate::every::{self, Every};
use crate::{Context, Direction, Endpoint, SentPacket, packets};
use headway_dccp::{Body, OptionArea};
use headway_units::{Bytes, Dialect, Duration, Instant, OptionError, Seq48};
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// First spoofed address: 198.18.0.0/15, reserved for benchmarks (RFC 2544).
const FIRST: u32 = u32::from_be_bytes([198, 18, 0, 0]);
const ADDRESSES: u32 = 1 << 17;

/// Options of an attack of `kind = "flood"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Time between two DCCP-Requests of the attacker, at least 1us.
    pub interval: Duration,
    /// Number of spoofed source addresses of the DCCP-Requests; each Request has a random source port. With 1, the
    /// listener sends all Responses to a single victim.
    #[schemars(range(min = 1, max = 131_072))]
    pub sources: u32,
    /// Size of the Padding options in each DCCP-Request, at most 1000B, rounded up to a multiple of 4 B. A listener
    /// that keeps no state (Init Cookies) limits its Response to three times the size of the Request.
    pub padding: Bytes,
}

/// Maximum padding, in bytes; below the limit of any header.
const MAX_PADDING_BYTES: u64 = 1000;

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        Self { interval: Duration::from_millis(1), sources: ADDRESSES, padding: Bytes::new(0) }
    }

    fn check(&self) -> Result<(), OptionError> {
        every::check(self.interval)?;
        if self.padding.count() > MAX_PADDING_BYTES {
            let message = format!("{} is out of range: at most {MAX_PADDING_BYTES}B", self.padding);
            return Err(OptionError::new("padding", message));
        }
        if (1..=ADDRESSES).contains(&self.sources) {
            return Ok(());
        }
        Err(OptionError::new("sources", format!("{} is out of range: from 1 to {ADDRESSES}", self.sources)))
    }
}

/// State of a running attack that sends Requests from spoofed addresses.
#[derive(Debug)]
pub struct Flood {
    sources: u32,
    padding: Vec<u8>,
    every: Every,
    context: Context,
}

impl Flood {
    pub(crate) fn new(options: &Options, context: Context) -> Self {
        let every = Every::new(context.start, context.stop, options.interval);
        let padding = vec![0; (options.padding.count() as usize).next_multiple_of(4)];
        Self { sources: options.sources, padding, every, context }
    }

    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<SentPacket> {
        if !self.every.is_due(now) {
            return None;
        }
        let Context { target, random, .. } = &mut self.context;
        let address = Ipv4Addr::from_bits(FIRST + random.below(self.sources.into()) as u32);
        let source = Endpoint { address, port: random.below(1 << 16) as u16 };
        let (seq, service) = (Seq48::new(random.bits()), target.service);
        let options = OptionArea::new(&self.padding).unwrap_or(OptionArea::EMPTY);
        Some(packets::shot(target, Direction::ToServer, source, seq, Body::Request { service }, options, 0))
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.every.next()
    }
}
