//! RAP (Rejaie, Handley and Estrin, "RAP: An End-to-end Rate-based Congestion Control Mechanism for Realtime Streams in the Internet",
//! INFOCOM 1999), as ns-2.35's Agent/RAP computes it (rap/rap.cc): additive increase and multiplicative decrease of a rate, by the gap
//! between packets. The receiver acknowledges each packet.
//!
//! ```text
//! SRTT += (sample - SRTT)/2,  VAR += (|sample - SRTT| - VAR)/2,  timeout = 1.2 SRTT + 4 VAR
//! each SRTT      gap = gap SRTT / (alpha gap + SRTT)         alpha packets more in a round trip, if half of those allowed were sent
//! loss           gap = gap / beta                            and the next increase is an SRTT away
//! fine grain     the next packet goes gap (short/long) later:  short = 0.1 short + 0.9 sample,  long = 0.99 long + 0.01 sample
//! ```
//! A packet is lost if it is missing when one three numbers above it has arrived, or if it is not acknowledged within the timeout, which
//! is looked at when a packet may go: one that finds a loss goes a gap later. All that was sent before a loss is found belongs to it. The first
//! gap is [`RapOptions::first_gap`], the one after the first acknowledgement an SRTT.
//!
//! Without an answer RAP does not back off: each timeout halves a rate that the round trips up to it have raised, and about three packets
//! go in each. [`RapOptions::silence_is_one_loss`] ends that.
//!
//! Departures: a mark is a loss (RFC 8311), which ns-2 does not have; no gap is longer than 64 s; a source that has nothing to send may
//! send at once afterwards, where ns-2 keeps to its ticks; and the rule for silences is ours.

use crate::contract::{
    Next, Permit, Received, ReceiverContext, ReceiverHalf, SenderContext, SenderHalf, Sending, Setbacks, Stamp, Status,
};
use crate::report::{Arrival, Feedback, Report, ReportForm};
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use crate::toolbox::{Fine, HEALTHY_LOSS, PROBE_INTERVAL, Pacer, Silence, UNANSWERED};
use headway_units::{Bytes, Dialect, Duration, Instant, OptionError, Options, Rate, check_range};
use std::collections::VecDeque;

/// The longest gap between packets (`t_mbi` of RFC 5348 section 4.3).
const LONGEST_GAP: Duration = Duration::from_secs(64);
/// Numbers by which a later arrival makes a packet lost.
const LATER: u64 = 3;
/// Jacobson's weight, and the factors of the timeout (`delta_`, `mu_`, `phi_`).
const DELTA: f64 = 0.5;
const MU: f64 = 1.2;
const PHI: f64 = 4.0;
/// Weights of a sample in the short and in the long mean of round trips (`kfrtt_`, `kxrtt_`).
const SHORT: f64 = 0.9;
const LONG: f64 = 0.01;
/// The share of the packets allowed in a round trip that must go for an increase (`dpthresh_`).
const USED: f64 = 0.5;
/// The gap between probes of a path that is silent for longer than a minute (RFC 8085 section 3.1.3).
const LATE_PROBE_INTERVAL: Duration = Duration::from_secs(3);
/// No round trip is shorter, in s.
const SHORTEST_RTT_S: f64 = 1e-6;
/// Packets whose fate is open are kept up to this number.
const CAPACITY: usize = 1 << 17;
/// The weight of the newest number of packets between two losses.
const EVENT_SHARE: f64 = 0.125;

/// Options of `rap`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct RapOptions {
    /// Packets more in a round trip without a loss, from 0.001 to 1000.
    pub alpha: f64,
    /// What a loss leaves of the rate, from 0.01 to 0.99.
    pub beta: f64,
    /// The gap before anything is acknowledged, from 1ms to 64s.
    pub first_gap: Duration,
    /// The first acknowledgement lets the next packet go an SRTT after the first, instead of `first_gap`.
    pub first_answer_hastens: bool,
    /// Whether the gap follows the ratio of a short and a long mean of round trips (fine-grain rate adaptation).
    pub fine_grain: bool,
    /// However long a path is silent, that is one loss. Meanwhile a packet probes it each 200 ms, after a minute each 3 s, or each round trip
    /// if that is longer.
    pub silence_is_one_loss: bool,
}

