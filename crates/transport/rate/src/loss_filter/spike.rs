//! Spike (Tobe, Tamura, Molano, Ghosh and Tokuda, "Achieving moderate fairness for UDP flows by path-status
//! classification", LCN 2000, with the factors of Cen, Cosman and Voelker 2003). By the relative one-way trip times
//! with their minimum and maximum so far:
//!
//! ```text
//! a spike begins above min + 1/2 (max - min) and ends below min + 1/3 (max - min)
//! losses in a spike are congestion, others are the channel's
//! ```

use super::gaps::Gaps;
use super::{LossFilter, Seen};

const BEGINS: f64 = 0.5;
const ENDS: f64 = 1.0 / 3.0;

/// State of the spike detection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spike {
    gaps: Gaps,
    /// Minimum and maximum delay, in ns.
    range: Option<(i64, i64)>,
    in_spike: bool,
}

impl LossFilter for Spike {
    fn on_packet(&mut self, seen: &Seen) {
        let delay = seen.delay_ns();
        let (least, greatest) =
            self.range.map_or((delay, delay), |(least, greatest)| (least.min(delay), greatest.max(delay)));
        self.range = Some((least, greatest));
        let above = delay.wrapping_sub(least) as f64 / (greatest.wrapping_sub(least) as f64).max(1.0);
        self.in_spike = above > if self.in_spike { ENDS } else { BEGINS };
        let missing = self.gaps.before(seen);
        self.gaps.judge(seen, missing, self.in_spike);
    }

    fn counts(&mut self, first: u64, _: u64) -> bool {
        self.gaps.counts(first)
    }
}

#[cfg(test)]
mod tests {
    use super::super::seen;
    use super::*;

    /// Delays are 0 to 30 ms: a spike begins above 15 ms and ends below 10 ms.
    #[test]
    fn a_spike_begins_at_a_half_and_ends_at_a_third() {
        let mut spike = Spike::default();
        let delays = [0, 30_000, 10_001, 9_999, 14_999, 15_001];
        let found: Vec<bool> = (0..)
            .zip(delays)
            .map(|(number, delay)| {
                // Every second packet is lost.
                spike.on_packet(&seen(2 * number, 0, delay));
                number > 0 && spike.counts(2 * number - 1, 2 * number - 1)
            })
            .collect();
        assert_eq!(found, [false, true, true, false, false, true]);
    }
}
