//! Average loss interval (RFC 5348 section 5.4) with history discounting (section 5.5).
//!
//! Interval 0 is open, 1 to 8 are closed, 1 is the newest. With w = 1, 1, 1, 1, .8, .6, .4, .2:
//!
//! ```text
//! 5.4:  I_mean = max(sum_{i<k} w_i I_i, sum_{1..k} w_(i-1) I_i) / sum_{i<k} w_i,     k closed intervals
//! 5.5:  m  = mean of the closed ones with weights w_(i-1) DF_i;  DF = max(THRESHOLD, 2m / I_0) if I_0 > 2m, else 1
//!       I_mean = max(mean of all, interval i > 0 with weight w_i DF_i DF;  m)
//!       at a new loss event: DF_i *= DF, all indices increase by one
//! ```
//! With fewer than 8 closed intervals, section 5.4 sums k terms with `I_0` and section 5.5 k + 1; both are implemented
//! as written.

use super::options::{DiscountKept, TfrcOptions};
use std::array;

/// Number of recorded intervals: the open one, eight for the average, and one more for the discount factor that the
/// newest closed one had while it was open.
pub(crate) const INTERVALS: usize = 10;
/// Start of the interval before the first loss, whose length is synthetic (RFC 5348 section 6.3.1).
pub(crate) const FIRST: u64 = u64::MAX;
/// Weights for n = 8 (RFC 5348 section 5.4).
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// Loss interval as input of the average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    /// Number of its first packet, which identifies it.
    pub(crate) start: u64,
    pub(crate) length: f64,
}

/// Returns the weights of eight intervals: those of the RFC, or of a moving average.
fn weights(options: &TfrcOptions) -> [f64; 8] {
    let Some(newest) = options.moving_average else { return WEIGHTS };
    let mut weight = newest;
    WEIGHTS.map(|_| {
        let this = weight;
        weight *= 1.0 - newest;
        this
    })
}

/// Average loss interval and discount factors.
#[derive(Clone, Debug)]
pub(crate) struct Average {
    weights: [f64; 8],
    discounting: bool,
    threshold: f64,
    whole: bool,
    kept: DiscountKept,
    /// DF of the last average.
    last: f64,
    /// Starts and factors of the last averaged intervals, newest first.
    discounts: Vec<(u64, f64)>,
    spare: Vec<(u64, f64)>,
    /// Whether a restart keeps `mean`.
    remembers: bool,
    /// Last average; zero before the first loss.
    mean: f64,
    /// Last average before a restart; zero if it is not kept.
    before: f64,
}

impl Average {
    pub(crate) fn new(options: &TfrcOptions) -> Self {
        Self {
            weights: weights(options),
            discounting: options.discounting,
            threshold: options.expert.discount_threshold,
            whole: options.expert.whole_intervals,
            kept: options.expert.discount_kept,
            last: 1.0,
            discounts: Vec::new(),
            spare: Vec::new(),
            remembers: options.remembers_rate,
            mean: 0.0,
            before: 0.0,
        }
    }

    /// Discards the discount factors, since other intervals follow.
    pub(crate) fn restart(&mut self) {
        self.discounts.clear();
        self.last = 1.0;
        if self.remembers {
            self.before = self.mean;
        }
    }

    /// Fills the history after a restart with the interval before the first loss, which follows from the receive rate.
    /// Required is an interval of at least half of the earlier mean, which is 0.7 of the earlier rate, since X is
    /// proportional to the root of the interval.
    fn fill(&self, intervals: &[Interval]) -> Option<[Interval; INTERVALS]> {
        let oldest = *intervals.last()?;
        let is_same_path = self.before > 0.0 && oldest.start == FIRST && oldest.length >= self.before / 2.0;
        is_same_path.then(|| array::from_fn(|i| intervals.get(i).copied().unwrap_or(oldest)))
    }

