//! ZigZag (Cen, Cosman and Voelker, "End-to-end differentiation of congestion and wireless losses", IEEE/ACM
//! Transactions on Networking 11(5), 2003). For n consecutive losses before a packet with relative one-way trip time r:
//!
//! ```text
//! mean = (1 - a) mean + a r        dev = (1 - 2a) dev + 2a |r - mean|        a = 1/32
//! channel loss if   n = 1 and r < mean - dev      n = 2 and r < mean - dev/2
//!                   n = 3 and r < mean            n > 3 and r < mean - dev/2
//! ```

use super::gaps::Gaps;
use super::{LossFilter, Seen};

const A: f64 = 1.0 / 32.0;

/// Moving mean and deviation of delays, and the gaps classified by them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Zigzag {
    gaps: Gaps,
    /// First delay, from which the others are counted, in ns.
    origin: Option<i64>,
    mean: f64,
    deviation: f64,
}

impl Zigzag {
    fn is_channels(&self, delay: f64, missing: u64) -> bool {
        let deviations = match missing {
            1 => 1.0,
            3 => 0.0,
            _ => 0.5,
        };
        delay < self.mean - deviations * self.deviation
    }
}

impl LossFilter for Zigzag {
    fn on_packet(&mut self, seen: &Seen) {
        let origin = *self.origin.get_or_insert(seen.delay_ns());
        let delay = seen.delay_ns().wrapping_sub(origin) as f64;
        self.mean += A * (delay - self.mean);
        self.deviation += 2.0 * A * ((delay - self.mean).abs() - self.deviation);
        let missing = self.gaps.before(seen);
        self.gaps.judge(seen, missing, !self.is_channels(delay, missing));
    }

    fn counts(&mut self, first: u64, _: u64) -> bool {
        self.gaps.counts(first)
    }
}

#[cfg(test)]
mod tests {
    use super::super::seen;
    use super::*;

    /// With a mean of 10 and a deviation of 4 the bounds are 6, 8, 10 and 8.
    #[test]
    fn the_bound_depends_on_the_number_of_losses() {
        let zigzag = Zigzag { mean: 10.0, deviation: 4.0, ..Zigzag::default() };
        for (missing, bound) in [(1, 6.0), (2, 8.0), (3, 10.0), (4, 8.0), (100, 8.0)] {
            assert!(zigzag.is_channels(bound - 0.1, missing) && !zigzag.is_channels(bound, missing), "{missing}");
        }
    }

    /// After delays of 0, a delay of 32 us moves the mean to 1 us and the deviation to 2/32 of 31 us (a = 1/32).
    #[test]
    fn the_averages_are_those_of_the_paper() {
        let mut zigzag = Zigzag::default();
        zigzag.on_packet(&seen(0, 0, 100));
        zigzag.on_packet(&seen(1, 1000, 1132));
        assert!((zigzag.mean - 1000.0).abs() < 1e-9 && (zigzag.deviation - 31_000.0 / 16.0).abs() < 1e-9);
        assert!(zigzag.counts(5, 5));
        // Two packets are missing before a delay that is 10 us below the first.
        zigzag.on_packet(&seen(4, 4000, 4090));
        assert_eq!([2, 3, 5].map(|number| zigzag.counts(number, number)), [false, false, true]);
    }
}
