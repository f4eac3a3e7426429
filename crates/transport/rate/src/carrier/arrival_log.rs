//! Arrival times of packets, for timed reports.

use crate::report::{TimedArrival, TimedReport};
use headway_units::{Ecn, Instant};
use std::collections::VecDeque;

/// Arrival times of the newest packets, at most [`TimedReport::MAX_ARRIVALS`].
#[derive(Clone, Debug, Default)]
pub(super) struct ArrivalLog {
    /// Greatest number received plus 1.
    next: u64,
    /// Arrivals up to that number, newest last.
    packets: VecDeque<Option<(Instant, Ecn)>>,
    /// Values of `next` at the last two reports.
    reported: [u64; 2],
    report: Vec<TimedArrival>,
}

impl ArrivalLog {
    /// Records an arrival. A duplicate changes nothing, except that it may add a mark.
    pub(super) fn insert(&mut self, now: Instant, number: u64, ecn: Ecn) {
        let ahead = (number.saturating_add(1)).saturating_sub(self.next);
        if ahead > 0 {
            let skipped =
                usize::try_from(ahead - 1).unwrap_or(TimedReport::MAX_ARRIVALS).min(TimedReport::MAX_ARRIVALS);
            let skipped = if self.packets.is_empty() { 0 } else { skipped };
            self.packets.extend(std::iter::repeat_n(None, skipped));
            self.packets.push_back(Some((now, ecn)));
            self.packets.drain(..self.packets.len().saturating_sub(TimedReport::MAX_ARRIVALS));
            self.next = number.saturating_add(1);
            return;
        }
        let place = usize::try_from(self.next - number).ok().and_then(|back| self.packets.len().checked_sub(back));
        match place.and_then(|place| self.packets.get_mut(place)) {
            Some(Some((_, before))) if ecn == Ecn::Ce => *before = ecn,
            Some(empty @ None) => *empty = Some((now, ecn)),
            _ => {}
        }
    }

    /// Returns the arrivals since the report before the last, newest first, so that the loss of one report is harmless.
    pub(super) fn report(&mut self, now: Instant) -> TimedReport<'_> {
        let count = usize::try_from(self.next - self.reported[0]).unwrap_or(TimedReport::MAX_ARRIVALS);
        self.reported = [self.reported[1], self.next];
        self.report.clear();
        self.report.extend(self.packets.iter().rev().take(count).map(|packet| match packet {
            None => TimedArrival::NotReceived,
            Some((arrived, ecn)) => TimedArrival::Received { ecn: *ecn, before: Some(now.since(*arrived)) },
        }));
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

    /// Packets 5, 7, 6 (late) and 9. Each report starts where the report before the last ended.
    #[test]
    fn each_arrival_is_reported_twice() {
        let mut log = ArrivalLog::default();
        log.insert(ms(10), 5, Ecn::Ect0);
        log.insert(ms(12), 7, Ecn::Ect0);
        assert_eq!(reported(&mut log, 20), [Some((8, Ecn::Ect0)), None, Some((10, Ecn::Ect0))]);
        log.insert(ms(25), 6, Ecn::Ect0);
        log.insert(ms(26), 7, Ecn::Ce);
        log.insert(ms(27), 9, Ecn::Ect1);
        let (five, six, seven) = (Some((20, Ecn::Ect0)), Some((5, Ecn::Ect0)), Some((18, Ecn::Ce)));
        assert_eq!(reported(&mut log, 30), [Some((3, Ecn::Ect1)), None, seven, six, five]);
        // 8 and 9 have been reported once.
        assert_eq!(reported(&mut log, 40), [Some((13, Ecn::Ect1)), None]);
        assert_eq!(reported(&mut log, 50), []);
    }

    #[test]
    fn the_log_is_bounded() {
        let mut log = ArrivalLog::default();
        for number in [0, 1, 1000, u64::MAX - 1, 3, u64::MAX, u64::MAX - 1] {
            log.insert(ms(1), number, Ecn::NotEct);
            assert!(log.packets.len() <= TimedReport::MAX_ARRIVALS);
        }
        assert_eq!(reported(&mut log, 1).len(), TimedReport::MAX_ARRIVALS);
    }
}
