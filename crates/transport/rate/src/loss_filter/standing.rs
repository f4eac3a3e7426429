//! Whether a queue stands, told by how much it varies.
//!
//! ```text
//! v = standard deviation of the queueing delay / its mean
//! part = (EMPTIES - v) / (EMPTIES - STANDS), between 0 and 1
//! ```
//! Of a queue that empties at random v is near 1 (exponential); of one that a sawtooth fills from empty to full it is 0.58 (uniform). One that is never
//! empty varies less, even if the least delay of late is taken for an empty queue: of thousands of normal deviates the least is 4 below the mean, v = 1/4.

use headway_units::Duration;

/// Above, the queue empties.
const EMPTIES: f64 = 0.5;
/// Below, it stands.
const STANDS: f64 = 0.3;

/// Moments of queueing delays; older packets weigh less.
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

    /// From 0, it empties, to 1, it stands.
    pub(super) fn part(&self) -> f64 {
        if self.sum <= 0.0 {
            return 0.0;
        }
        let variation = (self.packets * self.squares / (self.sum * self.sum) - 1.0).max(0.0).sqrt();
        ((EMPTIES - variation) / (EMPTIES - STANDS)).clamp(0.0, 1.0)
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

    /// v = 0.58 of a sawtooth from empty to full, 1 of one packet in two that waits, 1/4 of 30 to 70 ms but for few.
    #[test]
    fn a_queue_stands_that_hardly_varies() {
        assert_eq!(part((0..5000).map(|n| 10 * (n % 4000))), 0.0);
        assert_eq!(part((0..5000).map(|n| 800 * (n % 2))), 0.0);
        assert_eq!(part((0..5000).map(|n| 30_000 + 8 * (n * 7 % 5000))), 1.0);
        assert_eq!(part((0..5000).map(|_| 40_000)), 1.0);
    }

    /// Two queues, m - d and m + d: v = d / m. In the middle between 0.3 and 0.5 half counts.
    #[test]
    fn between_them_a_part_counts() {
        let half = part((0..1000).map(|n| 40_000 - 16_000 + 32_000 * (n % 2)));
        assert!((half - 0.5).abs() < 1e-9, "{half}");
    }

    /// A thousand packets at 20 and 60 ms by turns (v = 1/2) fade to the weight of 250, and 250 at 40 ms follow: half of the variance is left,
    /// v = 1/2 sqrt(1/2) = 0.3536, and (0.5 - 0.3536) / 0.2 = 0.7322.
    #[test]
    fn old_packets_weigh_less_and_are_no_other_queue() {
        let mut standing = Standing::default();
        (0..1000).for_each(|n| standing.add(Duration::from_millis(20 + 40 * (n % 2))));
        assert_eq!(standing.part(), 0.0);
        standing.fade(0.25);
        assert_eq!(standing.part(), 0.0);
        (0..250).for_each(|_| standing.add(Duration::from_millis(40)));
        let part = standing.part();
        assert!((part - 0.732_233).abs() < 1e-6, "{part}");
        // Fading by itself changes no mean and no deviation.
        for keep in [0.5, 255.0 / 256.0] {
            standing.fade(keep);
            assert!((standing.part() - part).abs() < 1e-9, "{keep}: {}", standing.part());
        }
    }

    /// No queue at all does not stand.
    #[test]
    fn where_nothing_waits_nothing_stands() {
        assert_eq!(part((0..100).map(|_| 0)), 0.0);
    }
}
