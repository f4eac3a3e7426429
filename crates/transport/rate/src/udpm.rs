//! UDPm: the receiver announces one of N rates, AIMD on their scale.
//!
//! From "congestion-aware UDP-based system for multimedia transmission" (MApp over UDPm), and where that is silent from its public
//! ancestor, ns-2's example application `mm-app.cc` (J. Chung, 1999).
//!
//! ```text
//! sender      gap <- size / rate(scale), the scale that was announced last, computed when a packet goes
//! receiver    scale <- floor(scale / 2)        if a packet of the round was lost, or came marked
//!                    = min(scale + 1, N - 1)   else, if any came
//!                    = scale                   if none came
//! ```
//!
//! The first packet ends a round by itself. Each round ends with an announcement, also a silent one: an announcement that is lost leaves the
//! sender at its old rate until the next.

mod terms;

use crate::contract::{
    Need, Next, Permit, Received, ReceiverContext, ReceiverHalf, Scale, SenderContext, SenderHalf, Sending, Setbacks,
    Stamp, Status,
};
use crate::report::{Feedback, Own, Report, ReportForm};
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use crate::toolbox::{Pacer, SHORTEST_SILENCE};
use headway_units::{Dialect, Duration, Ecn, Instant, OptionError, Options, Rate, check_range, unused_unless};
pub use terms::{Terms, TermsError};

/// Options of `udpm`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct UdpmOptions {
    /// How many rates there are, from 1 to 256.
    pub levels: u16,
    /// The least of them; the others are its multiples.
    pub step: Rate,
    /// The rates themselves, each greater than the one before, in place of `levels` and `step`.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub ladder: Option<Vec<Rate>>,
    /// When the receiver decides.
    pub decide: Decide,
    /// The round of `decide = "interval"`, 1ms to 64s.
    pub interval: Duration,
    /// What the receiver takes for the round trip, for `decide = "round-trip"`.
    pub round_trip: RoundTrip,
    /// How often a round may halve the scale.
    pub halve: Halve,
    /// A round trip counts although its packet went before or during a silence; false: Karn's rule (RFC 6298 section 3).
    pub silent_samples: bool,
}

/// When the receiver decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Decide {
    /// Each `interval`.
    Interval,
    /// Each round trip (the paper's text: "every packet loss for each RTT").
    RoundTrip,
    /// With each packet (the paper's Figure 3).
    Packet,
}

/// What the receiver takes for the round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum RoundTrip {
    /// What the sender has measured and puts on its packets.
    Measured,
    /// Twice the one-way delay, smoothed: 0.9 of the old, 0.1 of the new (the ancestor). The ends' clocks must agree.
    OneWay,
    /// Twice the least one-way delay. The ends' clocks must agree.
    LeastOneWay,
}

/// How often a round may halve the scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Halve {
    /// Once, however much was lost or marked.
    Once,
    /// For each packet that was lost or marked.
    EachLoss,
}

/// No round is shorter: where there is no delay at all, time must pass between two.
const SHORTEST_ROUND: Duration = Duration::from_millis(1);
/// Nothing is under way for longer.
const LONGEST_WAY: Duration = Duration::from_secs(64);
const MOST_LEVELS: u16 = 256;
/// Gaps of nanoseconds are no gaps.
const FASTEST: Rate = Rate::from_bits_per_second(100_000_000_000);

