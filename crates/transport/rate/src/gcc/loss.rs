//! Rate of the loss half (`loss_based_bwe_v2.cc` of libwebrtc): the bandwidth that explains the losses of the last
//! observations best.
//!
//! An observation is the data sent in at least 250 ms. The model of a path with bandwidth b and inherent loss i is
//!
//! ```text
//! loss at sending rate r:  p = i,  or above b:  i + (1 - i) (r - b)/r
//! objective:               sum of w (lost ln p + kept ln(1 - p) + bias size),  w = 0.9^age, sizes in kB
//! bias:                    s (0.0002 b + 0.02 ln(1 + b)),  s = (0.2 - L)/(0.002 + |0.2 - L|),  b in kb/s
//! ```
//!
//! where L is the average loss. Candidates of b are 1.02, 1 and 0.95 of the current one, the acknowledged rate and the
//! rate of the delay half. For each of them i is improved by one Newton step; the best pair is the next one.

use super::options::Limits;
use headway_units::{Duration, Instant};
use std::collections::VecDeque;

const MIN_OBSERVATION: Duration = Duration::from_millis(250);
const MAX_OBSERVATIONS: usize = 15;
const MIN_OBSERVATIONS: u64 = 3;
const WEIGHT: f64 = 0.9;
const CANDIDATES: [f64; 3] = [1.02, 1.0, 0.95];
const FIRST_INHERENT: f64 = 0.01;
const MIN_INHERENT: f64 = 1e-3;
const MAX_INHERENT: f64 = 0.05;
/// Bandwidth by which the bounds of the inherent loss and of the rate are computed, in kb/s.
const BALANCE_KBPS: f64 = 100.0;
const NEWTON_STEP: f64 = 0.75;
const BIAS: f64 = 0.0002;
const LOGARITHMIC_BIAS: f64 = 0.02;
/// Average loss below which a greater bandwidth is preferred, and the width of the transition.
const PREFERENCE_LOSS: f64 = 0.2;
const PREFERENCE_WIDTH: f64 = 0.002;
/// Average loss above which the rate is limited at once.
const INSTANT_LOSS: f64 = 0.05;
/// Ratio of the sending rate of the worst observation to the median from which it counts in the average loss.
const SPIKE_RATIO: f64 = 2.0;
/// Maximum growth of the bandwidth per window, and its duration.
const MAX_GROWTH: f64 = 1.3;
const GROWTH_WINDOW: Duration = Duration::from_millis(300);
/// Maximum ratio of a growing bandwidth to the acknowledged rate; after a hold, while the acknowledged rate is below
/// [`HOLD_THRESHOLD`] times the rate held.
const RAMP_UP: f64 = 1.5;
const RAMP_UP_AFTER_HOLD: f64 = 1.2;
const HOLD_THRESHOLD: f64 = 1.3;
const FIRST_HOLD: Duration = Duration::from_millis(300);
const MAX_HOLD: Duration = Duration::from_secs(60);
/// Time for which an increase keeps the state [`State::Increasing`]. libwebrtc sends padding meanwhile.
const PADDING: Duration = Duration::from_secs(2);
const MIN_KBPS: f64 = 5.0;

/// Data sent in an observation, in kB, and its rate in kb/s.
#[derive(Clone, Copy, Debug)]
struct Observation {
    size: f64,
    lost: f64,
    kbps: f64,
}

/// Path of the model: bandwidth in kb/s, and the ratio of losses below it.
#[derive(Clone, Copy, Debug)]
struct Channel {
    kbps: f64,
    inherent: f64,
}

/// Half that limits the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The delay half.
    Delay,
    Decreasing,
    Increasing,
}

/// Rate that is held after a decrease, and the end of the hold.
#[derive(Clone, Copy, Debug)]
struct Hold {
    until: Option<Instant>,
    duration: Duration,
    kbps: f64,
}

impl Hold {
    const NONE: Self = Self { until: None, duration: FIRST_HOLD, kbps: f64::INFINITY };
}

