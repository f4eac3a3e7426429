//! Smoothness: the coefficient of variation of a rate over bins of fixed length.
//!
//! `CoV = sigma / mean` of the bytes in each whole bin, with the population's sigma: the smoothness measure of Floyd,
//! Handley, Padhye, Widmer, "Equation-Based Congestion Control for Unicast Applications", SIGCOMM 2000.
//! With n bins, sum S and sum of squares Q, `CoV = sqrt(n Q - S^2) / S`, in integers before the root.

use headway_units::Duration;

const BIN: Duration = Duration::from_millis(500);

#[derive(Clone, Debug, Default)]
pub(crate) struct RateBins {
    current: u64,
    bytes: u64,
}

/// Sums of the completed bins.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClosedBins {
    sum: u128,
    squares: u128,
}

impl RateBins {
    /// Records `bytes` that arrive `since_start` after the start of the first bin. Calls must be in the order of time.
    /// Returns the bytes of the previous bin if this call starts a new one.
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

    /// Returns the coefficient over the whole bins in `time`; the incomplete last bin does not count. `None` with fewer
    /// than two bins or without bytes.
    pub(crate) fn coefficient_of_variation(&self, closed: &ClosedBins, time: Duration) -> Option<f64> {
        let bins = time.as_nanos() / BIN.as_nanos();
        let mut sums = closed.clone();
        if self.current < bins {
            sums.add(self.bytes);
        }
        sums.coefficient_of_variation(bins)
    }
}

impl ClosedBins {
    /// Returns the coefficient over `bins` bins, of which those that were not added are empty. `None` with fewer than two
    /// bins or without bytes.
    pub(crate) fn coefficient_of_variation(&self, bins: u64) -> Option<f64> {
        if bins < 2 || self.sum == 0 {
            return None;
        }
        let variance = u128::from(bins).saturating_mul(self.squares).saturating_sub(self.sum.saturating_mul(self.sum));
        Some((variance as f64).sqrt() / self.sum as f64)
    }

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
    fn a_series_computed_by_hand() {
        let time = Duration::from_secs(2);
        assert!((coefficient(&[10, 12, 8, 10], time).unwrap() - 0.141_421_356_237_309_5).abs() < 1e-15);
        assert_eq!(coefficient(&[7, 7, 7, 7], time), Some(0.0));
    }

    /// Bins without arrivals are zeros, at the start, in between and at the end.
    #[test]
    fn empty_bins_count_and_the_incomplete_bin_does_not() {
        let found = coefficient(&[0, 8, 0, 8, 0, 0], Duration::from_secs(3)).unwrap();
        assert!((found - 2f64.sqrt()).abs() < 1e-15, "{found}");
        let with_rest = coefficient(&[10, 12, 8, 10, 500], Duration::from_millis(2_499)).unwrap();
        assert!((with_rest - 0.141_421_356_237_309_5).abs() < 1e-15);
    }

    #[test]
    fn fewer_than_two_bins_or_no_bytes_have_no_coefficient() {
        assert_eq!(coefficient(&[5], Duration::from_millis(999)), None);
        assert_eq!(coefficient(&[], Duration::from_secs(8)), None);
    }

    proptest! {
        /// Compares with the two-pass definition.
        #[test]
        fn equals_the_definition(bins in prop::collection::vec(0u32..2_000_000, 2..200)) {
            let mean = bins.iter().map(|x| f64::from(*x)).sum::<f64>() / bins.len() as f64;
            prop_assume!(mean > 0.0);
            let variance = bins.iter().map(|x| (f64::from(*x) - mean) * (f64::from(*x) - mean)).sum::<f64>();
            let expected = (variance / bins.len() as f64).sqrt() / mean;
            let found = coefficient(&bins, BIN * bins.len() as u64).unwrap();
            prop_assert!((found - expected).abs() < 1e-9, "{} {}", found, expected);
        }
    }
}
