//! Instants with what a nanosecond hides.

use crate::Instant;
use std::cmp::Ordering;

/// An instant, and the same time in seconds as a sum of doubles: one addition for each wait and each transmission on the
/// way to it, as ns-2 adds them up. The instant is what counts; the sum orders what falls into one nanosecond.
///
/// It matters because packets meet: flows that share a bottleneck lock in phase, and from then on reach it at the same
/// nanosecond again and again. Which of them is first is decided here, by the last bits, as ns-2 decides it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// The time.
    pub at: Instant,
    /// The same in s, never negative.
    pub sum_s: f64,
    /// What the exact time has more than `at`, from -0.5 to 0.5 ns: so that what is lost at one link is not lost at each.
    pub fraction_ns: f32,
    /// For how long it had been settled that this would happen, in s; 0 if that is unknown. Of two things that are alike
    /// to the last bit, the one that was settled first comes first.
    pub lead_s: f32,
}

impl Moment {
    /// A moment that comes of no sum: the start of a run, a timer.
    #[must_use]
    pub fn new(at: Instant) -> Self {
        Self { at, sum_s: at.as_secs_f64(), fraction_ns: 0.0, lead_s: 0.0 }
    }
}

impl Eq for Moment {}

impl Moment {
    /// The order within a nanosecond. Neither is negative, so their bits are in order as they are.
    #[inline]
    fn cmp_within(&self, other: &Self) -> Ordering {
        self.sum_s
            .to_bits()
            .cmp(&other.sum_s.to_bits())
            .then_with(|| other.lead_s.to_bits().cmp(&self.lead_s.to_bits()))
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

    #[test]
    fn the_sum_decides_within_a_nanosecond_only() {
        let moment = |nanos, sum_s| Moment { at: Instant::from_nanos(nanos), sum_s, ..Moment::new(Instant::ZERO) };
        assert!(moment(5, 0.2) < moment(6, 0.1));
        assert!(moment(5, 0.1) < moment(5, 0.1 + f64::EPSILON));
        assert!(Moment { lead_s: 0.004, ..moment(5, 0.1) } < Moment { lead_s: 0.003, ..moment(5, 0.1) });
        assert_eq!(Moment::new(Instant::from_millis(1)), moment(1_000_000, 0.001));
    }
}
