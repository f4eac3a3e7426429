//! Sender half of TFRC (RFC 5348 section 4, RFC 4342 section 5).

use super::allowed::{Allowed, Moment, ReceivedReport};
use super::counter::WindowCounter;
use super::equation::Equation;
use super::options::{Idle, Nofeedback, Paced, Pacing, TfrcOptions};
use super::pace::{Gap, Pacer};
use super::reported::Reported;
use super::rtt::RoundTrip;
use super::segment::SegmentSize;
use super::sent::{Sent, SentLog};
use crate::contract::{CongestionEvents, Next, Permit, SenderContext, SenderHalf, Sending, Stamp, Status};
use crate::report::{Feedback, Losses, Report, TfrcReport};
use crate::toolbox::{HEALTHY_LOSS, MIN_SILENCE, MIN_UNACKNOWLEDGED, Silence};
use headway_units::{Duration, Instant, Probability, Rate};
use std::collections::VecDeque;

/// Maximum number of recorded times at which the application was not the limit.
const MAX_NOT_LIMITED: usize = 256;

/// Minimum wait of the nofeedback timer, in s: timers are not finer (RFC 5348 section 8.3), and a receiver whose
/// Elapsed Times equal the round trip must not cause rapid expiries.
const MIN_WAIT: f64 = 1e-3;

/// Sender half of TFRC and its variants (controllers `tfrc`, `tfrc-sp`, `tfrc-filtered`, `spacing-equation`), which
/// paces packets at the rate of the TCP throughput equation.
#[derive(Debug)]
pub struct TfrcSender {
    options: TfrcOptions,
    equation: Equation,
    rtt: RoundTrip,
    segment: SegmentSize,
    allowed: Allowed,
    pacer: Pacer,
    /// Gap from the last packet to the next, and the time of the next permission; updated at each change.
    gap: Gap,
    due: Option<Instant>,
    counter: WindowCounter,
    sent: SentLog,
    reported: Reported,
    /// Counter of reports and expired nofeedback timers (ns-2 `round_id`).
    round: u32,
    nofeedback: Option<Instant>,
    fed_back: bool,
    /// Whether packets request an immediate report (ns-2 `UrgentFlag`).
    urgent: bool,
    sent_since_timer: bool,
    last_sent: Option<Instant>,
    /// Data bytes sent so far.
    bytes: u64,
    /// Data bytes of the last packet.
    last_size: f64,
    /// Mean size of the packets that the last report covered, if any.
    mean_size: Option<f64>,
    /// Time of the last report, and the time since the previous one, in s.
    reported_at: Option<Instant>,
    since_report: f64,
    limited: Limited,
    silence: Silence,
    /// Bytes that may be sent before the first round-trip measurement after the last silence.
    resumed: Option<f64>,
    /// Longest gap between packets, in s: the probe interval during a silence.
    longest_gap: f64,
    /// Number of the newest packet plus 1.
    next: u64,
    congestion_events: CongestionEvents,
}

/// Times at which the application was the limit (ns-2 `datalimited_`, `lastlimited_`, `all_idle_`), and was not.
#[derive(Debug, Default)]
struct Limited {
    /// Times at which all permitted data had been sent. RFC 5348 section 8.2.1 keeps two and allows more: with two, an
    /// early report of a loss finds none in the round trip that it covers.
    not_limited: VecDeque<Instant>,
    now: bool,
    last: Option<Instant>,
    all_idle: bool,
}

impl Limited {
    /// Records a time at which all permitted data had been sent, at most sixteen per round trip.
    fn on_all_sent(&mut self, now: Instant, r: f64) {
        if self.not_limited.back().is_none_or(|last| now.since(*last).as_secs_f64() * 16.0 >= r) {
            self.not_limited.push_back(now);
        }
        if self.not_limited.len() > MAX_NOT_LIMITED {
            self.not_limited.pop_front();
        }
    }

