//! Average queue delay and its jitter (section 4.1 of the draft).

use super::is_due;
use super::rules::{DelaySample, JitterRule, Rules};
use headway_units::Instant;

const QDELAY_AVG_G: f64 = 0.25;
const JITTER_MIN_MAX_G: f64 = 1.0 / 16.0;
const JITTER_G: f64 = 1.0 / 32.0;
/// Jitter that has the greatest effect, in s. Samples are limited to twice this value.
const JITTER_THRESHOLD_S: f64 = 0.01;
/// Round trips after which the slow minimum is updated, and its gain upwards.
const SLOW_MINIMUM_RTTS: f64 = 100.0;
const SLOW_MINIMUM_G: f64 = 1.0 / 8.0;

/// Queue delays in a report, in s.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delays {
    pub(super) newest_s: f64,
    pub(super) shortest_s: f64,
    pub(super) longest_s: f64,
}

#[derive(Clone, Debug)]
pub(super) struct QueueDelay {
    rule: DelaySample,
    interval_s: f64,
    target_s: f64,
    /// `qdelay`, and `qdelay_avg`.
    newest_s: f64,
    average_s: f64,
    /// Shortest delay of the last report.
    shortest_s: f64,
    updated: Option<Instant>,
    slow: Option<SlowMinimum>,
    jitter: Jitter,
}

/// Slow average of the minima of 100 round trips.
#[derive(Clone, Copy, Debug)]
struct SlowMinimum {
    average_s: f64,
    minimum_s: f64,
    updated: Instant,
}

#[derive(Clone, Copy, Debug)]
enum Jitter {
    Ignored,
    MaxMin { max_s: f64, min_s: f64, deviation_s: f64 },
    PerReport { shortest_s: f64, difference_s: f64 },
}

impl QueueDelay {
    pub(super) const fn new(rules: &Rules, target_s: f64, now: Instant) -> Self {
        let slow = SlowMinimum { average_s: 0.0, minimum_s: f64::INFINITY, updated: now };
        Self {
            rule: rules.delays,
            interval_s: rules.qdelay_interval_s,
            target_s,
            newest_s: 0.0,
            average_s: 0.0,
            shortest_s: f64::INFINITY,
            updated: None,
            slow: if rules.subtracts_slow_minimum { Some(slow) } else { None },
            jitter: match rules.jitter {
                JitterRule::Ignored => Jitter::Ignored,
                JitterRule::MaxMin => Jitter::MaxMin { max_s: 0.0, min_s: f64::INFINITY, deviation_s: 0.0 },
                JitterRule::PerReport => Jitter::PerReport { shortest_s: 0.0, difference_s: 0.0 },
            },
        }
    }

    pub(super) const fn newest_s(&self) -> f64 {
        self.newest_s
    }

    pub(super) const fn average_s(&self) -> f64 {
        self.average_s
    }

    /// Handles a report.
    pub(super) fn on_report(&mut self, now: Instant, srtt_s: f64, delays: Option<Delays>) {
        let mut sample_s = self.newest_s;
        if let Some(delays) = delays {
            self.newest_s = delays.newest_s;
            sample_s = match self.rule {
                DelaySample::Newest | DelaySample::EachThenNewest => delays.newest_s,
                DelaySample::EachThenShortest => delays.shortest_s.min(self.shortest_s),
            };
            self.shortest_s = delays.shortest_s;
            self.jitter.on_report(&delays, self.target_s);
        }
        if is_due(self.updated, now, srtt_s.min(self.interval_s)) {
            self.updated = Some(now);
            if let Some(slow) = &mut self.slow {
                slow.update(now, srtt_s);
                sample_s -= slow.average_s;
            }
            self.average_s = averaged_qdelay(self.average_s, sample_s);
            self.jitter.update();
        }
        if let Some(slow) = &mut self.slow {
            slow.minimum_s = slow.minimum_s.min(self.newest_s);
        }
    }

    /// Returns the factor of an increase of the window.
    pub(super) fn growth_scale(&self) -> f64 {
        match self.jitter {
            Jitter::Ignored => 1.0,
            Jitter::MaxMin { deviation_s, .. } => max_min_scale(deviation_s).max(0.1),
            Jitter::PerReport { shortest_s, difference_s } => {
                per_report_scale(shortest_s).max(0.1) * per_report_scale(difference_s).max(0.1)
            }
        }
    }

    /// Returns the factor of a back-off while the queue is nearly empty.
    pub(super) fn back_off_scale(&self) -> f64 {
        match self.jitter {
            Jitter::Ignored => 1.0,
            Jitter::MaxMin { deviation_s, .. } => max_min_scale(deviation_s).max(0.25),
            Jitter::PerReport { shortest_s, .. } => per_report_scale(shortest_s).max(0.1),
        }
    }

    /// Returns the factor of the part of the window's overhead that jitter reduces.
    pub(super) fn overhead_scale(&self) -> f64 {
        match self.jitter {
            Jitter::Ignored => 1.0,
            Jitter::MaxMin { deviation_s, .. } => max_min_scale(deviation_s),
            Jitter::PerReport { shortest_s, .. } => per_report_scale(shortest_s),
        }
    }
}

impl SlowMinimum {
    fn update(&mut self, now: Instant, srtt_s: f64) {
        if now.since(self.updated).as_secs_f64() > SLOW_MINIMUM_RTTS * srtt_s && self.minimum_s.is_finite() {
            let gain = if self.minimum_s < self.average_s { 1.0 } else { SLOW_MINIMUM_G };
            self.average_s += gain * (self.minimum_s - self.average_s);
            (self.minimum_s, self.updated) = (f64::INFINITY, now);
        }
    }
}

impl Jitter {
    fn on_report(&mut self, delays: &Delays, target_s: f64) {
        let limited = |delay_s: f64| delay_s.min(2.0 * JITTER_THRESHOLD_S);
        match self {
            Self::Ignored => {}
            Self::MaxMin { max_s, min_s, .. } => {
                *max_s = max_s.max(delays.longest_s).min(target_s);
                *min_s = min_s.min(delays.shortest_s);
            }
            Self::PerReport { shortest_s, difference_s } => {
                *shortest_s += JITTER_G * (limited(delays.shortest_s) - *shortest_s);
                *difference_s += JITTER_G * (limited(delays.longest_s - delays.shortest_s) - *difference_s);
            }
        }
    }

    fn update(&mut self) {
        if let Self::MaxMin { max_s, min_s, deviation_s } = self
            && min_s.is_finite()
        {
            let difference_s = (*max_s - *min_s).clamp(0.0, 2.0 * JITTER_THRESHOLD_S);
            *deviation_s += JITTER_G * (difference_s - *deviation_s);
            *max_s *= 1.0 - JITTER_MIN_MAX_G;
            *min_s += JITTER_MIN_MAX_G * (*max_s - *min_s);
        }
    }
}

/// `ref_wnd_delay_scale`: 1 without jitter, 0 from the threshold.
fn max_min_scale(deviation_s: f64) -> f64 {
    (1.0 - deviation_s / JITTER_THRESHOLD_S).clamp(0.0, 1.0)
}

/// 1 up to a quarter of the threshold, 0.1 at the threshold.
fn per_report_scale(delay_s: f64) -> f64 {
    (0.1 + 1.2 * (1.0 - delay_s / JITTER_THRESHOLD_S)).clamp(0.0, 1.0)
}

fn averaged_qdelay(average: f64, qdelay: f64) -> f64 {
    if qdelay < average { qdelay } else { QDELAY_AVG_G * qdelay + (1.0 - QDELAY_AVG_G) * average }
}

#[cfg(test)]
mod tests;
