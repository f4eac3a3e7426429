//! Sums of fractions of a nanosecond without drift.

use crate::{Bytes, Duration, Instant, Rate};

/// An instant with the fraction below its nanosecond, so that the n-th of many equal steps is within 1 ns of the
/// exact rational: a link's busy period, a constant-rate source, a pacer.
///
/// The fraction is `remainder / rate` ns, which is exact for every step of whole bytes at one rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accumulator {
    at: Instant,
    remainder: u64,
}

impl Accumulator {
    /// Exactly at `at`.
    #[must_use]
    pub const fn starting(at: Instant) -> Self {
        Self { at, remainder: 0 }
    }

    /// The whole nanosecond at or before the exact instant.
    #[must_use]
    pub const fn instant(&self) -> Instant {
        self.at
    }

    /// Steps on by the time that `bytes` take at `rate` (which must not be zero; then nothing moves), and returns
    /// the new instant. All steps since `starting` must have used the same rate.
    pub fn advance(&mut self, bytes: Bytes, rate: Rate) -> Instant {
        let rate = rate.bits_per_second();
        if rate == 0 {
            return self.at;
        }
        const BITS_TO_NANO: u64 = 8_000_000_000;
        // Up to 2.3 GB a step fits in 64 bits; division in 128 bits is several times dearer.
        if let Some(numerator) =
            bytes.count().checked_mul(BITS_TO_NANO).and_then(|bits| bits.checked_add(self.remainder))
        {
            self.at += Duration::from_nanos(numerator / rate);
            self.remainder = numerator % rate;
        } else {
            let numerator = u128::from(bytes.count()) * u128::from(BITS_TO_NANO) + u128::from(self.remainder);
            let nanos = u64::try_from(numerator / u128::from(rate)).unwrap_or(u64::MAX);
            self.at += Duration::from_nanos(nanos);
            self.remainder = (numerator % u128::from(rate)) as u64;
        }
        self.at
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

    #[test]
    fn a_huge_step_uses_the_wide_path_and_saturates() {
        let mut accumulator = Accumulator::starting(Instant::ZERO);
        accumulator.advance(Bytes::new(u64::MAX), Rate::from_bits_per_second(1));
        assert_eq!(accumulator.instant(), Instant::FAR_FUTURE);
    }
}