    /// Returns p of `intervals`, with the open one first and then the newest; zero without a closed one. `open_counts`
    /// is false for an open interval that is still short (RFC 4828 section 3).
    pub(crate) fn loss_event_rate(&mut self, intervals: &[Interval], open_counts: bool) -> f64 {
        let intervals = intervals.get(..INTERVALS).unwrap_or(intervals);
        if intervals.len() < 2 {
            self.discounts.clear();
            self.last = 1.0;
            return 0.0;
        }
        let filled = self.fill(intervals);
        let intervals = filled.as_ref().map_or(intervals, |filled| filled);
        let mut mean = if self.discounting {
            self.update_discounts(intervals);
            self.discounted(intervals, open_counts)
        } else {
            plain(&self.weights, intervals, open_counts)
        };
        if self.whole {
            mean = mean.floor();
        }
        self.mean = mean;
        if mean > 1.0 { 1.0 / mean } else { 1.0 }
    }

    /// Updates the discount factors for the intervals closed since the last average. By `closed`, the factor follows
    /// from the length of the closed interval, since it only falls while `I_0` grows. By `averaged`, it is that of the
    /// last average, in which later intervals have no part.
    fn update_discounts(&mut self, intervals: &[Interval]) {
        let known = std::mem::replace(&mut self.discounts, std::mem::take(&mut self.spare));
        let factor = |start| known.iter().find(|known| known.0 == start).map_or(1.0, |known| known.1);
        self.discounts.clear();
        self.discounts.extend(intervals.iter().map(|interval| (interval.start, factor(interval.start))));
        let is_known = |interval: &Interval| known.iter().any(|known| known.0 == interval.start);
        let closed_since = intervals.iter().position(is_known).unwrap_or(0);
        for newly_closed in (1..=closed_since).rev() {
            let df = match self.kept {
                DiscountKept::Closed => self.general(newly_closed, intervals).0,
                DiscountKept::Averaged if newly_closed == closed_since => self.last,
                DiscountKept::Averaged => 1.0,
            };
            self.discounts[newly_closed + 1..].iter_mut().for_each(|discount| discount.1 *= df);
        }
        self.spare = known;
    }

    /// Returns DF if the interval at `open` were the open one, and the mean of those before it.
    fn general(&self, open: usize, intervals: &[Interval]) -> (f64, f64) {
        let (mut total, mut weight) = (0.0, 0.0);
        for (w, i) in self.weights.iter().zip(open + 1..intervals.len()) {
            total += intervals[i].length * w * self.discounts[i].1;
            weight += w * self.discounts[i].1;
        }
        let mean = total / weight;
        let open = intervals[open].length;
        (if open > 2.0 * mean { (2.0 * mean / open).max(self.threshold) } else { 1.0 }, mean)
    }

    fn discounted(&mut self, intervals: &[Interval], open_counts: bool) -> f64 {
        let (df, closed) = self.general(0, intervals);
        self.last = df;
        if !open_counts {
            return closed;
        }
        let (mut total, mut weight) = (intervals[0].length * self.weights[0], self.weights[0]);
        for (i, w) in self.weights.iter().enumerate().take(intervals.len()).skip(1) {
            total += intervals[i].length * w * self.discounts[i].1 * df;
            weight += w * self.discounts[i].1 * df;
        }
        closed.max(total / weight)
    }
}

