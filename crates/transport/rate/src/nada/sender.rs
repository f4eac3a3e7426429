//! Sender half of `nada` (RFC 8698 sections 4.3 and 5.2).

use super::options::NadaOptions;
use super::{DELTA, NadaReport};
use crate::contract::{CongestionEvents, Next, Permit, SenderContext, SenderHalf, Sending, Stamp, Status};
use crate::report::{Feedback, Report};
use crate::toolbox::{MissingReports, Pacer};
use headway_units::{Bytes, Duration, Instant, Rate};

const QBOUND_S: f64 = 0.05;
const DFILT_S: f64 = 0.12;
const GAMMA_MAX: f64 = 0.5;
const KAPPA: f64 = 0.5;
const ETA: f64 = 2.0;
const TAU_S: f64 = 0.5;
const BETA_V: f64 = 0.1;
const BETA_S: f64 = 0.1;
/// Reference frame rate `FPS`.
const FRAMES_PER_S: f64 = 30.0;
const MAX_CORRECTION: f64 = 0.05;
/// Maximum of a grown rate, relative to the receive rate (RFC 5348 section 4.3).
const MAX_UNUSED: f64 = 2.0;
const CREDIT: Duration = Duration::from_millis(1);

/// Sender half of the controller `nada` (RFC 8698), which adapts the rate to the reported congestion signal.
#[derive(Debug)]
pub struct NadaSender {
    options: NadaOptions,
    /// Reference rate `r_ref` in bit/s.
    rate_bps: f64,
    signal_s: f64,
    /// Data that waits in the send queue, `buffer_len`.
    waiting: Bytes,
    last_report: Option<Instant>,
    /// Number of the last data packet.
    last_sent: u64,
    reports: MissingReports,
    pacer: Pacer,
}

impl NadaSender {
    pub(crate) fn new(options: &NadaOptions, context: SenderContext) -> Self {
        Self {
            rate_bps: options.min_rate.bits_per_second() as f64,
            options: options.clone(),
            signal_s: 0.0,
            waiting: Bytes::new(0),
            last_report: None,
            last_sent: 0,
            reports: MissingReports::new(DELTA, context.rtt),
            pacer: Pacer::new(CREDIT),
        }
    }

    const fn limits_bps(&self) -> (f64, f64) {
        (self.options.min_rate.bits_per_second() as f64, self.options.max_rate.bits_per_second() as f64)
    }

    /// Accelerated ramp-up (equations 3 and 4).
    fn ramp_up(&mut self, receive_bps: f64) {
        let rtt_s = self.reports.srtt().map_or(0.0, |rtt| rtt.as_secs_f64());
        let gamma = (QBOUND_S / (rtt_s + DELTA.as_secs_f64() + DFILT_S)).min(GAMMA_MAX);
        self.rate_bps = self.rate_bps.max((1.0 + gamma) * receive_bps);
    }

    /// Gradual update (equations 5 to 7) after `delta_s` since the last report. If the application uses less than half
    /// of the rate, it does not grow.
    fn update(&mut self, signal_s: f64, receive_bps: f64, delta_s: f64) {
        let reference_s = self.options.priority * self.options.reference_signal.as_secs_f64();
        let offset_s = signal_s - reference_s * self.limits_bps().1 / self.rate_bps;
        let difference_s = signal_s - self.signal_s;
        let delta = delta_s.min(TAU_S) / TAU_S;
        let decrease = KAPPA * (delta * offset_s / TAU_S + ETA * difference_s / TAU_S);
        let rate_bps = self.rate_bps * (1.0 - decrease);
        self.rate_bps = rate_bps.min(self.rate_bps.max(MAX_UNUSED * receive_bps));
    }

    fn clip(&mut self) {
        let (least, most) = self.limits_bps();
        self.rate_bps = self.rate_bps.clamp(least, most);
    }

    /// Returns the correction of a rate by the data in the send queue (equations 11 and 12).
    fn correction_bps(&self, gain: f64) -> f64 {
        (gain * 8.0 * self.waiting.count() as f64 * FRAMES_PER_S).min(MAX_CORRECTION * self.rate_bps)
    }

    fn target_bps(&self) -> f64 {
        (self.rate_bps - self.correction_bps(BETA_V)).max(self.limits_bps().0)
    }

    fn send_bps(&self) -> f64 {
        (self.rate_bps + self.correction_bps(BETA_S)).min(self.limits_bps().1)
    }

    fn gap_s(&self, now: Instant, size: Bytes) -> f64 {
        let gap_s = || 8.0 * size.count() as f64 / self.send_bps();
        self.reports.probe_interval(now).map_or_else(gap_s, Duration::as_secs_f64)
    }
}

impl SenderHalf for NadaSender {
    fn poll_send(&mut self, now: Instant, next: &Next) -> Permit {
        self.waiting = next.waiting;
        self.pacer.permit(now)
    }

