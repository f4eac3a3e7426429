//! Constant bit rate (ns-2 `Application/Traffic/CBR`).
//!
//! One write of `size` per interval I = size * 8 / rate, the first at the start. The n-th is within 1 ns of the exact
//! rational start + n * I. With `random_start` the first is at start + U(0, I). With `dither` each interval is I +
//! U(-I/2, I/2) (ns-2.35 `tools/cbr_traffic.cc`, `random_`), which gives a random walk around the rate.
//!
//! With `changes` the rate changes at given times: the pending write keeps its time, and later ones use the new
//! interval, as with ns-2's `$cbr set rate_`.
//!
//! A write due exactly at the stop is not sent. With `stop_by_sum` it is sent if a floating-point sum of the start and
//! all intervals, as ns-2 computes it, is below the stop. That sum also decides whether a write due exactly at a change
//! of the rate precedes the change. A simulator that reproduces ns-2's order of events computes the sum itself and sets
//! no stop.

use super::Context;
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use crate::write::{Write, WriteSize, check_lifetime, chosen_size, too_many_writes};
use headway_units::{
    Accumulator, Bytes, Dialect, Duration, Instant, MediaKind, OptionError, Random, Rate, unused_unless,
};

/// Options of the source `cbr`, a constant bit rate: one of `rate` and `interval`, one of `size` and `payload`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct CbrOptions {
    /// Bit rate, at least 1bps: with `size` of packets on the wire, with `payload` of application data.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub rate: Option<Rate>,
    /// Time between writes, at least 1ns.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub interval: Option<Duration>,
    /// Size of a write on the wire in one datagram, including headers, 1B to 16MiB.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub size: Option<Bytes>,
    /// Size of a write without headers, 1B to 16MiB.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub payload: Option<Bytes>,
    /// Whether the first write is delayed by a random part of an interval, to avoid phase alignment of flows.
    pub random_start: bool,
    /// Whether each interval varies uniformly by up to half of itself (ns-2 `random_`).
    pub dither: bool,
    /// Whether the time of a write that is compared with the stop of the flow and with `changes` is the floating-point
    /// sum of the start and all intervals, as in ns-2. A write due exactly at the stop is then sent if rounding makes
    /// its sum smaller.
    pub stop_by_sum: bool,
    /// Changes of the bit rate during the run, in increasing order of time.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub changes: Vec<Change>,
    /// Number of writes, at least 1 (ns-2 `maxpkts_`); absent: without limit.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub packets: Option<u64>,
    /// Kind of media.
    pub media: MediaKind,
    /// Priority; 0 is the most urgent.
    pub priority: u8,
    /// Time after which a write is useless to the receiver, counted from the write, at least 1ns; absent: without
    /// limit.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub lifetime: Option<Duration>,
}

/// Change of the bit rate of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct Change {
    /// Time of the change, from the start of the run.
    pub at: Duration,
    /// Bit rate after the change, at least 1bps. The next write keeps its time; later ones use the new rate.
    pub rate: Rate,
}

/// Time between writes, in the form given.
#[derive(Clone, Copy, Debug)]
enum Pace {
    Interval(Duration),
    /// Size and rate; the interval need not be whole nanoseconds.
    Rate(Bytes, Rate),
}

impl Pace {
    fn seconds(self) -> f64 {
        match self {
            Self::Interval(interval) => interval.as_secs_f64(),
            Self::Rate(bytes, rate) => (bytes.count() * 8) as f64 / rate.bits_per_second() as f64,
        }
    }
}

impl CbrOptions {
    /// Returns the size of a write; `None` if neither or both of `size` and `payload` are given.
    pub(super) const fn write_size(&self) -> Option<WriteSize> {
        match (self.size, self.payload) {
            (Some(size), None) => Some(WriteSize::Wire(size)),
            (None, Some(payload)) => Some(WriteSize::Payload(payload)),
            _ => None,
        }
    }

    fn pace(&self) -> Option<Pace> {
        match (self.interval, self.rate, self.size.or(self.payload)) {
            (Some(interval), None, _) => Some(Pace::Interval(interval)),
            (None, Some(rate), Some(bytes)) => Some(Pace::Rate(bytes, rate)),
            _ => None,
        }
    }

