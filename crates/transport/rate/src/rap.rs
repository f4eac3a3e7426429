//! RAP (Rejaie, Handley and Estrin, "RAP: An End-to-end Rate-based Congestion Control Mechanism for Realtime Streams in
//! the Internet", INFOCOM 1999), as in Agent/RAP of ns-2.35 (rap/rap.cc): AIMD of a rate by the gap between packets.
//! The receiver acknowledges each packet.
//!
//! ```text
//! SRTT += (sample - SRTT)/2,  VAR += (|sample - SRTT| - VAR)/2,  timeout = 1.2 SRTT + 4 VAR
//! every SRTT     gap = gap SRTT / (alpha gap + SRTT)         alpha more packets per round trip, if half of those
//! allowed were sent
//! loss           gap = gap / beta                            and the next increase is an SRTT later
//! fine grain     wait = gap (short/long):  short = 0.1 short + 0.9 sample,  long = 0.99 long + 0.01 sample
//! ```
//! A packet is lost if it is missing when a packet three numbers above it has arrived, or if it is not acknowledged
//! within the timeout. The timeout is checked when a packet may be sent; on a loss that packet waits another gap. All
//! packets sent before the detection belong to the same loss event. The initial gap is [`RapOptions::first_gap`], the
//! gap after the first acknowledgement an SRTT.
//!
//! Without acknowledgements RAP does not back off: each timeout halves the rate, but the round trips in between raise
//! it, so about three packets are sent per timeout. [`RapOptions::silence_is_one_loss`] replaces this.
//!
//! Differences from ns-2: a mark counts as a loss (RFC 8311); a gap is at most 64 s; after an application-limited
//! period a packet may be sent at once, not at the next tick; and the rule for silences is our own.

use crate::contract::{
    CongestionEvents, Next, Permit, Received, ReceiverContext, ReceiverHalf, SenderContext, SenderHalf, Sending, Stamp,
    Status,
};
use crate::report::{Arrival, Feedback, Report, ReportForm};
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use crate::toolbox::{Fine, HEALTHY_LOSS, LATE_PROBE_INTERVAL, MIN_UNACKNOWLEDGED, PROBE_INTERVAL, Pacer, Silence};
use headway_units::{Bytes, Dialect, Duration, Instant, OptionError, Options, Rate, check_range};
use std::collections::VecDeque;

/// Longest gap between packets (`t_mbi` of RFC 5348 section 4.3).
const MAX_GAP: Duration = Duration::from_secs(64);
/// Distance in packet numbers after which a missing packet is lost.
const REORDERING: u64 = 3;
/// Gain of the round-trip estimator, and factors of the timeout (`delta_`, `mu_`, `phi_`).
const DELTA: f64 = 0.5;
const MU: f64 = 1.2;
const PHI: f64 = 4.0;
/// Gains of the short and the long mean of round trips (`kfrtt_`, `kxrtt_`).
const SHORT: f64 = 0.9;
const LONG: f64 = 0.01;
/// Share of the allowed packets per round trip that must be sent for an increase (`dpthresh_`).
const USED: f64 = 0.5;
/// Minimum round-trip time, in s.
const MIN_RTT_S: f64 = 1e-6;
const CAPACITY: usize = 1 << 17;
/// Gain of the mean number of packets between two loss events.
const EVENT_GAIN: f64 = 0.125;

/// Options of the controller `rap` (RAP; Rejaie, Handley and Estrin 1999).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct RapOptions {
    /// Number of packets by which each round trip without a loss raises the rate in packets per round trip, from 0.001
    /// to 1000.
    pub alpha: f64,
    /// Factor applied to the rate on a loss, from 0.01 to 0.99.
    pub beta: f64,
    /// Gap between packets before the first acknowledgement, from 1ms to 64s. If a handshake has measured the
    /// round-trip time, that is the first gap.
    pub first_gap: Duration,
    /// Whether the next packet may be sent as soon as the first acknowledgement arrives, instead of `first_gap` after
    /// the first packet.
    pub first_answer_hastens: bool,
    /// Whether the gap is multiplied by the ratio of a short to a long moving average of round-trip times (fine-grain
    /// rate adaptation).
    pub fine_grain: bool,
    /// Whether a silence of the path (no acknowledgements) counts as a single loss. During the silence a probe is sent
    /// every 200 ms, after a minute every 3 s, or every round trip if that is longer.
    pub silence_is_one_loss: bool,
}

