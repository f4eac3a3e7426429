//! Smoothness: the coefficient of variation of a rate over bins of fixed length.
//!
//! `CoV = sigma / mean` of the bytes in each whole bin, sigma the population's: the smoothness measure of Floyd,
//! Handley, Padhye, Widmer, "Equation-Based Congestion Control for Unicast Applications", SIGCOMM 2000.
//! With n bins, S the sum and Q the sum of squares, `CoV = sqrt(n Q - S^2) / S`: integers up to the root.

use headway_units::{Duration, Instant};

/// The length of a bin.
const BIN: Duration = Duration::from_millis(500);

/// Bytes by bin, only their sums kept.
#[derive(Clone, Debug)]
pub(crate) struct RateBins {
    start: Instant,
    /// The bin being filled, and what it holds.
    current: u64,
    bytes: u64,
    /// Of the bins before it.
    sum: u128,
    squares: u128,
}

impl RateBins {
    /// Bins that follow one another from `start` on.
    pub(crate) fn new(start: Instant) -> Self {
        Self { start, current: 0, bytes: 0, sum: 0, squares: 0 }
    }

    /// `bytes` came at `now`, which is not before `start` and never goes back.
    pub(crate) fn add(&mut self, now: Instant, bytes: u32) {
        let bin = now.since(self.start).as_nanos() / BIN.as_nanos();
        if bin > self.current {
            self.close();
            self.current = bin;
        }
        self.bytes += u64::from(bytes);
    }

    fn close(&mut self) {
        let bytes = u128::from(self.bytes);
        self.sum += bytes;
        self.squares = self.squares.saturating_add(bytes * bytes);
        self.bytes = 0;
    }

    /// The coefficient over the whole bins until `end`: what is left after the last whole bin does not count.
    /// `None` with fewer than two bins, or no byte in them.
    pub(crate) fn coefficient_of_variation(&self, end: Instant) -> Option<f64> {
        let bins = end.since(self.start).as_nanos() / BIN.as_nanos();
        let mut done = self.clone();
        if self.current < bins {
            done.close();
        }
        if bins < 2 || done.sum == 0 {
            return None;
        }
        let variance = u128::from(bins).saturating_mul(done.squares).saturating_sub(done.sum.saturating_mul(done.sum));
        Some((variance as f64).sqrt() / done.sum as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn coefficient(bins: &[u32], end: Instant) -> Option<f64> {
        let mut rate = RateBins::new(Instant::from_secs(1));
        for (index, bytes) in bins.iter().enumerate() {
            if *bytes > 0 {
                rate.add(Instant::from_secs(1) + BIN * index as u64, *bytes);
            }
        }
        rate.coefficient_of_variation(end)
    }

    /// Rates 10, 12, 8, 10: mean 10, population variance 2, so sqrt(2)/10.
    #[test]
    fn a_worked_series() {
        let end = Instant::from_secs(3);
        assert!((coefficient(&[10, 12, 8, 10], end).unwrap() - 0.141_421_356_237_309_5).abs() < 1e-15);
        assert_eq!(coefficient(&[7, 7, 7, 7], end), Some(0.0));
    }

    /// Silent bins are zeros, before, between and after; the unfinished last bin is left out.
    #[test]
    fn silence_counts_and_the_unfinished_bin_does_not() {
        let sure = coefficient(&[0, 8, 0, 8, 0, 0], Instant::from_secs(4)).unwrap();
        assert!((sure - 2f64.sqrt()).abs() < 1e-15, "{sure}");
        let with_rest = coefficient(&[10, 12, 8, 10, 500], Instant::from_millis(3_499)).unwrap();
        assert!((with_rest - 0.141_421_356_237_309_5).abs() < 1e-15);
    }

    #[test]
    fn too_little_to_say() {
        assert_eq!(coefficient(&[5], Instant::from_millis(1_999)), None);
        assert_eq!(coefficient(&[], Instant::from_secs(9)), None);
    }

    proptest! {
        /// The streamed sums give what the two-pass definition gives.
        #[test]
        fn equals_the_definition(bins in prop::collection::vec(0u32..2_000_000, 2..200)) {
            let mean = bins.iter().map(|x| f64::from(*x)).sum::<f64>() / bins.len() as f64;
            prop_assume!(mean > 0.0);
            let variance = bins.iter().map(|x| (f64::from(*x) - mean) * (f64::from(*x) - mean)).sum::<f64>();
            let expected = (variance / bins.len() as f64).sqrt() / mean;
            let got = coefficient(&bins, Instant::from_secs(1) + BIN * bins.len() as u64).unwrap();
            prop_assert!((got - expected).abs() < 1e-9, "{} {}", got, expected);
        }
    }
}
