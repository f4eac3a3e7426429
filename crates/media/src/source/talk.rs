//! When a speaker talks: talkspurts and pauses, both exponential.

use super::draw::exponential;
use headway_units::{Duration, Instant, Random};

/// A speaker, heard from an arbitrary moment on: the first talkspurt or pause is the rest of one.
#[derive(Debug)]
pub(super) struct Talk {
    mean_talkspurt: Duration,
    mean_pause: Duration,
    random: Random,
    /// The end of the talkspurt.
    until: Instant,
}

impl Talk {
    pub(super) fn new(start: Instant, mean_talkspurt: Duration, mean_pause: Duration, mut random: Random) -> Self {
        let (talk, pause) = (mean_talkspurt.as_secs_f64(), mean_pause.as_secs_f64());
        // The law forgets: what is left of a talkspurt is as long as a whole one.
        let talks = random.uniform() * (talk + pause) < talk;
        let until = if talks { start + exponential(&mut random, mean_talkspurt) } else { start };
        Self { mean_talkspurt, mean_pause, random, until }
    }

    /// The first of `from`, `from + step`, `from + 2 * step` .. at which the speaker talks. `from` never decreases from
    /// call to call; `step` is at least 1 ns and at most the mean talkspurt, so that few talkspurts fall between steps.
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
