//! Drift-free sums of durations that have fractions of a nanosecond.

use crate::{Bytes, Duration, Instant, Rate};

/// Instant with a fraction of a nanosecond, for a link's busy period, a constant-rate source or a pacer. The n-th of
/// many equal steps is within 1 ns of the exact time.
///
/// The fraction is `remainder / rate` ns, which is exact for every step of whole bytes at one rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accumulator {
    at: Instant,
    remainder: u64,
}

impl Accumulator {
    /// Creates an accumulator at exactly `at`.
    #[must_use]
    pub const fn starting(at: Instant) -> Self {
        Self { at, remainder: 0 }
    }

    /// Creates an accumulator at `at` plus `remainder` / rate ns, where rate is that of all later steps, in bit/s.
    #[must_use]
    #[inline]
    pub const fn with_remainder(at: Instant, remainder: u64) -> Self {
        Self { at, remainder }
    }

    /// Returns the fraction beyond [`instant`](Self::instant), in units of 1 / rate ns, where rate is that of the
    /// steps, in bit/s.
    #[must_use]
    #[inline]
    pub const fn remainder(&self) -> u64 {
        self.remainder
    }

    /// Creates an accumulator at `at` plus `fraction_ns` (-1 to 1) nanoseconds, for steps of bytes at `rate`.
    #[must_use]
    #[inline]
    pub fn between(at: Instant, fraction_ns: f32, rate: Rate) -> Self {
        if fraction_ns == 0.0 {
            return Self::starting(at);
        }
        let (at, fraction) = match at.checked_sub(Duration::from_nanos(1)) {
            Some(before) if fraction_ns < 0.0 => (before, f64::from(fraction_ns) + 1.0),
            _ => (at, f64::from(fraction_ns.max(0.0))),
        };
        let rate = rate.bits_per_second();
        // `as` saturates; a fraction that rounds up to 1 ns stays one unit below it.
        let remainder = (fraction * rate as f64 + 0.5) as u64;
        Self { at, remainder: remainder.min(rate.saturating_sub(1)) }
    }

    /// Returns the nearest whole nanosecond, and the exact instant minus it: -0.5 to 0.5 ns. `rate` must be that of the
    /// steps.
    #[must_use]
    #[inline]
    pub fn nearest(&self, rate: Rate) -> (Instant, f32) {
        if self.remainder == 0 {
            return (self.at, 0.0);
        }
        let rate = rate.bits_per_second().max(1);
        let fraction = self.remainder as f64 / rate as f64;
        if fraction >= 0.5 {
            (self.at + Duration::from_nanos(1), (fraction - 1.0) as f32)
        } else {
            (self.at, fraction as f32)
        }
    }

    /// Returns the whole nanosecond at or before the exact instant.
    #[must_use]
    pub const fn instant(&self) -> Instant {
        self.at
    }

    /// Advances by the time that `bytes` take at `rate` and returns the new instant. A rate of zero changes nothing.
    /// All steps since `starting` must have used the same rate.
    #[inline]
    pub fn advance(&mut self, bytes: Bytes, rate: Rate) -> Instant {
        self.step(Step::new(bytes, rate), rate)
    }

    /// Advances by `step`. All steps must be computed for the same `rate`. Returns the time, rounded down to 1 ns.
    #[inline]
    pub fn step(&mut self, step: Step, rate: Rate) -> Instant {
        self.at += Duration::from_nanos(step.nanos);
        // Both remainders are below the rate.
        let (sum, wrapped) = self.remainder.overflowing_add(step.remainder);
        if wrapped || (sum >= rate.bits_per_second() && sum > 0) {
            self.at += Duration::from_nanos(1);
            self.remainder = sum.wrapping_sub(rate.bits_per_second());
        } else {
            self.remainder = sum;
        }
        self.at
    }
}

/// Exact transmission time of a number of bytes at a rate, computed once for many packets of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    nanos: u64,
    remainder: u64,
}

impl Step {
    /// Computes the transmission time of `bytes` at `rate`; zero if the rate is zero.
    #[must_use]
    pub fn new(bytes: Bytes, rate: Rate) -> Self {
        let rate = rate.bits_per_second();
        if rate == 0 {
            return Self::default();
        }
        const BITS_TO_NANO: u64 = 8_000_000_000;
        // Up to 2.3 GB fit in 64 bits; a 128-bit division is several times slower.
        if let Some(bits) = bytes.count().checked_mul(BITS_TO_NANO) {
            return Self { nanos: bits / rate, remainder: bits % rate };
        }
        let bits = u128::from(bytes.count()) * u128::from(BITS_TO_NANO);
        let nanos = u64::try_from(bits / u128::from(rate)).unwrap_or(u64::MAX);
        Self { nanos, remainder: (bits % u128::from(rate)) as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The n-th event is within 1 ns of the exact rational.
        #[test]
        fn steps_do_not_drift(bytes in 1u64..100_000, rate in 1u64..400_000_000_000, steps in 1u64..2_000) {
            let mut accumulator = Accumulator::starting(Instant::ZERO);
            for _ in 0..steps {
                accumulator.advance(Bytes::new(bytes), Rate::from_bits_per_second(rate));
            }
            let exact = u128::from(bytes) * 8_000_000_000 * u128::from(steps) / u128::from(rate);
            prop_assume!(exact < u128::from(u64::MAX));
            prop_assert_eq!(u128::from(accumulator.instant().as_nanos()), exact);
        }
    }

    /// The sum over links of different rates keeps the fractions.
    #[test]
    fn fractions_are_kept_across_links() {
        let rates = ["1.5Mbps", "3Mbps", "768kbps", "3333333bps", "10Mbps"];
        let (mut at, mut fraction) = (Instant::from_secs(5), 0.0);
        let mut exact = 5e9;
        for step in 0..3000 {
            let rate: Rate = rates[step % rates.len()].parse().unwrap();
            let mut accumulator = Accumulator::between(at, fraction, rate);
            accumulator.advance(Bytes::new(1000), rate);
            (at, fraction) = accumulator.nearest(rate);
            exact += 8e12 / rate.bits_per_second() as f64;
            // The spacing of doubles at 3e10 ns is 4e-6 ns.
            let found = at.as_nanos() as f64 - exact + f64::from(fraction);
            assert!(found.abs() < 0.01, "step {step}: {found}");
        }
    }

    #[test]
    fn instants_do_not_precede_time_zero() {
        let rate = Rate::from_bits_per_second(3);
        assert_eq!(Accumulator::between(Instant::ZERO, -0.4, rate), Accumulator::starting(Instant::ZERO));
        assert_eq!(Accumulator::starting(Instant::ZERO).nearest(Rate::default()), (Instant::ZERO, 0.0));
    }

    #[test]
    fn a_huge_step_uses_the_wide_path_and_saturates() {
        let mut accumulator = Accumulator::starting(Instant::ZERO);
        accumulator.advance(Bytes::new(u64::MAX), Rate::from_bits_per_second(1));
        assert_eq!(accumulator.instant(), Instant::FAR_FUTURE);
    }
}
