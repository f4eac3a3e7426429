//! Decides when to probe, and at which rate (`probe_controller.cc` of libwebrtc).

use headway_units::{Duration, Instant};

/// Factors of the first probes.
const FIRST: [f64; 2] = [3.0, 6.0];
const FURTHER: f64 = 2.0;
/// Share of the rate of a probe that its result must reach for a further one.
const SUCCESS: f64 = 0.7;
/// Time for which the result of a probe permits a further one.
const MAX_WAIT: Duration = Duration::from_secs(1);
/// Interval of probes in application-limited periods, and minimum interval of those after a drop.
const INTERVAL: Duration = Duration::from_secs(5);
/// Ratio to the rate before that is a drop, and share of the rate before that is probed after it.
const DROP: f64 = 0.66;
const RECOVERY: f64 = 0.85;
/// Time after a drop in which it is probed, and after an application-limited period.
const DROP_TIMEOUT: Duration = Duration::from_secs(5);
const ALR_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum factor of a probe while the loss half increases the rate.
const MAX_FACTOR_WITH_LOSSES: f64 = 1.5;
/// Maximum rate of probes without a maximum rate.
const DEFAULT_MAX_BPS: f64 = 5e6;

/// Limit of probes by the state of the halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProbeLimit {
    /// No limit.
    None,
    /// The loss half limits and increases the rate.
    Increasing,
    /// No probes: the delay rises, the loss half decreases the rate, or no reports arrive.
    Forbidden,
}

/// State of probing.
#[derive(Clone, Debug)]
pub(super) struct ProbeController {
    max_bps: f64,
    bps: f64,
    /// Rate above which a further probe follows, and the time of the last probe.
    further_bps: f64,
    last: Option<Instant>,
    /// Rate before the last drop, and its time.
    dropped: Option<(f64, Instant)>,
    last_recovery: Option<Instant>,
    alr_ended: Option<Instant>,
}

impl ProbeController {
    pub(super) const fn new(max_bps: Option<f64>, start_bps: f64) -> Self {
        Self {
            max_bps: if let Some(max_bps) = max_bps { max_bps } else { DEFAULT_MAX_BPS },
            bps: start_bps,
            further_bps: f64::INFINITY,
            last: None,
            dropped: None,
            last_recovery: None,
            alr_ended: None,
        }
    }

    /// Returns the rates of the first probes above the start rate, once.
    pub(super) fn start(&mut self, now: Instant) -> impl Iterator<Item = f64> + use<> {
        let is_first = self.last.is_none();
        let (bps, max_bps) = (self.bps, self.max_bps);
        let rates = FIRST.map(|factor| (factor * bps).min(max_bps));
        if is_first {
            self.on_probe(now, rates[1]);
        }
        rates.into_iter().filter(move |rate| is_first && *rate > bps)
    }

    pub(super) const fn on_alr_end(&mut self, now: Instant) {
        self.alr_ended = Some(now);
    }

    fn on_probe(&mut self, now: Instant, bps: f64) {
        (self.last, self.further_bps) = (Some(now), SUCCESS * bps);
    }

    /// Handles the rate after a report. `alr_since` is the start of the application-limited period, and `recovered`
    /// whether an over-use has ended. Returns the rate of a probe that is due.
    pub(super) fn on_rate(
        &mut self,
        now: Instant,
        bps: f64,
        limit: ProbeLimit,
        alr_since: Option<Instant>,
        recovered: bool,
    ) -> Option<f64> {
        if bps < DROP * self.bps {
            self.dropped = Some((self.bps, now));
        }
        self.bps = bps;
        let is_waiting = self.last.is_some_and(|last| now.since(last) <= MAX_WAIT);
        let probe = if is_waiting && bps > self.further_bps {
            FURTHER * bps
        } else if let Some(before) = self.recovery(now, alr_since).filter(|_| recovered) {
            self.last_recovery = Some(now);
            RECOVERY * before
        } else {
            let since = self.last.max(alr_since);
            let is_due = alr_since.is_some() && since.is_some_and(|since| now.since(since) >= INTERVAL);
            if is_due { FURTHER * bps } else { return None }
        };
        let max_bps = match limit {
            ProbeLimit::None => self.max_bps,
            ProbeLimit::Increasing => self.max_bps.min(MAX_FACTOR_WITH_LOSSES * bps),
            ProbeLimit::Forbidden => return None,
        };
        let probe = probe.min(max_bps);
        (probe > bps).then(|| {
            self.on_probe(now, probe);
            probe
        })
    }

