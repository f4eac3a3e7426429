//! Rates, delays and losses of a flow in named intervals of a run.

use super::delay::DelaySummary;
use super::histogram::Histogram;
use super::rate_bins::ClosedBins;
use headway_units::{Duration, Instant};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Length of the steps in which arrived bytes are counted, 100 ms. Phases begin and end at multiples of it.
pub const PHASE_STEP: Duration = Duration::from_millis(100);
/// Number of steps over which the rate is averaged that must reach its new value.
const RESPONSE_STEPS: usize = 5;
/// Number of steps over which each rate of a coefficient of variation is averaged.
const SECOND_STEPS: usize = 10;
/// Part of a change after which the rate has responded.
const RESPONDED: f64 = 0.9;
/// Smallest change of the rate, relative to the larger of the two rates, that has a response time.
const MIN_CHANGE: f64 = 0.1;

/// A named interval of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Name of the interval in the record.
    pub name: String,
    /// Start of the interval, inclusive.
    pub from: Instant,
    /// End of the interval, exclusive.
    pub until: Instant,
}

/// Results of a flow in one phase, a named interval of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseSummary {
    /// Mean rate at which the flow's packets arrived at its receiver in the phase, in bit/s, with IP headers.
    pub throughput_bps: f64,
    /// Mean rate at which the flow's packets arrived at its receiver in the second half of the phase, in bit/s, with IP
    /// headers.
    pub settled_bps: f64,
    /// Response time, in s: from the start of the phase until the mean arrival rate of the last 0.5 s has covered 90 %
    /// of the change from the mean rate of the 0.5 s before the phase to `settled_bps`. `None` if the change is at most
    /// 10 % of the larger of these two rates, or 90 % are not reached within the phase.
    pub response_s: Option<f64>,
    /// Coefficient of variation of the arrival rates in the whole seconds of the phase's second half. `None` if this
    /// half has fewer than two whole seconds or no arrivals.
    pub settled_cov: Option<f64>,
    /// Packets of the flow lost during the phase, divided by those lost or received during it; `None` without such
    /// packets.
    pub loss_ratio: Option<f64>,
    /// One-way delays of the packets that arrived in the phase, in s; `None` without arrivals.
    pub one_way_delay_s: Option<DelaySummary>,
}

/// Meter of one flow's packets in phases. Calls must be in the order of time.
#[derive(Clone, Debug)]
pub struct PhaseMeter {
    phases: Arc<[Phase]>,
    /// Bytes that arrived in each step, up to the end of the last phase.
    bytes: Vec<u64>,
    end: Instant,
    counts: Vec<Counts>,
}

#[derive(Clone, Debug, Default)]
struct Counts {
    lost: u64,
    delays: Histogram,
}

impl PhaseMeter {
    /// Creates a meter of these phases.
    #[must_use]
    pub fn new(phases: &Arc<[Phase]>) -> Self {
        let end = phases.iter().map(|phase| phase.until).max().unwrap_or(Instant::ZERO);
        Self { phases: Arc::clone(phases), bytes: Vec::new(), end, counts: vec![Counts::default(); phases.len()] }
    }

    /// Records that a packet of `wire_bytes` arrived at `now`, `delay` after it was sent. Copies that links make have no
    /// delay.
    pub fn received(&mut self, now: Instant, wire_bytes: u32, delay: Option<Duration>) {
        if now >= self.end {
            return;
        }
        let step = step_of(now);
        if step >= self.bytes.len() {
            self.bytes.resize(step + 1, 0);
        }
        self.bytes[step] += u64::from(wire_bytes);
        for counts in self.counts_at(now) {
            if let Some(delay) = delay {
                counts.delays.record(delay.as_nanos());
            }
        }
    }

    /// Records that a packet was lost at `now`.
    pub fn lost(&mut self, now: Instant) {
        self.counts_at(now).for_each(|counts| counts.lost += 1);
    }

    fn counts_at(&mut self, now: Instant) -> impl Iterator<Item = &mut Counts> {
        let contains = move |phase: &Phase| phase.from <= now && now < phase.until;
        self.phases.iter().zip(&mut self.counts).filter(move |(phase, _)| contains(phase)).map(|(_, counts)| counts)
    }

    /// Returns the results of the phases that are over at `end`, by name.
    #[must_use]
    pub fn summaries(&self, end: Instant) -> BTreeMap<String, PhaseSummary> {
        let over = self.phases.iter().zip(&self.counts).filter(|(phase, _)| phase.until <= end);
        over.map(|(phase, counts)| (phase.name.clone(), self.summary(phase, counts))).collect()
    }

    fn summary(&self, phase: &Phase, Counts { lost, delays }: &Counts) -> PhaseSummary {
        let (from, until) = (step_of(phase.from), step_of(phase.until));
        let middle = from.midpoint(until);
        let settled_bps = self.rate(middle, until);
        let packets = lost + delays.total();
        PhaseSummary {
            throughput_bps: self.rate(from, until),
            settled_bps,
            response_s: self.response_s(from, until, settled_bps),
            settled_cov: self.coefficient_of_variation(middle, until),
            loss_ratio: (packets > 0).then(|| *lost as f64 / packets as f64),
            one_way_delay_s: delays.summary(),
        }
    }

    fn bytes(&self, from: usize, until: usize) -> u64 {
        let len = self.bytes.len();
        self.bytes[from.min(len)..until.min(len)].iter().sum()
    }

