//! Statistics of means over runs, other than their [intervals](headway_record::Estimate).

/// Returns Kendall's tau-a (Kendall 1938): (rising pairs - falling pairs) / pairs; 0 for fewer than two values.
#[must_use]
pub fn kendall_tau(values: &[f64]) -> f64 {
    let (mut sum, mut pairs) = (0i64, 0u64);
    for (place, earlier) in values.iter().enumerate() {
        for later in &values[place + 1..] {
            pairs += 1;
            sum += i64::from(later > earlier) - i64::from(later < earlier);
        }
    }
    if pairs == 0 { 0.0 } else { sum as f64 / pairs as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found} is not {expected}");
    }

    #[test]
    fn tau_counts_pairs() {
        assert_eq!(kendall_tau(&[1.0, 2.0, 3.0]), 1.0);
        assert_eq!(kendall_tau(&[3.0, 2.0, 1.0]), -1.0);
        assert_eq!(kendall_tau(&[1.0, 1.0]), 0.0);
        // Table II, DropTail TCP: 18 pairs rise, 2 fall, 1 is equal.
        close(kendall_tau(&[13.246, 13.246, 13.968, 14.027, 13.92, 14.46, 14.51]), 16.0 / 21.0, 1e-15);
        assert_eq!(kendall_tau(&[5.0]), 0.0);
    }
}
