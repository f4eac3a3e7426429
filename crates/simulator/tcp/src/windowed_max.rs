//! Maximum over a sliding window, in constant space (Kathleen Nichols; Linux lib/win_minmax.c).
//!
//! Keeps the best sample, the best after it, and the best after that. The result is exact as long as the maximum is
//! replaced before it expires, and never above the true maximum.

/// Maximum of the samples of the last `window` units of time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowedMax {
    window: u64,
    /// Time and value, the best first.
    best: [(u64, f64); 3],
}

impl WindowedMax {
    pub(crate) const fn new(window: u64) -> Self {
        Self { window, best: [(0, 0.0); 3] }
    }

    pub(crate) fn get(&self) -> f64 {
        self.best[0].1
    }

    pub(crate) fn set_window(&mut self, window: u64) {
        self.window = window;
    }

    /// Adds a sample. `now` never decreases.
    pub(crate) fn add(&mut self, now: u64, value: f64) {
        let sample = (now, value);
        if value >= self.best[0].1 || now - self.best[2].0 > self.window {
            self.best = [sample; 3];
            return;
        }
        if value >= self.best[1].1 {
            (self.best[1], self.best[2]) = (sample, sample);
        } else if value >= self.best[2].1 {
            self.best[2] = sample;
        }
        let age = now - self.best[0].0;
        if age > self.window {
            // The best expired; the others move up.
            self.best = [self.best[1], self.best[2], sample];
            if now - self.best[0].0 > self.window {
                self.best = [self.best[1], self.best[2], sample];
            }
        } else if self.best[1].0 == self.best[0].0 && age > self.window / 4 {
            (self.best[1], self.best[2]) = (sample, sample);
        } else if self.best[2].0 == self.best[1].0 && age > self.window / 2 {
            self.best[2] = sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_best_expires_after_the_window() {
        let mut max = WindowedMax::new(10);
        for (now, value, expected) in
            [(0, 5.0, 5.0), (3, 4.0, 5.0), (8, 3.0, 5.0), (11, 1.0, 4.0), (14, 2.0, 3.0), (40, 1.0, 1.0)]
        {
            max.add(now, value);
            assert_eq!(max.get(), expected, "at {now}");
        }
    }

    proptest! {
        /// The result is a sample of the window, and at least the newest one.
        #[test]
        fn the_result_is_a_recent_sample(steps in prop::collection::vec((0u64..4, 0u32..100), 1..200)) {
            let (mut max, mut now, mut all) = (WindowedMax::new(10), 0, vec![]);
            for (step, value) in steps {
                now += step;
                let value = f64::from(value);
                all.push((now, value));
                max.add(now, value);
                let recent: Vec<f64> = all.iter().filter(|(at, _)| now - at <= 10).map(|&(_, value)| value).collect();
                prop_assert!(recent.contains(&max.get()));
                prop_assert!(max.get() >= value);
            }
        }
    }
}
