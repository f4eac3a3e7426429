//! Detector of application-limited periods (`alr_detector.cc` and `interval_budget.cc` of libwebrtc; ALR:
//! application-limited region): a budget of 65 % of the rate over 500 ms of which more than 80 % is unused.

use headway_units::Instant;

const USAGE: f64 = 0.65;
const WINDOW_S: f64 = 0.5;
const START_RATIO: f64 = 0.8;
const STOP_RATIO: f64 = 0.5;

/// Budget of bytes that an application with data would send.
#[derive(Clone, Debug)]
pub(super) struct AlrDetector {
    bps: f64,
    /// Bytes that were not sent, from minus to plus [`Self::most`].
    unused: f64,
    last: Option<Instant>,
    /// Start of the application-limited period, if it continues.
    since: Option<Instant>,
}

impl AlrDetector {
    pub(super) const fn new(bps: f64) -> Self {
        Self { bps, unused: 0.0, last: None, since: None }
    }

    /// Returns the start of the application-limited period, if it continues.
    pub(super) const fn since(&self) -> Option<Instant> {
        self.since
    }

    fn most(&self) -> f64 {
        USAGE * self.bps * WINDOW_S / 8.0
    }

    pub(super) fn set_rate(&mut self, bps: f64) {
        self.bps = bps;
        let most = self.most();
        self.unused = self.unused.max(-most).min(most);
    }

    /// Handles a packet of `bytes` that is sent now.
    pub(super) fn on_send(&mut self, now: Instant, bytes: f64) {
        let time_s = self.last.replace(now).map_or(0.0, |last| now.since(last).as_secs_f64());
        let most = self.most();
        self.unused = (self.unused - bytes).max(-most);
        self.unused = (self.unused + USAGE * self.bps * time_s / 8.0).min(most);
        let ratio = self.unused / most;
        if ratio > START_RATIO {
            self.since = self.since.or(Some(now));
        } else if ratio < STOP_RATIO {
            self.since = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::vectors::{near, rows};
    use super::*;

    /// At 1 Mb/s, 1000 B each 50 ms (12 times), then 9000 B.
    #[test]
    fn an_application_limited_period() {
        let mut alr = AlrDetector::new(1e6);
        alr.last = Some(Instant::ZERO);
        let rows = rows("alr");
        assert_eq!(rows.len(), 18);
        for (step, row) in rows.into_iter().enumerate() {
            let at = Instant::from_millis(row[0].as_u64().unwrap());
            alr.on_send(at, if step < 12 { 1000.0 } else { 9000.0 });
            near(alr.unused / alr.most(), row[1].as_f64().unwrap(), 6e-7);
            assert_eq!(alr.since().is_some(), row[2].as_bool().unwrap(), "{row}");
        }
    }
}