/// Rate of the loss half.
#[derive(Clone, Debug)]
pub(super) struct LossController {
    min_kbps: f64,
    max_kbps: f64,
    observations: VecDeque<Observation>,
    count: u64,
    /// Bytes of the open observation, and the last sending time of the one before.
    size: f64,
    lost: f64,
    last_sent: Option<Instant>,
    average_loss: f64,
    best: Option<Channel>,
    inherent: f64,
    state: State,
    kbps: f64,
    hold: Hold,
    /// Rate and time of the last increase in state [`State::Increasing`].
    padding: Option<(f64, Instant)>,
    /// Limit of the bandwidth, and the start of its window.
    growth: Option<(f64, Instant)>,
}

impl LossController {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            min_kbps: limits.min_bps / 1000.0,
            max_kbps: limits.max_bps / 1000.0,
            observations: VecDeque::new(),
            count: 0,
            size: 0.0,
            lost: 0.0,
            last_sent: None,
            average_loss: 0.0,
            best: None,
            inherent: FIRST_INHERENT,
            state: State::Delay,
            kbps: f64::INFINITY,
            hold: Hold::NONE,
            padding: None,
            growth: None,
        }
    }

    pub(super) const fn state(&self) -> State {
        self.state
    }

    /// Returns the rate in bit/s, infinite before the third observation.
    pub(super) fn bps(&self) -> f64 {
        if self.count < MIN_OBSERVATIONS { f64::INFINITY } else { 1000.0 * self.kbps }
    }

    /// Sets the bandwidth to the result of a probe.
    pub(super) fn on_probe(&mut self, bps: f64) {
        let kbps = bps / 1000.0;
        self.best = Some(Channel { kbps, inherent: self.inherent });
        (self.kbps, self.state) = (kbps, State::Delay);
    }

    /// Adds a packet that was received or lost.
    pub(super) fn add(&mut self, bytes: f64, is_lost: bool) {
        self.size += bytes;
        self.lost += if is_lost { bytes } else { 0.0 };
    }

    /// Handles the end of a report whose packets were sent from `first_sent` to `last_sent`. `delay_bps` is the rate of
    /// the delay half.
    pub(super) fn on_report(
        &mut self,
        first_sent: Instant,
        last_sent: Instant,
        acknowledged_bps: Option<f64>,
        delay_bps: f64,
        is_application_limited: bool,
    ) {
        let start = *self.last_sent.get_or_insert(first_sent);
        if last_sent <= start || last_sent.since(start) < MIN_OBSERVATION {
            return;
        }
        self.observe(last_sent.since(start));
        self.last_sent = Some(last_sent);
        self.update(last_sent, acknowledged_bps.map(|bps| bps / 1000.0), delay_bps / 1000.0, is_application_limited);
    }

    fn observe(&mut self, time: Duration) {
        let (size, lost) = (std::mem::take(&mut self.size) / 1000.0, std::mem::take(&mut self.lost) / 1000.0);
        if self.observations.len() == MAX_OBSERVATIONS {
            self.observations.pop_front();
        }
        self.observations.push_back(Observation { size, lost, kbps: 8.0 * size / time.as_secs_f64() });
        self.count += 1;
        self.average_loss = self.average_loss();
    }

    /// Updates the bandwidth at the sending time `now` of the last packet reported.
    fn update(&mut self, now: Instant, acknowledged: Option<f64>, delay: f64, is_application_limited: bool) {
        let is_padded = self.padding.is_some_and(|(_, at)| at + PADDING >= now);
        let current = self.best.unwrap_or(Channel { kbps: delay, inherent: self.inherent });
        let candidate = acknowledged.filter(|_| !is_application_limited || is_padded);
        let mut best = self.best_candidate(current, candidate, delay);
        if self.average_loss > best.inherent {
            best.kbps = best.kbps.min(current.kbps);
        }
        if self.state != State::Delay {
            best.kbps = self.limited_growth(now, current.kbps, best.kbps, acknowledged);
        }
        let bounded = best.kbps.min(self.instant_limit()).min(delay).max(self.lower_bound(acknowledged));
        best = if bounded < best.kbps {
            Channel { kbps: bounded, inherent: 0.0 }
        } else {
            Channel { kbps: best.kbps.max(self.lower_bound(acknowledged)), ..best }
        };
        (self.best, self.inherent) = (Some(best), best.inherent);
        self.set_result(now, bounded, delay, acknowledged);
        let is_over = self.growth.is_none_or(|(_, start)| start + GROWTH_WINDOW < now);
        if self.state != State::Delay && is_over {
            self.growth = Some(((MAX_GROWTH * best.kbps).max(MIN_KBPS), now));
        }
    }

    /// Sets the state, the rate and the hold.
    fn set_result(&mut self, now: Instant, bounded: f64, delay: f64, acknowledged: Option<f64>) {
        let is_limited = bounded < delay && bounded < self.max_kbps;
        if self.state == State::Decreasing && self.hold.until.is_some_and(|until| until > now) && bounded < delay {
            self.hold.kbps = self.hold.kbps.max(self.lower_bound(acknowledged));
            self.kbps = self.hold.kbps.min(bounded);
            return;
        }
        if is_limited && self.is_increase(self.kbps, bounded) && self.may_keep_increasing(now, bounded) {
            if self.padding.is_none_or(|(kbps, _)| bounded > kbps) {
                self.padding = Some((bounded, now));
            }
            self.state = State::Increasing;
        } else if is_limited {
            if self.state != State::Decreasing {
                self.hold = Hold {
                    until: Some(now + self.hold.duration),
                    duration: (self.hold.duration * 2).min(MAX_HOLD),
                    kbps: bounded,
                };
            }
            (self.padding, self.state) = (None, State::Decreasing);
        } else {
            (self.hold, self.padding, self.state) = (Hold::NONE, None, State::Delay);
        }
        self.kbps = bounded;
    }

    /// Returns the bandwidth with the limits of its growth while losses limit the rate.
    fn limited_growth(&self, now: Instant, current: f64, mut best: f64, acknowledged: Option<f64>) -> f64 {
        if let Some((limit, start)) = self.growth
            && start + GROWTH_WINDOW > now
        {
            best = best.min(limit);
        }
        let Some(acknowledged) = acknowledged.filter(|_| self.is_increase(current, best)) else { return best };
        let is_after_hold = self.hold.kbps.is_finite() && acknowledged < HOLD_THRESHOLD * self.hold.kbps;
        let factor = if is_after_hold { RAMP_UP_AFTER_HOLD } else { RAMP_UP };
        best = best.min(factor * acknowledged).max(current);
        // The increase of 1 bit/s changes the state.
        if self.state == State::Decreasing && best == current { best + 1e-3 } else { best }
    }

    fn is_increase(&self, old: f64, new: f64) -> bool {
        self.state != State::Delay && (old < new || old == new && self.state == State::Increasing)
    }

    fn may_keep_increasing(&self, now: Instant, kbps: f64) -> bool {
        self.state != State::Increasing || self.padding.is_none_or(|(last, at)| at + PADDING >= now || last < kbps)
    }

    fn lower_bound(&self, acknowledged: Option<f64>) -> f64 {
        acknowledged.unwrap_or(0.0).max(self.min_kbps)
    }

    fn instant_limit(&self) -> f64 {
        let excess = self.average_loss - INSTANT_LOSS;
        if excess > 0.0 { BALANCE_KBPS / excess } else { self.max_kbps }
    }

    /// Returns the observations with their weights, newest first.
    fn weighted(&self) -> impl Iterator<Item = (f64, Observation)> {
        let weights = std::iter::successors(Some(1.0), |weight| Some(weight * WEIGHT));
        weights.zip(self.observations.iter().rev().copied())
    }

    /// Returns the average loss without the observations with the greatest and the least loss. A sender that suddenly
    /// sent twice as much may have caused the greatest one, which then counts.
    fn average_loss(&self) -> f64 {
        let (mut size, mut lost) = (0.0, 0.0);
        let mut worst = (0.0, (0.0, 0.0), 0.0);
        let mut least = (1.0, (0.0, 0.0));
        // Oldest first, so that of equal losses the oldest is left out.
        for (weight, observation) in self.weighted().collect::<Vec<_>>().into_iter().rev() {
            let data = (weight * observation.size, weight * observation.lost);
            (size, lost) = (size + data.0, lost + data.1);
            let loss = if observation.size > 0.0 { observation.lost / observation.size } else { 0.0 };
            if self.count > 3 && loss > worst.0 {
                worst = (loss, data, observation.kbps);
            }
            if self.count > 3 && loss < least.0 {
                least = (loss, data);
            }
        }
        if size <= 0.0 {
            return 0.0;
        }
        let kept = size - worst.1.0 - least.1.0;
        if SPIKE_RATIO * self.median_kbps() <= worst.2 || kept <= 0.0 {
            return lost / size;
        }
        ((lost - worst.1.1 - least.1.1) / kept).clamp(0.0, 1.0)
    }

    fn median_kbps(&self) -> f64 {
        let mut rates: Vec<f64> =
            self.observations.iter().map(|observation| observation.kbps).filter(|kbps| *kbps > 0.0).collect();
        rates.sort_by(f64::total_cmp);
        let middle = rates.len() / 2;
        let at = |place: usize| rates.get(place).copied().unwrap_or_default();
        if rates.len() % 2 == 1 { at(middle) } else { (at(middle.saturating_sub(1)) + at(middle)) / 2.0 }
    }

    fn best_candidate(&self, current: Channel, acknowledged: Option<f64>, delay: f64) -> Channel {
        let limit = match self.growth {
            Some((limit, _)) if self.state != State::Delay => limit,
            _ => self.max_kbps,
        };
        let scaled = CANDIDATES.map(|factor| factor * current.kbps);
        let candidates =
            scaled.into_iter().chain(acknowledged).chain(Some(delay).filter(|delay| *delay > current.kbps));
        let mut best = (f64::NEG_INFINITY, current);
        for kbps in candidates {
            let kbps = kbps.min(current.kbps.max(limit));
            let inherent = self.improved(Channel { kbps, inherent: feasible(current.inherent, kbps) });
            let candidate = Channel { kbps, inherent };
            let objective = self.objective(candidate);
            if objective > best.0 {
                best = (objective, candidate);
            }
        }
        best.1
    }

    /// Returns the inherent loss after a Newton step on the objective.
    fn improved(&self, channel: Channel) -> f64 {
        let (mut first, mut second) = (0.0, 0.0);
        for (weight, observation) in self.weighted() {
            let (p, kept) = (channel.loss(observation.kbps), observation.size - observation.lost);
            first += weight * (observation.lost / p - kept / (1.0 - p));
            second -= weight * (observation.lost / (p * p) + kept / ((1.0 - p) * (1.0 - p)));
        }
        let second = if second < 0.0 { second } else { -1e-6 };
        feasible(channel.inherent - NEWTON_STEP * first / second, channel.kbps)
    }

    fn objective(&self, channel: Channel) -> f64 {
        let distance = PREFERENCE_LOSS - self.average_loss;
        let preference = distance / (PREFERENCE_WIDTH + distance.abs());
        let bias = preference * (BIAS * channel.kbps + LOGARITHMIC_BIAS * libm::log1p(channel.kbps));
        let term = |(weight, observation): (f64, Observation)| {
            let (p, kept) = (channel.loss(observation.kbps), observation.size - observation.lost);
            weight * (observation.lost * libm::log(p) + kept * libm::log(1.0 - p) + bias * observation.size)
        };
        self.weighted().map(term).sum()
    }
}

