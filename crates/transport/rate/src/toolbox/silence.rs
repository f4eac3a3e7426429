//! Silences: treatment of a path that stops acknowledging.
//!
//! An outage is no sample of the loss rate or round-trip time of the path after it. A sender therefore treats a silence
//! as an outage if several packets are not acknowledged for longer than a timeout. It probes the path during the
//! silence, and then restarts slowly. Persistent congestion appears similar, so two conditions apply. The flow must
//! have been healthy before (as decided by its controller), with [`MIN_REPORTS_BETWEEN`] reports since
//! the last silence.

use headway_units::{Duration, Instant};

/// Minimum duration of a silence, the minimum timeout of Linux; four round trips if longer (RFC 5348 section 4.3).
pub(crate) const MIN_SILENCE: Duration = Duration::from_millis(200);
/// Number of unacknowledged packets for a silence, the same as for a loss (RFC 5681 section 3.2).
pub(crate) const MIN_UNACKNOWLEDGED: usize = 3;
/// Maximum loss event rate of a healthy flow: a window of four packets (RFC 5348 section 3.1).
pub(crate) const HEALTHY_LOSS: f64 = 0.1;
/// Interval of probes, or a round trip if longer (RFC 8085 section 3.1.3 allows one datagram in each; RFC 4340 section
/// 3.4 assumes 200 ms for an unknown round trip).
pub(crate) const PROBE_INTERVAL: Duration = Duration::from_millis(200);
/// Interval of probes after [`MAX_PROBED`], or a round trip if longer (RFC 8085 section 3.1.3).
pub(crate) const LATE_PROBE_INTERVAL: Duration = Duration::from_secs(3);
/// Duration for which a silent path is probed. Then the controller's back-off applies.
const MAX_PROBED: Duration = Duration::from_secs(60);
/// Minimum number of reports before a silence is treated as an outage, initially and after another one.
pub(crate) const MIN_REPORTS_BETWEEN: u32 = 8;
/// Minimum number of packets received without a loss after a silence, before another one is treated as an outage: the
/// distance of two losses at [`HEALTHY_LOSS`]. On a narrow path that drops three of four packets, fewer arrive.
pub(crate) const MIN_PACKETS_BETWEEN: u64 = 10;

/// Returns the interval of probes after this time without reports, with the round-trip time if it is known.
pub(crate) fn probe_interval(silent_for: Duration, rtt: Option<Duration>) -> Duration {
    let interval = if silent_for < MAX_PROBED { PROBE_INTERVAL } else { LATE_PROBE_INTERVAL };
    interval.max(rtt.unwrap_or_default())
}

/// State of silences: outages in which no packet is acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silence {
    began: Option<Instant>,
    /// Number of the first packet after the last silence.
    fresh_from: u64,
    /// Reports since the start or the last silence.
    reports: u32,
    /// Packets received since the last silence, if none was lost.
    arrived: u64,
}

impl Silence {
    /// Begins a silence if at least 8 reports have arrived since the start or the last silence, and none is in
    /// progress. With `lossless`, 10 packets acknowledged since the last silence also suffice. Returns whether a
    /// silence begins.
    pub fn begin(&mut self, now: Instant, lossless: bool) -> bool {
        let enough = self.reports >= MIN_REPORTS_BETWEEN || lossless && self.arrived >= MIN_PACKETS_BETWEEN;
        let begins = enough && self.began.is_none();
        if begins {
            self.began = Some(now);
        }
        begins
    }

    /// Handles a report that acknowledges packet `acknowledged`; `next` is the number of the next packet to be sent.
    /// Returns whether the report ends a silence.
    pub fn end(&mut self, acknowledged: u64, next: u64) -> bool {
        let ended = self.began.take().is_some();
        if ended {
            (self.fresh_from, self.reports, self.arrived) = (next, 0, 0);
        } else if self.fresh_from > 0 {
            self.arrived = self.arrived.max(acknowledged.saturating_add(1).saturating_sub(self.fresh_from));
        }
        self.reports = self.reports.saturating_add(1);
        ended
    }

    /// Returns whether a silence is in progress and began less than a minute ago.
    #[must_use]
    pub fn is_probed(&self, now: Instant) -> bool {
        self.began.is_some_and(|began| now.since(began) < MAX_PROBED)
    }

    /// Returns whether the round trip of packet `number` includes a silence: one is in progress, or the packet was sent
    /// before the last one ended.
    #[must_use]
    pub const fn covers(&self, number: u64) -> bool {
        self.began.is_some() || number < self.fresh_from
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn established() -> Silence {
        let mut silence = Silence::default();
        (0..MIN_REPORTS_BETWEEN).for_each(|_| assert!(!silence.end(0, 0)));
        silence
    }

    /// RFC 6298 section 3: packets sent before the end of a silence do not measure the path.
    #[test]
    fn samples_of_a_silence() {
        let mut silence = established();
        assert!(!silence.end(4, 5) && !silence.covers(0));
        silence.begin(Instant::from_secs(1), false);
        assert!(silence.covers(0) && silence.covers(100));
        assert!(silence.end(6, 7));
        assert_eq!([6, 7].map(|number| silence.covers(number)), [true, false]);
    }

    /// RFC 8085 section 3.1.3 limits probes; they end after a minute.
    #[test]
    fn a_silence_is_probed_for_a_minute() {
        let mut silence = established();
        assert!(!silence.is_probed(Instant::ZERO));
        silence.begin(Instant::from_secs(1), false);
        silence.begin(Instant::from_secs(30), false);
        assert!(silence.is_probed(Instant::from_millis(60_999)) && !silence.is_probed(Instant::from_secs(61)));
    }

    /// Two outages of a radio link without losses in between.
    #[test]
    fn a_second_silence_without_losses() {
        for (arrived, lossless, outage) in [(10, true, true), (9, true, false), (10, false, false)] {
            let mut silence = Silence::default();
            silence.begin(Instant::ZERO, true);
            assert!(!silence.end(0, 1), "the flow has received no report yet");
            let mut silence = established();
            silence.begin(Instant::ZERO, true);
            assert!(silence.end(3, 5));
            assert!(!silence.end(4 + arrived, 100));
            silence.begin(Instant::from_secs(1), lossless);
            assert_eq!(silence.end(99, 101), outage, "{arrived} {lossless}");
        }
    }

    /// Persistent congestion: a silence after losses, within eight reports after the last one, counts as loss.
    #[test]
    fn a_second_silence_is_loss() {
        let mut silence = established();
        silence.begin(Instant::ZERO, false);
        assert!(silence.end(0, 1));
        for _ in 1..8 {
            silence.begin(Instant::from_secs(1), false);
            assert!(!silence.end(0, 1));
        }
        silence.begin(Instant::from_secs(2), false);
        assert!(silence.end(0, 1));
    }
}
