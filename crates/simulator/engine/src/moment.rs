//! The time of an event and its order among simultaneous events, which this file defines for both rules of
//! [`Ties`](crate::Ties).

use crate::Class;
use headway_units::Instant;
use std::cmp::Ordering;

/// Time of an event and its order among simultaneous events.
///
/// Events are ordered by `at`, then `sum_s`, then `turn`. `sum_s` is the time in seconds, computed as in ns-2: one
/// floating-point addition for each wait and each transmission.
///
/// The order within a nanosecond matters because flows that share a bottleneck synchronize: their packets then
/// repeatedly arrive within the same nanosecond.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Time, in nanoseconds since the start of the run.
    pub at: Instant,
    /// Time in seconds, at least 0, as the floating-point sum of ns-2.
    pub sum_s: f64,
    /// Order among moments with equal `sum_s`. With [`Ties::Scheduled`](crate::Ties::Scheduled): the sequence number of
    /// the event. With [`Ties::Drawn`](crate::Ties::Drawn): class, random number, and in the low 32 bits an `f32`, the
    /// difference between the exact time and `at`, in ns.
    pub turn: u64,
}

impl Moment {
    /// Creates the moment at exactly this time, before all other moments with the same `sum_s`.
    #[must_use]
    pub fn new(at: Instant) -> Self {
        Self { at, sum_s: at.as_secs_f64(), turn: 0 }
    }

    /// Creates the moment after all others at this time.
    #[must_use]
    pub const fn after_all(at: Instant) -> Self {
        Self { at, sum_s: f64::INFINITY, turn: u64::MAX }
    }

    /// Creates the moment before all others at this time.
    #[must_use]
    pub const fn before_all(at: Instant) -> Self {
        Self { at, sum_s: 0.0, turn: 0 }
    }

    /// Creates the moment at `sum_s`, in seconds, for [`Ties::Scheduled`](crate::Ties::Scheduled). `place` is the
    /// sequence number of the event; `at` becomes the nearest nanosecond.
    #[must_use]
    #[inline]
    pub fn scheduled(sum_s: f64, place: u64) -> Self {
        // `as` saturates.
        Self { at: Instant::from_nanos((sum_s * 1e9 + 0.5) as u64), sum_s, turn: place }
    }

    /// Creates the moment of `class` with a random draw from `at` and `salt`. Each actor of a class needs its own salt.
    /// `fraction_ns` is the exact time minus `at`, from -0.5 to 0.5 ns.
    #[must_use]
    #[inline]
    pub fn drawn(at: Instant, sum_s: f64, fraction_ns: f32, class: Class, salt: u32) -> Self {
        let random = draw(at, salt) >> (u64::BITS - DRAW_BITS);
        let turn = ((class as u64) << DRAW_BITS | random) << u32::BITS | u64::from(fraction_ns.to_bits());
        Self { at, sum_s, turn }
    }

    /// Creates the moment of `class` that is before all [drawn](Self::drawn) moments of this class with the same `at`
    /// and `sum_s`.
    #[must_use]
    #[inline]
    pub const fn in_class(at: Instant, sum_s: f64, class: Class) -> Self {
        Self { at, sum_s, turn: (class as u64) << (DRAW_BITS + u32::BITS) }
    }

    /// Returns the exact time minus `at`, from -0.5 to 0.5 ns. Valid only with [`Ties::Drawn`](crate::Ties::Drawn).
    #[must_use]
    #[inline]
    pub const fn fraction_ns(&self) -> f32 {
        f32::from_bits(self.turn as u32)
    }
}

const DRAW_BITS: u32 = 29;

/// Hashes in two rounds of multiply and fold. Flipping any input bit flips each high bit with probability 1/2.
#[inline]
const fn draw(at: Instant, salt: u32) -> u64 {
    let mixed = (at.as_nanos() ^ (salt as u64) << 32 ^ salt as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// Consistent with `Ord`, which compares the bits of the sum.
impl PartialEq for Moment {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Moment {}

impl Moment {
    /// Compares within a nanosecond. Sums are not negative, so their bits compare as the numbers do.
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
    fn moments_are_ordered_by_time_sum_class_and_draw() {
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

    /// Zeros of both signs are equal numbers with different bits. `Eq` and `Ord` agree on them.
    #[test]
    fn equality_agrees_with_the_order() {
        let [plus, minus] = [0.0, -0.0].map(|sum_s| Moment { sum_s, ..Moment::new(Instant::ZERO) });
        assert!(plus == plus && plus != minus);
        assert!(plus.cmp(&plus).is_eq() && plus.cmp(&minus).is_ne());
    }

    #[test]
    fn scheduled_moments_are_ordered_by_place() {
        let mut places = Places::default();
        let [first, second] = [places.next(), places.next()];
        assert!(Moment::scheduled(0.1, first) < Moment::scheduled(0.1, second));
        assert!(Moment::scheduled(0.1, second) < Moment::scheduled(0.1 + f64::EPSILON, first));
        assert_eq!(Moment::scheduled(0.1, first).at, Instant::from_millis(100));
        assert_eq!(Moment::scheduled(2.6e-9, first).at, Instant::from_nanos(3), "the nearest");
        assert_eq!(Moment::scheduled(f64::INFINITY, first).at, Instant::FAR_FUTURE);
    }

    /// Each of two actors is first in half of the draws, for any salts and spacing. The first actor does not depend on
    /// the previous draw.
    #[test]
    fn draws_favor_no_actor() {
        for (salt, other) in [(0, 1), (1, 2), (7, 0x8000_0007), (0xdead_beef, 0xdead_beee), (3, u32::MAX)] {
            for spacing in [1, 240_000, 1_200_000, 1 << 20, 1_000_000_000] {
                const MEETINGS: u32 = 10_000;
                let wins: Vec<bool> = (0..u64::from(MEETINGS))
                    .map(|meeting| {
                        let moment = |salt| drawn(meeting * spacing, 1.0, Class::Arrival, salt);
                        moment(salt) < moment(other)
                    })
                    .collect();
                let won = wins.iter().filter(|won| **won).count() as f64;
                let repeated = wins.windows(2).filter(|pair| pair[0] == pair[1]).count() as f64;
                // Four standard deviations of this many fair coin flips.
                for heads in [won, repeated] {
                    assert!((heads - f64::from(MEETINGS) / 2.0).abs() < 200.0, "{salt} {other} {spacing}: {heads}");
                }
            }
        }
    }
}
