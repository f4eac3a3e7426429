//! A constant bit rate (ns-2 `Application/Traffic/CBR`).
//!
//! One write of `size` each interval I = size * 8 / rate, the first at the start itself. The n-th is within 1 ns of
//! the exact rational start + n * I. With `random_start` the first is at start + U(0, I); with `dither` each interval
//! is I + U(-I/2, I/2) (ns-2.35 `tools/cbr_traffic.cc`, `random_`), which sums up to a random walk about the rate.
//!
//! With `changes` the rate becomes another from an instant on: the write that is due next keeps its time, those after it come
//! at the new interval, as with ns-2's `$cbr set rate_`.
//!
//! A write that is due at the stop itself is not written, unless `stop_by_sum`: ns-2 adds one double to another for each
//! interval, and writes if that sum has stayed below the stop, by however little. Where ties go by ns-2's order of scheduling the
//! simulator knows that sum, cancels the timer by itself and gives no stop; the rule stays for drawn ties and for transports that pace
//! themselves, and for `changes`, of which only the source knows: a write due at one comes before or after it by the same sum.

use super::Context;
use crate::write::{Write, WriteSize, check_lifetime, chosen_size};
use headway_units::{Accumulator, Bytes, Dialect, Duration, Instant, MediaKind, OptionError, Random, Rate};
use serde::{Deserialize, Serialize};

/// Options of `kind = "cbr"`: one of `rate` and `interval`, one of `size` and `payload`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CbrOptions {
    /// Bits a second of what `size` or `payload` counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Time from one write to the next, at least 1 ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
    /// Bytes of one write on the wire, headers and all, if one datagram carries it; 1 B to 16 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Bytes of one write without headers; 1 B to 16 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Bytes>,
    /// Whether the first write waits for a random part of an interval, so that many flows are not in phase.
    pub random_start: bool,
    /// Whether each interval varies evenly by up to half of itself (ns-2 `random_`).
    pub dither: bool,
    /// Whether a write due at the stop itself is written, and one due at a change comes before it, if the sum of start and intervals,
    /// as doubles, is below it (ns-2).
    pub stop_by_sum: bool,
    /// From when on, counted from the start of the run, another rate holds. Rising.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// How many writes there are (ns-2 `maxpkts_`); absent, no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<u64>,
    /// What it is.
    pub media: MediaKind,
    /// Which goes first where a queue may choose: 0 before 1.
    pub priority: u8,
    /// How long a write is of use; absent, for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<Duration>,
}

/// Another rate from an instant on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When, after the start of the run.
    pub at: Duration,
    /// Bits a second from the next write on.
    pub rate: Rate,
}

/// The time from one write to the next, in the form that was given.
#[derive(Clone, Copy, Debug)]
enum Pace {
    Interval(Duration),
    /// Not a whole number of nanoseconds.
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
    /// What one write is; `None` if neither or both of `size` and `payload` are given.
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

    /// The time from one write to the next, to the nearest nanosecond; `None` if it is not given or given twice.
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
                return Err(OptionError::new("interval", "rate and interval exclude each other: write one of them"));
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
            return Err(OptionError::new(
                "rate",
                "more than one write each nanosecond: lower rate or write more bytes",
            ));
        }
        self.check_changes()?;
        if self.packets == Some(0) {
            return Err(OptionError::new("packets", "0 packets are no source: packets is at least 1"));
        }
        check_lifetime(self.lifetime)
    }
}

impl CbrOptions {
    fn check_changes(&self) -> Result<(), OptionError> {
        let fail = |message: &str| Err(OptionError::new("changes", message));
        if !self.changes.is_empty() && self.rate.is_none() {
            return fail("they are changes of rate: write rate instead of interval");
        }
        if self.changes.windows(2).any(|pair| pair[0].at >= pair[1].at) {
            return fail("each change must come later than the one before");
        }
        let bytes = self.size.or(self.payload).unwrap_or(Bytes::new(1));
        for change in &self.changes {
            if change.rate.is_zero() {
                return fail("a rate of 0bps would never be left: rate is at least 1bps");
            }
            if change.rate.time_of(bytes).is_zero() {
                return fail("more than one write each nanosecond: lower rate or write more bytes");
            }
        }
        Ok(())
    }
}