impl Options for RapOptions {
    /// ns-2's, tcl/lib/ns-default.tcl.
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
        check_range("first_gap", self.first_gap, Duration::from_millis(1)..=LONGEST_GAP)
    }
}

/// A packet whose fate is open.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Instant,
    fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// If it is lost, that is a loss.
    Open,
    /// It went before the last loss was found, or carries no data.
    Ignored,
    /// Known.
    Settled,
}

/// The round trip, in s.
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

/// The sender half.
#[derive(Debug)]
pub struct RapSender {
    options: RapOptions,
    pacer: Pacer,
    /// Without a sample `first_gap`.
    round_trip: RoundTrip,
    measured: bool,
    answered: bool,
    gap_s: f64,
    /// A packet was due, and did not go.
    put_off: bool,
    /// When the next increase is due; `None` before the first packet.
    increase: Option<Fine>,
    /// Data packets since the last one was due.
    sent_in_round: u64,
    /// Data of the last packet.
    size: Bytes,
    /// The number of the first of the packets that are kept, and they.
    first: u64,
    history: VecDeque<Sent>,
    silence: Silence,
    /// Data packets sent since the last report.
    unanswered: usize,
    /// Packets acknowledged since the last loss, and their smoothed number between two.
    undisturbed: u64,
    between_losses: Option<f64>,
    setbacks: Setbacks,
}

impl RapSender {
    pub(crate) fn new(options: &RapOptions, context: SenderContext) -> Self {
        let first_s = options.first_gap.as_secs_f64();
        let known = context.rtt.map(|rtt| rtt.as_secs_f64().max(SHORTEST_RTT_S));
        Self {
            options: options.clone(),
            pacer: Pacer::new(Duration::ZERO),
            round_trip: RoundTrip::first(known.unwrap_or(first_s)),
            measured: known.is_some(),
            answered: known.is_some(),
            gap_s: known.unwrap_or(first_s),
            put_off: false,
            increase: None,
            sent_in_round: 0,
            size: context.packet_size,
            first: 0,
            history: VecDeque::new(),
            silence: Silence::default(),
            unanswered: 0,
            undisturbed: 0,
            between_losses: None,
            setbacks: Setbacks::default(),
        }
    }

