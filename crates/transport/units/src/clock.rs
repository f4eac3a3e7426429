//! A node's own clock, which is not quite the true time.

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
const MOST_SKEW: u64 = 100_000_000;

const DRIFT: Notation = Notation {
    what: "a drift",
    example: "\"0.5ppm/h\" or \"-20ppb/h\"",
    range: "from -100ppm/h to 100ppm/h, in steps of 1ppb/h",
    units: &[("ppb/h", 1), ("ppm/h", 1_000)],
};
const MOST_DRIFT: u64 = 100_000;

const OFFSET: Notation = Notation {
    what: "an offset",
    example: "\"3ms\" or \"-2h\"",
    range: "from -1000000s to 1000000s, in steps of 1ns",
    ..DURATION
};
const MOST_OFFSET: u64 = Clock::EPOCH.as_nanos();

const NANOS_AN_HOUR: i128 = 3_600_000_000_000;
const BILLION: i128 = 1_000_000_000;
/// So long skew and drift are in force, 13 days: more than a run lasts, and little enough for 128 bits. Later the clock is exact.
const HORIZON: i128 = 1 << 50;

/// How much faster than the true time a clock goes, in parts per billion; negative: it is slow. Text: `"-500ppm"`, `"20ppb"`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Skew(i64);

/// How fast the skew grows, in parts per billion each hour of true time. Text: `"0.5ppm/h"`, `"-20ppb/h"`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Drift(i64);

/// What a clock shows at the start more than the others, in ns; negative: it is behind. Text: `"3ms"`, `"-2h"`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Offset(i64);

macro_rules! signed {
    ($($type:ident, $notation:ident, $most:ident, $unit:literal);+) => {$(
        impl $type {
            #[doc = concat!("So many ", $unit, ", or the nearest that there may be.")]
            #[must_use]
            pub const fn new(value: i64) -> Self {
                let most = $most as i64;
                Self(if value > most { most } else if value < -most { -most } else { value })
            }
            #[doc = concat!("In ", $unit, ".")]
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
                $notation.parse_signed(text, $most).map(Self)
            }
        }
    )+};
}
signed!(
    Skew, SKEW, MOST_SKEW, "parts per billion";
    Drift, DRIFT, MOST_DRIFT, "parts per billion an hour";
    Offset, OFFSET, MOST_OFFSET, "ns"
);

text_serde!(Skew, "Skew", "how fast a clock is, from -100000ppm to 100000ppm, such as \"-500ppm\" or \"20ppb\"");
text_serde!(Drift, "Drift", "how fast a skew grows, from -100ppm/h to 100ppm/h, such as \"0.5ppm/h\"");
text_serde!(Offset, "Offset", "what a clock is ahead, from -1000000s to 1000000s, such as \"3ms\" or \"-2h\"");

/// A node's own clock:
///
/// local(t) = epoch + offset + integral from 0 to t of (1 + skew + drift t) dt
///
/// with t the true time since the start of the run. All clocks that are compared have the same epoch, so that no offset leads below
/// zero. Each conversion is a function of the instant alone, exact in 128 bits and rounded down once: no error adds up.
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
    /// What it shows at the start of the run, in ns.
    zero: u64,
    skew: Skew,
    drift: Drift,
    /// In ns, 1 at least.
    granularity: u64,
}

impl Default for Clock {
    /// That of a node that has no other: exact, from the epoch on.
    fn default() -> Self {
        Self::new(Offset::default(), Skew::default(), Drift::default(), Duration::ZERO)
    }
}

impl Clock {
    /// What a clock without offset shows at the start of the run: as much as the largest offset.
    pub const EPOCH: Instant = Instant::from_secs(1_000_000);

    /// A clock that is read in multiples of `granularity`, and wakes its node at them.
    #[must_use]
    pub const fn new(offset: Offset, skew: Skew, drift: Drift, granularity: Duration) -> Self {
        let zero = Self::EPOCH.as_nanos().saturating_add_signed(offset.0);
        let granularity = granularity.as_nanos();
        Self { zero, skew, drift, granularity: if granularity == 0 { 1 } else { granularity } }
    }

    /// What has passed by this clock, in ns, `elapsed` ns after the start.
    fn passed(&self, elapsed: i128) -> i128 {
        let t = elapsed.min(HORIZON);
        // |skew| <= 10^8 and |drift| t <= 1.2 x 10^20: below 2^121.
        let twice = t * (i128::from(self.skew.0) * 2 * NANOS_AN_HOUR + i128::from(self.drift.0) * t);
        elapsed + twice.div_euclid(2 * NANOS_AN_HOUR * BILLION)
    }

    /// What the clock shows at the true instant `at`, to the nanosecond below.
    #[must_use]
    pub fn local(&self, at: Instant) -> Instant {
        instant(i128::from(self.zero) + self.passed(at.as_nanos().into()))
    }

