//! Detection of a standing queue by the variation of its delay.
//!
//! ```text
//! v = standard deviation of the queueing delay / its mean
//! share = (EMPTYING - v) / (EMPTYING - STANDING), between 0 and 1
//! ```
//! For a queue that empties at random v is near 1 (exponential), for one that a sawtooth fills from empty to full 0.58
//! (uniform). A queue that never empties varies less, even if the recent minimum delay is taken as an empty queue: the
//! minimum of thousands of normal deviates is 4 below the mean, so v = 1/4.

use headway_units::Duration;

/// Coefficient of variation above which the queue empties.
const EMPTYING: f64 = 0.5;
/// Coefficient of variation below which the queue is standing.
const STANDING: f64 = 0.3;

/// Moments of queueing delays; older packets have less weight.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standing {
    packets: f64,
    sum: f64,
    squares: f64,
}

impl Standing {
    pub(super) fn add(&mut self, queue: Duration) {
        let queue = queue.as_nanos() as f64;
        self.packets += 1.0;
        self.sum += queue;
        self.squares += queue * queue;
    }

    pub(super) fn fade(&mut self, keep: f64) {
        self.packets *= keep;
        self.sum *= keep;
        self.squares *= keep;
    }

    /// Returns 0 for a queue that empties to 1 for a standing queue.
    pub(super) fn part(&self) -> f64 {
        if self.sum <= 0.0 {
            return 0.0;
        }
        let variation = (self.packets * self.squares / (self.sum * self.sum) - 1.0).max(0.0).sqrt();
        ((EMPTYING - variation) / (EMPTYING - STANDING)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(queues_us: impl Iterator<Item = u64>) -> f64 {
        let mut standing = Standing::default();
        queues_us.for_each(|queue| standing.add(Duration::from_micros(queue)));
        standing.part()
    }

    /// v is 0.58 for a sawtooth from empty, 1 if every second packet is queued, 1/4 or less for 30 to 70 ms.
    #[test]
    fn a_queue_with_little_variation_is_standing() {
        assert_eq!(part((0..5000).map(|n| 10 * (n % 4000))), 0.0);
        assert_eq!(part((0..5000).map(|n| 800 * (n % 2))), 0.0);
        assert_eq!(part((0..5000).map(|n| 30_000 + 8 * (n * 7 % 5000))), 1.0);
        assert_eq!(part((0..5000).map(|_| 40_000)), 1.0);
    }

    /// Two delays, m - d and m + d, have v = d / m. In the middle between 0.3 and 0.5 half counts.
    #[test]
    fn between_the_bounds_a_share_counts() {
        let half = part((0..1000).map(|n| 40_000 - 16_000 + 32_000 * (n % 2)));
        assert!((half - 0.5).abs() < 1e-9, "{half}");
    }

    /// A thousand packets alternate between 20 and 60 ms (v = 1/2) and fade to the weight of 250; then 250 follow at 40
    /// ms. Half of the variance is left, v = 1/2 sqrt(1/2) = 0.3536, and (0.5 - 0.3536) / 0.2 = 0.7322.
    #[test]
    fn older_packets_have_less_weight() {
        let mut standing = Standing::default();
        (0..1000).for_each(|n| standing.add(Duration::from_millis(20 + 40 * (n % 2))));
        assert_eq!(standing.part(), 0.0);
        standing.fade(0.25);
        assert_eq!(standing.part(), 0.0);
        (0..250).for_each(|_| standing.add(Duration::from_millis(40)));
        let part = standing.part();
        assert!((part - 0.732_233).abs() < 1e-6, "{part}");
        // Fading alone changes neither mean nor deviation.
        for keep in [0.5, 255.0 / 256.0] {
            standing.fade(keep);
            assert!((standing.part() - part).abs() < 1e-9, "{keep}: {}", standing.part());
        }
    }

    #[test]
    fn an_empty_queue_is_not_standing() {
        assert_eq!(part((0..100).map(|_| 0)), 0.0);
    }
}
