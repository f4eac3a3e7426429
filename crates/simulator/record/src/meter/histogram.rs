//! A histogram with buckets of nearly equal relative width, for quantiles of many durations in little memory.
//!
//! Each power of two is divided into 64 equal buckets; below 128 a bucket is one value. A quantile is the middle of its
//! bucket, with a relative error of at most 1/128 (0.8 %); mean, minimum and maximum are exact. All arithmetic is on
//! integers, so that results are equal on all machines. Memory: 256 bytes for each power of two between the smallest
//! and the largest value, rounded to cache lines.

/// Maximum relative error of a percentile of a [`Histogram`], 1/128: half the relative width of the widest bucket.
pub const PERCENTILE_ERROR: f64 = 0.5 / PER_OCTAVE as f64;

/// Number of buckets in a power of two.
const PER_OCTAVE: usize = 64;
const SHIFT: u32 = PER_OCTAVE.ilog2();
/// Number of counts in a cache line.
const LINE: usize = 16;

/// Histogram of 64-bit values, such as nanoseconds, in buckets of a relative width of at most 1/64.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    sum: u128,
    /// Counts in whole cache lines, starting at bucket `first`.
    counts: Box<[u32]>,
    first: usize,
    total: u64,
    min: u64,
    max: u64,
}

#[inline]
fn bucket(value: u64) -> usize {
    if value < PER_OCTAVE as u64 {
        return value as usize;
    }
    let exponent = value.ilog2() - SHIFT;
    exponent as usize * PER_OCTAVE + (value >> exponent) as usize
}

fn middle(bucket: usize) -> u64 {
    if bucket < 2 * PER_OCTAVE {
        return bucket as u64;
    }
    let exponent = bucket / PER_OCTAVE - 1;
    let low = ((bucket % PER_OCTAVE + PER_OCTAVE) as u64) << exponent;
    low + (1 << (exponent - 1))
}

impl Histogram {
    /// Adds a value to the histogram.
    #[inline]
    pub fn record(&mut self, value: u64) {
        let bucket = bucket(value);
        let mut slot = bucket.wrapping_sub(self.first);
        if slot >= self.counts.len() {
            self.grow(bucket);
            slot = bucket - self.first;
        }
        self.counts[slot] = self.counts[slot].saturating_add(1);
        self.min = if self.total == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.total += 1;
        self.sum += u128::from(value);
    }

    /// Extends `counts` to include `bucket`, by whole cache lines.
    #[cold]
    fn grow(&mut self, bucket: usize) {
        let line = bucket - bucket % LINE;
        if self.counts.is_empty() {
            self.first = line;
        }
        let (missing, needed) = match self.first.checked_sub(line) {
            Some(missing) => (missing, missing + self.counts.len()),
            None => (0, line + LINE - self.first),
        };
        let mut wider = vec![0; needed.max(LINE)];
        wider[missing..missing + self.counts.len()].copy_from_slice(&self.counts);
        self.counts = wider.into();
        self.first = self.first.min(line);
    }

    /// Returns the number of recorded values.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn sum_of_values(&self) -> u128 {
        self.sum
    }

    pub(crate) fn max(&self) -> u64 {
        self.max
    }

    /// Returns the mean; `None` without values.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.total > 0).then(|| self.sum as f64 / self.total as f64)
    }

    /// Returns the nearest-rank quantile: the smallest value that at least `percent` % of the values do not exceed.
    /// `None` without values.
    #[must_use]
    pub fn percentile(&self, percent: u32) -> Option<u64> {
        let rank = (u128::from(self.total) * u128::from(percent)).div_ceil(100).max(1);
        let mut seen = 0;
        for (slot, count) in self.counts.iter().enumerate() {
            seen += u128::from(*count);
            if seen >= rank {
                return Some(middle(self.first + slot).clamp(self.min, self.max));
            }
        }
        None
    }

    /// Returns the nonempty buckets: middle, limited to the range of the values, and count.
    pub(crate) fn bins(&self) -> impl Iterator<Item = (u64, u64)> {
        let nonempty = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        nonempty.map(|(slot, count)| (middle(self.first + slot).clamp(self.min, self.max), u64::from(*count)))
    }

    #[cfg(test)]
    pub(crate) fn heap_bytes(&self) -> usize {
        self.counts.len() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_are_contiguous() {
        for octave in 7..64 {
            let at = 1u64 << octave;
            assert_eq!(bucket(at), bucket(at - 1) + 1, "2^{octave}");
        }
        assert_eq!(bucket(u64::MAX), 57 * PER_OCTAVE + 127);
    }

    #[test]
    fn an_empty_histogram_has_no_quantile() {
        let empty = Histogram::default();
        assert_eq!((empty.percentile(50), empty.mean()), (None, None));
    }

    #[test]
    fn small_values_are_exact() {
        let mut histogram = Histogram::default();
        for value in 1..=100 {
            histogram.record(value);
        }
        for percent in [1, 50, 95, 99, 100] {
            assert_eq!(histogram.percentile(percent), Some(u64::from(percent)));
        }
        assert_eq!(histogram.mean(), Some(50.5));
    }

    #[test]
    fn delays_from_a_millisecond_to_a_second_take_less_than_three_kilobytes() {
        let mut histogram = Histogram::default();
        for micros in 1_000..1_000_000u64 {
            histogram.record(micros * 1_000);
        }
        assert!(histogram.heap_bytes() <= 11 * 256, "{}", histogram.heap_bytes());
    }

    proptest! {
        /// The error against the exact nearest-rank quantile is at most 1/128, for any values in any order.
        #[test]
        fn quantiles_are_within_an_128th(
            octaves in prop::collection::vec((0u32..64, any::<u64>()), 1..400),
            percent in 1u32..=100,
        ) {
            let mut values: Vec<u64> = octaves.into_iter().map(|(shift, value)| value >> shift).collect();
            let mut histogram = Histogram::default();
            for value in &values {
                histogram.record(*value);
            }
            values.sort_unstable();
            let rank = (values.len() * percent as usize).div_ceil(100);
            let exact = values[rank - 1];
            let found = histogram.percentile(percent).unwrap();
            prop_assert!(found.abs_diff(exact) <= exact / 128, "{} {}", found, exact);
            prop_assert_eq!(histogram.max(), *values.last().unwrap());
            prop_assert_eq!(histogram.min, values[0]);
        }
    }
}