    fn on_send(&mut self, now: Instant, sending: &Sending) -> Stamp {
        if sending.data {
            self.last_sent = sending.number;
            self.pacer.on_send(now, self.gap_s(now, sending.size));
            self.reports.on_send(now);
        }
        Stamp::default()
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        let Report::Own(own) = feedback.report else { return };
        let Some(report) = NadaReport::decode(&own) else { return };
        if self.reports.on_report(now, feedback.rtt_sample, feedback.acknowledged < self.last_sent) {
            self.pacer.bring_forward(now);
        }
        let delta_s = self.last_report.map_or(DELTA, |last| now.since(last)).as_secs_f64();
        let receive_bps = report.receive_rate.bits_per_second() as f64;
        if report.gradual {
            self.update(report.signal_s, receive_bps, delta_s);
        } else {
            self.ramp_up(receive_bps);
        }
        self.clip();
        (self.signal_s, self.last_report) = (report.signal_s, Some(now));
    }

    /// Handles a time without reports, which the RFC leaves undefined.
    fn handle_timeout(&mut self, now: Instant) {
        if self.reports.handle_timeout(now) {
            self.rate_bps /= 2.0;
            self.clip();
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.reports.poll_timeout()
    }

    fn measures_silence(&self, _: Instant, _: u64) -> bool {
        self.reports.are_missing()
    }

    fn congestion_events(&self) -> CongestionEvents {
        // The receiver does not report which packets were lost.
        CongestionEvents { timeouts: self.reports.timeouts(), ..CongestionEvents::default() }
    }

    fn status(&self) -> Status {
        let rate = |bps: f64| Some(Rate::from_bits_per_second(bps as u64));
        let mut status = Status::default();
        (status.target_rate, status.pacing_rate) = (rate(self.target_bps()), rate(self.send_bps()));
        status.rtt = self.reports.srtt();
        status
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::{Dialect, Options, Random};

    fn sender(rate_bps: f64) -> NadaSender {
        let context = SenderContext::new(Instant::ZERO, Bytes::new(1000), Random::new(1, "nada"));
        NadaSender { rate_bps, ..NadaSender::new(&NadaOptions::preset(Dialect::Rfc), context) }
    }

    /// Equations 5 to 7 by hand: the signal rises from 20 to 30 ms at 1 Mb/s, 100 ms after the last report.
    /// `x_offset` is 30 - 10 * 1.5 = 15 ms, so that r_ref falls by 3000 and by 20,000 bit/s.
    #[test]
    fn a_gradual_update() {
        let mut sender = sender(1e6);
        sender.signal_s = 0.02;
        sender.update(0.03, 1e6, 0.1);
        assert!((sender.rate_bps - 977_000.0).abs() < 1e-6, "{}", sender.rate_bps);
    }

    /// A sender that uses less than half of its rate does not increase it, but a rising signal decreases it.
    #[test]
    fn an_unused_rate_does_not_grow() {
        for (receive_bps, most) in [(499e3, 1e6), (501e3, 1.002e6), (1e6, f64::INFINITY)] {
            let mut sender = sender(1e6);
            sender.update(0.0, receive_bps, 0.1);
            let expected = 1.003e6_f64.min(most);
            assert!((sender.rate_bps - expected).abs() < 1e-6, "{receive_bps}: {}", sender.rate_bps);
        }
        let mut sender = sender(1e6);
        sender.update(0.03, 0.0, 0.1);
        assert!(sender.rate_bps < 1e6);
    }

    /// Equations 3 and 4: with a round trip of 100 ms, gamma is 50/320.
    #[test]
    fn a_ramp_up() {
        let mut sender = sender(200_000.0);
        sender.reports = MissingReports::new(DELTA, Some(Duration::from_millis(100)));
        sender.ramp_up(400_000.0);
        assert!((sender.rate_bps - 462_500.0).abs() < 1e-6, "{}", sender.rate_bps);
        sender.ramp_up(100_000.0);
        assert!((sender.rate_bps - 462_500.0).abs() < 1e-6, "never downwards");
    }

    /// A pause of the application is not a time without reports.
    #[test]
    fn a_pause_after_all_reports_keeps_the_rate() {
        let mut sender = sender(1e6);
        sender.on_send(Instant::ZERO, &Sending::new(1, Some(Bytes::new(1000))));
        let report = NadaReport { gradual: false, signal_s: 0.0, receive_rate: Rate::from_bits_per_second(1_000_000) };
        let own = report.encode().unwrap();
        sender.on_feedback(Instant::from_millis(150), &Feedback::new(1, Report::Own(own)));
        assert_eq!(sender.poll_timeout(), None);
        sender.on_send(Instant::from_secs(300), &Sending::new(2, Some(Bytes::new(1000))));
        assert!(sender.poll_timeout().is_some() && sender.rate_bps >= 1e6 && !sender.reports.are_missing());
    }

    /// Section 5.2.2: a queue of 2000 B changes the rates by 48 kb/s, at most by 5 % of r_ref.
    #[test]
    fn corrections_by_the_send_queue() {
        let mut sender = sender(1e6);
        sender.waiting = Bytes::new(2000);
        assert!((sender.target_bps() - 952_000.0).abs() < 1e-6 && (sender.send_bps() - 1_048_000.0).abs() < 1e-6);
        sender.waiting = Bytes::new(100_000);
        assert!((sender.target_bps() - 950_000.0).abs() < 1e-6 && (sender.send_bps() - 1_050_000.0).abs() < 1e-6);
    }
}
