//! Fairness of shares of a resource.

/// Returns Jain's fairness index `(sum x)^2 / (n sum x^2)`, from 1/n (one nonzero share) to 1 (equal shares). Returns
/// `None` without values or if all are zero. Values must not be negative.
///
/// Jain, Chiu, Hawe, "A Quantitative Measure of Fairness and Discrimination", DEC-TR-301, 1984.
#[must_use]
pub fn jain_index(shares: &[f64]) -> Option<f64> {
    // Scaling by the largest value avoids overflow and underflow of the squares.
    let largest = shares.iter().copied().fold(0.0, f64::max);
    if largest <= 0.0 || !largest.is_finite() {
        return None;
    }
    let (mut sum, mut squares) = (0.0, 0.0);
    for share in shares {
        let scaled = share / largest;
        sum += scaled;
        squares += scaled * scaled;
    }
    Some(sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Worked by hand from the definition: 4^2/(4*4), 1/(4*1), 10^2/(4*30).
    #[test]
    fn the_index_of_known_shares() {
        assert_eq!(jain_index(&[1.0, 1.0, 1.0, 1.0]), Some(1.0));
        assert_eq!(jain_index(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert!((jain_index(&[1.0, 2.0, 3.0, 4.0]).unwrap() - 0.833_333_333_333_333_4).abs() < 1e-15);
        // The UDDJ paper's equation (13): 10^2/(4 * 28), 4^2/(2 * 8.5), 36^2/(8 * 204).
        for (shares, index) in [
            (&[4.0, 2.0, 2.0, 2.0][..], 0.892_857_143),
            (&[2.5, 1.5], 0.941_176_471),
            (&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], 0.794_117_647),
        ] {
            assert!((jain_index(shares).unwrap() - index).abs() < 1e-9, "{shares:?}");
        }
        assert_eq!(jain_index(&[]), None);
        assert_eq!(jain_index(&[0.0, 0.0]), None);
    }

    proptest! {
        /// Properties 2 and 3 of the report: independent of scale, bounded by 1/n and 1.
        #[test]
        fn the_index_is_bounded_and_independent_of_scale(shares in prop::collection::vec(0.0..1e9f64, 1..50), scale in 1e-3..1e12f64) {
            prop_assume!(shares.iter().any(|x| *x > 1e-3));
            let index = jain_index(&shares).unwrap();
            prop_assert!(index >= 1.0 / shares.len() as f64 - 1e-12 && index <= 1.0 + 1e-12);
            let scaled: Vec<f64> = shares.iter().map(|x| x * scale).collect();
            prop_assert!((jain_index(&scaled).unwrap() - index).abs() < 1e-9);
        }
    }
}
