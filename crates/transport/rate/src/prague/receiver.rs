//! Receiver half of `prague`: decides when a report is due.

use super::options::PragueOptions;
use crate::contract::{Received, ReceiverContext, ReceiverHalf};
use crate::report::{Report, ReportForm, TimedReport};
use headway_units::{Duration, Instant};

/// Minimum time between reports, a tenth of the shortest virtual round trip. A round of the sender ends with a report:
/// with 25 ms between reports (`RFC8888_ACKPERIOD` of udp_prague) rounds would be up to twice as long, and reactions to
/// marks half as many.
pub(super) const MIN_INTERVAL: Duration = Duration::from_micros(2500);
/// Number of packets after which a report is due before this time, so that each arrival is in six reports.
const PACKETS: u32 = TimedReport::MAX_ARRIVALS as u32 / 6;

/// Receiver half of the controller `prague`, which decides when the arrival times of packets are reported: at once if
/// the last report is at least 2.5 ms old, otherwise 2.5 ms after it or with the 20th packet.
#[derive(Debug, Default)]
pub struct PragueReceiver {
    packets: u32,
    last_report: Option<Instant>,
    due: Option<Instant>,
    is_due: bool,
}

impl PragueReceiver {
    pub(crate) fn new(_: &PragueOptions, _: ReceiverContext) -> Self {
        Self::default()
    }
}

impl ReceiverHalf for PragueReceiver {
    const REPORTS: ReportForm = ReportForm::Timed;

    fn on_packet(&mut self, now: Instant, packet: &Received) {
        if !packet.data {
            return;
        }
        self.packets += 1;
        let allowed = self.last_report.map_or(now, |last| last + MIN_INTERVAL);
        self.is_due |= self.packets >= PACKETS || allowed <= now;
        self.due = (!self.is_due).then_some(allowed);
    }

    fn poll_report(&mut self, now: Instant) -> Option<Report<'_>> {
        if !self.is_due {
            return None;
        }
        *self = Self { last_report: Some(now), ..Self::default() };
        Some(Report::Timed(TimedReport::EMPTY))
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.due.is_some_and(|due| due <= now) {
            (self.due, self.is_due) = (None, true);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Bytes;

    /// Sends a packet each `gap_us` and returns the times of the reports, in us.
    fn reports(gap_us: u64, bytes: u64) -> Vec<u64> {
        let mut receiver = PragueReceiver::default();
        let mut times = vec![];
        for now in (0..100_000).step_by(50) {
            let at = Instant::from_micros(now);
            receiver.handle_timeout(at);
            if now % gap_us == 0 {
                receiver.on_packet(at, &Received::new(now / gap_us, Some(Bytes::new(bytes))));
            }
            while receiver.poll_report(at).is_some() {
                times.push(now);
            }
        }
        times
    }

    /// Each packet is reported at once. Packets that are less than 2.5 ms apart are reported each 2.5 ms, and 20 packets
    /// at once.
    #[test]
    fn packets_are_reported_at_once_or_after_the_interval() {
        assert_eq!(reports(10_000, 1000)[..3], [0, 10_000, 20_000]);
        assert_eq!(reports(1000, 1000)[..4], [0, 2500, 5000, 7500]);
        assert_eq!(reports(100, 1000)[..3], [0, 2000, 4000]);
    }
}
