//! How PIE knows the queueing delay (RFC 8033 sections 4.3 and 5.2).

use headway_units::Instant;
use serde::{Deserialize, Serialize};

/// How PIE measures the queueing delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Delay {
    /// It is what the packet that left last has waited (section 4.3).
    Timestamp,
    /// It is what waits over the rate at which packets leave, which is measured while much waits (section 5.2).
    DequeueRate,
}

/// A measurement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gauge {
    how: Delay,
    dq_threshold: u64,
    /// Of the last that left, in s.
    waited: f64,
    /// Since when the bytes are counted that leave, if they are.
    measurement: Option<(Instant, u64)>,
    /// How long so many bytes as the threshold took, smoothed, in s; 0: not measured yet.
    avg_dq_time: f64,
}

impl Gauge {
    pub(super) const fn new(how: Delay, dq_threshold: u64) -> Self {
        Self { how, dq_threshold, waited: 0.0, measurement: None, avg_dq_time: 0.0 }
    }

    /// The delay in s, while so many bytes wait.
    pub(super) fn delay(&self, waiting: u64) -> f64 {
        match self.how {
            Delay::Timestamp => self.waited,
            Delay::DequeueRate => waiting as f64 * self.avg_dq_time / self.dq_threshold as f64,
        }
    }

    /// PIE becomes active (appendix B).
    pub(super) fn begin(&mut self, now: Instant) {
        (self.measurement, self.avg_dq_time) = (Some((now, 0)), 0.0);
    }

    /// A packet of so many bytes leaves `now` that came at `since`, and leaves `waiting` bytes behind (`deque` of appendices A and B).
    pub(super) fn leaves(&mut self, now: Instant, since: Instant, bytes: u32, waiting: u64) {
        self.waited = if waiting == 0 { 0.0 } else { now.since(since).as_secs_f64() };
        if let Some((start, count)) = &mut self.measurement {
            *count += u64::from(bytes);
            if *count >= self.dq_threshold {
                let dq_time = now.since(*start).as_secs_f64();
                // The weight of section 5.2.
                let weight = self.dq_threshold as f64 / f64::from(1 << 16);
                self.avg_dq_time = if self.avg_dq_time == 0.0 {
                    dq_time
                } else {
                    dq_time * weight + self.avg_dq_time * (1.0 - weight)
                };
                self.measurement = None;
            }
        }
        if self.measurement.is_none() && waiting >= self.dq_threshold {
            self.measurement = Some((now, 0));
        }
    }
}
