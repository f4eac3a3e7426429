//! Sender half, which spaces packets by the receiver's counts.

use super::Count;
use super::options::{SpacingOptions, SpacingRtt, WhenLimited};
use super::rule::{ReportSummary, Rule};
use crate::contract::{CongestionEvents, Need, Next, Permit, SenderContext, SenderHalf, Sending, Stamp, Status};
use crate::report::{Feedback, Report};
use crate::toolbox::Pacer;
use headway_units::{Bytes, Duration, Instant, Rate};

/// Time to wait for the response to the first packet before the next is sent; doubles each time, up to the maximum.
const SET_UP_WAIT: Duration = Duration::from_secs(1);
const MAX_SET_UP_WAIT: Duration = Duration::from_secs(64);

/// Packets per round trip with which an idle sender may restart.
const RESTART: f64 = 4.0;

/// Sender half of the controller `spacing`, whose gap between packets follows from the receiver's counts of packets.
#[derive(Debug)]
pub struct SpacingSender {
    round_trip: SpacingRtt,
    when_limited: WhenLimited,
    silence: u8,
    rule: Rule,
    pacer: Pacer,
    line: Rate,
    header: u64,
    packet_size: Bytes,
    size: Bytes,
    rtt_s: Option<f64>,
    /// Deadline for the response to the first packet, and the next waiting time.
    set_up: Option<Instant>,
    set_up_wait: Duration,
    /// Number of the last packet plus 1.
    next: u64,
    /// First number not covered by a report, and the total number missing before it, modulo 2^32.
    unreported: Option<(u64, u32)>,
    first: u64,
    /// Whether the application sent less than permitted.
    limited: bool,
    /// Data packets since the last report, and the time of that report.
    sent_since: u64,
    reported_at: Option<Instant>,
    last_sent: Option<Instant>,
    /// Time at which silence counts as loss.
    silent_at: Option<Instant>,
    silence_is_one_loss: bool,
    remembers_rate: bool,
    /// Gap at the beginning of the silence, in s.
    before_silence_s: Option<f64>,
    /// Number of the first packet after the last silence.
    fresh_from: u64,
    congestion_events: CongestionEvents,
}

impl SpacingSender {
    pub(crate) fn new(options: &SpacingOptions, context: SenderContext) -> Self {
        Self {
            round_trip: options.round_trip,
            when_limited: options.when_limited,
            silence: options.silence,
            rule: Rule::new(options),
            pacer: Pacer::new(Duration::ZERO),
            line: context.line_rate.unwrap_or(Rate::from_bits_per_second(u64::MAX)),
            header: context.header.count(),
            packet_size: context.packet_size,
            size: context.packet_size,
            rtt_s: context.rtt.map(Duration::as_secs_f64),
            set_up: None,
            set_up_wait: SET_UP_WAIT,
            next: 0,
            unreported: None,
            first: 0,
            limited: false,
            sent_since: 0,
            reported_at: None,
            last_sent: None,
            silent_at: None,
            silence_is_one_loss: options.silence_is_one_loss,
            remembers_rate: options.remembers_rate,
            before_silence_s: None,
            fresh_from: 0,
            congestion_events: CongestionEvents::default(),
        }
    }

    /// Returns the transmission time of a packet with `size` bytes of data on the line, in s.
    fn tx_s(&self, size: Bytes) -> f64 {
        Pacer::gap_s(Bytes::new(size.count().saturating_add(self.header)), self.line)
    }

    fn measure(&mut self, sample: Duration) {
        let sample_s = sample.as_secs_f64();
        self.rtt_s = Some(match (self.round_trip, self.rtt_s) {
            (_, None) => sample_s,
            (SpacingRtt::Base, Some(base_s)) => base_s,
            (SpacingRtt::Least, Some(least_s)) => least_s.min(sample_s),
            (SpacingRtt::Smoothed, Some(old_s)) => 0.9 * old_s + 0.1 * sample_s,
        });
    }

    fn await_report(&mut self, now: Instant) {
        let Some(rtt_s) = self.rtt_s.filter(|_| self.silence > 0) else { return };
        let round_s = rtt_s + self.tx_s(self.packet_size) + self.rule.gap_s();
        self.silent_at = Some(now + Duration::from_secs_f64(f64::from(self.silence) * round_s));
    }

    /// Returns the gap with which an idle sender may restart: four packets per round trip (RFC 5348 section 4.4).
    fn restart_s(&self, rtt_s: f64) -> f64 {
        (rtt_s / RESTART - self.tx_s(self.packet_size)).max(0.0)
    }

    /// Returns whether the gap may shorten: not if the application sent less than half of the permitted packets.
    fn may_shorten(&self, now: Instant, rtt_s: f64) -> bool {
        let allowed =
            |since: Instant| now.since(since).as_secs_f64() / (self.tx_s(self.packet_size) + self.rule.gap_s());
        self.when_limited == WhenLimited::Shorten
            || !self.limited
            || self.rule.gap_s() > self.restart_s(rtt_s)
            || self.reported_at.is_none_or(|since| 2.0 * self.sent_since as f64 >= allowed(since))
    }

