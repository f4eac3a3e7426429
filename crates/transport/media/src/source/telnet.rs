//! Keys typed at random: a Poisson stream of small writes (ns-2 `Application/Telnet` with `interval_` above 0).
//!
//! Each write comes an exponential time after the one before, the first after the start. Over TCP each is a segment, as
//! there. ns-2's `interval_ 0`, the measured times of tcplib, is not modelled.

use super::Context;
use super::draw::Law;
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use crate::write::{Write, WriteSize, check_size};
use headway_units::{Bytes, Dialect, Duration, Instant, MediaKind, OptionError, Random};

/// Options of `kind = "telnet"`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct TelnetOptions {
    /// Mean time from one write to the next (ns-2 `interval_`).
    pub interval: Duration,
    /// Bytes of one write without headers; 1 B to 16 MiB.
    pub payload: Bytes,
}

impl TelnetOptions {
    pub(super) const fn write_size(&self) -> WriteSize {
        WriteSize::Payload(self.payload)
    }

    /// Twice the mean and a hundred: a Poisson count is hardly ever more.
    pub(super) const fn writes_within(&self, length: Duration) -> u64 {
        let expected = length.as_nanos() / if self.interval.is_zero() { 1 } else { self.interval.as_nanos() };
        expected.saturating_mul(2).saturating_add(100)
    }
}

impl headway_units::Options for TelnetOptions {
    fn preset(_: Dialect) -> Self {
        Self { interval: Duration::from_secs(1), payload: Bytes::new(1) }
    }

    fn check(&self) -> Result<(), OptionError> {
        if self.interval < Duration::from_nanos(1_000) {
            let message = format!("{} is no typing: interval is at least 1us", self.interval);
            return Err(OptionError::new("interval", message));
        }
        check_size("payload", self.payload)
    }
}

/// Keys typed at random, running.
#[derive(Debug)]
pub struct Telnet {
    size: WriteSize,
    interval: Law,
    next: Instant,
    stop: Instant,
    random: Random,
}

impl Telnet {
    pub(super) fn new(options: &TelnetOptions, context: Context) -> Self {
        let mut telnet = Self {
            size: options.write_size(),
            interval: Law::Exponential { mean: options.interval.as_secs_f64() },
            next: context.start,
            stop: context.stop.unwrap_or(Instant::FAR_FUTURE),
            random: context.random,
        };
        telnet.step();
        telnet
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        (self.next < self.stop).then_some(self.next)
    }

    pub(super) fn poll(&mut self, now: Instant) -> Option<Write> {
        let created = self.poll_timeout().filter(|due| *due <= now)?;
        self.step();
        Some(Write {
            size: self.size,
            kind: MediaKind::Data,
            priority: 0,
            created,
            expires: None,
            rest: WriteSize::NOTHING,
        })
    }

    fn step(&mut self) {
        // Not two at one nanosecond: a source does not stand still.
        let wait = (self.interval.draw(&mut self.random) * 1e9) as u64;
        self.next += Duration::from_nanos(wait.max(1));
    }
}
