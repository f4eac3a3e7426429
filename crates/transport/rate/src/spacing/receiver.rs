//! Counts what comes, and says so each round trip.

use super::Count;
use super::options::SpacingOptions;
use crate::contract::{Need, Received, ReceiverContext, ReceiverHalf};
use crate::report::{Report, ReportForm};
use headway_units::{Duration, Ecn, Instant};

/// No round is shorter: where there is no delay at all, time must pass between two reports.
const SHORTEST_ROUND: Duration = Duration::from_millis(1);
/// No round is longer, whatever a packet says.
const LONGEST_ROUND: Duration = Duration::from_secs(64);

/// Says each round trip how many packets have come in all. What came marked counts as lost.
#[derive(Debug)]
pub struct SpacingReceiver {
    highest: u64,
    came: u32,
    /// Data has come since the last report.
    news: bool,
    round: Duration,
    ends: Option<Instant>,
    due: bool,
}

impl SpacingReceiver {
    pub(crate) fn new(_: &SpacingOptions, context: ReceiverContext) -> Self {
        Self { highest: context.upcoming, came: 0, news: false, round: SHORTEST_ROUND, ends: None, due: false }
    }
}

impl ReceiverHalf for SpacingReceiver {
    const REPORTS: ReportForm = ReportForm::Own;
    const NEEDS: &'static [Need] = &[Need::RoundTrip];

    fn on_packet(&mut self, now: Instant, packet: &Received) {
        self.highest = self.highest.max(packet.number);
        self.came = self.came.wrapping_add(u32::from(packet.ecn != Ecn::Ce));
        if !packet.data {
            return;
        }
        self.news = true;
        if let Some(rtt) = packet.rtt {
            self.round = rtt.clamp(SHORTEST_ROUND, LONGEST_ROUND);
            self.ends = self.ends.or(Some(now + self.round));
        } else if self.ends.is_none() {
            // The sender has no round trip yet: it waits for the answer to measure it.
            (self.due, self.news) = (true, false);
        }
    }

    fn on_corrupt(&mut self, _: Instant, _: u64) {
        self.came = self.came.wrapping_sub(1);
    }

    fn poll_report(&mut self, _: Instant) -> Option<Report<'_>> {
        let count = Count { highest: self.highest as u32, came: self.came };
        std::mem::take(&mut self.due).then(|| Report::Own(count.encode()))
    }

    /// A round in which nothing came ends without a report, and the next packet begins another.
    fn handle_timeout(&mut self, now: Instant) {
        if self.ends.is_some_and(|at| at <= now) {
            self.due |= self.news;
            self.ends = self.news.then(|| now + self.round);
            self.news = false;
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.ends
    }
}
