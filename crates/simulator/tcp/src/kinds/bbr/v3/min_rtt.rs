//! The least round-trip time, and the time to probe it (section 5.3.4.3).

use headway_units::{Duration, Instant};

/// `BBR.MinRTTFilterLen`.
const FILTER: Duration = Duration::from_secs(10);
/// `BBR.ProbeRTTInterval`.
const PROBE_INTERVAL: Duration = Duration::from_secs(5);

/// A minimum and the time of its sample.
type Least = (Duration, Instant);

#[derive(Clone, Debug)]
pub(super) struct MinRtt {
    /// `BBR.min_rtt`.
    least: Least,
    /// `BBR.probe_rtt_min_delay`: the minimum since the last probe.
    since_probe: Least,
    /// Whether the minimum was not measured for the interval of probes (`BBR.probe_rtt_expired`).
    pub(super) is_probe_due: bool,
}

impl MinRtt {
    pub(super) const fn new() -> Self {
        let none = (Duration::MAX, Instant::ZERO);
        Self { least: none, since_probe: none, is_probe_due: false }
    }

    /// Returns the least round-trip time; `None` before the first sample.
    pub(super) fn get(&self) -> Option<Duration> {
        Some(self.least.0).filter(|&least| least < Duration::MAX)
    }

    /// Starts with the round trip of the SYN, if it is known.
    pub(super) fn start(&mut self, now: Instant, rtt: Option<Duration>) {
        self.least = (rtt.unwrap_or(Duration::MAX), now);
        self.since_probe = self.least;
    }

    /// Processes an acknowledgement (`BBRUpdateMinRTT`).
    pub(super) fn update(&mut self, now: Instant, rtt: Option<Duration>) {
        self.is_probe_due = now > self.since_probe.1 + PROBE_INTERVAL;
        if let Some(rtt) = rtt
            && (rtt < self.since_probe.0 || self.is_probe_due)
        {
            self.since_probe = (rtt, now);
        }
        if self.since_probe.0 < self.least.0 || now > self.least.1 + FILTER {
            self.least = self.since_probe;
        }
    }

    /// Is notified that ProbeRTT has ended.
    pub(super) fn probed(&mut self, now: Instant) {
        self.since_probe.1 = now;
    }
}