impl Options for RapOptions {
    /// Returns the defaults of ns-2 (tcl/lib/ns-default.tcl), with extensions in headway-1.
    fn preset(dialect: Dialect) -> Self {
        Self {
            alpha: 1.0,
            beta: 0.5,
            first_gap: Duration::from_secs(2),
            first_answer_hastens: dialect != Dialect::Ns2,
            fine_grain: false,
            silence_is_one_loss: dialect == Dialect::Headway1,
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        check_range("alpha", self.alpha, 0.001..=1000.0)?;
        check_range("beta", self.beta, 0.01..=0.99)?;
        check_range("first_gap", self.first_gap, Duration::from_millis(1)..=MAX_GAP)
    }
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Instant,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not acknowledged; its loss is a loss event.
    Open,
    /// Sent before the last loss was detected, or without data.
    Ignored,
    /// Acknowledged or lost.
    Settled,
}

/// Round-trip estimator, in s.
#[derive(Clone, Copy, Debug)]
struct RoundTrip {
    smoothed: f64,
    variance: f64,
    short: f64,
    long: f64,
}

impl RoundTrip {
    const fn first(sample: f64) -> Self {
        Self { smoothed: sample, variance: 0.0, short: sample, long: sample }
    }

    fn sample(&mut self, sample: f64) {
        let difference = sample - self.smoothed;
        self.smoothed += DELTA * difference;
        self.variance += DELTA * (difference.abs() - self.variance);
        self.short += SHORT * (sample - self.short);
        self.long += LONG * (sample - self.long);
    }

    fn timeout(&self) -> f64 {
        MU * self.smoothed + PHI * self.variance
    }
}

/// Sender half of the controller `rap`, which changes the gap between packets by AIMD.
#[derive(Debug)]
pub struct RapSender {
    options: RapOptions,
    pacer: Pacer,
    /// Estimate; `first_gap` before the first sample.
    round_trip: RoundTrip,
    measured: bool,
    acknowledged: bool,
    gap_s: f64,
    /// Whether a packet was due but postponed by a timeout.
    postponed: bool,
    /// Time of the next increase; `None` before the first packet.
    increase: Option<Fine>,
    /// Data packets since the last increase.
    sent_in_round: u64,
    size: Bytes,
    first: u64,
    history: VecDeque<Sent>,
    silence: Silence,
    /// Data packets sent since the last report.
    unacknowledged: usize,
    /// Packets acknowledged since the last loss event, and the smoothed number between two.
    since_loss: u64,
    between_losses: Option<f64>,
    congestion_events: CongestionEvents,
}

impl RapSender {
    pub(crate) fn new(options: &RapOptions, context: SenderContext) -> Self {
        let first_s = options.first_gap.as_secs_f64();
        let known = context.rtt.map(|rtt| rtt.as_secs_f64().max(MIN_RTT_S));
        Self {
            options: options.clone(),
            pacer: Pacer::new(Duration::ZERO),
            round_trip: RoundTrip::first(known.unwrap_or(first_s)),
            measured: known.is_some(),
            acknowledged: known.is_some(),
            gap_s: known.unwrap_or(first_s),
            postponed: false,
            increase: None,
            sent_in_round: 0,
            size: context.packet_size,
            first: 0,
            history: VecDeque::new(),
            silence: Silence::default(),
            unacknowledged: 0,
            since_loss: 0,
            between_losses: None,
            congestion_events: CongestionEvents::default(),
        }
    }

    const fn is_silent(&self) -> bool {
        self.silence.covers(u64::MAX)
    }

    /// Returns the time from one packet to the next, in s.
    fn wait_s(&self, now: Instant) -> f64 {
        if self.is_silent() {
            let interval = if self.silence.is_probed(now) { PROBE_INTERVAL } else { LATE_PROBE_INTERVAL };
            return interval.as_secs_f64().max(self.round_trip.smoothed);
        }
        let fine = if self.options.fine_grain { self.round_trip.short / self.round_trip.long } else { 1.0 };
        (fine * self.gap_s).min(MAX_GAP.as_secs_f64())
    }