    /// What whoever reads the clock at the true instant `at` is told: the last multiple of the granularity.
    #[must_use]
    pub fn read(&self, at: Instant) -> Instant {
        let local = self.local(at).as_nanos();
        Instant::from_nanos(local - local % self.granularity)
    }

    /// The first true instant at which the clock shows `local`, or more.
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
        // Newton's steps. The rate is that at `t`, so that each error is 0.02 of the square of the one before, as a share of the whole.
        let mut t = passed.min(HORIZON);
        for _ in 0..6 {
            let error = passed - self.passed(t);
            if error.abs() <= 1 {
                break;
            }
            let rate = BILLION + i128::from(self.skew.0) + i128::from(self.drift.0) * t / NANOS_AN_HOUR;
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

    /// The first true instant at which whoever reads the clock is told `deadline`, or more: when a timer for it fires.
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

    fn shows(clock: &Clock, seconds: u64) -> i128 {
        let epoch = i128::from(Clock::EPOCH.as_nanos());
        i128::from(clock.local(Instant::from_secs(seconds)).as_nanos()) - epoch
    }

    /// 100 ppm of 1000 s are 100 ms. A skew that grows from nothing by 1 ppm an hour is 0.5 ppm on the mean of the first hour, 1.8 ms of
    /// it, and 1 ppm of the first two, 7.2 ms.
    #[test]
    fn worked_sums() {
        assert_eq!(shows(&clock("0s", "100ppm", "0ppb/h"), 1000), 1_000_100_000_000);
        assert_eq!(shows(&clock("0s", "-500ppm", "0ppb/h"), 1000), 999_500_000_000);
        assert_eq!(shows(&clock("0s", "0ppm", "1ppm/h"), 3600), 3_600_001_800_000);
        assert_eq!(shows(&clock("0s", "0ppm", "-1ppm/h"), 7200), 7_199_992_800_000);
        assert_eq!(shows(&clock("3ms", "0ppm", "0ppb/h"), 5), 5_003_000_000);
        assert_eq!(shows(&clock("-1000000s", "0ppm", "0ppb/h"), 0), -1_000_000_000_000_000);
        assert_eq!(shows(&clock("-2h", "20ppb", "0ppb/h"), 3600), -3_600_000_000_000 + 72_000);
        // Slow by 500 ppm: a second of its own takes 1/0.9995 s, 1.00050025012506... s.
        let slow = clock("0s", "-500ppm", "0ppb/h");
        assert_eq!(slow.when(Clock::EPOCH + Duration::from_secs(1)), Instant::from_nanos(1_000_500_251));
    }

    /// A kernel at 250 Hz: it reads the last tick, and wakes at the next one.
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
    fn never_stays_never() {
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
        let (offset, skew, drift) = (MOST_OFFSET as i64, MOST_SKEW as i64, MOST_DRIFT as i64);
        let granularity = prop_oneof![Just(0u64), 1u64..100, 1u64..1_000_000_000];
        (-offset..=offset, -skew..=skew, -drift..=drift, granularity).prop_map(|(offset, skew, drift, granularity)| {
            Clock::new(Offset(offset), Skew(skew), Drift(drift), Duration::from_nanos(granularity))
        })
    }

    /// Any instant of a run, and of what no run reaches.
    fn any_instant() -> impl Strategy<Value = u64> {
        prop_oneof![0..1_000_000_000_000_000u64, 0..1_000_000u64, (1u64 << 50) - 1000..(1 << 50) + 1000, any::<u64>()]
    }

    proptest! {
        /// The slowest clock shows 0.87 ns more each ns: of three instants in a row no three are alike.
        #[test]
        fn a_clock_goes_forward(clock in any_clock(), at in any_instant()) {
            let [now, next, after] = [0, 1, 2].map(|ahead| clock.local(Instant::from_nanos(at.saturating_add(ahead))));
            prop_assert!(now <= next && next <= after);
            prop_assert!(now < after || after == Instant::FAR_FUTURE);
        }

        #[test]
        fn there_and_back_is_a_nanosecond_at_most(clock in any_clock(), at in 0..1_200_000_000_000_000u64) {
            let back = clock.when(clock.local(Instant::from_nanos(at))).as_nanos();
            prop_assert!(back <= at && at - back <= 1, "{at} and {back}");
        }

        #[test]
        fn a_deadline_is_the_first_instant_that_shows_it(clock in any_clock(), after in 0..2_000_000_000_000_000u64) {
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
        fn printing_and_parsing_agree(offset in -(MOST_OFFSET as i64)..=MOST_OFFSET as i64, skew in -100_000_000i64..=100_000_000, drift in -100_000i64..=100_000) {
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