    /// Returns the rate before a recent drop, if it may be probed.
    fn recovery(&self, now: Instant, alr_since: Option<Instant>) -> Option<f64> {
        let is_limited = alr_since.is_some() || self.alr_ended.is_some_and(|ended| now.since(ended) < ALR_TIMEOUT);
        let is_early = self.last_recovery.is_some_and(|last| now.since(last) < INTERVAL);
        let (before, dropped) = self.dropped?;
        (is_limited && !is_early && now.since(dropped) < DROP_TIMEOUT).then_some(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// 900 kb/s and 1.8 Mb/s at first. A result of 1.3 Mb/s is above 0.7 of the last one, so that 2.6 Mb/s follow; 1.8
    /// Mb/s are not above 0.7 of those.
    #[test]
    fn first_and_further_probes() {
        let mut probes = ProbeController::new(None, 300e3);
        assert_eq!(probes.start(ms(0)).collect::<Vec<_>>(), [900e3, 1.8e6]);
        assert_eq!(probes.start(ms(1)).count(), 0);
        assert_eq!(probes.on_rate(ms(100), 900e3, ProbeLimit::None, None, false), None);
        assert_eq!(probes.on_rate(ms(200), 1.3e6, ProbeLimit::None, None, false), Some(2.6e6));
        assert_eq!(probes.on_rate(ms(300), 1.8e6, ProbeLimit::None, None, false), None);
        assert_eq!(probes.on_rate(ms(400), 2e6, ProbeLimit::None, None, false), Some(4e6));
        // The time for the result is over.
        assert_eq!(probes.on_rate(ms(1401), 4e6, ProbeLimit::None, None, false), None);
    }

    #[test]
    fn probes_are_limited() {
        for (limit, max_bps, expected) in [
            (ProbeLimit::None, None, Some(4e6)),
            (ProbeLimit::None, Some(3e6), Some(3e6)),
            (ProbeLimit::None, Some(2e6), None),
            (ProbeLimit::Increasing, None, Some(3e6)),
            (ProbeLimit::Forbidden, None, None),
        ] {
            let mut probes = ProbeController::new(max_bps, 1e6);
            assert_eq!(probes.on_rate(ms(5000), 2e6, limit, Some(ms(0)), false), expected);
        }
    }

    #[test]
    fn probes_in_application_limited_periods() {
        let mut probes = ProbeController::new(None, 1e6);
        let mut at = |millis| probes.on_rate(ms(millis), 1e6, ProbeLimit::None, Some(ms(1000)), false).is_some();
        let times: Vec<_> = (0..200).map(|step| 100 * step).filter(|millis| at(*millis)).collect();
        assert_eq!(times, [6000, 11_000, 16_000]);
    }

    /// The rate falls from 1 Mb/s to 0.6 in an application-limited period. The end of the over-use within 5 s is a
    /// reason to probe 850 kb/s, again after 5 s.
    #[test]
    fn a_probe_after_a_drop() {
        for (alr_ended, at, expected) in [(None, 3000, None), (Some(500), 3000, Some(850e3)), (Some(500), 3600, None)] {
            let mut probes = ProbeController::new(None, 1e6);
            alr_ended.map(ms).into_iter().for_each(|ended| probes.on_alr_end(ended));
            assert_eq!(probes.on_rate(ms(1000), 600e3, ProbeLimit::None, None, false), None);
            assert_eq!(probes.on_rate(ms(at), 600e3, ProbeLimit::None, None, true), expected, "{alr_ended:?} {at}");
        }
    }
}
