//! A controller whose receiver estimates the queueing delay from one-way delays; the clocks need not agree. Once per
//! round trip it reports whether the delay is too long. The sender then reduces its rate by a fifth, and otherwise
//! adds a quarter of a packet per round trip.

use crate::contract::{
    Need, Next, Permit, Received, ReceiverContext, ReceiverHalf, SenderContext, SenderHalf, Sending, Stamp, Status,
    Timing,
};
use crate::report::{Feedback, Own, Report, ReportForm};
use crate::toolbox::Pacer;
use headway_units::{Bytes, Dialect, Duration, Instant, OptionError, Options, Rate, RoundTripEstimate};

/// Options of `queue-delay`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(deny_unknown_fields)
)]
pub struct QueueDelayOptions {
    /// Maximum queueing delay.
    pub target: Duration,
}

impl Options for QueueDelayOptions {
    fn preset(_: Dialect) -> Self {
        Self { target: Duration::from_millis(10) }
    }

    fn check(&self) -> Result<(), OptionError> {
        Ok(())
    }
}

/// AIMD on a rate.
#[derive(Debug)]
pub struct QueueDelaySender {
    packet: Bytes,
    /// Rate in bit/s.
    rate: f64,
    round_trip: RoundTripEstimate,
    pacer: Pacer,
}

impl QueueDelaySender {
    pub(crate) fn new(_: &QueueDelayOptions, context: SenderContext) -> Self {
        let mut round_trip = RoundTripEstimate::default();
        context.rtt.into_iter().for_each(|rtt| round_trip.sample(rtt));
        Self { packet: context.packet_size, rate: 100_000.0, round_trip, pacer: Pacer::new(Duration::ZERO) }
    }

    fn rate(&self) -> Rate {
        Rate::from_bits_per_second(self.rate as u64)
    }
}

impl SenderHalf for QueueDelaySender {
    fn poll_send(&mut self, now: Instant, _: &Next) -> Permit {
        self.pacer.permit(now)
    }

    fn on_send(&mut self, now: Instant, sending: &Sending) -> Stamp {
        if sending.data {
            self.pacer.on_send(now, Pacer::gap_s(sending.size, self.rate()));
        }
        let mut stamp = Stamp::default();
        stamp.rtt = self.round_trip.mean();
        stamp
    }

    fn on_feedback(&mut self, _: Instant, feedback: &Feedback<'_>) {
        feedback.rtt_sample.into_iter().for_each(|rtt| self.round_trip.sample(rtt));
        let Report::Own(own) = feedback.report else { return };
        let round_trip_s = self.round_trip.mean().map_or(0.2, |mean| mean.as_secs_f64().max(1e-3));
        match own.as_bytes() {
            [0] => self.rate += self.packet.count() as f64 * 2.0 / round_trip_s,
            [_] => self.rate = (0.8 * self.rate).max(10_000.0),
            _ => {}
        }
    }

    fn status(&self) -> Status {
        let mut status = Status::default();
        (status.target_rate, status.pacing_rate) = (Some(self.rate()), Some(self.rate()));
        status.rtt = self.round_trip.mean();
        status
    }
}

/// Compares each packet's one-way delay with the minimum.
#[derive(Debug)]
pub struct QueueDelayReceiver {
    target_s: f64,
    /// Minimum one-way delay in s. It includes the unknown offset of the two clocks.
    shortest: f64,
    /// Minimum since the last report.
    least: f64,
    last: Option<Instant>,
    due: bool,
    lost: bool,
    expected: Option<u64>,
}

impl QueueDelayReceiver {
    pub(crate) fn new(options: &QueueDelayOptions, _: ReceiverContext) -> Self {
        let target_s = options.target.as_secs_f64();
        Self {
            target_s,
            shortest: f64::INFINITY,
            least: f64::INFINITY,
            last: None,
            due: false,
            lost: false,
            expected: None,
        }
    }
}

impl ReceiverHalf for QueueDelayReceiver {
    const REPORTS: ReportForm = ReportForm::Own;
    const NEEDS: &'static [Need] = &[Need::SenderClock, Need::RoundTrip];

    fn on_packet(&mut self, now: Instant, packet: &Received) {
        let Some(Timing { sent, .. }) = packet.timing else { return };
        let delay = now.as_nanos() as f64 / 1e9 - sent.as_nanos() as f64 / 1e9;
        (self.shortest, self.least) = (self.shortest.min(delay), self.least.min(delay));
        self.lost |= self.expected.is_some_and(|expected| packet.number > expected);
        self.expected = self.expected.max(packet.number.checked_add(1));
        let round_trip = packet.rtt.unwrap_or(Duration::from_millis(200));
        self.due |= self.last.is_none_or(|last| now.since(last) >= round_trip);
    }

    fn poll_report(&mut self, now: Instant) -> Option<Report<'_>> {
        let busy = self.lost || self.least - self.shortest > self.target_s;
        let own = Own::new(&[u8::from(busy)]).filter(|_| std::mem::take(&mut self.due))?;
        (self.last, self.least, self.lost) = (Some(now), f64::INFINITY, false);
        Some(Report::Own(own))
    }
}