    /// Returns the time between writes, to the nearest nanosecond. `None` unless exactly one of `rate` and `interval`
    /// is given, `rate` with a size.
    #[must_use]
    pub fn nominal_interval(&self) -> Option<Duration> {
        self.pace().map(|pace| match pace {
            Pace::Interval(interval) => interval,
            Pace::Rate(bytes, rate) => rate.time_of(bytes),
        })
    }

    pub(super) fn writes_within(&self, length: Duration) -> u64 {
        let Some((first, bytes)) = self.nominal_interval().zip(self.size.or(self.payload)) else { return 0 };
        let interval = self.changes.iter().map(|change| change.rate.time_of(bytes)).fold(first, Duration::min);
        // A dithered interval is at least half of the nominal one.
        let shortest = if self.dither { interval / 2 } else { interval };
        let writes = (length.as_nanos() / shortest.as_nanos().max(1)).saturating_add(1);
        writes.min(self.packets.unwrap_or(u64::MAX))
    }
}

impl headway_units::Options for CbrOptions {
    fn preset(dialect: Dialect) -> Self {
        Self {
            rate: None,
            interval: None,
            size: None,
            payload: None,
            random_start: false,
            dither: false,
            stop_by_sum: dialect == Dialect::Ns2,
            changes: Vec::new(),
            packets: None,
            media: MediaKind::Data,
            priority: 0,
            lifetime: None,
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        chosen_size("a cbr", self.size, self.payload)?;
        match (self.rate, self.interval) {
            (None, None) => {
                return Err(OptionError::new(
                    "rate",
                    "a cbr source needs rate (such as \"1Mbps\") or interval (such as \"8ms\")",
                ));
            }
            (Some(_), Some(_)) => {
                return Err(OptionError::new("interval", "rate and interval exclude each other: set one of them"));
            }
            (Some(rate), None) if rate.is_zero() => {
                return Err(OptionError::new("rate", "a rate of 0bps sends nothing: rate is at least 1bps"));
            }
            (None, Some(interval)) if interval.is_zero() => {
                return Err(OptionError::new("interval", "an interval of 0s never ends: interval is at least 1ns"));
            }
            _ => {}
        }
        if self.nominal_interval().is_some_and(Duration::is_zero) {
            let bytes = self.size.or(self.payload).unwrap_or_default();
            return Err(OptionError::new("rate", too_many_writes(bytes)));
        }
        self.check_changes()?;
        if self.packets == Some(0) {
            return Err(OptionError::new("packets", "0 is out of range: packets is at least 1"));
        }
        check_lifetime(self.lifetime)
    }

    fn unused(&self) -> Vec<OptionError> {
        unused_unless(!self.dither, "stop_by_sum", "dither = false").into_iter().collect()
    }
}

impl CbrOptions {
    fn check_changes(&self) -> Result<(), OptionError> {
        let fail = |message: &str| Err(OptionError::new("changes", message.to_owned()));
        if !self.changes.is_empty() && self.rate.is_none() {
            return fail("changes of the rate require rate: write rate instead of interval");
        }
        if let Some(at) = self.changes.windows(2).position(|pair| pair[0].at >= pair[1].at) {
            let (before, this) = (self.changes[at].at, self.changes[at + 1].at);
            return fail(&format!(
                "change {} is at {this}, and the one before at {before}: write a time after {before}",
                at + 1
            ));
        }
        let bytes = self.size.or(self.payload).unwrap_or(Bytes::new(1));
        for change in &self.changes {
            if change.rate.is_zero() {
                return fail("a rate of 0bps never ends: rate is at least 1bps");
            }
            if change.rate.time_of(bytes).is_zero() {
                return fail(&too_many_writes(bytes));
            }
        }
        Ok(())
    }
}

/// State of the source `cbr`, a constant bit rate.
#[derive(Debug)]
pub struct Cbr {
    size: WriteSize,
    pace: Pace,
    /// Time without dither: whole intervals since the first write.
    even: Accumulator,
    next: Instant,
    /// The time in seconds as a floating-point sum, and the increment.
    sum_s: Option<(f64, f64)>,
    /// Future changes, latest first.
    changes: Vec<Change>,
    left: Option<u64>,
    stop: Instant,
    /// Random stream of the dither, if enabled.
    dither: Option<Random>,
    media: MediaKind,
    priority: u8,
    lifetime: Option<Duration>,
}

impl Cbr {
    pub(super) fn new(options: &CbrOptions, context: Context) -> Result<Self, OptionError> {
        let missing =
            || OptionError::new("size", "a cbr source needs one of size and payload, one of rate and interval");
        let size = options.write_size().ok_or_else(missing)?;
        let pace = options.pace().ok_or_else(missing)?;
        let mut random = context.random;
        let mut first = context.start;
        if options.random_start {
            let interval = options.nominal_interval().unwrap_or_default();
            first += Duration::from_nanos(random.below(interval.as_nanos()));
        }
        Ok(Self {
            size,
            pace,
            even: Accumulator::starting(first),
            next: first,
            // A dithered interval never ends exactly at the stop.
            sum_s: (options.stop_by_sum && !options.dither).then(|| (first.as_secs_f64(), pace.seconds())),
            changes: options.changes.iter().rev().copied().collect(),
            left: options.packets,
            stop: context.stop.unwrap_or(Instant::FAR_FUTURE),
            dither: options.dither.then_some(random),
            media: options.media,
            priority: options.priority,
            lifetime: options.lifetime,
        })
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        (self.left != Some(0) && !self.has_reached(self.stop)).then_some(self.next)
    }

