//! Spaces packets by what the receiver has counted.

use super::Count;
use super::options::{SpacingOptions, SpacingRtt, WhenLimited};
use super::rule::{Rule, Told};
use crate::contract::{Need, Next, Permit, SenderContext, SenderHalf, Sending, Setbacks, Stamp, Status};
use crate::report::{Feedback, Report};
use crate::toolbox::Pacer;
use headway_units::{Bytes, Duration, Instant, Rate};

/// How long the first packet's answer is waited for, before another goes; each time twice as long, up to the second.
const SET_UP: Duration = Duration::from_secs(1);
const LONGEST_SET_UP: Duration = Duration::from_secs(64);

/// Packets in a round trip that an idle sender may begin again with.
const RESTART: f64 = 4.0;

/// The sender half of `spacing`.
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
    /// Data of the last packet.
    size: Bytes,
    rtt_s: Option<f64>,
    /// Until when an answer to the first packet is waited for, and how long that is the next time.
    set_up: Option<Instant>,
    set_up_wait: Duration,
    /// One more than the number of the last packet.
    next: u64,
    /// The first number that no report has told of, and how many of those before it were missing in all, modulo 2^32.
    untold: Option<(u64, u32)>,
    /// The number with which counting began.
    first: u64,
    /// The application had less to send than was allowed.
    limited: bool,
    /// Packets of data since the last report, and when that came.
    sent_since: u64,
    reported_at: Option<Instant>,
    last_sent: Option<Instant>,
    /// When silence is taken for loss.
    silent_at: Option<Instant>,
    silence_is_one_loss: bool,
    remembers_rate: bool,
    /// The gap with which a silence began, in s.
    before_silence_s: Option<f64>,
    /// The first packet after the last silence.
    fresh_from: u64,
    setbacks: Setbacks,
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
            set_up_wait: SET_UP,
            next: 0,
            untold: None,
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
            setbacks: Setbacks::default(),
        }
    }

    /// How long a packet with so much data takes on the line, in s.
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

    /// Four packets in a round trip: what an idle sender may begin again with, as TFRC's may with its initial window (RFC 5348 section 4.4).
    fn restart_s(&self, rtt_s: f64) -> f64 {
        (rtt_s / RESTART - self.tx_s(self.packet_size)).max(0.0)
    }

    /// Whether the gap may become shorter: not if the application has left half of the packets unsent that might have gone.
    fn may_shorten(&self, now: Instant, rtt_s: f64) -> bool {
        let allowed =
            |since: Instant| now.since(since).as_secs_f64() / (self.tx_s(self.packet_size) + self.rule.gap_s());
        self.when_limited == WhenLimited::Shorten
            || !self.limited
            || self.rule.gap_s() > self.restart_s(rtt_s)
            || self.reported_at.is_none_or(|since| 2.0 * self.sent_since as f64 >= allowed(since))
    }

    /// What a report says of packets that none before it told of; `None` if it tells of none.
    fn read(&mut self, feedback: &Feedback<'_>) -> Option<(bool, u64)> {
        let Report::Own(own) = feedback.report else { return None };
        let Count { highest, came } = Count::decode(own)?;
        let behind = (feedback.acknowledged as u32).wrapping_sub(highest);
        let end = feedback.acknowledged.checked_sub(behind.into())?.checked_add(1)?;
        let (begin, missing_before) = self.untold?;
        if end <= begin || end > self.next {
            return None;
        }
        let missing = (end.wrapping_sub(self.first) as u32).wrapping_sub(came);
        self.untold = Some((end, missing));
        // What comes late fills its hole: then fewer are missing than before.
        let congested = (missing.wrapping_sub(missing_before) as i32) > 0;
        Some((congested, begin + (end - begin) / 2))
    }

    fn rate(&self) -> Rate {
        let bits = self.size.count() as f64 * 8.0;
        Rate::from_bits_per_second((bits / (self.tx_s(self.size) + self.rule.gap_s()).max(1e-9)) as u64)
    }

    /// Returns the time from the last packet to the next, in s.
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
        if self.untold.is_none() {
            (self.first, self.untold) = (sending.number, Some((sending.number, 0)));
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
            self.set_up_wait = (self.set_up_wait * 2).min(LONGEST_SET_UP);
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
        self.setbacks.loss_events += u64::from(congested);
        if let Some(gap_s) = self.before_silence_s.take().filter(|_| self.silence_is_one_loss) {
            self.rule.on_end_of_silence(self.next, gap_s, rtt_s, self.remembers_rate);
            self.fresh_from = self.next;
        } else if !setting_up {
            let may_shorten = self.may_shorten(now, rtt_s);
            let tx_s = self.tx_s(self.packet_size);
            self.rule.on_report(&Told { congested, middle, next: self.next, may_shorten, rtt_s, tx_s });
            self.limited = false;
        }
        (self.sent_since, self.reported_at) = (0, Some(now));
        self.silent_at = None;
        if self.untold.is_some_and(|(untold, _)| untold < self.next) {
            self.await_report(now);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.set_up.is_some_and(|at| at <= now) {
            self.set_up = None;
        }
        if self.silent_at.is_some_and(|at| at <= now) {
            self.silent_at = None;
            self.setbacks.timeouts += 1;
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

    fn setbacks(&self) -> Setbacks {
        self.setbacks
    }
}