    /// Returns whether the application was the limit in the round trip before `t_new`, a reported sending time.
    fn on_report(&mut self, t_new: Instant, r: f64) -> bool {
        while self.not_limited.front().is_some_and(|at| t_new.since(*at).as_secs_f64() >= r) {
            self.not_limited.pop_front();
        }
        self.not_limited.front().is_none_or(|at| *at > t_new)
    }
}

impl TfrcSender {
    pub(crate) fn new(options: &TfrcOptions, context: SenderContext) -> Self {
        let segment = SegmentSize::new(options.expert.segment, context.packet_size.count());
        let mut sender = Self {
            equation: Equation::new(options),
            rtt: RoundTrip::new(options, context.rtt.map(Duration::as_secs_f64)),
            allowed: Allowed::new(options, segment.s()),
            segment,
            pacer: Pacer::new(&options.expert),
            gap: Gap { t_ipi: 0.0, r: None },
            due: None,
            counter: WindowCounter::default(),
            sent: SentLog::default(),
            reported: Reported::new(options, context.tfrc.keeps_losses),
            round: 0,
            nofeedback: None,
            fed_back: false,
            urgent: true,
            sent_since_timer: false,
            last_sent: None,
            bytes: 0,
            last_size: 0.0,
            mean_size: None,
            reported_at: None,
            since_report: f64::INFINITY,
            limited: Limited::default(),
            silence: Silence::default(),
            resumed: None,
            longest_gap: f64::INFINITY,
            next: 0,
            congestion_events: CongestionEvents::default(),
            options: options.clone(),
        };
        sender.allowed.begin(&sender.moment(context.now));
        sender
    }

    fn moment(&self, now: Instant) -> Moment {
        let r = self.rtt.r();
        let idle = match self.options.idle {
            Idle::HalvedToInitial => self.limited.now || self.limited.all_idle,
            Idle::HalvedAndLifted => {
                self.last_sent.zip(r).is_some_and(|(at, r)| now.since(at).as_secs_f64() >= 2.0 * r)
            }
            Idle::Rfc5348 | Idle::Rfc4342 | Idle::Rfc3448 => !self.sent_since_timer,
        };
        let recently = self.limited.last.zip(r).is_some_and(|(at, r)| now.since(at).as_secs_f64() < 1.5 * r);
        Moment {
            now,
            s: self.segment.s(),
            r,
            w_init: self.options.expert.initial_window.bytes(self.segment.largest()),
            idle,
            recently_limited: self.limited.now || recently,
            round: self.round,
        }
    }

    /// Returns `X_inst` (RFC 5348 section 4.5), in bytes/s.
    fn x_inst(&self) -> f64 {
        if let Some(rising) = self.allowed.rising(self.round) {
            return rising;
        }
        let x = self.allowed.x();
        let relieved = if self.options.expert.reduce_oscillations { x * self.rtt.relief() } else { x };
        if self.options.expert.minimum_rate { relieved.max(self.segment.s() / 64.0) } else { relieved }
    }

    /// Updates the gap to the next packet and the time of its permission.
    fn update_due(&mut self) {
        self.gap = self.gap();
        self.due = self.pacer.due(self.gap);
    }

    fn gap(&self) -> Gap {
        let size = match self.options.paced {
            Paced::Bytes => self.last_size,
            Paced::Packets | Paced::Segments => self.segment.s(),
        };
        let t_ipi = (size / self.x_inst()).min(self.longest_gap);
        let waits = self.resumed.is_some_and(|bytes| bytes <= 0.0);
        Gap { t_ipi: if waits { t_ipi.max(self.probe_gap()) } else { t_ipi }, r: self.rtt.r() }
    }

    /// Returns the interval between probes of a silent path, in s.
    fn probe_gap(&self) -> f64 {
        let interval = self.options.probe_interval.map_or(0.0, Duration::as_secs_f64);
        self.rtt.r().unwrap_or(0.0).max(interval)
    }