    /// Applies changes that are due: the write just made is due at the change or later.
    fn change(&mut self) {
        while let Some(change) =
            self.changes.last().copied().filter(|change| self.has_reached(Instant::ZERO + change.at))
        {
            self.changes.pop();
            let Pace::Rate(bytes, rate) = self.pace else { return };
            let (at, fraction_ns) = self.even.nearest(rate);
            self.even = Accumulator::between(at, fraction_ns, change.rate);
            self.pace = Pace::Rate(bytes, change.rate);
            self.sum_s = self.sum_s.map(|(sum_s, _)| (sum_s, self.pace.seconds()));
        }
    }

    /// Returns whether the next write is due at `at` or later.
    fn has_reached(&self, at: Instant) -> bool {
        match self.sum_s {
            Some((sum_s, _)) if self.next == at => sum_s >= at.as_secs_f64(),
            _ => self.next >= at,
        }
    }

    pub(super) fn interval_s(&self) -> Option<f64> {
        match (self.pace, &self.dither) {
            // Divided as in ns-2 (tools/cbr_traffic.cc), exact to the last bit.
            (Pace::Rate(bytes, rate), None) => Some((bytes.count() * 8) as f64 / rate.bits_per_second() as f64),
            (Pace::Interval(interval), None) => Some(interval.as_secs_f64()),
            (_, Some(_)) => None,
        }
    }

    pub(super) fn poll(&mut self, now: Instant) -> Option<Write> {
        let created = self.poll_timeout().filter(|due| *due <= now)?;
        self.left = self.left.map(|left| left - 1);
        self.step();
        Some(Write {
            size: self.size,
            kind: self.media,
            priority: self.priority,
            created,
            expires: self.lifetime.map(|lifetime| created + lifetime),
            rest: WriteSize::NOTHING,
        })
    }

    fn step(&mut self) {
        self.change();
        let before = self.even.instant();
        match self.pace {
            Pace::Interval(interval) => self.even = Accumulator::starting(before + interval),
            Pace::Rate(bytes, rate) => {
                self.even.advance(bytes, rate);
            }
        }
        let interval = self.even.instant().since(before).as_nanos();
        let varied = match &mut self.dither {
            None => interval,
            Some(random) => {
                let half = interval / 2;
                (interval - half).saturating_add(random.below(2 * half + 1))
            }
        };
        self.next += Duration::from_nanos(varied);
        if let Some((sum_s, interval_s)) = &mut self.sum_s {
            *sum_s += *interval_s;
        }
        // At FAR_FUTURE the undithered time saturates; a dithered source would repeat it without end.
        if self.even.instant() == Instant::FAR_FUTURE {
            self.next = Instant::FAR_FUTURE;
        }
    }
}

#[cfg(test)]
mod tests;
