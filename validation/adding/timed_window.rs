//! A controller with a window and a rate that depend on the queueing delay: reports have the arrival time of each
//! packet. A mark or a loss halves the window, at most once per round trip; ECT(1) is not requested.

use crate::contract::{
    Next, Permit, Received, ReceiverContext, ReceiverHalf, SenderContext, SenderHalf, Sending, Stamp, Status,
};
use crate::report::{Feedback, Report, ReportForm, TimedReport};
use crate::toolbox::{Flight, Pacer, PacketOutcome, Rto, RtoRules};
use headway_units::{Bytes, Dialect, Duration, Instant, OptionError, Options, Rate, RtoFloor};

/// Options of `timed-window`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(deny_unknown_fields)
)]
pub struct TimedWindowOptions {
    /// Queueing delay that the window aims at.
    pub target: Duration,
    /// Data packets per report.
    pub packets_a_report: u8,
}

impl Options for TimedWindowOptions {
    fn preset(_: Dialect) -> Self {
        Self { target: Duration::from_millis(30), packets_a_report: 4 }
    }

    fn check(&self) -> Result<(), OptionError> {
        if self.target.is_zero() {
            return Err(OptionError::new("target", "it is more than 0s"));
        }
        if !(1..=60).contains(&self.packets_a_report) {
            return Err(OptionError::new("packets_a_report", "it is 1 to 60"));
        }
        Ok(())
    }
}

/// A window in bytes, paced slightly faster than one window per round trip.
#[derive(Debug)]
pub struct TimedWindowSender {
    target_s: f64,
    packet: f64,
    window: f64,
    in_flight: f64,
    flight: Flight,
    rto: Rto,
    timer: Option<Instant>,
    pacer: Pacer,
    /// Minimum one-way delay in s. It includes the unknown offset of the two clocks.
    shortest: f64,
    /// Losses of packets below this number belong to the last loss event.
    event_end: u64,
}

impl TimedWindowSender {
    pub(crate) fn new(options: &TimedWindowOptions, context: SenderContext) -> Self {
        let packet = context.packet_size.count().max(1) as f64;
        let mut rto = Rto::new(RtoRules {
            initial: Duration::from_secs(1),
            least: Duration::from_millis(300),
            floor: RtoFloor::Variance,
            most: Duration::from_secs(60),
            granularity: Duration::from_millis(1),
        });
        context.rtt.into_iter().for_each(|rtt| rto.sample(rtt));
        Self {
            target_s: options.target.as_secs_f64(),
            packet,
            window: 4.0 * packet,
            in_flight: 0.0,
            flight: Flight::new(1 << 14),
            rto,
            timer: None,
            pacer: Pacer::new(Duration::from_millis(2)),
            shortest: f64::INFINITY,
            event_end: 0,
        }
    }

    fn rate(&self) -> Option<Rate> {
        let srtt = self.rto.srtt()?.as_secs_f64().max(1e-3);
        Some(Rate::from_bits_per_second((self.window * 8.0 / srtt) as u64))
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.rate().map(|rate| Rate::from_bits_per_second(rate.bits_per_second() / 4 * 5))
    }
}

impl SenderHalf for TimedWindowSender {
    fn poll_send(&mut self, now: Instant, next: &Next) -> Permit {
        if self.in_flight > 0.0 && self.in_flight + next.size.count() as f64 > self.window {
            return Permit::Blocked;
        }
        self.pacer.permit(now)
    }

    fn on_send(&mut self, now: Instant, sending: &Sending) -> Stamp {
        let data = sending.data.then_some(sending.size);
        self.flight.send(now, sending.number, data);
        if sending.data {
            self.in_flight += sending.size.count() as f64;
            self.pacer.on_send(now, self.pacing_rate().map_or(0.0, |rate| Pacer::gap_s(sending.size, rate)));
            self.timer = self.timer.or(Some(now + self.rto.timeout()));
        }
        Stamp::default()
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        let Report::Timed(report) = feedback.report else { return };
        feedback.rtt_sample.into_iter().for_each(|rtt| self.rto.sample(rtt));
        let (mut left, mut delay, mut congestion, event_end) = (0.0, f64::INFINITY, false, self.event_end);
        self.flight.report_timed(feedback.acknowledged, &report, |update| {
            left += if update.outcome == PacketOutcome::MarkedLater { 0.0 } else { update.size.count() as f64 };
            if let Some(arrived) = update.arrived {
                delay = delay.min(arrived.as_nanos() as f64 / 1e9 - update.sent.as_nanos() as f64 / 1e9);
            }
            congestion |= update.outcome != PacketOutcome::Received && update.number >= event_end;
        });
        self.in_flight = (self.in_flight - left).max(0.0);
        self.timer = (self.in_flight > 0.0).then(|| now + self.rto.timeout());
        self.shortest = self.shortest.min(delay);
        if congestion {
            self.event_end = self.flight.next();
            self.window = (self.window / 2.0).max(2.0 * self.packet);
        } else if delay.is_finite() {
            // One packet more per round trip with an empty queue, no change at the target, fewer above it.
            let off = ((self.target_s - (delay - self.shortest)) / self.target_s).clamp(-1.0, 1.0);
            let delivered = feedback.delivered.unwrap_or_default().count() as f64;
            self.window = (self.window + off * self.packet * delivered / self.window).max(2.0 * self.packet);
        }
    }

    fn handle_timeout(&mut self, _: Instant) {
        (self.timer, self.in_flight) = (None, 0.0);
        self.flight.clear();
        self.event_end = self.flight.next();
        self.window = 2.0 * self.packet;
        self.rto.back_off();
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.timer
    }

    fn status(&self) -> Status {
        let mut status = Status::default();
        (status.target_rate, status.pacing_rate) = (self.rate(), self.pacing_rate());
        (status.window, status.rtt) = (Some(Bytes::new(self.window as u64)), self.rto.srtt());
        status
    }
}

/// Sends a report every few packets.
#[derive(Debug)]
pub struct TimedWindowReceiver {
    packets_a_report: u8,
    packets: u8,
    timer: Option<Instant>,
}

impl TimedWindowReceiver {
    pub(crate) fn new(options: &TimedWindowOptions, _: ReceiverContext) -> Self {
        Self { packets_a_report: options.packets_a_report, packets: 0, timer: None }
    }
}

impl ReceiverHalf for TimedWindowReceiver {
    const REPORTS: ReportForm = ReportForm::Timed;

    fn on_packet(&mut self, now: Instant, packet: &Received) {
        if packet.data {
            self.packets = self.packets.saturating_add(1);
            self.timer = self.timer.or(Some(now + Duration::from_millis(20)));
        }
    }

    fn poll_report(&mut self, _: Instant) -> Option<Report<'_>> {
        if self.packets < self.packets_a_report {
            return None;
        }
        (self.packets, self.timer) = (0, None);
        Some(Report::Timed(TimedReport::EMPTY))
    }

    fn handle_timeout(&mut self, _: Instant) {
        (self.packets, self.timer) = (u8::MAX, None);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.timer
    }
}
