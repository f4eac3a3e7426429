//! Arrival times of packets, for timed reports.

use crate::report::{ArrivalWindow, TimedArrival, TimedReport};
use headway_units::{Ecn, Instant};

/// Number of reports that contain an arrival. With 30 % of the reports lost, one arrival in 1400 is in none.
const REPORTS: usize = 6;

/// Arrival times of the newest packets, at most [`TimedReport::MAX_ARRIVALS`].
#[derive(Clone, Debug)]
pub(super) struct ArrivalLog {
    window: ArrivalWindow,
    /// Greatest number received plus 1 at the last reports, oldest first.
    reported: [u64; REPORTS],
    report: Vec<TimedArrival>,
}

impl Default for ArrivalLog {
    fn default() -> Self {
        Self { window: ArrivalWindow::new(TimedReport::MAX_ARRIVALS), reported: [0; REPORTS], report: Vec::new() }
    }
}

impl ArrivalLog {
    /// Records an arrival. A duplicate changes nothing, except that it may add a mark.
    pub(super) fn insert(&mut self, now: Instant, number: u64, ecn: Ecn) {
        self.window.insert(now, number, ecn);
    }

    /// Returns the arrivals that are not yet in [`REPORTS`] reports, newest first.
    pub(super) fn report(&mut self, now: Instant) -> TimedReport<'_> {
        let next = self.window.greatest().map_or(0, |greatest| greatest.saturating_add(1));
        let [oldest, ..] = self.reported;
        self.reported.rotate_left(1);
        if let Some(last) = self.reported.last_mut() {
            *last = next;
        }
        let count = usize::try_from(next - oldest).unwrap_or(usize::MAX);
        self.report.clear();
        self.report.extend(self.window.states(now).take(count));
        TimedReport { clock: now, arrivals: &self.report }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn reported(log: &mut ArrivalLog, now: u64) -> Vec<Option<(u64, Ecn)>> {
        let report = log.report(ms(now));
        assert_eq!(report.clock, ms(now));
        let before = |arrival: &TimedArrival| match *arrival {
            TimedArrival::Received { ecn, before } => Some((before.unwrap().as_nanos() / 1_000_000, ecn)),
            TimedArrival::NotReceived => None,
        };
        report.arrivals.iter().map(before).collect()
    }

    /// Packets 5, 7, 6 (late) and 9. 6 arrives after the first report and is in the same reports as 7.
    #[test]
    fn each_arrival_is_in_six_reports() {
        let mut log = ArrivalLog::default();
        log.insert(ms(10), 5, Ecn::Ect0);
        log.insert(ms(12), 7, Ecn::Ect0);
        assert_eq!(reported(&mut log, 20), [Some((8, Ecn::Ect0)), None, Some((10, Ecn::Ect0))]);
        log.insert(ms(25), 6, Ecn::Ect0);
        log.insert(ms(26), 7, Ecn::Ce);
        log.insert(ms(27), 9, Ecn::Ect1);
        let (five, six, seven) = (Some((20, Ecn::Ect0)), Some((5, Ecn::Ect0)), Some((18, Ecn::Ce)));
        assert_eq!(reported(&mut log, 30), [Some((3, Ecn::Ect1)), None, seven, six, five]);
        for report in 3..=6 {
            assert_eq!(reported(&mut log, 30 + report).len(), 5, "report {report}");
        }
        // 8 and 9 were first in the second report.
        assert_eq!(reported(&mut log, 40), [Some((13, Ecn::Ect1)), None]);
        assert_eq!(reported(&mut log, 50), []);
    }

    #[test]
    fn the_log_is_bounded() {
        let mut log = ArrivalLog::default();
        for number in [0, 1, 1000, u64::MAX - 1, 3, u64::MAX, u64::MAX - 1] {
            log.insert(ms(1), number, Ecn::NotEct);
            assert!(log.report(ms(1)).arrivals.len() <= TimedReport::MAX_ARRIVALS);
        }
        assert_eq!(reported(&mut log, 1).len(), TimedReport::MAX_ARRIVALS);
    }
}
