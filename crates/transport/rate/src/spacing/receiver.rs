//! Counts packets and reports the count every round trip.

use super::Count;
use super::options::SpacingOptions;
use crate::contract::{Need, Received, ReceiverContext, ReceiverHalf};
use crate::report::{Report, ReportForm};
use headway_units::{Duration, Ecn, Instant};

/// Shortest round, so that time passes between two reports on a path without delay.
const MIN_ROUND: Duration = Duration::from_millis(1);
/// Longest round, for any round-trip time on a packet.
const MAX_ROUND: Duration = Duration::from_secs(64);

/// Receiver half of the controller `spacing`: reports the total number of packets received every round trip. A marked
/// packet counts as lost.
#[derive(Debug)]
pub struct SpacingReceiver {
    highest: u64,
    received: u32,
    /// Whether data has arrived since the last report.
    has_new_data: bool,
    round: Duration,
    ends: Option<Instant>,
    due: bool,
}

impl SpacingReceiver {
    pub(crate) fn new(_: &SpacingOptions, context: ReceiverContext) -> Self {
        Self { highest: context.upcoming, received: 0, has_new_data: false, round: MIN_ROUND, ends: None, due: false }
    }
}

impl ReceiverHalf for SpacingReceiver {
    const REPORTS: ReportForm = ReportForm::Own;
    const NEEDS: &'static [Need] = &[Need::RoundTrip];

    fn on_packet(&mut self, now: Instant, packet: &Received) {
        self.highest = self.highest.max(packet.number);
        self.received = self.received.wrapping_add(u32::from(packet.ecn != Ecn::Ce));
        if !packet.data {
            return;
        }
        self.has_new_data = true;
        if let Some(rtt) = packet.rtt {
            self.round = rtt.clamp(MIN_ROUND, MAX_ROUND);
            self.ends = self.ends.or(Some(now + self.round));
        } else if self.ends.is_none() {
            // The sender has no round-trip time yet and waits for this report to measure it.
            (self.due, self.has_new_data) = (true, false);
        }
    }

    fn on_corrupt(&mut self, _: Instant, _: u64) {
        self.received = self.received.wrapping_sub(1);
    }

    fn poll_report(&mut self, _: Instant) -> Option<Report<'_>> {
        let count = Count { highest: self.highest as u32, received: self.received };
        std::mem::take(&mut self.due).then(|| Report::Own(count.encode()))
    }

    /// Ends the round. A round without packets ends without a report, and the next packet begins another.
    fn handle_timeout(&mut self, now: Instant) {
        if self.ends.is_some_and(|at| at <= now) {
            self.due |= self.has_new_data;
            self.ends = self.has_new_data.then(|| now + self.round);
            self.has_new_data = false;
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.ends
    }
}