    /// Returns whether a silence has begun and not ended.
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
        (fine * self.gap_s).min(LONGEST_GAP.as_secs_f64())
    }

    /// Makes the increases that were due up to now (`RttTimeout`).
    fn advance(&mut self, now: Instant) {
        let Some(mut due) = self.increase.filter(|due| due.at <= now) else { return };
        let srtt = self.round_trip.smoothed;
        if self.sent_in_round as f64 * (self.gap_s / srtt) >= USED {
            self.gap_s *= srtt / (self.options.alpha * self.gap_s + srtt);
        }
        self.sent_in_round = 0;
        due = due.after(srtt * 1e9);
        if due.at <= now {
            // In round trips without a packet nothing changes.
            let missed = now.since(due.at).as_secs_f64() / srtt;
            due = due.after((missed.floor() + 1.0) * srtt * 1e9);
        }
        self.increase = Some(due);
    }

    /// Halves the rate. All packets under way belong to this loss (`LossHandler`).
    fn on_loss(&mut self, now: Instant) {
        let packets = std::mem::take(&mut self.undisturbed) as f64;
        self.between_losses = Some(self.between_losses.map_or(packets, |mean| mean + (packets - mean) * EVENT_SHARE));
        self.gap_s = (self.gap_s / self.options.beta).min(LONGEST_GAP.as_secs_f64());
        for sent in &mut self.history {
            if sent.fate == Fate::Open {
                sent.fate = Fate::Ignored;
            }
        }
        self.increase = Some(Fine::at(now).after(self.round_trip.smoothed * 1e9));
        self.setbacks.loss_events += 1;
    }

    fn forget_settled(&mut self) {
        while self.history.front().is_some_and(|sent| sent.fate == Fate::Settled) {
            self.history.pop_front();
            self.first = self.first.wrapping_add(1);
        }
    }

    /// Finds what is not acknowledged within the timeout; returns whether that is a loss.
    fn timed_out(&mut self, now: Instant) -> bool {
        let timeout = Duration::from_secs_f64(self.round_trip.timeout());
        let mut loss = false;
        for sent in self.history.iter_mut().take_while(|sent| sent.at + timeout <= now) {
            loss |= sent.fate == Fate::Open;
            sent.fate = Fate::Settled;
        }
        self.forget_settled();
        loss
    }

    /// Settles the packets that a report covers; returns whether one of them begins a loss.
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
                if arrived && sent.fate != Fate::Settled {
                    self.undisturbed = self.undisturbed.saturating_add(1);
                }
                if arrived || place - (start + place_of) as u64 >= LATER {
                    loss |= sent.fate == Fate::Open && run.arrival != Arrival::Received;
                    sent.fate = Fate::Settled;
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

    /// Returns whether at most one in ten packets begins a loss.
    fn is_healthy(&self) -> bool {
        self.between_losses.unwrap_or(0.0).max(self.undisturbed as f64) * HEALTHY_LOSS >= 1.0
    }

    /// Returns the time from the last packet to the next, in s.
    #[must_use]
    pub fn last_gap_s(&self) -> Option<f64> {
        self.pacer.last_gap_s().filter(|_| !self.put_off)
    }
}

impl SenderHalf for RapSender {
    /// `IpgTimeout`.
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
        self.setbacks.timeouts += 1;
        if self.is_silent() {
            return Permit::Now;
        }
        if self.options.silence_is_one_loss && healthy && self.unanswered >= UNANSWERED {
            self.silence.begin(now, false);
        }
        self.on_loss(now);
        if !self.is_silent() {
            self.put_off = true;
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
        let fate = if sending.data { Fate::Open } else { Fate::Ignored };
        self.history.push_back(Sent { at: now, fate });
        if sending.data {
            self.size = sending.size;
            self.sent_in_round += 1;
            self.unanswered += 1;
            self.put_off = false;
            self.pacer.on_send(now, self.wait_s(now));
            if self.increase.is_none() {
                self.increase = Some(Fine::at(now).after(self.round_trip.smoothed * 1e9));
            }
        }
        Stamp { rtt: self.measured.then(|| Duration::from_secs_f64(self.round_trip.smoothed)), ..Stamp::default() }
    }

    /// `RecvAck`.
    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        self.advance(now);
        self.unanswered = 0;
        let upcoming = self.first.wrapping_add(self.history.len() as u64);
        if self.silence.end(feedback.acknowledged, upcoming) && self.options.silence_is_one_loss {
            // What is lost of earlier packets was lost in the silence.
            self.history.iter_mut().for_each(|sent| sent.fate = Fate::Ignored);
            self.increase = Some(Fine::at(now).after(self.round_trip.smoothed * 1e9));
            self.pacer.hasten(now);
        }
        if let Some(sample) = feedback.rtt_sample.filter(|_| !self.measures_silence(now, feedback.acknowledged)) {
            let sample = sample.as_secs_f64().max(SHORTEST_RTT_S);
            if !self.measured {
                (self.round_trip, self.measured) = (RoundTrip::first(sample), true);
            }
            self.round_trip.sample(sample);
        }
        if !self.answered && self.measured {
            self.answered = true;
            self.gap_s = self.round_trip.smoothed;
            if self.options.first_answer_hastens {
                self.pacer.hasten(now);
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

    fn setbacks(&self) -> Setbacks {
        self.setbacks
    }
}

/// The receiver half: it acknowledges each packet of data.
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
