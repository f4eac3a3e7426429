//! Local clock of a node, with offset, skew, drift and granularity.

use crate::decimal::{Notation, ParseError};
use crate::quantity::text_serde;
use crate::time::{DURATION, Duration, Instant};
use std::fmt;
use std::str::FromStr;

const SKEW: Notation = Notation {
    what: "a skew",
    example: "\"-500ppm\" or \"20ppb\"",
    range: "from -100000ppm to 100000ppm, in steps of 1ppb",
    units: &[("ppb", 1), ("ppm", 1_000)],
};
const MAX_SKEW: u64 = 100_000_000;

const DRIFT: Notation = Notation {
    what: "a drift",
    example: "\"0.5ppm/h\" or \"-20ppb/h\"",
    range: "from -100ppm/h to 100ppm/h, in steps of 1ppb/h",
    units: &[("ppb/h", 1), ("ppm/h", 1_000)],
};
const MAX_DRIFT: u64 = 100_000;

const OFFSET: Notation = Notation {
    what: "an offset",
    example: "\"3ms\" or \"-2h\"",
    range: "from -1000000s to 1000000s, in steps of 1ns",
    ..DURATION
};
const MAX_OFFSET: u64 = Clock::EPOCH.as_nanos();

const NANOS_PER_HOUR: i128 = 3_600_000_000_000;
const BILLION: i128 = 1_000_000_000;
/// Time after which skew and drift no longer apply, in ns: 13 days, small enough for 128-bit arithmetic.
const HORIZON: i128 = 1 << 50;

/// Relative deviation of the rate of a clock from true time, in parts per billion; negative if the clock is slow. Text:
/// `"-500ppm"`, `"20ppb"`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Skew(i64);

/// Rate of change of the skew, in parts per billion per hour of true time. Text: `"0.5ppm/h"`, `"-20ppb/h"`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Drift(i64);

/// Difference of a clock from true time at the start of the run, in ns; negative if the clock is behind. Text: `"3ms"`,
/// `"-2h"`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Offset(i64);

macro_rules! signed {
    ($($type:ident, $notation:ident, $max:ident, $unit:literal);+) => {$(
        impl $type {
                        #[doc = concat!("Creates a value in ", $unit, ", clamped to the allowed range.")]
            #[must_use]
            pub const fn new(value: i64) -> Self {
                let max = $max as i64;
                Self(if value > max { max } else if value < -max { -max } else { value })
            }
                        #[doc = concat!("Returns the value in ", $unit, ".")]
            #[must_use]
            pub const fn value(self) -> i64 {
                self.0
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                $notation.format_signed(self.0, f)
            }
        }
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
        impl FromStr for $type {
            type Err = ParseError;
            fn from_str(text: &str) -> Result<Self, ParseError> {
                $notation.parse_signed(text, $max).map(Self)
            }
        }
    )+};
}
signed!(
    Skew, SKEW, MAX_SKEW, "parts per billion";
    Drift, DRIFT, MAX_DRIFT, "parts per billion per hour";
    Offset, OFFSET, MAX_OFFSET, "ns"
);

text_serde!(Skew, "Skew", "the skew of a clock, from -100000ppm to 100000ppm, such as \"-500ppm\" or \"20ppb\"");
text_serde!(Drift, "Drift", "the drift of a clock, from -100ppm/h to 100ppm/h, such as \"0.5ppm/h\"");
text_serde!(Offset, "Offset", "the offset of a clock, from -1000000s to 1000000s, such as \"3ms\" or \"-2h\"");