    /// Returns whether newly reported packets are lost, and the middle of their numbers; `None` without any.
    fn read(&mut self, feedback: &Feedback<'_>) -> Option<(bool, u64)> {
        let Report::Own(own) = feedback.report else { return None };
        let Count { highest, received } = Count::decode(own)?;
        let behind = (feedback.acknowledged as u32).wrapping_sub(highest);
        let end = feedback.acknowledged.checked_sub(behind.into())?.checked_add(1)?;
        let (begin, missing_before) = self.unreported?;
        if end <= begin || end > self.next {
            return None;
        }
        let missing = (end.wrapping_sub(self.first) as u32).wrapping_sub(received);
        self.unreported = Some((end, missing));
        // A late packet fills a gap, so fewer are missing than before.
        let congested = (missing.wrapping_sub(missing_before) as i32) > 0;
        Some((congested, begin + (end - begin) / 2))
    }

    fn rate(&self) -> Rate {
        let bits = self.size.count() as f64 * 8.0;
        Rate::from_bits_per_second((bits / (self.tx_s(self.size) + self.rule.gap_s()).max(1e-9)) as u64)
    }

    /// Returns the exact gap that paces the next packet: its time after the last packet, in s, not rounded to
    /// nanoseconds. `None` before the first packet, or if the next packet is due earlier, because the gap has become
    /// shorter.
    #[must_use]
    pub fn last_gap_s(&self) -> Option<f64> {
        self.pacer.last_gap_s()
    }
}

impl SenderHalf for SpacingSender {
    const NEEDS: &'static [Need] = &[Need::LineRate];

    fn poll_send(&mut self, now: Instant, _: &Next) -> Permit {
        if self.set_up.is_some() { Permit::Blocked } else { self.pacer.permit(now) }
    }

    fn on_send(&mut self, now: Instant, sending: &Sending) -> Stamp {
        if self.unreported.is_none() {
            (self.first, self.unreported) = (sending.number, Some((sending.number, 0)));
        }
        self.next = sending.number.saturating_add(1);
        if !sending.data {
            return Stamp::default();
        }
        (self.size, self.last_sent) = (sending.size, Some(now));
        self.sent_since += 1;
        self.pacer.on_send(now, self.tx_s(sending.size) + self.rule.gap_s());
        if self.rtt_s.is_none() {
            self.set_up = Some(now + self.set_up_wait);
            self.set_up_wait = (self.set_up_wait * 2).min(MAX_SET_UP_WAIT);
        } else if self.silent_at.is_none() {
            self.await_report(now);
        }
        Stamp { rtt: self.rtt_s.map(Duration::from_secs_f64), ..Stamp::default() }
    }

    fn on_application_limited(&mut self, now: Instant) {
        self.limited = true;
        let Some((rtt_s, last)) = self.rtt_s.zip(self.last_sent) else { return };
        if self.when_limited == WhenLimited::Hold && now.since(last).as_secs_f64() > rtt_s {
            self.rule.on_idle(self.next, self.restart_s(rtt_s));
        }
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        let setting_up = self.rtt_s.is_none();
        if let Some(sample) = feedback.rtt_sample {
            self.measure(sample);
            self.set_up = None;
        }
        let (Some((congested, middle)), Some(rtt_s)) = (self.read(feedback), self.rtt_s) else { return };
        self.congestion_events.loss_events += u64::from(congested);
        if let Some(gap_s) = self.before_silence_s.take().filter(|_| self.silence_is_one_loss) {
            self.rule.on_end_of_silence(self.next, gap_s, rtt_s, self.remembers_rate);
            self.fresh_from = self.next;
        } else if !setting_up {
            let may_shorten = self.may_shorten(now, rtt_s);
            let tx_s = self.tx_s(self.packet_size);
            self.rule.on_report(&ReportSummary { congested, middle, next: self.next, may_shorten, rtt_s, tx_s });
            self.limited = false;
        }
        (self.sent_since, self.reported_at) = (0, Some(now));
        self.silent_at = None;
        if self.unreported.is_some_and(|(unreported, _)| unreported < self.next) {
            self.await_report(now);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.set_up.is_some_and(|at| at <= now) {
            self.set_up = None;
        }
        if self.silent_at.is_some_and(|at| at <= now) {
            self.silent_at = None;
            self.congestion_events.timeouts += 1;
            self.before_silence_s.get_or_insert(self.rule.gap_s());
            self.rule.on_silence(self.next, self.rtt_s.unwrap_or(0.0));
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.set_up.or(self.silent_at)
    }

    fn measures_silence(&self, _: Instant, number: u64) -> bool {
        self.silence_is_one_loss && (self.before_silence_s.is_some() || number < self.fresh_from)
    }

    fn status(&self) -> Status {
        let rate = Some(self.rate());
        let rtt = self.rtt_s.map(Duration::from_secs_f64);
        Status { target_rate: rate, pacing_rate: rate, rtt, ..Status::default() }
    }

    fn congestion_events(&self) -> CongestionEvents {
        self.congestion_events
    }
}
