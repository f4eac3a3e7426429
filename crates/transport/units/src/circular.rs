//! Circular numbers: counters that wrap, such as sequence numbers.

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};

/// Number modulo 2^`BITS`, where `BITS` is 1 to 63.
///
/// There is no total order and so no `<`. Two numbers are ordered by the shorter way around the circle of numbers:
/// [`is_before`](Self::is_before), [`is_after`](Self::is_after) (RFC 4340 section 3.1, RFC 1982).
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Circular<const BITS: u32>(u64);

/// DCCP sequence or acknowledgement number (RFC 4340 section 7).
pub type Seq48 = Circular<48>;

/// Low 24 bits of a DCCP sequence number, as carried by packets with short sequence numbers (RFC 4340 section 7.6).
pub type Seq24 = Circular<24>;

impl<const BITS: u32> Circular<BITS> {
    const MASK: u64 = {
        assert!(BITS >= 1 && BITS <= 63, "a circular number has 1 to 63 bits");
        (1 << BITS) - 1
    };
    const HALF: u64 = 1 << (BITS - 1);

    /// Number zero.
    pub const ZERO: Self = Self(0);
    /// Greatest number, 2^`BITS` - 1. The next number after it is zero.
    pub const MAX: Self = Self(Self::MASK);

    /// Returns `value` modulo 2^`BITS`.
    #[must_use]
    pub const fn new(value: u64) -> Self {
        Self(value & Self::MASK)
    }
    /// Returns the number, 0 to 2^`BITS` - 1.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }
    /// Returns the number of increments from `earlier` to `self`, 0 to 2^`BITS` - 1.
    #[must_use]
    pub const fn distance_from(self, earlier: Self) -> u64 {
        self.0.wrapping_sub(earlier.0) & Self::MASK
    }
    /// Returns whether `other` is 1 to 2^(`BITS` - 1) increments ahead. Two numbers exactly half a circle apart are
    /// both before and after each other, as in two's complement (RFC 4340 section 3.1).
    #[must_use]
    pub const fn is_before(self, other: Self) -> bool {
        let ahead = other.distance_from(self);
        ahead != 0 && ahead <= Self::HALF
    }
    /// Returns whether `other` is [before](Self::is_before) this number.
    #[must_use]
    pub const fn is_after(self, other: Self) -> bool {
        other.is_before(self)
    }
    /// Returns whether the number is in the circular range from `first` to `last`, both included.
    #[must_use]
    pub const fn is_within(self, first: Self, last: Self) -> bool {
        self.distance_from(first) <= last.distance_from(first)
    }
}

impl Seq48 {
    /// Returns the low 24 bits, for a packet with short sequence numbers.
    #[must_use]
    pub const fn low(self) -> Seq24 {
        Seq24::new(self.0)
    }
    /// Extends `short` to the 48-bit number nearest to `reference`: `Extend_Sequence_Number` of RFC 4340 section 7.6.
    /// For a sequence number, `reference` is the greatest one received (GSR). For an acknowledgement number, it is the
    /// greatest sequence number sent (GSS).
    #[must_use]
    pub const fn extend(short: Seq24, reference: Self) -> Self {
        const PERIOD: u64 = 1 << 24;
        let low = reference.low();
        let same = (reference.0 & !(PERIOD - 1)) | short.0;
        if low.is_before(short) && short.0 < low.0 {
            Self::new(same + PERIOD)
        } else if short.is_before(low) && low.0 < short.0 {
            Self::new(same.wrapping_sub(PERIOD))
        } else {
            Self(same)
        }
    }
}

impl<const BITS: u32> Add<u64> for Circular<BITS> {
    type Output = Self;
    fn add(self, steps: u64) -> Self {
        Self::new(self.0.wrapping_add(steps))
    }
}
impl<const BITS: u32> AddAssign<u64> for Circular<BITS> {
    fn add_assign(&mut self, steps: u64) {
        *self = *self + steps;
    }
}
impl<const BITS: u32> Sub<u64> for Circular<BITS> {
    type Output = Self;
    fn sub(self, steps: u64) -> Self {
        Self::new(self.0.wrapping_sub(steps))
    }
}
impl<const BITS: u32> SubAssign<u64> for Circular<BITS> {
    fn sub_assign(&mut self, steps: u64) {
        *self = *self - steps;
    }
}

impl<const BITS: u32> fmt::Display for Circular<BITS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
impl<const BITS: u32> fmt::Debug for Circular<BITS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 4340 section 7.6, computed by hand at both wraps, in the middle, and at exactly half of 2^24.
    #[test]
    fn short_numbers_are_extended_towards_the_reference() {
        for (short, reference, long) in [
            (0x00_0001, 0x1ff_fffe, 0x200_0001),
            (0xff_ffff, 0x200_0001, 0x1ff_ffff),
            (0x12_3456, 0x112_3455, 0x112_3456),
            (0x80_0001, 0x100_0001, 0x080_0001),
            (0x00_0000, 0x180_0000, 0x200_0000),
            (0x00_0000, 0xffff_ffff_ffff, 0),
            (0xff_ffff, 0, 0xffff_ffff_ffff),
        ] {
            assert_eq!(Seq48::extend(Seq24::new(short), Seq48::new(reference)), Seq48::new(long), "{short:x}");
        }
    }

    #[test]
    fn numbers_wrap() {
        assert_eq!(Seq48::MAX + 1, Seq48::ZERO);
        assert_eq!(Seq48::ZERO - 1, Seq48::MAX);
        assert!(Seq48::MAX.is_before(Seq48::ZERO));
        assert!(Seq48::new(3).is_within(Seq48::MAX - 5, Seq48::new(3)));
        assert!(!Seq48::new(4).is_within(Seq48::MAX - 5, Seq48::new(3)));
        assert!(!Seq48::ZERO.is_before(Seq48::ZERO) && !Seq48::ZERO.is_after(Seq48::ZERO));
    }

    proptest! {
        /// The technique of RFC 4340 section 3.1: in the high bits of a signed word, A < B if A - B < 0.
        #[test]
        fn order_is_that_of_twos_complement(a: u64, b: u64) {
            let signed = (a << 16).wrapping_sub(b << 16) as i64;
            prop_assert_eq!(Seq48::new(a).is_before(Seq48::new(b)), signed < 0);
        }

        #[test]
        fn distance_undoes_addition(a: u64, steps in 0u64..1 << 48) {
            let a = Seq48::new(a);
            prop_assert_eq!((a + steps).distance_from(a), steps);
            prop_assert_eq!(a + steps - steps, a);
        }

        #[test]
        fn extension_undoes_shortening(reference: u64, offset in -(1i64 << 23) + 1..1 << 23) {
            let reference = Seq48::new(reference);
            let long = Seq48::new(reference.value().wrapping_add_signed(offset));
            prop_assert_eq!(Seq48::extend(long.low(), reference), long);
        }
    }
}
