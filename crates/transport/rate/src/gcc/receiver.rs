//! Receiver half of `gcc`: decides when a report is due, as libwebrtc does for transport-wide feedback.

use super::options::GccOptions;
use crate::contract::{Received, ReceiverContext, ReceiverHalf};
use crate::report::{Report, ReportForm, TimedReport};
use headway_units::{Duration, Instant};

/// Times from the first packet that was not reported to a report.
const MIN_INTERVAL: Duration = Duration::from_millis(50);
const MAX_INTERVAL: Duration = Duration::from_millis(250);
/// Received bytes of which a report of 68 B is 5 %.
const BYTES: u64 = 1360;
/// Number of packets after which a report is due, so that each arrival is in three reports.
const PACKETS: u64 = TimedReport::MAX_ARRIVALS as u64 / 3;

/// Receiver half of the controller `gcc` (Google Congestion Control), which decides when the arrival times of packets
/// are reported: after 50 to 250 ms, or 40 packets.
#[derive(Debug, Default)]
pub struct GccReceiver {
    packets: u64,
    bytes: u64,
    first: Option<Instant>,
    is_due: bool,
}

impl GccReceiver {
    pub(crate) fn new(_: &GccOptions, _: ReceiverContext) -> Self {
        Self::default()
    }
}

impl ReceiverHalf for GccReceiver {
    const REPORTS: ReportForm = ReportForm::Timed;

    fn on_packet(&mut self, now: Instant, packet: &Received) {
        if packet.data {
            self.packets += 1;
            self.bytes = self.bytes.saturating_add(packet.size.count());
            self.first = self.first.or(Some(now));
        }
    }

    fn poll_report(&mut self, now: Instant) -> Option<Report<'_>> {
        let is_overdue = self.poll_timeout().is_some_and(|at| at <= now);
        if !self.is_due && !is_overdue && self.packets < PACKETS {
            return None;
        }
        *self = Self::default();
        Some(Report::Timed(TimedReport::EMPTY))
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.poll_timeout().is_some_and(|at| at <= now) {
            (self.first, self.is_due) = (None, true);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let interval = if self.bytes < BYTES { MAX_INTERVAL } else { MIN_INTERVAL };
        self.first.map(|first| first + interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Bytes;

    /// Sends a packet each `gap_ms` and returns the times of the reports, in ms.
    fn reports(gap_ms: u64, bytes: u64) -> Vec<u64> {
        let mut receiver = GccReceiver::default();
        let mut times = vec![];
        for now in 0..1000 {
            let at = Instant::from_millis(now);
            receiver.handle_timeout(at);
            if now % gap_ms == 0 {
                receiver.on_packet(at, &Received::new(now / gap_ms, Some(Bytes::new(bytes))));
            }
            while receiver.poll_report(at).is_some() {
                times.push(now);
            }
        }
        times
    }

    /// Reports follow the first packet by 50 ms at 800 kb/s, by 130 ms at 80 kb/s (14 packets of 100 B), and by 250 ms
    /// at 8 kb/s. A report is due after 40 packets.
    #[test]
    fn reports_use_a_twentieth_of_the_rate() {
        assert_eq!(reports(10, 1000)[..3], [50, 110, 170]);
        assert_eq!(reports(10, 100)[..3], [130, 270, 410]);
        assert_eq!(reports(100, 100)[..3], [250, 550, 850]);
        assert_eq!(reports(1, 1000)[..3], [39, 79, 119]);
    }
}
