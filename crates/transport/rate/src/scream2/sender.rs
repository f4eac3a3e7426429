//! Sender half of `scream2`.

use super::frames::Frames;
use super::losses::LateLosses;
use super::options::Scream2Options;
use super::queue_delay::Delays;
use super::rtt::SmoothedRtt;
use super::rules::{DelaySample, HoldRule, Rules};
use super::window::{Progress, Reduction, Window};
use crate::contract::{CongestionEvents, Next, Permit, SenderContext, SenderHalf, Sending, Stamp, Status};
use crate::one_way::FloorLine;
use crate::report::{Feedback, Report};
use crate::toolbox::{Flight, MissingReports, Outstanding, Pacer, PacketOutcome};
use headway_units::{Bytes, Duration, Ecn, Instant, Rate};

/// Maximum number of packets in flight that are recorded.
const CAPACITY: usize = 1 << 14;
/// Time that a late packet may make up.
const CREDIT: Duration = Duration::from_millis(1);
/// Gain of the mean times for which the receiver holds reports, and after which packets are reported.
const HOLD_G: f64 = 1.0 / 8.0;
/// Interval of the acknowledged rate, in ticks: 100 ms.
const RATE_TICKS: u128 = 6553;

/// Sender half of the controller `scream2` (SCReAM v2), whose window follows losses, ECN marks and the queue delay.
#[derive(Debug)]
pub struct Scream2Sender {
    rules: Rules,
    ecn: Ecn,
    start_bps: f64,
    mss: f64,
    /// Bytes of headers per packet, which count in the window and the rates.
    header: f64,
    window: Window,
    rtt: SmoothedRtt,
    /// Mean time for which the receiver holds reports, if it counts in the rates, in s.
    hold_s: Option<f64>,
    /// Mean time from the sending of a packet to its report, of the oldest packet in each report, in s.
    reported_after_s: Option<f64>,
    /// Line below the one-way delays. The height of a delay above it is the queue delay.
    floor: FloorLine,
    flight: Flight,
    late_losses: LateLosses,
    /// Arrival times and delays in ns of the packets in a report, newest first.
    arrivals: Vec<(Instant, i64)>,
    /// Bytes acknowledged since this time, and the rate before it in bit/s.
    acknowledged: (f64, Option<Instant>, Option<f64>),
    frames: Frames,
    /// Packet of the last query.
    next: Next,
    outstanding: Outstanding,
    /// Maximum of the bytes in flight in this interval and the previous one, and the start of this one.
    peaks: [f64; 2],
    round: Instant,
    started: Instant,
    pacer: Pacer,
    reports: MissingReports,
    /// Reactions to losses and marks.
    loss_events: u64,
}

impl Scream2Sender {
    pub(crate) fn new(options: &Scream2Options, context: SenderContext) -> Self {
        let header = context.header.count() as f64;
        let mss = context.packet_size.count().max(1) as f64 + header;
        let max_bps = options.max_rate.map_or(f64::INFINITY, |rate| rate.bits_per_second() as f64);
        let rules = Rules::of(options.version);
        let mut sender = Self {
            rules,
            ecn: if options.l4s { Ecn::Ect1 } else { Ecn::Ect0 },
            start_bps: options.start_rate.bits_per_second() as f64,
            mss,
            header,
            window: Window::new(rules, options.l4s, mss, options.queue_delay_target, max_bps, context.now),
            rtt: SmoothedRtt::new(&rules, context.now),
            hold_s: None,
            reported_after_s: None,
            floor: FloorLine::default(),
            flight: Flight::new(CAPACITY),
            late_losses: LateLosses::default(),
            arrivals: Vec::new(),
            acknowledged: (0.0, None, None),
            frames: Frames::new(&rules),
            next: Next::default(),
            outstanding: Outstanding::new(CAPACITY),
            peaks: [0.0; 2],
            round: context.now,
            started: context.now,
            pacer: Pacer::new(CREDIT),
            reports: MissingReports::new(Duration::ZERO, context.rtt),
            loss_events: 0,
        };
        context.rtt.into_iter().for_each(|rtt| sender.sample(context.now, rtt, Duration::ZERO));
        sender
    }

    fn peak(&self) -> f64 {
        self.peaks[0].max(self.peaks[1])
    }

