//! Estimator of version `draft-02`: draft-ietf-rmcat-gcc-02.

mod filter;
mod loss;
mod rate;

use super::PacketReport;
use super::arrival_groups::ArrivalGroups;
use super::options::{GccVersion, Limits};
use super::overuse::OveruseDetector;
use filter::ArrivalFilter;
use headway_units::{Duration, Instant};
use loss::LossRate;
use rate::DelayRate;
use std::collections::VecDeque;

/// Time over which the received rate is measured; 0.5 to 1 s in the draft.
const WINDOW: Duration = Duration::from_millis(500);

/// Estimator of version `draft-02`.
#[derive(Debug)]
pub(super) struct Draft {
    groups: ArrivalGroups,
    filter: ArrivalFilter,
    detector: OveruseDetector,
    received: ReceivedRate,
    delay: DelayRate,
    loss: LossRate,
}

impl Draft {
    pub(super) fn new(limits: Limits, start_bps: f64) -> Self {
        Self {
            groups: ArrivalGroups::default(),
            filter: ArrivalFilter::default(),
            detector: OveruseDetector::new(GccVersion::Draft02),
            received: ReceivedRate::default(),
            delay: DelayRate::new(limits, start_bps),
            loss: LossRate::new(limits, start_bps),
        }
    }

    /// Handles a report. Returns whether the rate was reduced.
    pub(super) fn on_report(&mut self, report: &PacketReport<'_>) -> bool {
        let before = self.bps();
        let mut has_arrivals = false;
        for packet in report.packets {
            self.loss.add(packet.is_lost);
            let Some(arrived) = packet.arrived else { continue };
            has_arrivals = true;
            self.received.add(arrived, packet.bytes);
            if let Some(deltas) = self.groups.add(packet.sent, arrived) {
                let (growth_ms, modified_ms) = self.filter.add(&deltas);
                self.detector.detect(modified_ms, growth_ms, deltas.sent_ms, arrived);
            }
        }
        if has_arrivals {
            self.delay.on_report(report.now, report.rtt, self.detector.signal(), self.received.bps());
        }
        self.loss.on_report(report.now, self.delay.bps());
        self.bps() < before
    }

    /// Returns the lesser rate of both halves.
    pub(super) fn bps(&self) -> f64 {
        self.delay.bps().min(self.loss.bps())
    }
}

/// Received rate `R_hat`, by the receiver's clock.
#[derive(Debug, Default)]
struct ReceivedRate {
    arrivals: VecDeque<(Instant, f64)>,
    first: Option<Instant>,
}

impl ReceivedRate {
    /// Adds a packet, in the order of arrival.
    fn add(&mut self, arrived: Instant, bytes: f64) {
        self.first = self.first.or(Some(arrived));
        self.arrivals.push_back((arrived, bytes));
        let is_old = |at: Instant| arrived.since(at) >= WINDOW || at > arrived;
        while self.arrivals.pop_front_if(|(at, _)| is_old(*at)).is_some() {}
    }

    /// Returns the rate; `None` before the end of the first window.
    fn bps(&self) -> Option<f64> {
        let (newest, _) = self.arrivals.back()?;
        let is_measured = self.first.is_some_and(|first| newest.since(first) >= WINDOW);
        is_measured.then(|| 8.0 * self.arrivals.iter().map(|(_, bytes)| bytes).sum::<f64>() / WINDOW.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of 1000 B every 10 ms are 800 kb/s, after the first window.
    #[test]
    fn a_received_rate() {
        let mut rate = ReceivedRate::default();
        for packet in 0..200 {
            rate.add(Instant::from_millis(10 * packet), 1000.0);
            assert_eq!(rate.bps(), (packet >= 50).then_some(800e3), "{packet}");
        }
    }
}
