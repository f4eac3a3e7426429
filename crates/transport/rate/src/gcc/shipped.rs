//! Estimator of version `gcc-2026`: the detector, both halves and the probes.

use super::acknowledged_rate::AcknowledgedRate;
use super::aimd::Aimd;
use super::alr::AlrDetector;
use super::arrival_groups::ArrivalGroups;
use super::loss::{LossController, State};
use super::options::{GccVersion, Limits};
use super::overuse::{OveruseDetector, Signal};
use super::probe::Prober;
use super::probe_controller::{ProbeController, ProbeLimit};
use super::trendline::Trendline;
use super::{PacketReport, ReportedPacket};
use crate::contract::{Next, Permit};
use headway_units::{Duration, Instant};

/// Time without reports after which the groups and the trendline start again.
const STREAM_TIMEOUT: Duration = Duration::from_secs(2);
/// Share of the acknowledged rate that is the lower bound of the result of a probe.
const MIN_PROBE: f64 = 0.85;

/// Estimator of version `gcc-2026`.
#[derive(Debug)]
pub(super) struct Shipped {
    groups: ArrivalGroups,
    trendline: Trendline,
    detector: OveruseDetector,
    last_report: Option<Instant>,
    acknowledged: AcknowledgedRate,
    aimd: Aimd,
    loss: LossController,
    alr: AlrDetector,
    was_application_limited: bool,
    probes: ProbeController,
    prober: Prober,
    /// Whether the signal changed from under-use to normal in the last report.
    has_recovered: bool,
}

impl Shipped {
    pub(super) fn new(limits: Limits, start_bps: f64, max_probe_bps: Option<f64>) -> Self {
        let start_bps = limits.clamp(start_bps);
        Self {
            groups: ArrivalGroups::default(),
            trendline: Trendline::default(),
            detector: OveruseDetector::new(GccVersion::Gcc2026),
            last_report: None,
            acknowledged: AcknowledgedRate::new(),
            aimd: Aimd::new(limits, start_bps),
            loss: LossController::new(limits),
            alr: AlrDetector::new(start_bps),
            was_application_limited: false,
            probes: ProbeController::new(max_probe_bps, start_bps),
            prober: Prober::default(),
            has_recovered: false,
        }
    }

    /// Returns when the next packet of a probe may be sent; `None` if no probe is sent.
    pub(super) fn permit(&mut self, now: Instant, next: &Next, header: f64) -> Option<Permit> {
        self.probes.start(now).for_each(|bps| self.prober.request(now, bps));
        self.prober.permit(now, next, header)
    }

    pub(super) fn on_send(&mut self, now: Instant, number: u64, bytes: f64) {
        self.alr.on_send(now, bytes);
        self.prober.on_send(number, bytes);
    }

    /// Handles a report. Returns whether losses reduced the rate.
    pub(super) fn on_report(&mut self, report: &PacketReport<'_>) -> bool {
        let now = report.now;
        let is_limited = self.alr.since().is_some();
        if std::mem::replace(&mut self.was_application_limited, is_limited) && !is_limited {
            self.acknowledged.on_alr_end(now);
            self.probes.on_alr_end(now);
        }
        let last_report = self.last_report.replace(now);
        if last_report.is_some_and(|last| now.since(last) > STREAM_TIMEOUT) {
            self.groups = ArrivalGroups::default();
            self.trendline = Trendline::default();
            self.detector = OveruseDetector::new(GccVersion::Gcc2026);
        }
        let (mut has_arrivals, mut probe) = (false, None);
        self.has_recovered = false;
        for packet in report.packets {
            self.loss.add(packet.bytes, packet.is_lost);
            let Some(arrived) = packet.arrived else { continue };
            has_arrivals = true;
            self.acknowledged.add(packet.sent, arrived, packet.bytes);
            self.detect(packet, arrived);
            probe = self.prober.on_arrival(packet, arrived).or(probe);
        }
        let acknowledged = self.acknowledged.bps();
        let before = self.bps();
        if has_arrivals {
            let least = acknowledged.map_or(0.0, |bps| self.aimd.bps().min(MIN_PROBE * bps));
            let probe = probe.map(|bps| bps.max(least));
            let signal = self.detector.signal();
            self.aimd.on_report(now, report.rtt, signal, acknowledged, probe);
            if probe.is_some() && signal != Signal::OverUse {
                self.loss.on_probe(self.aimd.bps());
            }
        }
        let sent = report.packets.iter().map(|packet| packet.sent);
        if let (Some(first), Some(last)) = (sent.clone().min(), sent.max()) {
            self.loss.on_report(first, last, acknowledged, self.aimd.bps(), is_limited);
        }
        self.bps() < before && self.loss.bps() < self.aimd.bps()
    }

    fn detect(&mut self, packet: &ReportedPacket, arrived: Instant) {
        if let Some(deltas) = self.groups.add(packet.sent, arrived)
            && let Some((slope, modified_ms)) = self.trendline.add(&deltas, arrived)
        {
            let before = self.detector.signal();
            self.detector.detect(modified_ms, slope, deltas.sent_ms, arrived);
            self.has_recovered |= (before, self.detector.signal()) == (Signal::UnderUse, Signal::Normal);
        }
    }

    /// Returns the rate of both halves.
    pub(super) fn bps(&self) -> f64 {
        self.aimd.bps().min(self.loss.bps())
    }

    /// Handles the rate that the sender uses, and requests probes.
    pub(super) fn on_rate(&mut self, now: Instant, bps: f64, is_backing_off: bool) {
        self.alr.set_rate(bps);
        let limit = match (self.loss.state(), self.detector.signal()) {
            _ if is_backing_off => ProbeLimit::Forbidden,
            (State::Decreasing, _) | (_, Signal::OverUse) => ProbeLimit::Forbidden,
            (State::Increasing, _) => ProbeLimit::Increasing,
            (State::Delay, _) => ProbeLimit::None,
        };
        let probe = self.probes.on_rate(now, bps, limit, self.alr.since(), self.has_recovered);
        probe.into_iter().for_each(|bps| self.prober.request(now, bps));
    }
}
