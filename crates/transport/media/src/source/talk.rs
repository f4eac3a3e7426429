//! Speaker model: alternating exponential talkspurts and pauses.

use super::draw::exponential;
use headway_units::{Duration, Instant, Random};

/// State of a speaker from a random time on: the first talkspurt or pause is the remainder of one.
#[derive(Debug)]
pub(super) struct Talk {
    mean_talkspurt: Duration,
    mean_pause: Duration,
    random: Random,
    until: Instant,
}

impl Talk {
    pub(super) fn new(start: Instant, mean_talkspurt: Duration, mean_pause: Duration, mut random: Random) -> Self {
        let (talk, pause) = (mean_talkspurt.as_secs_f64(), mean_pause.as_secs_f64());
        // The exponential distribution is memoryless: the remainder of a talkspurt has the same distribution.
        let talks = random.uniform() * (talk + pause) < talk;
        let until = if talks { start + exponential(&mut random, mean_talkspurt) } else { start };
        Self { mean_talkspurt, mean_pause, random, until }
    }

    /// Returns the first of `from`, `from + step`, `from + 2 * step` .. within a talkspurt. `from` must not decrease
    /// between calls. `step` must be at least 1 ns and at most the mean talkspurt, so that few talkspurts fall between
    /// steps.
    pub(super) fn next(&mut self, mut from: Instant, step: Duration) -> Instant {
        while from >= self.until && from < Instant::FAR_FUTURE {
            let begins = self.until + exponential(&mut self.random, self.mean_pause);
            self.until = begins + exponential(&mut self.random, self.mean_talkspurt);
            let silent = begins.since(from).as_nanos().div_ceil(step.as_nanos().max(1));
            from += step * silent;
        }
        from
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TALK: Duration = Duration::from_millis(1_004);
    const PAUSE: Duration = Duration::from_millis(1_587);

    /// Returns the multiples of `step` in an hour at which the speaker talks, in ms.
    fn talk_times(step: u64) -> Vec<u64> {
        let mut talk = Talk::new(Instant::ZERO, TALK, PAUSE, Random::new(1, "speaker"));
        let step = Duration::from_millis(step);
        let mut next = Instant::ZERO;
        std::iter::from_fn(|| {
            let at = talk.next(next, step);
            next = at + step;
            Some(at.as_nanos() / 1_000_000)
        })
        .take_while(|at| *at < 3_600_000)
        .collect()
    }

    #[test]
    fn a_coarse_grid_is_a_subset_of_a_fine_one() {
        let often = talk_times(1);
        for step in [20, 97, 1_000] {
            let some: Vec<u64> = often.iter().copied().filter(|at| at % step == 0).collect();
            assert_eq!(talk_times(step), some);
        }
    }

    /// 1/e of the talkspurts and pauses exceed their mean, 1/e^2 twice the mean.
    #[test]
    fn talkspurts_and_pauses_are_exponential() {
        let often = talk_times(1);
        let spurts: Vec<u64> = often.chunk_by(|a, b| b - a == 1).map(|spurt| spurt.len() as u64).collect();
        let pauses: Vec<u64> = often.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 1).collect();
        for (lengths, mean) in [(spurts, 1_004), (pauses, 1_587)] {
            let count = lengths.len() as f64;
            assert!((1_200.0..1_600.0).contains(&count), "{count}");
            for (times, share) in [(1, 0.367_879), (2, 0.135_335)] {
                let longer = lengths.iter().filter(|length| **length > times * mean).count() as f64 / count;
                let error = (share * (1.0 - share) / count).sqrt();
                assert!((longer - share).abs() < 4.0 * error, "{longer} longer than {times} of {mean}");
            }
        }
    }
}