    /// Adds a round-trip sample and the time for which the receiver held the report. The first one determines the first
    /// window.
    fn sample(&mut self, now: Instant, rtt: Duration, hold: Duration) {
        let unused = self.mss + self.rules.bytes_in_flight_head_room * self.peak() < self.window.bytes();
        let (mut sample_s, hold_s) = (rtt.as_secs_f64(), hold.as_secs_f64());
        match self.rules.hold {
            HoldRule::Ignored => {}
            HoldRule::InRtt => sample_s += hold_s,
            HoldRule::InRate if unused && self.hold_s.is_some() => {}
            HoldRule::InRate => self.hold_s = Some(self.hold_s.map_or(hold_s, |mean| mean + HOLD_G * (hold_s - mean))),
        }
        if self.rtt.add(now, sample_s, unused) {
            let rtt_s = self.rtt.get().unwrap_or_default() + self.hold_s.unwrap_or_default();
            self.window.start(self.start_bps * rtt_s / 8.0, rtt_s);
        }
    }

    /// Starts a new interval of the bytes in flight if the last one has ended.
    fn turn_round(&mut self, now: Instant, srtt_s: f64) {
        let interval_s = if self.rules.peak_per_rtt { srtt_s } else { 0.0 };
        let is_over = now.since(self.round).as_secs_f64() >= interval_s.max(self.rules.peak_interval_s);
        if is_over && now.since(self.started).as_secs_f64() >= self.rules.first_peak_s {
            self.peaks = [self.in_flight(), self.peaks[0]];
            self.round = now;
        }
    }

    const fn in_flight(&self) -> f64 {
        self.outstanding.bytes() as f64
    }

    /// Returns the rate that the limit of the bytes in flight permits, in bit/s. It is lower than the target rate if the
    /// receiver collects arrivals for much longer than a round trip and the target ignores this time.
    fn in_flight_bps(&self) -> f64 {
        let after_s = self.reported_after_s.filter(|_| self.rules.hold == HoldRule::Ignored);
        after_s.map_or(f64::INFINITY, |after_s| 8.0 * self.window.max_in_flight() / after_s)
    }

    /// Returns the time from a packet that is sent now to the next one, in s.
    fn gap_s(&self, now: Instant, size: f64) -> f64 {
        if let Some(interval) = self.reports.probe_interval(now) {
            return interval.as_secs_f64();
        }
        8.0 * size / self.rtt.get().map_or(self.start_bps, |_| self.window.pace_bps() * self.frames.pacing())
    }

    /// Returns the queue delays of the packets in a report.
    fn delays(&mut self) -> Option<Delays> {
        let newest = *self.arrivals.first()?;
        if self.rules.delays == DelaySample::Newest {
            let newest_s = self.floor.add(newest.0, newest.1) / 1e9;
            return Some(Delays { newest_s, shortest_s: newest_s, longest_s: newest_s });
        }
        let mut delays = Delays { newest_s: 0.0, shortest_s: f64::INFINITY, longest_s: 0.0 };
        for (arrived, delay) in self.arrivals.iter().rev() {
            delays.newest_s = self.floor.add(*arrived, *delay) / 1e9;
            delays.shortest_s = delays.shortest_s.min(delays.newest_s);
            delays.longest_s = delays.longest_s.max(delays.newest_s);
        }
        Some(delays)
    }

    /// Updates the rate at which packets are acknowledged, before a packet is sent.
    fn update_acknowledged_rate(&mut self, now: Instant) {
        let (bytes, since, _) = self.acknowledged;
        let Some(since) = since else {
            self.acknowledged.1 = Some(now);
            return;
        };
        if ticks(now).saturating_sub(ticks(since)) > RATE_TICKS {
            self.acknowledged = (0.0, Some(now), Some(8.0 * bytes / now.since(since).as_secs_f64()));
        }
    }
}

/// Returns a time in ticks of 1/65536 s, the resolution of times in Ericsson's sender.
fn ticks(at: Instant) -> u128 {
    u128::from(at.as_nanos()) * 65_536 / 1_000_000_000
}

impl SenderHalf for Scream2Sender {
    fn poll_send(&mut self, now: Instant, next: &Next) -> Permit {
        self.next = *next;
        if !self.reports.are_missing() && self.in_flight() > 0.0 && self.in_flight() >= self.window.max_in_flight() {
            return Permit::Blocked;
        }
        self.pacer.permit(now)
    }

    fn on_send(&mut self, now: Instant, sending: &Sending) -> Stamp {
        self.flight.send(now, sending.number, sending.data.then_some(sending.size));
        if sending.data {
            let size = sending.size.count() as f64 + self.header;
            if self.rules.spares_low_target {
                self.update_acknowledged_rate(now);
            }
            self.window.on_send(now);
            if self.rules.finds_losses_by_time {
                self.late_losses.on_send(now, sending.number, self.next.age);
            }
            if self.frames.on_send(now, &self.next, self.window.target_bps()) {
                self.window.on_frame(self.frames.divisor());
            }
            self.outstanding.send(sending.number, size as u64);
            self.peaks[0] = self.peaks[0].max(self.in_flight());
            self.pacer.on_send(now, self.gap_s(now, size));
            self.reports.on_send(now);
        }
        Stamp { ecn: self.ecn, ..Stamp::default() }
    }