    #[inline(never)]
    fn set_nofeedback(&mut self, now: Instant, x: f64) {
        let r = self.rtt.r().unwrap_or(0.0);
        let minimum = match self.options.nofeedback {
            Nofeedback::FourRtt => 4.0 * r,
            // net/dccp/ccids/ccid3.h, `TFRC_INITIAL_TIMEOUT`.
            Nofeedback::FourRttBounded if !self.fed_back => 2.0,
            Nofeedback::FourRttBounded => (4.0 * r).max(0.2),
            Nofeedback::TwoRtt => 2.0 * r,
        };
        // Not before the gap after the last packet ends: each expiry postpones the next packet.
        let size = if self.options.paced == Paced::Bytes { self.last_size } else { 0.0 };
        let wait = minimum.max(2.0 * self.segment.s().max(size) / x).max(MIN_WAIT);
        self.nofeedback = Some(now + Duration::from_secs_f64(wait));
        self.sent_since_timer = false;
    }

    /// Treats an expiry as an outage if several packets are unacknowledged on a path with few losses.
    fn begin_silence(&mut self, now: Instant) {
        if self.allowed.p() <= HEALTHY_LOSS
            && let (MIN_UNACKNOWLEDGED.., Some(first)) = self.sent.unacknowledged()
            && let Some(r) = self.rtt.r().filter(|_| self.fed_back)
            && now.since(first) >= Duration::from_secs_f64(4.0 * r).max(MIN_SILENCE)
        {
            self.silence.begin(now, self.allowed.p() <= 0.0);
        }
        let probes = self.options.probe_interval.is_some() && self.silence.is_probed(now);
        self.longest_gap = if probes { self.probe_gap() } else { f64::INFINITY };
    }

    /// Handles the first report after a silence: restarts the flow as in RFC 5348 section 4.2.
    fn end_silence(&mut self, now: Instant) {
        self.longest_gap = f64::INFINITY;
        let moment = self.moment(now);
        self.resumed = (!self.options.silent_samples).then_some(moment.w_init);
        if self.options.silence_restarts {
            self.reported.restart(self.next);
            self.allowed.restart();
            // A loss in the first window occurs at the initial rate. X_recv covers the silence.
            if let (Some(r), Some(t_rto)) = (moment.r, self.rtt.t_rto()) {
                let window = moment.w_init / moment.s;
                let nominal = self.options.nominal(moment.s);
                let interval = || 1.0 / self.equation.inverse(moment.w_init / r, nominal, r, t_rto);
                self.reported.allowed(window, window, interval);
            }
        }
    }

    /// Returns the rate of the equation, reduced by headers (RFC 4828 section 3).
    fn x_bps(&self, p: f64) -> f64 {
        let s = self.segment.s();
        let (Some(r), Some(t_rto)) = (self.rtt.r(), self.rtt.t_rto()) else { return f64::INFINITY };
        let header = self.options.expert.header.count() as f64;
        self.equation.rate(self.options.nominal(s), r, t_rto, p) * (s / (s + header))
    }

    fn read(&mut self, feedback: &Feedback<'_>, report: &TfrcReport<'_>) -> (f64, bool) {
        match report.losses {
            Losses::EventRate(p) => (p.value(), report.new_loss_event),
            Losses::Intervals { skip, intervals } => {
                let (r, t_rto) = (self.rtt.r().unwrap_or(0.0), self.rtt.t_rto().unwrap_or(0.0));
                let (s, x_recv) = (self.segment.s(), self.x_inrecv(report));
                let interval = || 1.0 / self.equation.inverse(x_recv, self.options.nominal(s), r, t_rto);
                self.reported.allowed(self.allowed.x() * r / s, x_recv * r / s, interval);
                let reading = self.reported.read(feedback.acknowledged, skip, intervals, &self.sent, r);
                (reading.p, reading.new_event)
            }
        }
    }

    /// Returns `X_recv` as reported, in the unit in which packets are paced.
    fn x_inrecv(&self, report: &TfrcReport<'_>) -> f64 {
        let bytes = report.x_recv.bits_per_second() as f64 / 8.0;
        let s = self.segment.s();
        let packets = self.mean_size.map_or(bytes, |mean_size| bytes * (s / mean_size));
        match self.options.paced {
            Paced::Packets => packets,
            // Below one packet per four round trips, X_recv covers a single packet. A sender of a small packet among
            // large lost ones would wait for minutes. Linux uses bytes in any case, which is not copied.
            Paced::Bytes | Paced::Segments if bytes > 0.0 => {
                let one = s / self.since_report;
                bytes.max(packets.max(one).min(s / (8.0 * self.rtt.r().unwrap_or(1.0))))
            }
            Paced::Bytes | Paced::Segments => 0.0,
        }
    }

