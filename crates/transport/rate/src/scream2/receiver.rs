//! Receiver half of `scream2`: decides when a report is due.

use super::options::Scream2Options;
use crate::contract::{Received, ReceiverContext, ReceiverHalf};
use crate::report::{Report, ReportForm, TimedReport};
use headway_units::{Duration, Instant};

/// A report is due after this many packets (section 5 of the draft).
const PACKETS: u32 = 16;
/// Or this long after the first packet that was not reported.
const INTERVAL: Duration = Duration::from_millis(40);

/// Receiver half of the controller `scream2`, which decides when the arrival times of packets are reported: after 16
/// packets, or 40 ms after the first packet that was not reported.
#[derive(Debug, Default)]
pub struct Scream2Receiver {
    packets: u32,
    due: Option<Instant>,
    overdue: bool,
}

impl Scream2Receiver {
    pub(crate) fn new(_: &Scream2Options, _: ReceiverContext) -> Self {
        Self::default()
    }
}

impl ReceiverHalf for Scream2Receiver {
    const REPORTS: ReportForm = ReportForm::Timed;

    fn on_packet(&mut self, now: Instant, packet: &Received) {
        if packet.data {
            self.packets = self.packets.saturating_add(1);
            self.due = self.due.or(Some(now + INTERVAL));
        }
    }

    fn poll_report(&mut self, _: Instant) -> Option<Report<'_>> {
        if self.packets < PACKETS && !self.overdue {
            return None;
        }
        *self = Self::default();
        Some(Report::Timed(TimedReport::EMPTY))
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.due.is_some_and(|due| due <= now) {
            (self.due, self.overdue) = (None, true);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }
}