    /// Applies the increases due up to now (`RttTimeout`).
    fn advance(&mut self, now: Instant) {
        let Some(mut due) = self.increase.filter(|due| due.at <= now) else { return };
        let srtt = self.round_trip.smoothed;
        if self.sent_in_round as f64 * (self.gap_s / srtt) >= USED {
            self.gap_s *= srtt / (self.options.alpha * self.gap_s + srtt);
        }
        self.sent_in_round = 0;
        due = due.after(srtt * 1e9);
        if due.at <= now {
            // Round trips without a packet change nothing.
            let missed = now.since(due.at).as_secs_f64() / srtt;
            due = due.after((missed.floor() + 1.0) * srtt * 1e9);
        }
        self.increase = Some(due);
    }

    /// Reduces the rate by `beta`. All packets in flight belong to this loss event (`LossHandler`).
    fn on_loss(&mut self, now: Instant) {
        let packets = std::mem::take(&mut self.since_loss) as f64;
        self.between_losses = Some(self.between_losses.map_or(packets, |mean| mean + (packets - mean) * EVENT_GAIN));
        self.gap_s = (self.gap_s / self.options.beta).min(MAX_GAP.as_secs_f64());
        for sent in &mut self.history {
            if sent.state == State::Open {
                sent.state = State::Ignored;
            }
        }
        self.increase = Some(Fine::at(now).after(self.round_trip.smoothed * 1e9));
        self.congestion_events.loss_events += 1;
    }

    fn forget_settled(&mut self) {
        while self.history.front().is_some_and(|sent| sent.state == State::Settled) {
            self.history.pop_front();
            self.first = self.first.wrapping_add(1);
        }
    }

    /// Settles the packets not acknowledged within the timeout; returns whether a loss event begins.
    fn timed_out(&mut self, now: Instant) -> bool {
        let timeout = Duration::from_secs_f64(self.round_trip.timeout());
        let mut loss = false;
        for sent in self.history.iter_mut().take_while(|sent| sent.at + timeout <= now) {
            loss |= sent.state == State::Open;
            sent.state = State::Settled;
        }
        self.forget_settled();
        loss
    }

    /// Settles the packets that a report covers; returns whether a loss event begins.
    fn settle(&mut self, acknowledged: u64, report: Report<'_>) -> bool {
        let place = acknowledged.wrapping_sub(self.first);
        let Report::Arrivals(runs) = report else { return false };
        if place >= self.history.len() as u64 {
            return false;
        }
        let (mut end, mut loss) = (place as usize + 1, false);
        for run in runs {
            let start = end - run.packets.min(end as u64) as usize;
            for (place_of, sent) in self.history.range_mut(start..end).enumerate() {
                let arrived = run.arrival != Arrival::NotReceived;
                if arrived && sent.state != State::Settled {
                    self.since_loss = self.since_loss.saturating_add(1);
                }
                if arrived || place - (start + place_of) as u64 >= REORDERING {
                    loss |= sent.state == State::Open && run.arrival != Arrival::Received;
                    sent.state = State::Settled;
                }
            }
            end = start;
            if end == 0 {
                break;
            }
        }
        self.forget_settled();
        loss
    }

    /// Returns whether at most one in ten packets begins a loss event.
    fn is_healthy(&self) -> bool {
        self.between_losses.unwrap_or(0.0).max(self.since_loss as f64) * HEALTHY_LOSS >= 1.0
    }

    /// Returns the exact gap that paces the next packet: its time after the last packet, in s, not rounded to
    /// nanoseconds. `None` before the first packet, after a timeout that postpones a packet, or if an acknowledgement
    /// has permitted the next packet earlier.
    #[must_use]
    pub fn last_gap_s(&self) -> Option<f64> {
        self.pacer.last_gap_s().filter(|_| !self.postponed)
    }
}

impl SenderHalf for RapSender {
    /// Applies timeouts (`IpgTimeout`).
    fn poll_send(&mut self, now: Instant, _: &Next) -> Permit {
        self.advance(now);
        let permit = self.pacer.permit(now);
        if permit != Permit::Now {
            return permit;
        }
        let healthy = self.is_healthy();
        if !self.timed_out(now) {
            return Permit::Now;
        }
        self.congestion_events.timeouts += 1;
        if self.is_silent() {
            return Permit::Now;
        }
        if self.options.silence_is_one_loss && healthy && self.unacknowledged >= MIN_UNACKNOWLEDGED {
            self.silence.begin(now, false);
        }
        self.on_loss(now);
        if !self.is_silent() {
            self.postponed = true;
            self.pacer.on_send(now, self.wait_s(now));
        }
        self.pacer.permit(now)
    }