    fn on_discard(&mut self, now: Instant) {
        self.pacer.on_send(now, self.gap_s(now, self.mss));
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        let Report::Timed(report) = feedback.report else { return };
        let mut progress = Progress::default();
        let header = self.header;
        let (mut newest, mut oldest) = (None, now);
        self.arrivals.clear();
        let (arrivals, late_losses, by_time) =
            (&mut self.arrivals, &mut self.late_losses, self.rules.finds_losses_by_time);
        self.flight.report_timed(feedback.acknowledged, &report, |update| {
            let size = update.size.count() as f64 + header;
            let received = matches!(update.outcome, PacketOutcome::Received | PacketOutcome::Marked);
            let marked = matches!(update.outcome, PacketOutcome::Marked | PacketOutcome::MarkedLater);
            match update.outcome {
                PacketOutcome::Lost if by_time => late_losses.add(update.number, update.sent),
                PacketOutcome::Lost => progress.lost += 1,
                _ => {}
            }
            progress.packets += u64::from(received);
            progress.marked_packets += u64::from(marked);
            progress.marked_bytes += if marked { size } else { 0.0 };
            // Reports are in the order of numbers, newest first.
            if received {
                newest = newest.or(Some((update.number, update.sent)));
                oldest = oldest.min(update.sent);
            }
            if let Some(arrived) = update.arrived {
                arrivals.push((arrived, arrived.as_nanos().wrapping_sub(update.sent.as_nanos()).cast_signed()));
            }
        });
        if let Some((number, sent)) = newest.filter(|_| by_time) {
            progress.lost += self.late_losses.on_arrival(number, sent);
        }
        if let Some(rtt) = feedback.rtt_sample {
            let hold = newest.map_or(Duration::ZERO, |(_, sent)| now.since(sent).saturating_sub(rtt));
            self.sample(now, rtt, hold);
        }
        if newest.is_some() {
            let after_s = now.since(oldest).as_secs_f64();
            self.reported_after_s =
                Some(self.reported_after_s.map_or(after_s, |mean| mean + HOLD_G * (after_s - mean)));
        }
        progress.delays = self.delays();
        progress.max_in_flight = self.peak();
        progress.bytes = self.outstanding.acknowledge(feedback.acknowledged) as f64;
        self.acknowledged.0 += progress.bytes;
        progress.acknowledged_bps = self.acknowledged.2;
        progress.hold_s = self.hold_s.unwrap_or_default();
        progress.rtt_falls = self.rtt.falls();
        if self.reports.on_report(now, feedback.rtt_sample, !self.outstanding.is_empty()) {
            self.pacer.bring_forward(now);
        }
        let Some(srtt_s) = self.rtt.get() else { return };
        let reduction = self.window.on_report(now, srtt_s, &progress);
        self.loss_events += u64::from(matches!(reduction, Some(Reduction::Loss | Reduction::Mark)));
        self.turn_round(now, srtt_s);
    }

    /// Handles a time without reports, which the draft leaves undefined.
    fn handle_timeout(&mut self, now: Instant) {
        if !self.reports.handle_timeout(now) {
            return;
        }
        if let Some(srtt_s) = self.rtt.get() {
            self.window.on_silence(now, srtt_s);
        }
        self.flight.clear();
        self.late_losses.clear();
        self.outstanding.clear();
        self.peaks = [0.0; 2];
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.reports.poll_timeout()
    }

    fn measures_silence(&self, _: Instant, _: u64) -> bool {
        self.reports.are_missing()
    }

    fn congestion_events(&self) -> CongestionEvents {
        CongestionEvents { loss_events: self.loss_events, timeouts: self.reports.timeouts() }
    }

    fn status(&self) -> Status {
        let mut status = Status::default();
        if self.rtt.get().is_some() {
            let rate = |bps: f64| Rate::from_bits_per_second(bps as u64);
            let data_share = (self.mss - self.header) / self.mss;
            status.target_rate = Some(rate(self.window.target_bps().min(self.in_flight_bps()) * data_share));
            status.pacing_rate = Some(rate(self.window.pace_bps() * self.frames.pacing() * data_share));
        }
        status.window = Some(Bytes::new(self.window.bytes() as u64));
        status.rtt = self.rtt.get().map(Duration::from_secs_f64);
        status
    }
}