fn plain(weights: &[f64; 8], intervals: &[Interval], open_counts: bool) -> f64 {
    let (mut with_open, mut closed, mut weight) = (0.0, 0.0, 0.0);
    for (pair, w) in intervals.windows(2).zip(weights) {
        with_open += pair[0].length * w;
        closed += pair[1].length * w;
        weight += w;
    }
    (if open_counts { f64::max(with_open, closed) } else { closed }) / weight
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::{Dialect, Options};
    use proptest::prelude::*;

    /// RFC 5348 sections 5.4 and 5.5 literally, packet by packet, with n = 8; sums cover the existing intervals.
    struct Literal {
        i: Vec<f64>,
        df_i: Vec<f64>,
        df: f64,
        threshold: f64,
    }

    const N: usize = 8;
    const W: [f64; N] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

    #[expect(clippy::needless_range_loop, reason = "indices as in the RFC")]
    impl Literal {
        fn packet(&mut self) {
            self.i[0] += 1.0;
            let k = (self.i.len() - 1).min(N);
            let (mut i_tot, mut w_tot) = (0.0, 0.0);
            for i in 1..=k {
                w_tot += W[i - 1] * self.df_i[i];
                i_tot += self.i[i] * W[i - 1] * self.df_i[i];
            }
            let i_mean = i_tot / w_tot;
            self.df = if self.i[0] > 2.0 * i_mean { (2.0 * i_mean / self.i[0]).max(self.threshold) } else { 1.0 };
        }
        fn loss(&mut self) {
            for i in 1..self.i.len() {
                self.df_i[i] *= self.df;
            }
            self.df_i.insert(0, 1.0);
            self.i.insert(0, 0.0);
            self.i.truncate(N + 2);
            self.df_i.truncate(N + 2);
            self.df = 1.0;
        }
        fn p_discounted(&self) -> f64 {
            let k = (self.i.len() - 1).min(N);
            let (mut i_tot0, mut i_tot1, mut w_tot0, mut w_tot1) = (self.i[0] * W[0], 0.0, W[0], 0.0);
            for i in 1..(k + 1).min(N) {
                i_tot0 += self.i[i] * W[i] * self.df_i[i] * self.df;
                w_tot0 += W[i] * self.df_i[i] * self.df;
            }
            for i in 1..=k {
                i_tot1 += self.i[i] * W[i - 1] * self.df_i[i];
                w_tot1 += W[i - 1] * self.df_i[i];
            }
            f64::min(w_tot0 / i_tot0, w_tot1 / i_tot1)
        }
        fn p(&self) -> f64 {
            let k = (self.i.len() - 1).min(N);
            let (mut i_tot0, mut i_tot1, mut w_tot) = (0.0, 0.0, 0.0);
            for i in 0..k {
                i_tot0 += self.i[i] * W[i];
                w_tot += W[i];
            }
            for i in 1..=k {
                i_tot1 += self.i[i] * W[i - 1];
            }
            w_tot / f64::max(i_tot0, i_tot1)
        }
    }

    /// Dialect headway-1: the interval of X_recv counts eightfold if it is at least half of the mean before the
    /// restart, 100.
    #[test]
    fn an_unchanged_path_fills_the_history() {
        let closed = |first| {
            [
                Interval { start: 50, length: 4.0 },
                Interval { start: 30, length: 20.0 },
                Interval { start: FIRST, length: first },
            ]
        };
        let p = |options: &TfrcOptions, first| {
            let mut average = Average::new(options);
            let interval = |start| Interval { start, length: 100.0 };
            assert_eq!(average.loss_event_rate(&[interval(9), interval(5)], true), 0.01);
            average.restart();
            1.0 / average.loss_event_rate(&closed(first), true)
        };
        let headway = TfrcOptions::preset(Dialect::Headway1);
        assert_eq!(p(&headway, 49.0), f64::midpoint(20.0, 49.0));
        assert!((p(&headway, 51.0) - (20.0 + 5.0 * 51.0) / 6.0).abs() < 1e-12);
        let without_memory = TfrcOptions { remembers_rate: false, ..headway };
        assert_eq!(p(&without_memory, 51.0), f64::midpoint(20.0, 51.0));
    }

    proptest! {
        /// Computes the average once or twice per interval.
        #[test]
        fn the_average_matches_the_rfc(
            first in 1.0..2000.0f64,
            lengths in prop::collection::vec((1u32..3000, 0..3000u32), 1..30),
            discounting in prop::bool::ANY,
            threshold in 0.05..1.0f64,
        ) {
            let mut options = TfrcOptions { discounting, ..TfrcOptions::preset(Dialect::Rfc) };
            options.expert.discount_threshold = threshold;
            let mut average = Average::new(&options);
            let mut literal = Literal { i: vec![0.0, first], df_i: vec![1.0; 2], df: 1.0, threshold };
            let mut starts = vec![0u64, u64::MAX];
            for (count, (length, look)) in lengths.into_iter().enumerate() {
                for packet in 1..=length {
                    literal.packet();
                    if packet == look || packet == length {
                        let lengths = starts.iter().zip(&literal.i);
                        let list: Vec<Interval> =
                            lengths.map(|(start, length)| Interval { start: *start, length: *length }).collect();
                        let p = average.loss_event_rate(&list, true);
                        let expected = if discounting { literal.p_discounted() } else { literal.p() };
                        prop_assert!((p / expected - 1.0).abs() < 1e-12, "{p} instead of {expected}");
                    }
                }
                literal.loss();
                starts.insert(0, count as u64 + 1);
                starts.truncate(N + 2);
            }
        }
    }

    /// ns-2's `mult_factor_`. Eight intervals of 100 and an open one of 250: DF = 2 * 100 / 250 = 0.8. It closes at
    /// 300, whose factor is 2/3. The closed ones weigh 1 and 5 (1 + 1 + 1 + 0.8 + 0.6 + 0.4 + 0.2), so the mean is
    /// (300 + 5 * 0.8 * 100) / (1 + 5 * 0.8) = 140, or (300 + 5 * 2/3 * 100) / (1 + 5 * 2/3) = 1900 / 13. A further interval
    /// of 200 does not discount older ones: (200 + 300 + 4 * 0.8 * 100) / (2 + 4 * 0.8) = 820 / 5.2; nor by its length,
    /// since 200 is below twice their mean.
    #[test]
    fn discount_factors_of_closed_intervals() {
        let list = |newer: &[f64]| -> Vec<Interval> {
            let lengths: Vec<f64> = newer.iter().copied().chain([100.0; 8]).collect();
            let starts = (1..=lengths.len() as u64).rev();
            lengths.iter().zip(starts).map(|(&length, start)| Interval { start, length }).collect()
        };
        for (kept, expected) in [
            (DiscountKept::Averaged, [140.0, 820.0 / 5.2]),
            (DiscountKept::Closed, [1900.0 / 13.0, (500.0 + 800.0 / 3.0) / (2.0 + 8.0 / 3.0)]),
        ] {
            for (newer, mean) in [&[0.0, 300.0][..], &[0.0, 200.0, 300.0]].into_iter().zip(expected) {
                let mut options = TfrcOptions::preset(Dialect::Ns2);
                options.expert.discount_kept = kept;
                let mut average = Average::new(&options);
                average.loss_event_rate(&list(&[250.0]), true);
                let p = average.loss_event_rate(&list(newer), true);
                assert!((p * mean - 1.0).abs() < 1e-12, "{kept:?} {newer:?}: {} instead of {mean}", 1.0 / p);
            }
        }
    }

    /// RFC 4828 section 3: a short open interval does not count.
    #[test]
    fn a_short_open_interval() {
        let list: Vec<Interval> =
            [900.0, 10.0, 20.0].into_iter().zip([3, 2, 1]).map(|(length, start)| Interval { start, length }).collect();
        for discounting in [true, false] {
            let options = TfrcOptions { discounting, ..TfrcOptions::preset(Dialect::Rfc) };
            assert!((Average::new(&options).loss_event_rate(&list, false) - 1.0 / 15.0).abs() < 1e-12);
        }
    }

    /// Weights halve per interval: (20 + 10 / 2 + 40 / 4) / (1 + 1/2 + 1/4) without the open one.
    #[test]
    fn a_moving_average() {
        let list: Vec<Interval> = [5.0, 20.0, 10.0, 40.0]
            .into_iter()
            .zip([4, 3, 2, 1])
            .map(|(length, start)| Interval { start, length })
            .collect();
        let options =
            TfrcOptions { discounting: false, moving_average: Some(0.5), ..TfrcOptions::preset(Dialect::Rfc) };
        assert!((Average::new(&options).loss_event_rate(&list, true) - 1.75 / 35.0).abs() < 1e-12);
        let options = TfrcOptions { moving_average: Some(1.0), ..options };
        assert_eq!(Average::new(&options).loss_event_rate(&list, true), 1.0 / 20.0, "only the newest");
    }

    /// Linux truncates 15.6 to 15; an average below one is one.
    #[test]
    fn whole_intervals() {
        let options = TfrcOptions::preset(Dialect::Linux);
        let list = |lengths: [f64; 3]| [3, 2, 1].map(|start| Interval { start, length: lengths[3 - start as usize] });
        assert_eq!(Average::new(&options).loss_event_rate(&list([1.0, 10.2, 21.0]), true), 1.0 / 15.0);
        assert_eq!(Average::new(&options).loss_event_rate(&list([0.0, 0.0, 0.0]), true), 1.0);
    }
}
