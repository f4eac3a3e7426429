//! Quantiles of many durations in little memory: counts in buckets of equal relative width.
//!
//! Each power of two is cut into 64 equal buckets; below 128 a bucket is one value. A quantile is the middle of its
//! bucket, so it is off by at most 1/128 (0.8 %) of itself; the mean, the smallest and the largest value are exact.
//! All is integer arithmetic: no logarithm whose last bit could differ between machines. Memory: 256 bytes for each
//! power of two between the smallest and the largest value seen, to the cache line.

/// How far a percentile may be off, as a part of itself: half of the widest bucket.
pub const PERCENTILE_ERROR: f64 = 0.5 / PER_OCTAVE as f64;

/// Buckets in a power of two.
const PER_OCTAVE: usize = 64;
const SHIFT: u32 = PER_OCTAVE.ilog2();
const LINE: usize = 16;

/// Quantiles of many 64-bit values, such as nanoseconds: a cache line, and counts in buckets that are at most 1/64 wide.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    sum: u128,
    /// Whole cache lines of buckets, from bucket `first` on.
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
    /// One more value.
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

    /// Makes room for `bucket`, a cache line at a time.
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

    /// How many values there are.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn max(&self) -> u64 {
        self.max
    }

    /// The mean, `None` of nothing.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.total > 0).then(|| self.sum as f64 / self.total as f64)
    }

    /// The nearest-rank quantile: the smallest value that at least `percent` % of the values do not exceed.
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

    /// Every bucket that holds anything: its middle, as far as values reach, and how many.
    pub(crate) fn bins(&self) -> impl Iterator<Item = (u64, u64)> {
        let held = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        held.map(|(slot, count)| (middle(self.first + slot).clamp(self.min, self.max), u64::from(*count)))
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
    fn buckets_follow_one_another_without_gap() {
        for octave in 7..64 {
            let at = 1u64 << octave;
            assert_eq!(bucket(at), bucket(at - 1) + 1, "2^{octave}");
        }
        assert_eq!(bucket(u64::MAX), 57 * PER_OCTAVE + 127);
    }

    #[test]
    fn nothing_has_no_quantile() {
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
        /// The stated bound: at most 1/128 from the exact nearest-rank quantile, for any values in any order.
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
            let got = histogram.percentile(percent).unwrap();
            prop_assert!(got.abs_diff(exact) <= exact / 128, "{} {}", got, exact);
            prop_assert_eq!(histogram.max(), *values.last().unwrap());
            prop_assert_eq!(histogram.min, values[0]);
        }
    }
}
