//! A controller whose receiver counts the packets of each round trip. The sender doubles the gap between packets if
//! some are missing, and otherwise sends one packet more per round trip.

use crate::contract::{
    Need, Next, Permit, Received, ReceiverContext, ReceiverHalf, SenderContext, SenderHalf, Sending, Stamp, Status,
};
use crate::report::{Feedback, Own, Report, ReportForm};
use crate::toolbox::Pacer;
use headway_units::{Dialect, Duration, Instant, OptionError, Options, Rate};

/// Options of `counted`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(deny_unknown_fields)
)]
pub struct CountedOptions {
    /// Round-trip time over which packets are counted.
    pub round_trip: Duration,
    /// Initial gap.
    pub gap: Duration,
}

impl Options for CountedOptions {
    fn preset(_: Dialect) -> Self {
        Self { round_trip: Duration::from_millis(100), gap: Duration::from_millis(50) }
    }

    fn check(&self) -> Result<(), OptionError> {
        if self.round_trip.is_zero() {
            return Err(OptionError::new("round_trip", "it is more than 0s"));
        }
        Ok(())
    }
}

/// Leaves a gap after the transmission time of each packet.
#[derive(Debug)]
pub struct CountedSender {
    round_trip_s: f64,
    line: Rate,
    gap_s: f64,
    /// Transmission time of the last packet, in s.
    packet_s: f64,
    pacer: Pacer,
    /// Last reported sequence number and count.
    reported: Option<(u64, u32)>,
    rate_bps: f64,
}

impl CountedSender {
    pub(crate) fn new(options: &CountedOptions, context: SenderContext) -> Self {
        Self {
            round_trip_s: options.round_trip.as_secs_f64(),
            line: context.line_rate.unwrap_or(Rate::from_bits_per_second(u64::MAX)),
            gap_s: options.gap.as_secs_f64(),
            packet_s: 0.0,
            pacer: Pacer::new(Duration::ZERO),
            reported: None,
            rate_bps: 0.0,
        }
    }
}

impl SenderHalf for CountedSender {
    const NEEDS: &'static [Need] = &[Need::LineRate];

    fn poll_send(&mut self, now: Instant, _: &Next) -> Permit {
        self.pacer.permit(now)
    }

    fn on_send(&mut self, now: Instant, sending: &Sending) -> Stamp {
        if sending.data {
            self.packet_s = Pacer::gap_s(sending.size, self.line);
            self.rate_bps = sending.size.count() as f64 * 8.0;
            self.pacer.on_send(now, self.packet_s + self.gap_s);
        }
        Stamp::default()
    }

    fn on_feedback(&mut self, _: Instant, feedback: &Feedback<'_>) {
        let Report::Own(own) = feedback.report else { return };
        let Ok(count) = <[u8; 4]>::try_from(own.as_bytes()).map(u32::from_be_bytes) else { return };
        let before = self.reported.replace((feedback.acknowledged, count));
        let Some((number, counted)) = before.filter(|(number, _)| *number < feedback.acknowledged) else { return };
        let missing = feedback.acknowledged - number > u64::from(count.wrapping_sub(counted));
        self.gap_s = if missing {
            (2.0 * self.gap_s).clamp(50e-6, self.round_trip_s)
        } else {
            let packets = self.round_trip_s / (self.packet_s + self.gap_s).max(1e-9);
            (self.round_trip_s / (packets + 1.0) - self.packet_s).max(0.0)
        };
    }

    fn status(&self) -> Status {
        let rate = Rate::from_bits_per_second((self.rate_bps / (self.packet_s + self.gap_s).max(1e-9)) as u64);
        let mut status = Status::default();
        (status.target_rate, status.pacing_rate) = (Some(rate), Some(rate));
        status
    }
}

/// Reports the number of received packets, modulo 2^32, once per round trip.
#[derive(Debug)]
pub struct CountedReceiver {
    round_trip: Duration,
    count: u32,
    timer: Option<Instant>,
    due: bool,
}

impl CountedReceiver {
    pub(crate) fn new(options: &CountedOptions, _: ReceiverContext) -> Self {
        Self { round_trip: options.round_trip, count: 0, timer: None, due: false }
    }
}

impl ReceiverHalf for CountedReceiver {
    const REPORTS: ReportForm = ReportForm::Own;

    fn on_packet(&mut self, now: Instant, _: &Received) {
        self.count = self.count.wrapping_add(1);
        self.timer = self.timer.or(Some(now + self.round_trip));
    }

    fn poll_report(&mut self, _: Instant) -> Option<Report<'_>> {
        let own = Own::new(&self.count.to_be_bytes()).filter(|_| std::mem::take(&mut self.due))?;
        Some(Report::Own(own))
    }

    fn handle_timeout(&mut self, _: Instant) {
        (self.timer, self.due) = (None, true);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.timer
    }
}
