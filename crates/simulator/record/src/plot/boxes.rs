//! Samples as boxes (Tukey 1977): median and quartiles, whiskers, and what lies beyond.

use super::axis::LARGEST;

/// How far whiskers reach beyond the quartiles, in distances between these.
const WHISKERS: f64 = 1.5;

/// Samples of one kind at one place of a [`Chart`](super::Chart).
#[derive(Clone, Debug, PartialEq)]
pub struct ChartBox {
    /// What it is called; boxes of one colour have one label.
    pub label: String,
    /// Which of the colours and marks.
    pub colour: usize,
    /// Where its middle is.
    pub x: f64,
    /// How wide it is, as `x` counts; over logarithms in powers of ten.
    pub width: f64,
    /// What it is of. What is no number, or beyond 10^15, is left out.
    pub samples: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Five {
    /// The least and the largest sample within 1.5 times the distance of the quartiles from them.
    pub(super) whiskers: [f64; 2],
    /// By linear interpolation between samples: definition 7 of Hyndman and Fan (1996), as NumPy has it.
    pub(super) quartiles: [f64; 3],
    pub(super) mean: f64,
    /// Samples beyond the whiskers, rising.
    pub(super) outliers: Vec<f64>,
}

impl Five {
    pub(super) fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted: Vec<f64> = samples.iter().copied().filter(|sample| sample.abs() <= LARGEST).collect();
        sorted.sort_by(f64::total_cmp);
        let (first, last) = (*sorted.first()?, *sorted.last()?);
        let quantile = |quarters: usize| {
            let place = (sorted.len() - 1) * quarters;
            let (below, above) = (sorted[place / 4], sorted[place.div_ceil(4)]);
            below + (above - below) * (place % 4) as f64 / 4.0
        };
        let quartiles = [1, 2, 3].map(quantile);
        let reach = WHISKERS * (quartiles[2] - quartiles[0]);
        let within = |sample: &&f64| (quartiles[0] - reach..=quartiles[2] + reach).contains(*sample);
        Some(Self {
            // Rounding could leave nothing within.
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
        let five = Five::of(&[40.0, 7.0, 1.0, f64::NAN, 11.0, 2.0, 4.0]).unwrap();
        assert_eq!(five.quartiles, [2.5, 5.5, 10.0]);
        assert!((five.mean - 65.0 / 6.0).abs() < 1e-12);
        // 10 + 1.5 x 7.5 = 21.25: 11 is the largest within, and 40 an outlier.
        assert_eq!((five.whiskers, five.outliers), ([1.0, 11.0], vec![40.0]));
    }

    #[test]
    fn one_sample_is_a_line_and_none_is_nothing() {
        let one = Five::of(&[3.0]).unwrap();
        assert_eq!(one, Five { whiskers: [3.0; 2], quartiles: [3.0; 3], mean: 3.0, outliers: vec![] });
        assert_eq!(Five::of(&[f64::NAN, f64::INFINITY, 1e300]), None);
    }

    proptest! {
        #[test]
        fn all_is_in_order(samples in prop::collection::vec(-1e6..1e6f64, 1..100)) {
            let five = Five::of(&samples).unwrap();
            let [q1, median, q3] = five.quartiles;
            prop_assert!(q1 <= median && median <= q3);
            let beyond = |sample: &f64| *sample < five.whiskers[0] || *sample > five.whiskers[1];
            prop_assert!(five.outliers.iter().all(beyond));
            prop_assert_eq!(samples.iter().filter(|sample| beyond(sample)).count(), five.outliers.len());
        }
    }
}