    /// Returns `X_recv`, reduced for an overloaded receiver (RFC 4342 section 5.2).
    fn x_recv(&self, feedback: &Feedback<'_>, report: &TfrcReport<'_>) -> f64 {
        let x_inrecv = self.x_inrecv(report);
        let mut x_drop = f64::INFINITY;
        if feedback.slow_receiver {
            x_drop = x_inrecv;
        }
        if feedback.receive_buffer_drops > 0 {
            let one = self.segment.s() / self.rtt.r().unwrap_or(1.0);
            let dropped = feedback.receive_buffer_drops as f64 * one;
            x_drop = x_drop.min(f64::max(x_inrecv - dropped, x_inrecv.min(one)));
        }
        x_inrecv.min(x_drop / 2.0)
    }
}

impl SenderHalf for TfrcSender {
    #[inline]
    fn poll_send(&mut self, now: Instant, next: &Next) -> Permit {
        let waits = next.size.count() > 0;
        self.pacer.wait(now, self.due, waits).map_or(Permit::Now, Permit::At)
    }

    fn on_send(&mut self, now: Instant, sending: &Sending) -> Stamp {
        if !sending.data {
            self.sent.add_without_data(sending.number);
            return Stamp::default();
        }
        let before = self.last_sent.map(|_| self.gap);
        let size = sending.size.count().max(1);
        self.bytes = self.bytes.saturating_add(size);
        if let Some(bytes) = &mut self.resumed {
            *bytes -= size as f64;
        }
        self.last_size = size as f64;
        self.segment.add(size);
        if self.last_sent.is_none() && !self.fed_back {
            self.allowed.begin(&self.moment(now));
        }
        self.allowed.on_send(self.round);
        self.gap = self.gap();
        let of_last = before.filter(|_| self.options.expert.pacing != Pacing::Timer);
        self.pacer.on_send(now, of_last.unwrap_or(self.gap));
        self.due = self.pacer.due(self.gap);
        if self.due.is_some_and(|due| due > now) {
            self.limited.on_all_sent(now, self.rtt.r().unwrap_or(0.0));
        }
        if std::mem::take(&mut self.limited.now) {
            self.limited.last = Some(now);
            self.limited.all_idle = false;
        }
        if self.nofeedback.is_none() {
            self.set_nofeedback(now, self.allowed.x());
        }
        self.sent_since_timer = true;
        self.last_sent = Some(now);
        self.next = sending.number.saturating_add(1);
        let counter = self.counter.on_send(now, self.rtt.r());
        self.sent.add(Sent { number: sending.number, at: now, counter, bytes: self.bytes });
        let [rtt, t_rto] = self.rtt.stamp();
        Stamp { ccval: (counter % 16) as u8, rtt, t_rto, round: self.round, urgent: self.urgent, ..Stamp::default() }
    }

    /// In Linux 6.1, `ccid3_hc_tx_send_packet` has then updated the nominal send time and the window counter; a discard
    /// does not reach `ccid3_hc_tx_packet_sent`, which counts sent packets.
    fn on_discard(&mut self, now: Instant) {
        if self.last_sent.is_none() && !self.fed_back {
            self.allowed.begin(&self.moment(now));
        }
        self.gap = self.gap();
        self.pacer.on_send(now, self.gap);
        self.due = self.pacer.due(self.gap);
        self.counter.on_send(now, self.rtt.r());
    }

    #[inline]
    fn on_application_limited(&mut self, _now: Instant) {
        self.limited.now = true;
    }

    #[inline]
    fn is_application_limited(&self) -> bool {
        self.limited.now
    }

