//! Estimator of version `draft-02`: draft-ietf-rmcat-gcc-02.

mod filter;
mod loss;
mod rate;

use super::PacketReport;
use super::arrival_groups::ArrivalGroups;
use super::options::{GccVersion, Limits};
use super::overuse::OveruseDetector;
use crate::tfrc::arrivals::Arrivals;
use filter::ArrivalFilter;
use headway_units::Instant;
use loss::LossRate;
use rate::DelayRate;

/// Time over which the received rate is measured, in s; 0.5 to 1 s in the draft.
const WINDOW_S: f64 = 0.5;

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

    /// Handles a report. Returns whether losses reduced the rate.
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
        self.received.on_report();
        self.loss.on_report(report.now, self.delay.bps());
        self.bps() < before && self.loss.bps() < self.delay.bps()
    }

    /// Returns the lesser rate of both halves.
    pub(super) fn bps(&self) -> f64 {
        self.delay.bps().min(self.loss.bps())
    }
}

/// Received rate `R_hat`, by the receiver's clock.
#[derive(Debug, Default)]
struct ReceivedRate {
    arrivals: Arrivals,
    /// Arrival of the first and of the newest packet.
    span: Option<(Instant, Instant)>,
}

impl ReceivedRate {
    /// Adds a packet, in the order of arrival. If the receiver's clock has stepped back, the measurement starts again.
    fn add(&mut self, arrived: Instant, bytes: f64) {
        if self.span.is_some_and(|(first, _)| arrived < first) {
            *self = Self::default();
        }
        let (_, newest) = self.span.get_or_insert((arrived, arrived));
        *newest = arrived;
        self.arrivals.add(arrived, bytes as u64, WINDOW_S);
    }

    /// Returns the rate; `None` before the end of the first window.
    fn bps(&self) -> Option<f64> {
        let (first, newest) = self.span?;
        (newest.since(first).as_secs_f64() >= WINDOW_S).then(|| 8.0 * self.arrivals.rate(newest, WINDOW_S))
    }

    /// Handles the end of a report.
    fn on_report(&mut self) {
        if let Some((_, newest)) = self.span {
            self.arrivals.on_report(newest, WINDOW_S);
        }
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