impl Channel {
    /// Returns the ratio of losses at a sending rate.
    fn loss(&self, kbps: f64) -> f64 {
        let excess = if kbps > self.kbps { (1.0 - self.inherent) * (kbps - self.kbps) / kbps } else { 0.0 };
        (self.inherent + excess).clamp(1e-6, 1.0 - 1e-6)
    }
}

/// Returns the inherent loss within its bounds for a bandwidth.
fn feasible(inherent: f64, kbps: f64) -> f64 {
    inherent.max(MIN_INHERENT).min((MAX_INHERENT + BALANCE_KBPS / kbps).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::super::vectors::{near, numbers, rows};
    use super::*;

    fn controller(observations: &[(f64, f64, f64)]) -> LossController {
        let mut controller = LossController::new(Limits { min_bps: 5e3, max_bps: 5e6 });
        for (bytes, lost, kbps) in observations {
            controller.observations.push_back(Observation { size: bytes / 1e3, lost: lost / 1e3, kbps: *kbps });
            controller.count += 1;
        }
        controller.average_loss = controller.average_loss();
        controller
    }

    /// Eight observations at 1 Mb/s: without loss, with 10 % loss, and with four at 1.2 Mb/s of which 20 % are lost.
    #[test]
    fn best_candidates() {
        let even = |lost: f64| vec![(31250.0, lost, 1000.0); 8];
        let above = [vec![(31250.0, 0.0, 1000.0); 4], vec![(37500.0, 7500.0, 1200.0); 4]].concat();
        let rows = rows("loss");
        assert_eq!(rows.len(), 3);
        for ((observations, acknowledged), row) in
            [(even(0.0), 1000.0), (even(3125.0), 900.0), (above, 960.0)].into_iter().zip(rows)
        {
            let controller = controller(&observations);
            let best = controller.best_candidate(Channel { kbps: 1000.0, inherent: 0.01 }, Some(acknowledged), 1300.0);
            let expected = numbers(&row[1]);
            near(best.kbps, expected[0], 6e-7);
            near(best.inherent, expected[1], 6e-10);
            near(controller.objective(best), expected[2], 6e-7);
            near(controller.average_loss, row[2].as_f64().unwrap(), 6e-10);
            near(controller.instant_limit(), row[3].as_f64().unwrap(), 6e-7);
        }
    }

    /// Sends 300 ms of data at `bps` with a ratio of losses, and returns the rate.
    fn step(controller: &mut LossController, number: u64, bps: f64, loss: f64, delay_bps: f64) -> f64 {
        let at = Instant::from_millis(300 * number);
        let bytes = bps * 0.3 / 8.0;
        controller.add(bytes * (1.0 - loss), false);
        controller.add(bytes * loss, true);
        controller.on_report(at, at + MIN_OBSERVATION, Some(bps * (1.0 - loss)), delay_bps, false);
        controller.bps()
    }

    #[test]
    fn without_losses_the_delay_half_decides() {
        let mut controller = LossController::new(Limits { min_bps: 5e3, max_bps: 5e6 });
        for number in 0..40 {
            let bps = step(&mut controller, number, 1e6, 0.0, 1.2e6);
            assert!(if number < 2 { bps.is_infinite() } else { (bps - 1.2e6).abs() < 1e-3 }, "{number} {bps}");
            assert_eq!(controller.state(), State::Delay);
        }
    }

    /// With 20 % of losses, the rate falls to the acknowledged rate, although the delay half allows 5 Mb/s. When the
    /// losses end, the rate grows again up to the rate of the delay half.
    #[test]
    fn losses_limit_the_rate_until_they_end() {
        let mut controller = LossController::new(Limits { min_bps: 5e3, max_bps: 5e6 });
        let mut bps = 2e6_f64;
        for number in 0..30 {
            bps = step(&mut controller, number, bps.min(2e6), 0.2, 5e6);
        }
        assert!(controller.state() != State::Delay && bps < 0.7e6, "{bps}");
        for number in 30..200 {
            bps = step(&mut controller, number, bps, 0.0, 5e6);
        }
        assert_eq!((controller.state(), bps), (State::Delay, 5e6));
    }

    /// One observation with losses does not change the average.
    #[test]
    fn a_single_spike_is_left_out() {
        let mut observations = [(31250.0, 0.0, 1000.0); 8];
        observations[5].1 = 31250.0;
        near(controller(&observations).average_loss, 0.0, 0.0);
        observations[5].2 = 2000.0;
        assert!(controller(&observations).average_loss > 0.1, "the sender caused it");
    }
}