    /// Returns the mean rate in steps `from` to before `until`, in bit/s. Before the run it is 0.
    fn rate(&self, from: usize, until: usize) -> f64 {
        let seconds = (until - from) as f64 * PHASE_STEP.as_secs_f64();
        self.bytes(from, until) as f64 * 8.0 / seconds
    }

    fn response_s(&self, from: usize, until: usize, settled_bps: f64) -> Option<f64> {
        let recent = |step: usize| {
            let seconds = RESPONSE_STEPS as f64 * PHASE_STEP.as_secs_f64();
            self.bytes(step.saturating_sub(RESPONSE_STEPS), step) as f64 * 8.0 / seconds
        };
        let before = recent(from);
        let change = settled_bps - before;
        if change.abs() <= MIN_CHANGE * settled_bps.max(before) {
            return None;
        }
        let has_responded = |step: &usize| (recent(*step) - before) / change >= RESPONDED;
        (from + 1..=until).find(has_responded).map(|step| (step - from) as f64 * PHASE_STEP.as_secs_f64())
    }

    fn coefficient_of_variation(&self, from: usize, until: usize) -> Option<f64> {
        let (seconds, mut sums) = ((until - from) / SECOND_STEPS, ClosedBins::default());
        for second in 0..seconds {
            let start = from + second * SECOND_STEPS;
            sums.add(self.bytes(start, start + SECOND_STEPS));
        }
        sums.coefficient_of_variation(seconds as u64)
    }
}

fn step_of(time: Instant) -> usize {
    usize::try_from(time.since(Instant::ZERO).as_nanos() / PHASE_STEP.as_nanos()).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phases(phases: &[(&str, u64, u64)]) -> Arc<[Phase]> {
        let phase = |(name, from, until): &(&str, u64, u64)| Phase {
            name: (*name).to_owned(),
            from: Instant::from_secs(*from),
            until: Instant::from_secs(*until),
        };
        phases.iter().map(phase).collect()
    }

    /// Returns the results of packets of 1250 B, each delayed by 50 ms, with these rates in Mb/s in each 100 ms.
    fn summaries(phases: &Arc<[Phase]>, mbps: impl Iterator<Item = u64>) -> BTreeMap<String, PhaseSummary> {
        let mut meter = PhaseMeter::new(phases);
        for (step, packets) in mbps.map(|mbps| mbps * 10).enumerate() {
            for packet in 0..packets {
                let now = Instant::from_millis(step as u64 * 100 + packet % 100);
                meter.received(now, 1250, Some(Duration::from_millis(50)));
            }
        }
        meter.summaries(Instant::from_secs(20))
    }

    /// The rate steps from 1 to 2 Mb/s 2 s after the phase begins: 0.9 of 2 Mb/s over 0.5 s needs 0.5 s more.
    #[test]
    fn a_step_is_answered_when_half_a_second_has_nine_tenths_of_it() {
        let found = summaries(
            &phases(&[("low", 0, 10), ("high", 10, 20)]),
            (0..200).map(|step| if step < 120 { 1 } else { 2 }),
        );
        let high = &found["high"];
        assert_eq!((high.throughput_bps, high.settled_bps, high.response_s), (1.8e6, 2e6, Some(2.5)));
        assert_eq!((high.settled_cov, high.loss_ratio), (Some(0.0), Some(0.0)));
        let low = &found["low"];
        assert_eq!((low.settled_bps, low.response_s), (1e6, Some(0.5)), "from 0 at the start");
        assert!(low.one_way_delay_s.is_some_and(|delay| delay.mean == 0.05));
    }

    #[test]
    fn a_falling_rate_is_answered_likewise_and_a_small_change_is_not() {
        let found = summaries(
            &phases(&[("fall", 10, 20), ("none", 5, 10)]),
            (0..200).map(|step| if step < 110 { 2 } else { 1 }),
        );
        assert_eq!((found["fall"].response_s, found["none"].response_s), (Some(1.5), None));
    }

    /// The rates of the last four seconds are 2, 4, 2 and 4 Mb/s: the standard deviation is a third of the mean.
    #[test]
    fn the_variation_is_that_of_the_seconds_of_the_second_half() {
        let found = summaries(&phases(&[("all", 0, 8)]), (0..80).map(|step| 2 + 2 * (step / 10 % 2)));
        assert!((found["all"].settled_cov.unwrap() - 1.0 / 3.0).abs() < 1e-15);
    }

    /// Losses count in each phase that contains their time; a phase that is not over has no result.
    #[test]
    fn losses_belong_to_each_phase_at_their_time() {
        let mut meter = PhaseMeter::new(&phases(&[("a", 0, 2), ("b", 1, 3), ("late", 2, 21)]));
        for ms in [500, 1500, 2500] {
            meter.lost(Instant::from_millis(ms));
            meter.received(Instant::from_millis(ms), 100, None);
            meter.received(Instant::from_millis(ms), 100, Some(Duration::from_millis(1)));
        }
        let found = meter.summaries(Instant::from_secs(20));
        assert_eq!(found.keys().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((found["a"].loss_ratio, found["b"].throughput_bps), (Some(0.5), 1600.0));
    }

    #[test]
    fn a_flow_without_packets_has_rate_zero() {
        let found = summaries(&phases(&[("all", 0, 8)]), std::iter::empty());
        let all = &found["all"];
        assert_eq!((all.throughput_bps, all.response_s, all.settled_cov), (0.0, None, None));
        assert_eq!((all.loss_ratio, all.one_way_delay_s), (None, None));
    }
}
