//! Instants and durations: nanoseconds in 64 bits, 584 years.

use crate::decimal::{Notation, ParseError};
use crate::quantity::text_serde;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use std::str::FromStr;

pub(crate) const DURATION: Notation = Notation {
    what: "a duration",
    example: "\"10ms\" or \"1.5s\"",
    range: "from 0s to 18446744073s (584 years), in steps of 1ns",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ],
};

/// Point in time: nanoseconds since a zero chosen by the caller (the start of a simulation, a node's clock).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

/// Length of time in whole nanoseconds. Text: `"10ms"`, `"1.5s"`, `"20us"`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Instant {
    /// Time zero.
    pub const ZERO: Self = Self(0);
    /// Later than every other instant: a deadline that is never reached.
    pub const FAR_FUTURE: Self = Self(u64::MAX);

    /// Creates the instant `nanos` ns after zero.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }
    /// Creates the instant `micros` us after zero.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }
    /// Creates the instant `millis` ms after zero.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }
    /// Creates the instant `seconds` s after zero.
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds * 1_000_000_000)
    }
    /// Returns the nanoseconds since zero.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Returns the seconds since zero, rounded to a double.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Returns the time since `earlier`; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
    /// Returns `self - duration`, or `None` before time zero.
    #[must_use]
    pub fn checked_sub(self, duration: Duration) -> Option<Self> {
        self.0.checked_sub(duration.0).map(Self)
    }
}

impl Duration {
    /// Zero nanoseconds.
    pub const ZERO: Self = Self(0);
    /// Longest duration.
    pub const MAX: Self = Self(u64::MAX);

    /// Creates a duration of `nanos` ns.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }
    /// Creates a duration of `micros` us.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }
    /// Creates a duration of `millis` ms.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }
    /// Creates a duration of `seconds` s.
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds * 1_000_000_000)
    }
    /// Rounds seconds to the nearest nanosecond. Negative numbers and NaN become zero. Values above 584 years become
    /// [`Duration::MAX`].
    #[must_use]
    pub fn from_secs_f64(seconds: f64) -> Self {
        // `as` saturates, and converts NaN to zero.
        Self((seconds * 1e9 + 0.5) as u64)
    }
    /// Returns the nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Returns the seconds, rounded to a double.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Returns whether the duration is zero.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// Returns `self - other`, at least zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
    /// Returns `self * factor`, at most [`Duration::MAX`].
    #[must_use]
    pub const fn saturating_mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

// Sums saturate, so that no sum of inputs wraps into the past and [`Instant::FAR_FUTURE`] plus a duration stays.
impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration.0))
    }
}
impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}
impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}
impl AddAssign for Duration {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
impl Sub for Duration {
    type Output = Self;
    /// Saturates at zero.
    fn sub(self, other: Self) -> Self {
        self.saturating_sub(other)
    }
}
impl SubAssign for Duration {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}
impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        self.saturating_mul(factor)
    }
}
impl Div<u64> for Duration {
    type Output = Self;
    /// Rounds down.
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}
impl Sum for Duration {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Minutes and hours are parsed but not printed: 90s is clearer than 1.5min.
        const PRINTED: Notation =
            Notation { units: &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)], ..DURATION };
        if self.0 == 0 { f.write_str("0s") } else { PRINTED.format(self.0, f) }
    }
}
impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Duration(self.0).fmt(f)
    }
}
impl FromStr for Duration {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        DURATION.parse(text).map(Self)
    }
}

text_serde!(Duration, "Duration", "a duration with its unit, such as \"10ms\"");

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_is_exact_to_the_nanosecond() {
        for (text, nanos) in [
            ("10ms", 10_000_000),
            ("1.5s", 1_500_000_000),
            ("3.3957697466927441e-05s", 33_958),
            ("0.0000000005s", 1),
            ("0.00000000049s", 0),
            ("2min", 120_000_000_000),
            ("1_000us", 1_000_000),
            ("0", 0),
            ("18446744073709551615ns", u64::MAX),
        ] {
            assert_eq!(text.parse::<Duration>().unwrap().as_nanos(), nanos, "{text}");
        }
    }

    #[test]
    fn errors_name_the_expected_form() {
        for (text, part) in [
            ("10", "has no unit"),
            ("10sec", "known are ns"),
            ("-1s", "out of range"),
            ("NaN", "is not a duration"),
            ("", "is not a duration"),
            ("1e30s", "out of range"),
            ("18446744073709551616ns", "out of range"),
        ] {
            let message = text.parse::<Duration>().unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    proptest! {
        #[test]
        fn printing_and_parsing_agree(nanos: u64) {
            let duration = Duration::from_nanos(nanos);
            prop_assert_eq!(duration.to_string().parse::<Duration>().unwrap(), duration);
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,60}") {
            let _ = text.parse::<Duration>();
        }

        #[test]
        fn no_number_panics(text in "[-+]?[0-9_]{0,50}\\.?[0-9]{0,50}(e[-+]?[0-9]{0,12})?(s|h|ns)?") {
            let _ = text.parse::<Duration>();
        }
    }
}
