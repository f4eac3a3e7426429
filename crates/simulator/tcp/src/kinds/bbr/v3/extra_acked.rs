//! Acknowledgements that exceed the bandwidth, by aggregation on the path (section 5.5.9).

use crate::delivery::RateSample;
use crate::windowed_max::WindowedMax;
use headway_units::Instant;

/// `BBR.ExtraAckedFilterLen`, in rounds.
const FILTER_ROUNDS: u64 = 10;

#[derive(Clone, Debug)]
pub(super) struct ExtraAcked {
    max: WindowedMax,
    /// Start of the interval, and segments delivered in it.
    since: Instant,
    delivered: f64,
}

impl ExtraAcked {
    pub(super) const fn new() -> Self {
        Self { max: WindowedMax::new(1), since: Instant::ZERO, delivered: 0.0 }
    }

    /// Starts a new interval, when sending begins.
    pub(super) fn restart(&mut self, now: Instant) {
        self.since = now;
    }

    /// Processes an acknowledgement (`BBRUpdateACKAggregation`). The filter holds ten rounds once the pipe was full.
    pub(super) fn update(&mut self, sample: &RateSample, bw: f64, cwnd: f64, (round, pipe_was_full): (u64, bool)) {
        let mut expected = bw * sample.now.since(self.since).as_secs_f64();
        if self.delivered <= expected {
            (self.delivered, self.since, expected) = (0.0, sample.now, 0.0);
        }
        self.delivered += sample.newly_delivered as f64;
        self.max.set_window(if pipe_was_full { FILTER_ROUNDS } else { 1 });
        self.max.add(round, (self.delivered - expected).min(cwnd));
    }

    pub(super) fn get(&self) -> f64 {
        self.max.get()
    }

    /// Forgets all samples, for copies that are broken on purpose.
    #[cfg(test)]
    pub(super) fn forget(&mut self) {
        self.max = WindowedMax::new(1);
        self.delivered = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    /// At 1000 segments per second and a window of 30: bursts of 8 every 10 ms, then 20 at 60 ms and again 1 ms later.
    #[test]
    fn bursts_exceed_the_bandwidth() {
        let mut extra_acked = ExtraAcked::new();
        let mut extra = |round: u64, ms, newly_delivered| {
            let sample = RateSample { now: Instant::from_millis(ms), newly_delivered, ..sample(0.0) };
            // Two rounds later, the filter holds only this sample.
            extra_acked.update(&sample, 1000.0, 30.0, (2 * round, false));
            extra_acked.get()
        };
        let acks = [(10, 8), (20, 8), (30, 8), (60, 20), (61, 20)];
        let values: Vec<f64> = (0..).zip(acks).map(|(round, (ms, acked))| extra(round, ms, acked)).collect();
        assert_eq!(values, [8.0, 8.0, 8.0, 20.0, 30.0]);
    }
}