impl Options for UdpmOptions {
    /// Ten rates, 0.2 Mb/s apart, and a decision each 100 ms: with these, ns-2 gives the paper's numbers.
    fn preset(dialect: Dialect) -> Self {
        Self {
            levels: 10,
            step: Rate::from_bits_per_second(200_000),
            ladder: None,
            decide: Decide::Interval,
            interval: Duration::from_millis(100),
            round_trip: match dialect {
                Dialect::Ns2 => RoundTrip::OneWay,
                Dialect::Headway1 | Dialect::Rfc | Dialect::Ns3 | Dialect::Linux => RoundTrip::Measured,
            },
            halve: Halve::Once,
            silent_samples: dialect != Dialect::Headway1,
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        let wrong = |key, message: &str| Err(OptionError::new(key, message));
        if !(1..=MOST_LEVELS).contains(&self.levels) {
            return wrong("levels", "there are 1 to 256 rates");
        }
        if self.step.bits_per_second() == 0 {
            return wrong("step", "a rate is more than 0bps");
        }
        if let Some(ladder) = &self.ladder {
            if !(1..=usize::from(MOST_LEVELS)).contains(&ladder.len()) {
                return wrong("ladder", "there are 1 to 256 rates");
            }
            let rises = ladder.windows(2).all(|pair| pair[0] < pair[1]);
            if !rises || ladder.first().is_some_and(|rate| rate.bits_per_second() == 0) {
                return wrong("ladder", "each rate is greater than the one before, and the first is more than 0bps");
            }
        }
        if self.rate(self.top()) > FASTEST {
            let key = if self.ladder.is_some() { "ladder" } else { "step" };
            return wrong(key, "the greatest rate is at most 100Gbps");
        }
        check_range("interval", self.interval, SHORTEST_ROUND..=LONGEST_WAY)
    }

    fn unused(&self) -> Vec<OptionError> {
        let by_ladder = |key| {
            let message = format!("a ladder has all rates, so that {key} has no effect: leave one of the two out");
            self.ladder.is_some().then(|| OptionError::new(key, message))
        };
        let (interval, round_trip) = (self.decide == Decide::Interval, self.decide == Decide::RoundTrip);
        [
            by_ladder("levels"),
            by_ladder("step"),
            unused_unless(interval, "interval", "decide = \"interval\""),
            unused_unless(round_trip, "round_trip", "decide = \"round-trip\""),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl UdpmOptions {
    /// The greatest scale.
    fn top(&self) -> u8 {
        let levels = self.ladder.as_ref().map_or(self.levels.into(), Vec::len);
        u8::try_from(levels.saturating_sub(1)).unwrap_or(u8::MAX)
    }

    fn rate(&self, scale: u8) -> Rate {
        match &self.ladder {
            Some(ladder) => ladder.get(usize::from(scale)).copied().unwrap_or(self.step),
            None => Rate::from_bits_per_second(self.step.bits_per_second().saturating_mul(u64::from(scale) + 1)),
        }
    }
}

/// Goes by what was announced last.
#[derive(Debug)]
pub struct UdpmSender {
    options: UdpmOptions,
    scale: u8,
    /// What the newest announcement acknowledged: one that was overtaken is of no use.
    heard: u64,
    pacer: Pacer,
    rtt_ns: Option<f64>,
    reported_at: Option<Instant>,
    /// The number behind the newest packet, and the first packet after the last silence.
    next: u64,
    fresh_from: u64,
    setbacks: Setbacks,
}

impl UdpmSender {
    pub(crate) fn new(options: &UdpmOptions, context: SenderContext) -> Self {
        let pacer = Pacer::new(Duration::ZERO);
        let rtt_ns = context.rtt.map(|rtt| smoothed(None, rtt));
        let options = options.clone();
        let setbacks = Setbacks::default();
        Self { options, scale: 0, heard: 0, pacer, rtt_ns, reported_at: None, next: 0, fresh_from: 0, setbacks }
    }

    /// Returns whether nothing has been announced for four rounds and four round trips: then the path is silent.
    fn is_silent(&self, now: Instant) -> bool {
        let round_trip = self.rtt_ns.map_or(Duration::ZERO, whole);
        let round = if self.options.decide == Decide::Interval { self.options.interval } else { round_trip };
        let longest = (round.max(round_trip) * 4).max(SHORTEST_SILENCE);
        self.reported_at.is_some_and(|last| now.since(last) > longest)
    }

    /// Returns the time from the last packet to the next, in s.
    #[must_use]
    pub fn last_gap_s(&self) -> Option<f64> {
        self.pacer.last_gap_s()
    }
}

impl SenderHalf for UdpmSender {
    fn poll_send(&mut self, now: Instant, _: &Next) -> Permit {
        self.pacer.permit(now)
    }

    fn on_send(&mut self, now: Instant, sending: &Sending) -> Stamp {
        self.next = sending.number.saturating_add(1);
        if sending.data {
            self.pacer.on_send(now, Pacer::gap_s(sending.size, self.options.rate(self.scale)));
        }
        // The paper's header has the scale on each packet.
        Stamp { rtt: self.rtt_ns.map(whole), own: Own::new(&[self.scale]).unwrap_or(Own::NONE), ..Stamp::default() }
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        if self.is_silent(now) {
            self.fresh_from = self.next;
        }
        self.reported_at = Some(now);
        if let Some(sample) = feedback.rtt_sample.filter(|_| !self.measures_silence(now, feedback.acknowledged)) {
            self.rtt_ns = Some(smoothed(self.rtt_ns, sample));
        }
        if let Report::Own(own) = feedback.report
            && let [scale] = *own.as_bytes()
            && scale <= self.options.top()
            && feedback.acknowledged >= self.heard
        {
            // Nothing but losses and marks lowers it.
            self.setbacks.loss_events += u64::from(scale < self.scale);
            (self.scale, self.heard) = (scale, feedback.acknowledged);
        }
    }

    fn measures_silence(&self, now: Instant, number: u64) -> bool {
        !self.options.silent_samples && (number < self.fresh_from || self.is_silent(now))
    }

    fn status(&self) -> Status {
        let rate = Some(self.options.rate(self.scale));
        Status { target_rate: rate, pacing_rate: rate, rtt: self.rtt_ns.map(whole), ..Status::default() }
    }

    fn setbacks(&self) -> Setbacks {
        self.setbacks
    }

    fn scale(&self) -> Option<Scale> {
        let Self { options, scale: index, .. } = self;
        Some(Scale { index: *index, levels: u16::from(options.top()) + 1, rate: options.rate(*index) })
    }
}

/// A mean in ns, 0.9 of the old, 0.1 of the new. Not in whole ns: rounding down packet by packet would shorten it by 10 ns.
fn smoothed(old_ns: Option<f64>, new: Duration) -> f64 {
    let new_ns = new.as_nanos() as f64;
    old_ns.map_or(new_ns, |old_ns| 0.9 * old_ns + 0.1 * new_ns)
}

/// To the nearest ns.
fn whole(ns: f64) -> Duration {
    Duration::from_nanos((ns + 0.5) as u64)
}

/// Watches for losses and marks, and announces a scale in a byte.
#[derive(Debug)]
pub struct UdpmReceiver {
    decide: Decide,
    interval: Duration,
    round_trip: RoundTrip,
    halve: Halve,
    top: u8,
    scale: u8,
    rtt_ns: Option<f64>,
    /// The number that comes next if nothing is lost, and the one that did when the round began. As in the ancestor, what went before the
    /// first packet that comes was lost.
    expected: u64,
    began: u64,
    round: Round,
    ends: Option<Instant>,
    due: bool,
}

/// What happened in a round.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    received: u64,
    /// Numbers of this round that are missing: one that comes late, but within the round, is not.
    lost: u64,
    marked: u64,
}

impl UdpmReceiver {
    pub(crate) fn new(options: &UdpmOptions, context: ReceiverContext) -> Self {
        let &UdpmOptions { decide, interval, round_trip, halve, .. } = options;
        Self {
            decide,
            interval,
            round_trip,
            halve,
            top: options.top(),
            scale: 0,
            rtt_ns: None,
            expected: context.upcoming,
            began: context.upcoming,
            round: Round::default(),
            ends: None,
            due: false,
        }
    }

    fn measure(&mut self, now: Instant, packet: &Received) {
        let measured = packet.rtt.map(|rtt| smoothed(None, rtt)).or(self.rtt_ns);
        let Some(timing) = packet.timing else {
            self.rtt_ns = measured;
            return;
        };
        let twice = now.since(timing.sent) * 2;
        self.rtt_ns = match self.round_trip {
            RoundTrip::Measured => measured,
            // Clocks that do not agree: a connection's timestamps have no common zero.
            _ if timing.sent > now || now.since(timing.sent) > LONGEST_WAY => measured,
            RoundTrip::OneWay => Some(smoothed(self.rtt_ns, twice)),
            RoundTrip::LeastOneWay => Some(smoothed(None, twice).min(self.rtt_ns.unwrap_or(f64::INFINITY))),
        };
    }

    fn end_round(&mut self, now: Instant) {
        let Round { received, lost, marked } = std::mem::take(&mut self.round);
        let congested = lost.saturating_add(marked);
        self.scale = match (congested, self.halve) {
            (0, _) if received == 0 => self.scale,
            (0, _) => self.scale.saturating_add(1).min(self.top),
            (_, Halve::Once) => self.scale / 2,
            (_, Halve::EachLoss) => self.scale.checked_shr(u32::try_from(congested).unwrap_or(u32::MAX)).unwrap_or(0),
        };
        self.began = self.expected;
        self.due = true;
        self.ends = match self.decide {
            Decide::Interval => Some(now + self.interval),
            // As long as nobody knows a round trip, the next packet ends the round.
            Decide::RoundTrip => self.rtt_ns.map(|rtt_ns| now + whole(rtt_ns).max(SHORTEST_ROUND)),
            Decide::Packet => None,
        };
    }
}

impl ReceiverHalf for UdpmReceiver {
    const REPORTS: ReportForm = ReportForm::Own;
    const NEEDS: &'static [Need] = &[Need::SenderClock, Need::RoundTrip];

    fn on_packet(&mut self, now: Instant, packet: &Received) {
        self.measure(now, packet);
        if let Some(gap) = packet.number.checked_sub(self.expected) {
            let missing = gap.saturating_sub(packet.ndp_count.unwrap_or(0));
            self.round.lost = self.round.lost.saturating_add(missing);
            self.expected = packet.number.saturating_add(1);
        } else if packet.number >= self.began && packet.data {
            self.round.lost = self.round.lost.saturating_sub(1);
        }
        if !packet.data {
            return;
        }
        self.round.received += 1;
        self.round.marked += u64::from(packet.ecn == Ecn::Ce);
        if self.ends.is_none() {
            self.end_round(now);
        }
    }

    fn on_corrupt(&mut self, _: Instant, _: u64) {
        self.round.marked += 1;
    }

    fn poll_report(&mut self, _: Instant) -> Option<Report<'_>> {
        std::mem::take(&mut self.due).then_some(Report::Own(Own::new(&[self.scale]).unwrap_or(Own::NONE)))
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.ends.is_some_and(|at| at <= now) {
            self.end_round(now);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.ends
    }
}

#[cfg(test)]
mod tests;
