//! Smoothness: the coefficient of variation of a rate over bins of fixed length.
//!
//! `CoV = sigma / mean` of the bytes in each whole bin, sigma the population's: the smoothness measure of Floyd,
//! Handley, Padhye, Widmer, "Equation-Based Congestion Control for Unicast Applications", SIGCOMM 2000.
//! With n bins, S the sum and Q the sum of squares, `CoV = sqrt(n Q - S^2) / S`: integers up to the root.

use headway_units::Duration;

const BIN: Duration = Duration::from_millis(500);

#[derive(Clone, Debug, Default)]
pub(crate) struct RateBins {
    current: u64,
    bytes: u64,
}

/// The bins before it, of which only sums are kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClosedBins {
    sum: u128,
    squares: u128,
}

impl RateBins {
    /// `bytes` came so long after the start of the first bin, which never goes back. Answers with the bytes of a bin that this ends.
    #[inline]
    pub(crate) fn add(&mut self, since_start: Duration, bytes: u32) -> Option<u64> {
        let bin = since_start.as_nanos() / BIN.as_nanos();
        let closed = (bin > self.current).then(|| {
            self.current = bin;
            std::mem::take(&mut self.bytes)
        });
        self.bytes += u64::from(bytes);
        closed
    }

    /// The coefficient over the whole bins of this time: what is left after the last whole bin does not count.
    /// `None` with fewer than two bins, or no byte in them.
    pub(crate) fn coefficient_of_variation(&self, closed: &ClosedBins, time: Duration) -> Option<f64> {
        let bins = time.as_nanos() / BIN.as_nanos();
        let mut done = closed.clone();
        if self.current < bins {
            done.add(self.bytes);
        }
        if bins < 2 || done.sum == 0 {
            return None;
        }
        let variance = u128::from(bins).saturating_mul(done.squares).saturating_sub(done.sum.saturating_mul(done.sum));
        Some((variance as f64).sqrt() / done.sum as f64)
    }
}

impl ClosedBins {
    pub(crate) fn add(&mut self, bytes: u64) {
        let bytes = u128::from(bytes);
        self.sum += bytes;
        self.squares = self.squares.saturating_add(bytes * bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn coefficient(bins: &[u32], time: Duration) -> Option<f64> {
        let (mut rate, mut closed) = (RateBins::default(), ClosedBins::default());
        for (index, bytes) in bins.iter().enumerate() {
            if *bytes > 0
                && let Some(bin) = rate.add(BIN * index as u64, *bytes)
            {
                closed.add(bin);
            }
        }
        rate.coefficient_of_variation(&closed, time)
    }

    /// Rates 10, 12, 8, 10: mean 10, population variance 2, so sqrt(2)/10.
    #[test]
    fn a_worked_series() {
        let time = Duration::from_secs(2);
        assert!((coefficient(&[10, 12, 8, 10], time).unwrap() - 0.141_421_356_237_309_5).abs() < 1e-15);
        assert_eq!(coefficient(&[7, 7, 7, 7], time), Some(0.0));
    }

    /// Silent bins are zeros, before, between and after; the unfinished last bin is left out.
    #[test]
    fn silence_counts_and_the_unfinished_bin_does_not() {
        let sure = coefficient(&[0, 8, 0, 8, 0, 0], Duration::from_secs(3)).unwrap();
        assert!((sure - 2f64.sqrt()).abs() < 1e-15, "{sure}");
        let with_rest = coefficient(&[10, 12, 8, 10, 500], Duration::from_millis(2_499)).unwrap();
        assert!((with_rest - 0.141_421_356_237_309_5).abs() < 1e-15);
    }

    #[test]
    fn too_little_to_say() {
        assert_eq!(coefficient(&[5], Duration::from_millis(999)), None);
        assert_eq!(coefficient(&[], Duration::from_secs(8)), None);
    }

    proptest! {
        /// The streamed sums give what the two-pass definition gives.
        #[test]
        fn equals_the_definition(bins in prop::collection::vec(0u32..2_000_000, 2..200)) {
            let mean = bins.iter().map(|x| f64::from(*x)).sum::<f64>() / bins.len() as f64;
            prop_assume!(mean > 0.0);
            let variance = bins.iter().map(|x| (f64::from(*x) - mean) * (f64::from(*x) - mean)).sum::<f64>();
            let expected = (variance / bins.len() as f64).sqrt() / mean;
            let got = coefficient(&bins, BIN * bins.len() as u64).unwrap();
            prop_assert!((got - expected).abs() < 1e-9, "{} {}", got, expected);
        }
    }
}