    /// Ignores reports without a round-trip sample or TFRC's values (RFC 4342 section 6).
    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        let (Report::Tfrc(report), Some(r_sample)) = (feedback.report, feedback.rtt_sample) else { return };
        let r_sample = r_sample.as_secs_f64();
        let acknowledged = self.sent.acknowledge(feedback.acknowledged);
        if let Some(acknowledged) = acknowledged.filter(|_| self.options.expert.counter_keeps_up) {
            self.counter.on_acknowledged(now, acknowledged.newest.counter);
        }
        self.since_report = self.reported_at.replace(now).map_or(f64::INFINITY, |last| now.since(last).as_secs_f64());
        self.mean_size = acknowledged.and_then(|acknowledged| acknowledged.mean_size).or(self.mean_size);
        self.round = self.round.saturating_add(1);
        self.urgent = false;
        if self.silence.end(feedback.acknowledged, self.next) {
            self.end_silence(now);
        }
        if self.options.silent_samples {
            self.rtt.on_sample(r_sample);
        } else if !self.silence.covers(feedback.acknowledged) {
            if let Some(bytes) = self.resumed.take() {
                self.rtt.on_first_sample(r_sample);
                self.allowed.on_first_round_trip(&self.moment(now));
                if bytes <= 0.0 {
                    self.pacer.restart();
                }
            } else {
                self.rtt.on_sample(r_sample);
            }
        }
        let r = self.rtt.r().unwrap_or(r_sample);
        let (p, new_loss) = self.read(feedback, &report);
        if new_loss {
            self.segment.on_loss_event();
            self.congestion_events.loss_events += 1;
        }
        let x_recv = self.x_recv(feedback, &report);
        let t_new = acknowledged.map_or_else(
            || now.checked_sub(Duration::from_secs_f64(r_sample)).unwrap_or(Instant::ZERO),
            |acknowledged| acknowledged.newest.at,
        );
        let limited = self.limited.on_report(t_new, r) && x_recv > 0.0;
        let x_before = self.allowed.x();
        let moment = self.moment(now);
        let report = ReceivedReport {
            p,
            x_bps: self.x_bps(p),
            x_recv,
            new_loss,
            limited,
            overloaded: feedback.slow_receiver || feedback.receive_buffer_drops > 0,
        };
        let slow_start = self.allowed.p() <= 0.0 && p <= 0.0;
        self.allowed.on_report(&moment, &report);
        if slow_start || !self.fed_back {
            self.pacer.release(now);
        }
        self.fed_back = true;
        let x = if self.options.nofeedback == Nofeedback::TwoRtt { x_before } else { self.allowed.x() };
        self.set_nofeedback(now, x);
        self.update_due();
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.nofeedback.is_none_or(|at| at > now) {
            return;
        }
        // Without sent data, no report was expected.
        self.congestion_events.timeouts += u64::from(self.sent_since_timer);
        self.begin_silence(now);
        self.allowed.on_timeout(&self.moment(now));
        self.urgent = true;
        self.round = self.round.saturating_add(1);
        self.limited.all_idle |= self.limited.now;
        self.set_nofeedback(now, self.allowed.x());
        self.pacer.release(now);
        self.update_due();
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Instant> {
        self.nofeedback
    }

    fn measures_silence(&self, _: Instant, number: u64) -> bool {
        !self.options.silent_samples && self.silence.covers(number)
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        let mut x = self.allowed.x();
        if !self.options.expert.min_interval.is_zero() {
            x = x.min(self.segment.s() / self.options.expert.min_interval.as_secs_f64());
        }
        Some(Rate::from_bits_per_second((x * 8.0) as u64))
    }

    fn status(&self) -> Status {
        let rate = self.pacing_rate();
        Status {
            target_rate: rate,
            pacing_rate: rate,
            rtt: self.rtt.r().map(Duration::from_secs_f64),
            loss_event_rate: Probability::new(self.allowed.p()),
            ..Status::default()
        }
    }

    fn congestion_events(&self) -> CongestionEvents {
        self.congestion_events
    }
}

#[cfg(test)]
pub(crate) mod tests;