    fn on_send(&mut self, now: Instant, sending: &Sending) -> Stamp {
        self.advance(now);
        if self.history.is_empty() || sending.number != self.first.wrapping_add(self.history.len() as u64) {
            self.history.clear();
            self.first = sending.number;
        }
        if self.history.len() >= CAPACITY {
            self.history.pop_front();
            self.first = self.first.wrapping_add(1);
        }
        let state = if sending.data { State::Open } else { State::Ignored };
        self.history.push_back(Sent { at: now, state });
        if sending.data {
            self.size = sending.size;
            self.sent_in_round += 1;
            self.unacknowledged += 1;
            self.postponed = false;
            self.pacer.on_send(now, self.wait_s(now));
            if self.increase.is_none() {
                self.increase = Some(Fine::at(now).after(self.round_trip.smoothed * 1e9));
            }
        }
        Stamp { rtt: self.measured.then(|| Duration::from_secs_f64(self.round_trip.smoothed)), ..Stamp::default() }
    }

    /// Applies a report (`RecvAck`).
    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        self.advance(now);
        self.unacknowledged = 0;
        let upcoming = self.first.wrapping_add(self.history.len() as u64);
        if self.silence.end(feedback.acknowledged, upcoming) && self.options.silence_is_one_loss {
            // Losses among earlier packets belong to the silence.
            self.history.iter_mut().for_each(|sent| sent.state = State::Ignored);
            self.increase = Some(Fine::at(now).after(self.round_trip.smoothed * 1e9));
            self.pacer.bring_forward(now);
        }
        if let Some(sample) = feedback.rtt_sample.filter(|_| !self.measures_silence(now, feedback.acknowledged)) {
            let sample = sample.as_secs_f64().max(MIN_RTT_S);
            if !self.measured {
                (self.round_trip, self.measured) = (RoundTrip::first(sample), true);
            }
            self.round_trip.sample(sample);
        }
        if !self.acknowledged && self.measured {
            self.acknowledged = true;
            self.gap_s = self.round_trip.smoothed;
            if self.options.first_answer_hastens {
                self.pacer.bring_forward(now);
                self.increase = Some(Fine::at(now).after(self.round_trip.smoothed * 1e9));
                self.sent_in_round = 0;
            }
        }
        if self.settle(feedback.acknowledged, feedback.report) {
            self.on_loss(now);
        }
    }

    fn measures_silence(&self, _: Instant, number: u64) -> bool {
        self.options.silence_is_one_loss && self.silence.covers(number)
    }

    fn status(&self) -> Status {
        let bits = self.size.count() as f64 * 8.0;
        let rate = Some(Rate::from_bits_per_second((bits / self.gap_s.max(1e-9)) as u64));
        let rtt = self.measured.then(|| Duration::from_secs_f64(self.round_trip.smoothed));
        Status { target_rate: rate, pacing_rate: rate, rtt, ..Status::default() }
    }

    fn congestion_events(&self) -> CongestionEvents {
        self.congestion_events
    }
}

/// Receiver half of the controller `rap`, which acknowledges each data packet.
#[derive(Debug)]
pub struct RapReceiver {
    due: bool,
}

impl RapReceiver {
    pub(crate) const fn new(_: &RapOptions, _: ReceiverContext) -> Self {
        Self { due: false }
    }
}

impl ReceiverHalf for RapReceiver {
    const REPORTS: ReportForm = ReportForm::Arrivals;

    fn on_packet(&mut self, _: Instant, packet: &Received) {
        self.due |= packet.data;
    }

    fn poll_report(&mut self, _: Instant) -> Option<Report<'_>> {
        std::mem::take(&mut self.due).then_some(Report::Arrivals(&[]))
    }
}

#[cfg(test)]
mod tests;
