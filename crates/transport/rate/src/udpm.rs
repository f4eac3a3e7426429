//! UDPm: the receiver announces one of N rates by AIMD on their indices.
//!
//! From "congestion-aware UDP-based system for multimedia transmission" (MApp over UDPm); where the paper is silent,
//! from its public predecessor, ns-2's example application `mm-app.cc` (J. Chung, 1999).
//!
//! ```text
//! sender      gap <- size / rate(scale), with the last announced scale, computed when a packet is sent
//! receiver    scale <- floor(scale / 2)        if a packet of the round was lost or marked
//!                    = min(scale + 1, N - 1)   else, if any packet arrived
//!                    = scale                   otherwise
//! ```
//!
//! The first packet is a round. Each round, even without packets, ends with an announcement: if one is lost, the sender
//! keeps its rate until the next.

mod terms;

use crate::contract::{
    CongestionEvents, Need, Next, Permit, Received, ReceiverContext, ReceiverHalf, Scale, SenderContext, SenderHalf,
    Sending, Stamp, Status,
};
use crate::report::{Feedback, Own, Report, ReportForm};
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use crate::toolbox::{MIN_SILENCE, Pacer};
use headway_units::{Dialect, Duration, Ecn, Instant, OptionError, Options, Rate, check_range, unused_unless};
pub use terms::{Terms, TermsError};

/// Options of the controller `udpm`, whose receiver announces one of several discrete rates.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct UdpmOptions {
    /// Number of discrete rates, from 1 to 256.
    pub levels: u16,
    /// Lowest rate, above 0bps; the others are its multiples by 2, 3 and so on, up to 100Gbps.
    pub step: Rate,
    /// Explicit rates in ascending order, 1 to 256 rates up to 100Gbps; replaces `levels` and `step`.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub ladder: Option<Vec<Rate>>,
    /// When the receiver decides on the rate that it announces.
    pub decide: Decide,
    /// Time between decisions for `decide = "interval"`, from 1ms to 64s.
    pub interval: Duration,
    /// Round-trip time that the receiver uses for `decide = "round-trip"`.
    pub round_trip: RoundTrip,
    /// Whether the losses and marks since the last decision halve the index of the announced rate once, or once each.
    pub halve: Halve,
    /// Whether the sender uses round-trip samples that include a silence (a time without reports). False: it ignores
    /// them, by Karn's algorithm (RFC 6298 section 3).
    pub silent_samples: bool,
}

/// When the receiver decides on the rate that it announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Decide {
    /// The receiver decides on the rate every `interval`.
    Interval,
    /// The receiver decides on the rate once per round trip (the text of the UDPm paper: "every packet loss for each
    /// RTT").
    RoundTrip,
    /// The receiver decides on the rate at each packet (figure 3 of the UDPm paper).
    Packet,
}

/// Round-trip time that the receiver uses as the time between its decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum RoundTrip {
    /// The receiver uses the sender's measurement, which data packets carry.
    Measured,
    /// The receiver uses twice the one-way delay of packets, smoothed: 0.9 of the old mean, 0.1 of the new sample
    /// (`mm-app.cc`). Requires synchronized clocks.
    OneWay,
    /// The receiver uses twice the minimum one-way delay of packets so far. Requires synchronized clocks.
    LeastOneWay,
}

/// Whether the losses and marks since the last decision halve the index of the announced rate once, or once each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Halve {
    /// The index of the announced rate (0 for the lowest rate) is halved once, for any number of losses or marks.
    Once,
    /// The index of the announced rate (0 for the lowest rate) is halved once per lost or marked packet.
    EachLoss,
}

/// Shortest round, so that time passes between two rounds on a path without delay.
const MIN_ROUND: Duration = Duration::from_millis(1);
/// Longest one-way delay and round.
const MAX_DELAY: Duration = Duration::from_secs(64);
const MAX_LEVELS: u16 = 256;
/// Maximum rate, so that gaps are longer than some nanoseconds.
const MAX_RATE: Rate = Rate::from_bits_per_second(100_000_000_000);

