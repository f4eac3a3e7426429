//! Measurement of the queueing delay for PIE (RFC 8033 sections 4.3 and 5.2).

use headway_units::Instant;
use serde::{Deserialize, Serialize};

/// How PIE measures the queueing delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Delay {
    /// The queueing delay is the time that the last departed packet has waited; 0 if the queue is empty (RFC 8033
    /// section 4.3).
    Timestamp,
    /// The queueing delay is computed as the waiting bytes divided by the departure rate. That rate is measured while
    /// at least `dq_threshold` bytes wait (RFC 8033 section 5.2).
    DequeueRate,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Gauge {
    how: Delay,
    dq_threshold: u64,
    /// Waiting time of the last departed packet, in s.
    waited: f64,
    /// Start of the current measurement, and the bytes that have departed since then.
    measurement: Option<(Instant, u64)>,
    /// Smoothed time in which `dq_threshold` bytes depart, in s; 0 before the first measurement.
    avg_dq_time: f64,
}

impl Gauge {
    pub(super) const fn new(how: Delay, dq_threshold: u64) -> Self {
        Self { how, dq_threshold, waited: 0.0, measurement: None, avg_dq_time: 0.0 }
    }

    /// Returns the delay in s while this many bytes wait.
    pub(super) fn delay(&self, waiting: u64) -> f64 {
        match self.how {
            Delay::Timestamp => self.waited,
            Delay::DequeueRate => waiting as f64 * self.avg_dq_time / self.dq_threshold as f64,
        }
    }

    /// Starts a measurement when PIE becomes active (appendix B).
    pub(super) fn begin(&mut self, now: Instant) {
        (self.measurement, self.avg_dq_time) = (Some((now, 0)), 0.0);
    }

    /// Records that a packet that arrived at `since` departs `now`; `waiting` bytes remain (appendices A and B,
    /// `deque`).
    pub(super) fn departed(&mut self, now: Instant, since: Instant, bytes: u32, waiting: u64) {
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
