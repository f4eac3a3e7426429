//! Keystrokes: a Poisson stream of small writes (ns-2 `Application/Telnet` with `interval_` above 0).
//!
//! Writes are separated by exponential times; the first follows the start after such a time. Over TCP each write is a
//! segment, as in ns-2. `interval_ 0` of ns-2, the measured times of tcplib, is not modeled.

use super::Context;
use super::draw::Distribution;
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use crate::write::{Write, WriteSize, check_size};
use headway_units::{Bytes, Dialect, Duration, Instant, MediaKind, OptionError, Random};

/// Options of the source `telnet`, a Poisson stream of keystrokes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct TelnetOptions {
    /// Mean time between writes, at least 1us (ns-2 `interval_`).
    pub interval: Duration,
    /// Size of a write without headers, 1B to 16MiB.
    pub payload: Bytes,
}

impl TelnetOptions {
    pub(super) const fn write_size(&self) -> WriteSize {
        WriteSize::Payload(self.payload)
    }

    /// Returns a bound: twice the mean plus 100, which a Poisson count rarely exceeds.
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
            let message = format!("{} is out of range: interval is at least 1us", self.interval);
            return Err(OptionError::new("interval", message));
        }
        check_size("payload", self.payload)
    }
}

/// State of the source `telnet`, a Poisson stream of keystrokes.
#[derive(Debug)]
pub struct Telnet {
    size: WriteSize,
    interval: Distribution,
    next: Instant,
    stop: Instant,
    random: Random,
}

impl Telnet {
    pub(super) fn new(options: &TelnetOptions, context: Context) -> Self {
        let mut telnet = Self {
            size: options.write_size(),
            interval: Distribution::Exponential { mean: options.interval.as_secs_f64() },
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
        // At least 1 ns apart, so that a source always advances.
        let wait = (self.interval.draw(&mut self.random) * 1e9) as u64;
        self.next += Duration::from_nanos(wait.max(1));
    }
}
