//! Box plots (Tukey 1977): median and quartiles, whiskers, and outliers.

use super::axis::MAX_VALUE;

/// Maximum length of whiskers beyond the quartiles, as a multiple of the interquartile range.
const WHISKERS: f64 = 1.5;

/// A box plot (median, quartiles, whiskers and outliers) of samples in a [`Chart`](super::Chart).
#[derive(Clone, Debug, PartialEq)]
pub struct ChartBox {
    /// Label in the legend; boxes of one color share a label.
    pub label: String,
    /// Index of the color and of the mark of the box.
    pub color: usize,
    /// Position of the center of the box on the horizontal axis.
    pub x: f64,
    /// Width of the box in units of `x`; on a logarithmic axis, in decades.
    pub width: f64,
    /// Samples that the box summarizes. NaN and magnitudes above 10^15 are omitted.
    pub samples: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct BoxStatistics {
    /// Smallest and largest sample within 1.5 times the interquartile range of the quartiles.
    pub(super) whiskers: [f64; 2],
    /// Quartiles by linear interpolation: definition 7 of Hyndman and Fan (1996), the default of NumPy.
    pub(super) quartiles: [f64; 3],
    pub(super) mean: f64,
    /// Samples beyond the whiskers, ascending.
    pub(super) outliers: Vec<f64>,
}

impl BoxStatistics {
    pub(super) fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted: Vec<f64> = samples.iter().copied().filter(|sample| sample.abs() <= MAX_VALUE).collect();
        sorted.sort_by(f64::total_cmp);
        let (first, last) = (*sorted.first()?, *sorted.last()?);
        let quantile = |quarters: usize| {
            let rank = (sorted.len() - 1) * quarters;
            let (below, above) = (sorted[rank / 4], sorted[rank.div_ceil(4)]);
            below + (above - below) * (rank % 4) as f64 / 4.0
        };
        let quartiles = [1, 2, 3].map(quantile);
        let reach = WHISKERS * (quartiles[2] - quartiles[0]);
        let within = |sample: &&f64| (quartiles[0] - reach..=quartiles[2] + reach).contains(*sample);
        Some(Self {
            // Rounding could exclude all samples.
            whiskers: [
                *sorted.iter().find(within).unwrap_or(&first),
                *sorted.iter().rev().find(within).unwrap_or(&last),
            ],
            quartiles,
            mean: first + sorted.iter().map(|sample| sample - first).sum::<f64>() / sorted.len() as f64,
            outliers: sorted.iter().filter(|sample| !within(sample)).copied().collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Python: `statistics.quantiles([1, 2, 4, 7, 11, 40], n=4, method="inclusive")` is 2.5, 5.5, 10.
    #[test]
    fn quartiles_are_those_of_python() {
        let statistics = BoxStatistics::of(&[40.0, 7.0, 1.0, f64::NAN, 11.0, 2.0, 4.0]).unwrap();
        assert_eq!(statistics.quartiles, [2.5, 5.5, 10.0]);
        assert!((statistics.mean - 65.0 / 6.0).abs() < 1e-12);
        // 10 + 1.5 x 7.5 = 21.25: 11 is the largest within, and 40 an outlier.
        assert_eq!((statistics.whiskers, statistics.outliers), ([1.0, 11.0], vec![40.0]));
    }

    #[test]
    fn one_sample_is_a_line_and_no_sample_has_no_box() {
        let one = BoxStatistics::of(&[3.0]).unwrap();
        assert_eq!(one, BoxStatistics { whiskers: [3.0; 2], quartiles: [3.0; 3], mean: 3.0, outliers: vec![] });
        assert_eq!(BoxStatistics::of(&[f64::NAN, f64::INFINITY, 1e300]), None);
    }

    proptest! {
        #[test]
        fn quartiles_are_ordered_and_outliers_are_beyond_whiskers(samples in prop::collection::vec(-1e6..1e6f64, 1..100)) {
            let statistics = BoxStatistics::of(&samples).unwrap();
            let [q1, median, q3] = statistics.quartiles;
            prop_assert!(q1 <= median && median <= q3);
            let beyond = |sample: &f64| *sample < statistics.whiskers[0] || *sample > statistics.whiskers[1];
            prop_assert!(statistics.outliers.iter().all(beyond));
            prop_assert_eq!(samples.iter().filter(|sample| beyond(sample)).count(), statistics.outliers.len());
        }
    }
}