/// Local clock of a simulated node. At the true time t since the start of the run it shows
///
/// local(t) = epoch + offset + t + skew t + drift t^2 / 2
///
/// After 13 days of true time the clock runs at the true rate, and keeps the deviation that it has then. The epoch is
/// the same constant for all clocks, [`EPOCH`](Self::EPOCH), so that a negative offset does not underflow. Each
/// conversion depends on the instant alone and is computed in 128 bits: [`local`](Self::local) rounds down to 1 ns,
/// [`when`](Self::when) rounds up, and errors do not accumulate. [`read`](Self::read) also rounds down to the
/// granularity.
///
/// ```
/// use headway_units::{Clock, Drift, Duration, Instant, Offset, Skew};
///
/// let skew: Skew = "100ppm".parse().unwrap();
/// let clock = Clock::new(Offset::default(), skew, Drift::default(), Duration::ZERO);
/// let local = clock.local(Instant::from_secs(1000));
/// assert_eq!(local, Clock::EPOCH + Duration::from_millis(1_000_100));
/// assert_eq!(clock.when(local), Instant::from_secs(1000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Local time at the start of the run, in ns.
    zero: u64,
    skew: Skew,
    drift: Drift,
    /// Granularity in ns, at least 1.
    granularity: u64,
}

impl Default for Clock {
    /// Creates an exact clock that starts at the epoch.
    fn default() -> Self {
        Self::new(Offset::default(), Skew::default(), Drift::default(), Duration::ZERO)
    }
}

impl Clock {
    /// Local time of a clock without offset at the start of the run; equal to the largest offset.
    pub const EPOCH: Instant = Instant::from_secs(1_000_000);

    /// Creates a clock. Reads yield multiples of `granularity` in local time, and timers fire at such times; 0 means 1
    /// ns.
    #[must_use]
    pub const fn new(offset: Offset, skew: Skew, drift: Drift, granularity: Duration) -> Self {
        let zero = Self::EPOCH.as_nanos().saturating_add_signed(offset.0);
        let granularity = granularity.as_nanos();
        Self { zero, skew, drift, granularity: if granularity == 0 { 1 } else { granularity } }
    }

    /// Returns the local time that has passed `elapsed` ns after the start, in ns.
    fn passed(&self, elapsed: i128) -> i128 {
        let t = elapsed.min(HORIZON);
        // |skew| <= 10^8 and |drift| t <= 1.2 x 10^20: below 2^121.
        let twice = t * (i128::from(self.skew.0) * 2 * NANOS_PER_HOUR + i128::from(self.drift.0) * t);
        elapsed + twice.div_euclid(2 * NANOS_PER_HOUR * BILLION)
    }

    /// Returns the exact local time at the true instant `at`, rounded down to 1 ns.
    #[must_use]
    pub fn local(&self, at: Instant) -> Instant {
        instant(i128::from(self.zero) + self.passed(at.as_nanos().into()))
    }

    /// Returns the local time that a read at the true instant `at` yields, rounded down to a multiple of the
    /// granularity.
    #[must_use]
    pub fn read(&self, at: Instant) -> Instant {
        let local = self.local(at).as_nanos();
        Instant::from_nanos(local - local % self.granularity)
    }

    /// Returns the first true instant at which the local time is `local` or later.
    #[must_use]
    pub fn when(&self, local: Instant) -> Instant {
        if local == Instant::FAR_FUTURE {
            return local;
        }
        let passed = i128::from(local.as_nanos()) - i128::from(self.zero);
        if passed <= 0 {
            return Instant::ZERO;
        }
        let beyond = passed - self.passed(HORIZON);
        if beyond > 0 {
            return instant(HORIZON + beyond);
        }
        // Newton's method. The rate is that at `t`, so each relative error is 0.02 times the last squared.
        let mut t = passed.min(HORIZON);
        for _ in 0..6 {
            let error = passed - self.passed(t);
            if error.abs() <= 1 {
                break;
            }
            let rate = BILLION + i128::from(self.skew.0) + i128::from(self.drift.0) * t / NANOS_PER_HOUR;
            t = (t + error * BILLION / rate).clamp(0, HORIZON);
        }
        while t > 0 && self.passed(t - 1) >= passed {
            t -= 1;
        }
        while self.passed(t) < passed {
            t += 1;
        }
        instant(t)
    }

