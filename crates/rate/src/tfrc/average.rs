//! The average loss interval (RFC 5348 section 5.4) with history discounting (section 5.5).
//!
//! Interval 0 is open, 1 the newest closed one, up to 8. With w = 1, 1, 1, 1, .8, .6, .4, .2:
//!
//! ```text
//! 5.4:  I_mean = max(sum_{i<k} w_i I_i, sum_{1..k} w_(i-1) I_i) / sum_{i<k} w_i,     k closed intervals
//! 5.5:  m  = mean of the closed ones, each weighing w_(i-1) DF_i;  DF = max(THRESHOLD, 2m / I_0) if I_0 > 2m, else 1
//!       I_mean = max(mean of all, interval i > 0 weighing w_i DF_i DF;  m)
//!       at a new loss event: DF_i *= DF, all move by one
//! ```
//! As long as fewer than 8 intervals are closed, section 5.4 sums k terms with `I_0` and section 5.5 k + 1; each is done
//! as it is written.

use super::options::TfrcOptions;

/// Intervals that count (n of RFC 5348 section 5.4), and the open one.
pub(crate) const INTERVALS: usize = 9;
const WEIGHTS: [f64; INTERVALS - 1] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// A loss interval as the average sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    /// The number of its first packet, by which it is known again.
    pub(crate) start: u64,
    /// Its length in packets.
    pub(crate) length: f64,
}

/// Averages, and remembers what was discounted.
#[derive(Clone, Debug)]
pub(crate) struct Average {
    discounting: bool,
    threshold: f64,
    whole: bool,
    /// Of the intervals averaged last, the newest first.
    discounts: Vec<(u64, f64)>,
}

impl Average {
    pub(crate) fn new(options: &TfrcOptions) -> Self {
        Self {
            discounting: options.discounting,
            threshold: options.discount_threshold,
            whole: options.whole_intervals,
            discounts: Vec::new(),
        }
    }

    /// p of `intervals`, the newest and open one first; zero if none is closed. `open_counts` is false for an open
    /// interval that is still short (RFC 4828 section 3).
    pub(crate) fn loss_event_rate(&mut self, intervals: &[Interval], open_counts: bool) -> f64 {
        let intervals = intervals.get(..INTERVALS).unwrap_or(intervals);
        if intervals.len() < 2 {
            self.discounts.clear();
            return 0.0;
        }
        let mut mean = if self.discounting {
            self.follow(intervals);
            self.discounted(intervals, open_counts)
        } else {
            plain(intervals, open_counts)
        };
        if self.whole {
            mean = mean.floor();
        }
        if mean > 1.0 { 1.0 / mean } else { 1.0 }
    }

    /// Takes over the discount factors, and multiplies them by what each interval that has closed since earned while it
    /// was open: its own length says how much, since the factor only falls while `I_0` grows.
    fn follow(&mut self, intervals: &[Interval]) {
        let known = std::mem::take(&mut self.discounts);
        let factor = |start| known.iter().find(|known| known.0 == start).map_or(1.0, |known| known.1);
        self.discounts = intervals.iter().map(|interval| (interval.start, factor(interval.start))).collect();
        let newest = known.first().map(|known| known.0);
        let closed_since = intervals.iter().position(|interval| Some(interval.start) == newest).unwrap_or(0);
        for newly_closed in (1..=closed_since).rev() {
            if newly_closed + 1 < intervals.len() {
                let df = self.general(newly_closed, intervals).0;
                self.discounts[newly_closed + 1..].iter_mut().for_each(|discount| discount.1 *= df);
            }
        }
    }

    /// DF if the interval at `open` were the open one, and the mean of those before it.
    fn general(&self, open: usize, intervals: &[Interval]) -> (f64, f64) {
        let (mut total, mut weight) = (0.0, 0.0);
        for (w, i) in WEIGHTS.iter().zip(open + 1..intervals.len()) {
            total += intervals[i].length * w * self.discounts[i].1;
            weight += w * self.discounts[i].1;
        }
        let mean = total / weight;
        let open = intervals[open].length;
        (if open > 2.0 * mean { (2.0 * mean / open).max(self.threshold) } else { 1.0 }, mean)
    }

    fn discounted(&self, intervals: &[Interval], open_counts: bool) -> f64 {
        let (df, closed) = self.general(0, intervals);
        if !open_counts {
            return closed;
        }
        let (mut total, mut weight) = (intervals[0].length * WEIGHTS[0], WEIGHTS[0]);
        for (i, w) in WEIGHTS.iter().enumerate().take(intervals.len()).skip(1) {
            total += intervals[i].length * w * self.discounts[i].1 * df;
            weight += w * self.discounts[i].1 * df;
        }
        closed.max(total / weight)
    }
}

fn plain(intervals: &[Interval], open_counts: bool) -> f64 {
    let (mut with_open, mut closed, mut weight) = (0.0, 0.0, 0.0);
    for (pair, w) in intervals.windows(2).zip(WEIGHTS) {
        with_open += pair[0].length * w;
        closed += pair[1].length * w;
        weight += w;
    }
    (if open_counts { f64::max(with_open, closed) } else { closed }) / weight
}
