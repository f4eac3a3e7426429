//! The time of an event, and its place among the events of the same time.

use crate::Class;
use headway_units::Instant;
use std::cmp::Ordering;

/// The time of an event, and its place among the events of the same time.
///
/// Events are ordered by the time, then by the sum, then by the turn. The sum is the time in seconds, added up as ns-2 does: one addition of doubles for
/// each wait and each transmission.
///
/// The order within a nanosecond matters because packets meet: flows that share a bottleneck lock in phase, and from then on arrive at it within the same
/// nanosecond again and again.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The time.
    pub at: Instant,
    /// The time in seconds, never negative.
    pub sum_s: f64,
    /// In the order of scheduling the place. Where ties are drawn, class and lot, and in the lower half the bits of a `f32`: the difference of the exact time
    /// from `at` in nanoseconds, which the next link adds to.
    pub turn: u64,
}

impl Moment {
    /// The moment at exactly this time, before all others of the same sum.
    #[must_use]
    pub fn new(at: Instant) -> Self {
        Self { at, sum_s: at.as_secs_f64(), turn: 0 }
    }

    /// The moment after all others of this time.
    #[must_use]
    pub const fn after_all(at: Instant) -> Self {
        Self { at, sum_s: f64::INFINITY, turn: u64::MAX }
    }

    /// The moment before all others of this time.
    #[must_use]
    pub const fn before_all(at: Instant) -> Self {
        Self { at, sum_s: 0.0, turn: 0 }
    }

    /// The moment at the sum `sum_s`, in seconds, and at this place in the order of scheduling. Its time is the nanosecond nearest to the sum.
    #[must_use]
    #[inline]
    pub fn scheduled(sum_s: f64, place: u64) -> Self {
        // `as` saturates.
        Self { at: Instant::from_nanos((sum_s * 1e9 + 0.5) as u64), sum_s, turn: place }
    }

    /// The drawn moment of `class`, with a lot. Each actor of a class has its own salt.
    #[must_use]
    #[inline]
    pub fn drawn(at: Instant, sum_s: f64, fraction_ns: f32, class: Class, salt: u32) -> Self {
        let lot = draw(at, salt) >> (u64::BITS - LOT_BITS);
        let turn = ((class as u64) << LOT_BITS | lot) << u32::BITS | u64::from(fraction_ns.to_bits());
        Self { at, sum_s, turn }
    }

    /// The drawn moment of `class`, before all lots of the class.
    #[must_use]
    #[inline]
    pub const fn in_class(at: Instant, sum_s: f64, class: Class) -> Self {
        Self { at, sum_s, turn: (class as u64) << (LOT_BITS + u32::BITS) }
    }

    /// The difference of the exact time from `at`, from -0.5 to 0.5 ns, where ties are drawn.
    #[must_use]
    #[inline]
    pub const fn fraction_ns(&self) -> f32 {
        f32::from_bits(self.turn as u32)
    }
}

const LOT_BITS: u32 = 29;