/// A constant bit rate, running.
#[derive(Debug)]
pub struct Cbr {
    size: WriteSize,
    pace: Pace,
    /// Where an undithered source would be: whole steps since the first write.
    even: Accumulator,
    next: Instant,
    /// The same as a sum of doubles, in s, and what is added each time.
    sum_s: Option<(f64, f64)>,
    /// Those to come, the next one last.
    changes: Vec<Change>,
    left: Option<u64>,
    stop: Instant,
    /// Present if intervals vary.
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
            // A dithered interval is never exactly as long as what is left to the stop.
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

    /// Takes over the rate that holds by now: the write just made is due at the change or later.
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

    /// Whether the next write is due at `at` or later.
    fn has_reached(&self, at: Instant) -> bool {
        match self.sum_s {
            Some((sum_s, _)) if self.next == at => sum_s >= at.as_secs_f64(),
            _ => self.next >= at,
        }
    }

    pub(super) fn interval_s(&self) -> Option<f64> {
        match (self.pace, &self.dither) {
            // As ns-2 divides (tools/cbr_traffic.cc): the last bit counts.
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
            ends_frame: true,
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
        // At the end of time the even source stands still; a dithered one would repeat its last instant for ever.
        if self.even.instant() == Instant::FAR_FUTURE {
            self.next = Instant::FAR_FUTURE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Options as _;
    use proptest::prelude::*;

    fn options(change: impl FnOnce(&mut CbrOptions)) -> CbrOptions {
        let mut options = CbrOptions::preset(Dialect::Rfc);
        change(&mut options);
        options
    }

    fn every(millis: u64) -> CbrOptions {
        options(|o| {
            o.interval = Some(Duration::from_millis(millis));
            o.size = Some(Bytes::new(1000));
        })
    }

    fn start(options: &CbrOptions, start: Instant, stop: Option<Instant>, name: &str) -> Cbr {
        options.check().unwrap();
        Cbr::new(options, Context { start, stop, random: Random::new(1, name), trace: None }).unwrap()
    }

    fn times(cbr: &mut Cbr, at_most: usize) -> Vec<u64> {
        std::iter::from_fn(|| {
            let due = cbr.poll_timeout()?;
            Some(cbr.poll(due).unwrap().created.as_nanos())
        })
        .take(at_most)
        .collect()
    }

    #[test]
    fn a_write_waits_for_its_time_and_keeps_it() {
        let mut cbr = start(
            &options(|o| {
                o.rate = Some(Rate::from_bits_per_second(64_000));
                o.payload = Some(Bytes::new(160));
                o.lifetime = Some(Duration::from_millis(150));
                o.media = MediaKind::Audio;
                o.priority = 3;
            }),
            Instant::from_millis(100),
            None,
            "",
        );
        assert_eq!(cbr.poll(Instant::from_nanos(99_999_999)), None);
        // The poll is late by 3 ms; the write is not.
        assert_eq!(
            cbr.poll(Instant::from_millis(103)),
            Some(Write {
                size: WriteSize::Payload(Bytes::new(160)),
                kind: MediaKind::Audio,
                priority: 3,
                created: Instant::from_millis(100),
                expires: Some(Instant::from_millis(250)),
                ends_frame: true,
            })
        );
        assert_eq!(cbr.poll(Instant::from_millis(103)), None);
        assert_eq!(cbr.poll_timeout(), Some(Instant::from_millis(120)));
    }

    proptest! {
        /// The n-th write is within 1 ns of start + n * size * 8 / rate.
        #[test]
        fn rates_are_exact(bytes in 1u64..70_000, rate in 1_000u64..100_000_000_000, n in 1usize..3_000) {
            let o = options(|o| {
                o.rate = Some(Rate::from_bits_per_second(rate));
                o.payload = Some(Bytes::new(bytes));
            });
            prop_assume!(o.check().is_ok());
            let times = times(&mut start(&o, Instant::from_secs(1), None, ""), n);
            let exact = u128::from(bytes) * 8_000_000_000 * (n as u128 - 1) / u128::from(rate);
            prop_assert_eq!(u128::from(times[n - 1]), 1_000_000_000 + exact);
        }

        /// Dithered or not, each interval is what the options promise, and so is the count.
        #[test]
        fn intervals_stay_in_their_bounds(interval in 1u64..1_000_000, dither: bool, random_start: bool, seed: u64) {
            let o = options(|o| {
                o.interval = Some(Duration::from_nanos(interval));
                o.size = Some(Bytes::new(1));
                o.dither = dither;
                o.random_start = random_start;
            });
            let stop = Instant::from_nanos(5_000 + 200 * interval);
            let times = times(&mut start(&o, Instant::from_nanos(5_000), Some(stop), &seed.to_string()), usize::MAX);
            prop_assert!(times.len() as u64 <= o.writes_within(Duration::from_nanos(200 * interval)));
            let phase = if random_start { interval } else { 1 };
            prop_assert!(times[0] < 5_000 + phase);
            for pair in times.windows(2) {
                let gap = pair[1] - pair[0];
                let half = if dither { interval / 2 } else { 0 };
                prop_assert!((interval - half..=interval + half).contains(&gap), "{gap}");
            }
            prop_assert!(*times.last().unwrap() < stop.as_nanos());
        }

        #[test]
        fn no_options_panic_or_stand_still(
            rate: Option<u64>, interval: Option<u64>, size: Option<u64>, payload: Option<u64>,
            random_start: bool, dither: bool, stop_by_sum: bool, packets: Option<u64>, begin: u64,
        ) {
            let o = options(|o| {
                o.rate = rate.map(Rate::from_bits_per_second);
                o.interval = interval.map(Duration::from_nanos);
                o.size = size.map(|size| Bytes::new(size >> 40));
                o.payload = payload.map(|payload| Bytes::new(payload >> 40));
                (o.random_start, o.dither, o.stop_by_sum, o.packets) = (random_start, dither, stop_by_sum, packets);
            });
            if o.check().is_ok() {
                let times = times(&mut start(&o, Instant::from_nanos(begin), None, ""), 100);
                prop_assert!(times.is_sorted());
                prop_assert!(times.len() < 100 || times[99] > times[0]);
            }
        }
    }

    /// ns-2 sends at 1, 1.25, 1.5 and 1.75 s if the source runs from 1 to 2 s with 0.25 s between packets (measured,
    /// ns-2.35: `stop` was scheduled earlier than the timer of 2 s and cancels it). Sums of 0.25 are exact.
    #[test]
    fn nothing_is_sent_at_the_stop_itself() {
        for stop_by_sum in [false, true] {
            let mut o = every(250);
            o.stop_by_sum = stop_by_sum;
            let mut cbr = start(&o, Instant::from_secs(1), Some(Instant::from_secs(2)), "");
            assert_eq!(times(&mut cbr, usize::MAX), [1_000_000_000, 1_250_000_000, 1_500_000_000, 1_750_000_000]);
            assert_eq!(cbr.poll(Instant::FAR_FUTURE), None);
        }
        let mut never = start(&every(250), Instant::from_secs(1), Some(Instant::from_secs(1)), "");
        assert_eq!(never.poll_timeout(), None);
        assert_eq!(never.poll(Instant::FAR_FUTURE), None);
    }

    #[test]
    fn centuries_between_writes_end_the_source() {
        let o = options(|o| {
            o.interval = Some(Duration::from_nanos(u64::MAX / 3 * 2));
            o.size = Some(Bytes::new(1));
            o.dither = true;
        });
        for flow in 0..50 {
            assert!(times(&mut start(&o, Instant::ZERO, None, &flow.to_string()), 9).len() <= 2);
        }
    }

    #[test]
    fn packets_are_counted() {
        let mut o = every(250);
        o.packets = Some(3);
        assert_eq!(times(&mut start(&o, Instant::ZERO, None, ""), usize::MAX), [0, 250_000_000, 500_000_000]);
        assert_eq!(o.writes_within(Duration::from_secs(10)), 3);
        assert_eq!(every(250).writes_within(Duration::from_secs(10)), 41);
        let faster = options(|o| {
            o.rate = Some(Rate::from_bits_per_second(8_000));
            o.size = Some(Bytes::new(1000));
            o.changes = vec![Change { at: Duration::from_secs(9), rate: Rate::from_bits_per_second(80_000) }];
        });
        assert_eq!(faster.writes_within(Duration::from_secs(10)), 101);
    }

    /// Sources with a random start spread evenly over one interval, then keep their phase.
    #[test]
    fn a_random_start_is_even_over_an_interval() {
        let mut o = every(8);
        o.random_start = true;
        let mut eighths = [0u32; 8];
        for flow in 0..8_000 {
            let times = times(&mut start(&o, Instant::ZERO, None, &format!("flow {flow}")), 2);
            assert_eq!(times[1] - times[0], 8_000_000);
            eighths[(times[0] / 1_000_000) as usize] += 1;
        }
        // Chi-square with 7 degrees of freedom: 24.3 is the 0.1 % point.
        let chi: f64 = eighths.iter().map(|&n| (f64::from(n) - 1e3) * (f64::from(n) - 1e3) / 1e3).sum();
        assert!(chi < 24.3, "{eighths:?}");
    }

    #[test]
    fn options_that_contradict_each_other_are_told_so() {
        let full = |rate: Option<u64>, interval: Option<u64>, size: Option<u64>, payload: Option<u64>| {
            options(|o| {
                o.rate = rate.map(Rate::from_bits_per_second);
                o.interval = interval.map(Duration::from_nanos);
                o.size = size.map(Bytes::new);
                o.payload = payload.map(Bytes::new);
            })
            .check()
        };
        for (result, key, part) in [
            (full(Some(1), None, None, None), "size", "needs size"),
            (full(Some(1), None, Some(1), Some(1)), "payload", "exclude each other"),
            (full(None, None, Some(1), None), "rate", "needs rate"),
            (full(Some(1), Some(1), Some(1), None), "interval", "exclude each other"),
            (full(Some(0), None, Some(1), None), "rate", "at least 1bps"),
            (full(None, Some(0), Some(1), None), "interval", "at least 1ns"),
            (full(Some(1), None, Some(0), None), "size", "from 1B to 16MiB"),
            (full(Some(1), None, None, Some((16 << 20) + 1)), "payload", "from 1B to 16MiB"),
            (full(Some(17_000_000_000), None, Some(1), None), "rate", "more than one write each nanosecond"),
        ] {
            let error = result.unwrap_err();
            assert_eq!(error.key, key, "{error}");
            assert!(error.message.contains(part), "{error}");
        }
        assert!(full(Some(1), None, Some(1 << 24), None).is_ok());
        let change =
            |millis, rate| Change { at: Duration::from_millis(millis), rate: Rate::from_bits_per_second(rate) };
        for (rate, changes, part) in [
            (None, vec![change(1, 5)], "write rate instead of interval"),
            (Some(1), vec![change(2, 5), change(2, 6)], "later than the one before"),
            (Some(1), vec![change(2, 0)], "at least 1bps"),
            (Some(1), vec![change(2, 17_000_000_000_000)], "more than one write each nanosecond"),
        ] {
            let error = options(|o| {
                o.rate = rate.map(Rate::from_bits_per_second);
                o.interval = rate.is_none().then_some(Duration::from_millis(1));
                o.size = Some(Bytes::new(1000));
                o.changes = changes;
            })
            .check()
            .unwrap_err();
            assert_eq!(error.key, "changes", "{error}");
            assert!(error.message.contains(part), "{error}");
        }
        let zero = |change: fn(&mut CbrOptions)| {
            let mut o = every(8);
            change(&mut o);
            o.check().unwrap_err().key
        };
        assert_eq!(zero(|o| o.packets = Some(0)), "packets");
        assert_eq!(zero(|o| o.lifetime = Some(Duration::ZERO)), "lifetime");
    }
}