    /// Returns the first true instant at which a read yields `deadline` or later: the instant at which a timer fires.
    #[must_use]
    pub fn when_read(&self, deadline: Instant) -> Instant {
        let ticks = deadline.as_nanos().div_ceil(self.granularity);
        self.when(Instant::from_nanos(ticks.saturating_mul(self.granularity)))
    }
}

fn instant(nanos: i128) -> Instant {
    Instant::from_nanos(nanos.clamp(0, u64::MAX.into()) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn clock(offset: &str, skew: &str, drift: &str) -> Clock {
        Clock::new(offset.parse().unwrap(), skew.parse().unwrap(), drift.parse().unwrap(), Duration::ZERO)
    }

    fn elapsed(clock: &Clock, seconds: u64) -> i128 {
        let epoch = i128::from(Clock::EPOCH.as_nanos());
        i128::from(clock.local(Instant::from_secs(seconds)).as_nanos()) - epoch
    }

    /// 100 ppm of 1000 s are 100 ms. A skew that grows from 0 by 1 ppm per hour adds 1.8 ms in one hour and 7.2 ms in
    /// two.
    #[test]
    fn local_time_follows_offset_skew_and_drift() {
        assert_eq!(elapsed(&clock("0s", "100ppm", "0ppb/h"), 1000), 1_000_100_000_000);
        assert_eq!(elapsed(&clock("0s", "-500ppm", "0ppb/h"), 1000), 999_500_000_000);
        assert_eq!(elapsed(&clock("0s", "0ppm", "1ppm/h"), 3600), 3_600_001_800_000);
        assert_eq!(elapsed(&clock("0s", "0ppm", "-1ppm/h"), 7200), 7_199_992_800_000);
        assert_eq!(elapsed(&clock("3ms", "0ppm", "0ppb/h"), 5), 5_003_000_000);
        assert_eq!(elapsed(&clock("-1000000s", "0ppm", "0ppb/h"), 0), -1_000_000_000_000_000);
        assert_eq!(elapsed(&clock("-2h", "20ppb", "0ppb/h"), 3600), -3_600_000_000_000 + 72_000);
        // At -500 ppm a local second takes 1/0.9995 s = 1.00050025012506 s.
        let slow = clock("0s", "-500ppm", "0ppb/h");
        assert_eq!(slow.when(Clock::EPOCH + Duration::from_secs(1)), Instant::from_nanos(1_000_500_251));
    }

    /// A kernel at 250 Hz.
    #[test]
    fn a_coarse_clock_reads_the_last_tick_and_wakes_at_the_next() {
        let clock = Clock::new(Offset::default(), Skew::default(), Drift::default(), Duration::from_millis(4));
        let local = |micros| Clock::EPOCH + Duration::from_micros(micros);
        assert_eq!(clock.read(Instant::from_micros(7_999)), local(4_000));
        assert_eq!(clock.read(Instant::from_micros(8_000)), local(8_000));
        assert_eq!(clock.when_read(local(4_001)), Instant::from_micros(8_000));
        assert_eq!(clock.when_read(local(8_000)), Instant::from_micros(8_000));
    }

    #[test]
    fn the_far_future_is_converted_to_itself() {
        let fast = clock("1000000s", "100000ppm", "100ppm/h");
        assert_eq!(fast.when(Instant::FAR_FUTURE), Instant::FAR_FUTURE);
        assert_eq!(fast.when_read(Instant::FAR_FUTURE), Instant::FAR_FUTURE);
        assert_eq!(fast.local(Instant::FAR_FUTURE), Instant::FAR_FUTURE);
    }

    #[test]
    fn text_has_a_sign_and_a_range() {
        for (text, ppb) in
            [("-500ppm", -500_000), ("+20ppb", 20), ("0.5ppm", 500), ("0", 0), ("100000ppm", 100_000_000)]
        {
            assert_eq!(text.parse::<Skew>().unwrap().value(), ppb, "{text}");
        }
        for (text, part) in [
            ("100001ppm", "out of range: a skew is from -100000ppm to 100000ppm"),
            ("-100000001ppb", "out of range"),
            ("5", "has no unit"),
            ("5%", "known are ppb, ppm"),
            ("fast", "is not a skew"),
        ] {
            let message = text.parse::<Skew>().unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
        assert_eq!("-2h".parse::<Offset>().unwrap().value(), -7_200_000_000_000);
        assert!("-1000000.000000001s".parse::<Offset>().is_err());
        assert_eq!("-20ppb/h".parse::<Drift>().unwrap().value(), -20);
        assert!("101ppm/h".parse::<Drift>().is_err());
        assert_eq!((Skew::new(i64::MIN).value(), Drift::new(i64::MAX).value()), (-100_000_000, 100_000));
    }

    fn any_clock() -> impl Strategy<Value = Clock> {
        let (offset, skew, drift) = (MAX_OFFSET as i64, MAX_SKEW as i64, MAX_DRIFT as i64);
        let granularity = prop_oneof![Just(0u64), 1u64..100, 1u64..1_000_000_000];
        (-offset..=offset, -skew..=skew, -drift..=drift, granularity).prop_map(|(offset, skew, drift, granularity)| {
            Clock::new(Offset(offset), Skew(skew), Drift(drift), Duration::from_nanos(granularity))
        })
    }

    /// Instants within a run and beyond the horizon.
    fn any_instant() -> impl Strategy<Value = u64> {
        prop_oneof![0..1_000_000_000_000_000u64, 0..1_000_000u64, (1u64 << 50) - 1000..(1 << 50) + 1000, any::<u64>()]
    }

    proptest! {
        /// The slowest clock advances 0.87 ns per ns, so three successive instants do not all read the same.
        #[test]
        fn a_clock_is_monotonic(clock in any_clock(), at in any_instant()) {
            let [now, next, after] = [0, 1, 2].map(|ahead| clock.local(Instant::from_nanos(at.saturating_add(ahead))));
            prop_assert!(now <= next && next <= after);
            prop_assert!(now < after || after == Instant::FAR_FUTURE);
        }

        #[test]
        fn a_round_trip_conversion_is_exact_to_one_nanosecond(clock in any_clock(), at in 0..1_200_000_000_000_000u64) {
            let back = clock.when(clock.local(Instant::from_nanos(at))).as_nanos();
            prop_assert!(back <= at && at - back <= 1, "{at} and {back}");
        }

        #[test]
        fn when_returns_the_first_instant_that_reaches_the_deadline(clock in any_clock(), after in 0..2_000_000_000_000_000u64) {
            let local = Instant::from_nanos(after);
            let due = clock.when(local);
            prop_assert!(clock.local(due) >= local);
            let before = due.checked_sub(Duration::from_nanos(1));
            prop_assert!(before.is_none_or(|before| clock.local(before) < local));
            let due = clock.when_read(local);
            prop_assert!(clock.read(due) >= local);
            let before = due.checked_sub(Duration::from_nanos(1));
            prop_assert!(before.is_none_or(|before| clock.read(before) < local));
        }

        #[test]
        fn printing_and_parsing_agree(offset in -(MAX_OFFSET as i64)..=MAX_OFFSET as i64, skew in -100_000_000i64..=100_000_000, drift in -100_000i64..=100_000) {
            prop_assert_eq!(Offset(offset).to_string().parse::<Offset>().unwrap(), Offset(offset));
            prop_assert_eq!(Skew(skew).to_string().parse::<Skew>().unwrap(), Skew(skew));
            prop_assert_eq!(Drift(drift).to_string().parse::<Drift>().unwrap(), Drift(drift));
        }

        #[test]
        fn no_text_panics(text in "[-+]{0,2}[0-9_]{0,50}\\.?[0-9]{0,50}(e[-+]?[0-9]{0,12})?(ppm|ppb/h|h|s)?") {
            let _ = (text.parse::<Skew>(), text.parse::<Drift>(), text.parse::<Offset>());
        }
    }
}