/// Two rounds of multiply and fold: any bit of time or salt changes each upper bit with one half.
#[inline]
const fn draw(at: Instant, salt: u32) -> u64 {
    let mixed = (at.as_nanos() ^ (salt as u64) << 32 ^ salt as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// Equality is that of the order, which compares the bits of the sum.
impl PartialEq for Moment {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Moment {}

impl Moment {
    /// The order within a nanosecond. No sum is negative, so their bits are in order as they are.
    #[inline]
    fn cmp_within(&self, other: &Self) -> Ordering {
        self.sum_s.to_bits().cmp(&other.sum_s.to_bits()).then_with(|| self.turn.cmp(&other.turn))
    }
}

impl Ord for Moment {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        if self.at == other.at { self.cmp_within(other) } else { self.at.cmp(&other.at) }
    }
}
impl PartialOrd for Moment {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
    #[inline]
    fn lt(&self, other: &Self) -> bool {
        if self.at == other.at { self.cmp_within(other).is_lt() } else { self.at < other.at }
    }
    #[inline]
    fn le(&self, other: &Self) -> bool {
        if self.at == other.at { self.cmp_within(other).is_le() } else { self.at < other.at }
    }
    #[inline]
    fn gt(&self, other: &Self) -> bool {
        other < self
    }
    #[inline]
    fn ge(&self, other: &Self) -> bool {
        other <= self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Places;

    fn drawn(nanos: u64, sum_s: f64, class: Class, salt: u32) -> Moment {
        Moment::drawn(Instant::from_nanos(nanos), sum_s, 0.25, class, salt)
    }

    #[test]
    fn instant_then_sum_then_class_then_lot() {
        use Class::{Arrival, Departure};
        assert!(drawn(5, 0.2, Departure, 1) < drawn(6, 0.1, Arrival, 1));
        assert!(drawn(5, 0.1, Departure, 1) < drawn(5, 0.1 + f64::EPSILON, Arrival, 1));
        for salt in 0..100 {
            assert!(drawn(5, 0.1, Arrival, salt) < drawn(5, 0.1, Departure, 7));
            assert_eq!(drawn(5, 0.1, Arrival, salt).fraction_ns(), 0.25);
        }
        let at = Instant::from_nanos(5);
        assert!(Moment::before_all(at) < Moment::new(at));
        assert!(Moment::new(at) < drawn(5, at.as_secs_f64(), Arrival, 3));
        assert!(drawn(5, 0.1, Class::Host, u32::MAX) < Moment::after_all(at));
        assert!(Moment::after_all(at) < Moment::before_all(Instant::from_nanos(6)));
    }

    /// Zeros of both signs are equal numbers and different bits: the same for Eq as for Ord.
    #[test]
    fn equal_is_what_the_order_calls_equal() {
        let [plus, minus] = [0.0, -0.0].map(|sum_s| Moment { sum_s, ..Moment::new(Instant::ZERO) });
        assert!(plus == plus && plus != minus);
        assert!(plus.cmp(&plus).is_eq() && plus.cmp(&minus).is_ne());
    }

    #[test]
    fn scheduled_goes_by_the_place() {
        let mut places = Places::default();
        let [first, second] = [places.next(), places.next()];
        assert!(Moment::scheduled(0.1, first) < Moment::scheduled(0.1, second));
        assert!(Moment::scheduled(0.1, second) < Moment::scheduled(0.1 + f64::EPSILON, first));
        assert_eq!(Moment::scheduled(0.1, first).at, Instant::from_millis(100));
        assert_eq!(Moment::scheduled(2.6e-9, first).at, Instant::from_nanos(3), "the nearest");
        assert_eq!(Moment::scheduled(f64::INFINITY, first).at, Instant::FAR_FUTURE);
    }

    /// Each of two actors is first half of the times, whatever their salts and however far apart their meetings are; and which actor is first at one
    /// meeting does not depend on the meeting before.
    #[test]
    fn lots_favor_no_actor() {
        for (salt, other) in [(0, 1), (1, 2), (7, 0x8000_0007), (0xdead_beef, 0xdead_beee), (3, u32::MAX)] {
            for spacing in [1, 240_000, 1_200_000, 1 << 20, 1_000_000_000] {
                const MEETINGS: u32 = 10_000;
                let wins: Vec<bool> = (0..u64::from(MEETINGS))
                    .map(|meeting| {
                        let lot = |salt| drawn(meeting * spacing, 1.0, Class::Arrival, salt);
                        lot(salt) < lot(other)
                    })
                    .collect();
                let won = wins.iter().filter(|won| **won).count() as f64;
                let repeated = wins.windows(2).filter(|pair| pair[0] == pair[1]).count() as f64;
                // Four standard deviations of that many fair coins.
                for heads in [won, repeated] {
                    assert!((heads - f64::from(MEETINGS) / 2.0).abs() < 200.0, "{salt} {other} {spacing}: {heads}");
                }
            }
        }
    }
}
