//! Times without reports, for controllers of media whose documents do not define them.
//!
//! If data packets are not reported for a retransmission timeout (RFC 6298), which doubles each time, reports are
//! missing. Then one packet per [`probe_interval`] is sent, until a report arrives.

use super::rto::{Rto, RtoRules};
use super::silence::probe_interval;
use headway_units::{Duration, Instant, RtoFloor};

/// Detector of missing reports.
#[derive(Debug)]
pub(crate) struct MissingReports {
    rto: Rto,
    /// Time for which the receiver may hold a report.
    hold: Duration,
    /// Time at which reports are missing, if packets are not reported.
    timeout: Option<Instant>,
    since: Option<Instant>,
    timeouts: u64,
}

impl MissingReports {
    /// Creates a detector. The timeout is `hold` later than that of RFC 6298.
    pub(crate) fn new(hold: Duration, rtt: Option<Duration>) -> Self {
        let mut rto = Rto::new(RtoRules {
            initial: Duration::from_secs(1),
            least: Duration::from_millis(200),
            floor: RtoFloor::Variance,
            most: Duration::from_secs(60),
            granularity: Duration::from_millis(1),
        });
        rtt.into_iter().for_each(|rtt| rto.sample(rtt));
        Self { rto, hold, timeout: None, since: None, timeouts: 0 }
    }

    /// Handles a data packet sent now.
    pub(crate) fn on_send(&mut self, now: Instant) {
        self.timeout = self.timeout.or(Some(self.next(now)));
    }

    /// Handles a report. `outstanding`: whether data packets remain that it does not cover. Returns whether reports were
    /// missing.
    pub(crate) fn on_report(&mut self, now: Instant, rtt_sample: Option<Duration>, outstanding: bool) -> bool {
        rtt_sample.into_iter().for_each(|rtt| self.rto.sample(rtt));
        self.timeout = outstanding.then(|| self.next(now));
        self.since.take().is_some()
    }

    /// Returns whether the timeout has expired, and doubles it if so.
    pub(crate) fn handle_timeout(&mut self, now: Instant) -> bool {
        let expired = self.timeout.take_if(|at| *at <= now).is_some();
        if expired {
            self.timeouts += 1;
            self.since = self.since.or(Some(now));
            self.rto.back_off();
        }
        expired
    }

    pub(crate) const fn poll_timeout(&self) -> Option<Instant> {
        self.timeout
    }

    /// Returns the interval of packets while reports are missing.
    pub(crate) fn probe_interval(&self, now: Instant) -> Option<Duration> {
        self.since.map(|since| probe_interval(now.since(since), self.rto.srtt()))
    }

    pub(crate) const fn are_missing(&self) -> bool {
        self.since.is_some()
    }

    /// Returns how often the timeout has expired.
    pub(crate) const fn timeouts(&self) -> u64 {
        self.timeouts
    }

    /// Returns the smoothed round-trip time (SRTT); `None` before the first sample.
    pub(crate) const fn srtt(&self) -> Option<Duration> {
        self.rto.srtt()
    }

    fn next(&self, now: Instant) -> Instant {
        now + self.rto.timeout() + self.hold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6298: with one sample of 100 ms the timeout is 100 ms + 4 * 50 ms; then it doubles. RFC 8085 section 3.1.3:
    /// one packet per 3 s after a minute.
    #[test]
    fn reports_are_missing_after_the_timeout() {
        let ms = Instant::from_millis;
        let mut reports = MissingReports::new(Duration::from_millis(50), Some(Duration::from_millis(100)));
        assert_eq!(reports.poll_timeout(), None);
        reports.on_send(ms(1000));
        reports.on_send(ms(1200));
        assert_eq!(reports.poll_timeout(), Some(ms(1350)), "from the first packet that is not reported");
        assert!(!reports.handle_timeout(ms(1349)) && !reports.are_missing());
        assert!(reports.handle_timeout(ms(1350)) && reports.are_missing());
        assert_eq!(reports.probe_interval(ms(1350)), Some(Duration::from_millis(200)));
        assert_eq!(reports.probe_interval(ms(61_350)), Some(Duration::from_secs(3)));
        reports.on_send(ms(1500));
        assert_eq!(reports.poll_timeout(), Some(ms(1500 + 600 + 50)));
        assert!(reports.on_report(ms(1600), None, true), "they were missing");
        assert!(!reports.on_report(ms(1700), None, false));
        assert_eq!((reports.poll_timeout(), reports.probe_interval(ms(1700)), reports.timeouts()), (None, None, 1));
    }
}