impl Options for UdpmOptions {
    /// Returns ten rates in steps of 0.2 Mb/s and a decision every 100 ms, as in the paper.
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
        if !(1..=MAX_LEVELS).contains(&self.levels) {
            return wrong("levels", "there are 1 to 256 rates");
        }
        if self.step.bits_per_second() == 0 {
            return wrong("step", "a rate is more than 0bps");
        }
        if let Some(ladder) = &self.ladder {
            if !(1..=usize::from(MAX_LEVELS)).contains(&ladder.len()) {
                return wrong("ladder", "there are 1 to 256 rates");
            }
            if ladder.first().is_some_and(|rate| rate.bits_per_second() == 0) {
                return wrong("ladder", "0bps is out of range; expected a first rate above 0bps");
            }
            if let Some([one, next]) = ladder.windows(2).find(|pair| pair[0] >= pair[1]) {
                return wrong("ladder", &format!("{next} follows {one}; expected rates in ascending order"));
            }
        }
        if self.rate(self.top()) > MAX_RATE {
            let key = if self.ladder.is_some() { "ladder" } else { "step" };
            return wrong(key, "the greatest rate is at most 100Gbps");
        }
        check_range("interval", self.interval, MIN_ROUND..=MAX_DELAY)
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

/// Sender half of the controller `udpm`, which paces packets at the rate that the receiver announced last.
#[derive(Debug)]
pub struct UdpmSender {
    options: UdpmOptions,
    scale: u8,
    /// Number acknowledged by the newest announcement; reordered older ones are ignored.
    newest_acknowledged: u64,
    pacer: Pacer,
    rtt_ns: Option<f64>,
    reported_at: Option<Instant>,
    /// Number of the newest packet plus 1, and the number of the first packet after the last silence.
    next: u64,
    fresh_from: u64,
    congestion_events: CongestionEvents,
}

impl UdpmSender {
    pub(crate) fn new(options: &UdpmOptions, context: SenderContext) -> Self {
        let pacer = Pacer::new(Duration::ZERO);
        let rtt_ns = context.rtt.map(|rtt| smoothed(None, rtt));
        let options = options.clone();
        let congestion_events = CongestionEvents::default();
        Self {
            options,
            scale: 0,
            newest_acknowledged: 0,
            pacer,
            rtt_ns,
            reported_at: None,
            next: 0,
            fresh_from: 0,
            congestion_events,
        }
    }

    /// Returns whether the path is silent: no announcement for four rounds and four round trips.
    fn is_silent(&self, now: Instant) -> bool {
        let round_trip = self.rtt_ns.map_or(Duration::ZERO, rounded);
        let round = if self.options.decide == Decide::Interval { self.options.interval } else { round_trip };
        let longest = (round.max(round_trip) * 4).max(MIN_SILENCE);
        self.reported_at.is_some_and(|last| now.since(last) > longest)
    }

    /// Returns the exact gap that paces the next packet: its time after the last packet, in s, not rounded to
    /// nanoseconds. `None` before the first packet.
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
        // The paper's header carries the scale on each packet.
        Stamp { rtt: self.rtt_ns.map(rounded), own: Own::new(&[self.scale]).unwrap_or(Own::NONE), ..Stamp::default() }
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
            && feedback.acknowledged >= self.newest_acknowledged
        {
            // Only losses and marks lower the scale.
            self.congestion_events.loss_events += u64::from(scale < self.scale);
            (self.scale, self.newest_acknowledged) = (scale, feedback.acknowledged);
        }
    }

    fn measures_silence(&self, now: Instant, number: u64) -> bool {
        !self.options.silent_samples && (number < self.fresh_from || self.is_silent(now))
    }

    fn status(&self) -> Status {
        let rate = Some(self.options.rate(self.scale));
        Status { target_rate: rate, pacing_rate: rate, rtt: self.rtt_ns.map(rounded), ..Status::default() }
    }

    fn congestion_events(&self) -> CongestionEvents {
        self.congestion_events
    }

    fn scale(&self) -> Option<Scale> {
        let Self { options, scale: index, .. } = self;
        Some(Scale { index: *index, levels: u16::from(options.top()) + 1, rate: options.rate(*index) })
    }
}

/// Returns a mean in ns, 0.9 of the old and 0.1 of the new. Rounding at each packet would reduce it by 10 ns.
fn smoothed(old_ns: Option<f64>, new: Duration) -> f64 {
    let new_ns = new.as_nanos() as f64;
    old_ns.map_or(new_ns, |old_ns| 0.9 * old_ns + 0.1 * new_ns)
}

fn rounded(ns: f64) -> Duration {
    Duration::from_nanos((ns + 0.5) as u64)
}

/// Receiver half of the controller `udpm`, which chooses one of the discrete rates by losses and marks and announces
/// its index.
#[derive(Debug)]
pub struct UdpmReceiver {
    decide: Decide,
    interval: Duration,
    round_trip: RoundTrip,
    halve: Halve,
    top: u8,
    scale: u8,
    rtt_ns: Option<f64>,
    /// Next number expected, and that at the start of the round. Earlier packets are lost (`mm-app.cc`).
    expected: u64,
    began: u64,
    round: Round,
    ends: Option<Instant>,
    due: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Round {
    received: u64,
    /// Missing numbers of this round, without those that arrive late within it.
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
            // Unsynchronized clocks: the timestamps of a connection have no common zero.
            _ if timing.sent > now || now.since(timing.sent) > MAX_DELAY => measured,
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
            // While the round-trip time is unknown, the next packet ends the round.
            Decide::RoundTrip => self.rtt_ns.map(|rtt_ns| now + rounded(rtt_ns).max(MIN_ROUND)),
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
