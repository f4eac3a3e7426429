//! Sender half of `scream2`.

use super::options::Scream2Options;
use super::window::{BYTES_IN_FLIGHT_HEAD_ROOM, Progress, Reduction, Window};
use crate::contract::{Next, Permit, SenderContext, SenderHalf, Sending, Setbacks, Stamp, Status};
use crate::one_way::FloorLine;
use crate::report::{Feedback, Report};
use crate::toolbox::{Flight, Pacer, PacketOutcome, Rto, RtoRules, probe_interval};
use headway_units::{Bytes, Duration, Ecn, Instant, Rate, RtoFloor};
use std::collections::VecDeque;

/// Gain of the smoothed round-trip time (RFC 6298 section 2), and its gain downwards while the window is not used. Small
/// round trips of an application-limited flow would raise the media rate.
const SRTT_G: f64 = 1.0 / 8.0;
const SRTT_G_UNUSED: f64 = 1.0 / 1024.0;
const MIN_SRTT_S: f64 = 1e-3;
/// Maximum number of packets in flight that are recorded.
const CAPACITY: usize = 1 << 14;
/// Minimum time without reports after which the window shrinks, and the maximum with back-off.
const MIN_TIMEOUT: Duration = Duration::from_millis(200);
const MAX_TIMEOUT: Duration = Duration::from_secs(60);
/// Time that a late packet may make up.
const CREDIT: Duration = Duration::from_millis(1);

/// Sender half of `scream2`.
#[derive(Debug)]
pub struct Scream2Sender {
    ecn: Ecn,
    start_bps: f64,
    mss: f64,
    /// Bytes of headers per packet, which count in the window and the rates.
    header: f64,
    window: Window,
    srtt_s: Option<f64>,
    rto: Rto,
    /// Line below the one-way delays. The height of a delay above it is the queue delay.
    floor: FloorLine,
    flight: Flight,
    /// Numbers and sizes of the data packets above the greatest number acknowledged.
    unacknowledged: VecDeque<(u64, f64)>,
    in_flight: f64,
    /// Maximum of `in_flight` in this round trip and the previous one, and the start of this one.
    peaks: [f64; 2],
    round: Instant,
    pacer: Pacer,
    /// Time at which the sender concludes that no report arrives, if packets are in flight.
    timeout: Option<Instant>,
    /// Start of the time without reports, if it continues.
    silent_since: Option<Instant>,
    setbacks: Setbacks,
}

impl Scream2Sender {
    pub(crate) fn new(options: &Scream2Options, context: SenderContext) -> Self {
        let header = context.header.count() as f64;
        let mss = context.packet_size.count().max(1) as f64 + header;
        let max_bps = options.max_rate.map_or(f64::INFINITY, |rate| rate.bits_per_second() as f64);
        let mut sender = Self {
            ecn: if options.l4s { Ecn::Ect1 } else { Ecn::Ect0 },
            start_bps: options.start_rate.bits_per_second() as f64,
            mss,
            header,
            window: Window::new(options.l4s, mss, options.queue_delay_target, max_bps),
            srtt_s: None,
            rto: Rto::new(RtoRules {
                initial: Duration::from_secs(1),
                least: MIN_TIMEOUT,
                floor: RtoFloor::Variance,
                most: MAX_TIMEOUT,
                granularity: Duration::from_millis(1),
            }),
            floor: FloorLine::default(),
            flight: Flight::new(CAPACITY),
            unacknowledged: VecDeque::new(),
            in_flight: 0.0,
            peaks: [0.0; 2],
            round: context.now,
            pacer: Pacer::new(CREDIT),
            timeout: None,
            silent_since: None,
            setbacks: Setbacks::default(),
        };
        context.rtt.into_iter().for_each(|rtt| sender.sample(rtt));
        sender
    }

    fn peak(&self) -> f64 {
        self.peaks[0].max(self.peaks[1])
    }

    /// Adds a round-trip sample. The first one determines the first window.
    fn sample(&mut self, rtt: Duration) {
        self.rto.sample(rtt);
        let sample_s = rtt.as_secs_f64().max(MIN_SRTT_S);
        let Some(srtt_s) = self.srtt_s else {
            self.srtt_s = Some(sample_s);
            self.window.start(self.start_bps * sample_s / 8.0, sample_s);
            return;
        };
        let unused = self.mss + BYTES_IN_FLIGHT_HEAD_ROOM * self.peak() < self.window.bytes();
        let gain = if unused && sample_s < srtt_s { SRTT_G_UNUSED } else { SRTT_G };
        self.srtt_s = Some(srtt_s + gain * (sample_s - srtt_s));
    }

    /// Starts a new round trip if the last one has ended.
    fn turn_round(&mut self, now: Instant, srtt_s: f64) {
        if now.since(self.round).as_secs_f64() >= srtt_s {
            self.peaks = [self.in_flight, self.peaks[0]];
            self.round = now;
        }
    }

    /// Removes the packets up to `acknowledged`, lost ones too, and returns their bytes.
    fn acknowledge(&mut self, acknowledged: u64) -> f64 {
        let mut bytes = 0.0;
        while let Some((_, size)) = self.unacknowledged.pop_front_if(|(number, _)| *number <= acknowledged) {
            bytes += size;
        }
        self.in_flight = if self.unacknowledged.is_empty() { 0.0 } else { (self.in_flight - bytes).max(0.0) };
        bytes
    }

    /// Returns the time from a packet that is sent now to the next one, in s.
    fn gap_s(&self, now: Instant, size: f64) -> f64 {
        if let Some(since) = self.silent_since {
            return probe_interval(now.since(since), self.srtt_s.map(Duration::from_secs_f64)).as_secs_f64();
        }
        8.0 * size / self.srtt_s.map_or(self.start_bps, |_| self.window.pace_bps())
    }
}

impl SenderHalf for Scream2Sender {
    fn poll_send(&mut self, now: Instant, _: &Next) -> Permit {
        if self.silent_since.is_none() && self.in_flight > 0.0 && self.in_flight >= self.window.max_in_flight() {
            return Permit::Blocked;
        }
        self.pacer.permit(now)
    }

    fn on_send(&mut self, now: Instant, sending: &Sending) -> Stamp {
        self.flight.send(now, sending.number, sending.data.then_some(sending.size));
        if sending.data {
            let size = sending.size.count() as f64 + self.header;
            if self.unacknowledged.len() >= CAPACITY {
                let removed = self.unacknowledged.pop_front();
                self.in_flight -= removed.map_or(0.0, |(_, size)| size);
            }
            self.unacknowledged.push_back((sending.number, size));
            self.in_flight += size;
            self.peaks[0] = self.peaks[0].max(self.in_flight);
            self.pacer.on_send(now, self.gap_s(now, size));
            self.timeout = self.timeout.or(Some(now + self.rto.timeout()));
        }
        Stamp { ecn: self.ecn, ..Stamp::default() }
    }

    fn on_discard(&mut self, now: Instant) {
        self.pacer.on_send(now, self.gap_s(now, self.mss));
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        let Report::Timed(report) = feedback.report else { return };
        self.silent_since = None;
        feedback.rtt_sample.into_iter().for_each(|rtt| self.sample(rtt));
        let mut progress = Progress { max_in_flight: self.peak(), ..Progress::default() };
        let header = self.header;
        let mut newest = None;
        self.flight.report_timed(feedback.acknowledged, &report, |update| {
            let size = update.size.count() as f64 + header;
            progress.lost |= update.outcome == PacketOutcome::Lost;
            let received = matches!(update.outcome, PacketOutcome::Received | PacketOutcome::Marked);
            let marked = matches!(update.outcome, PacketOutcome::Marked | PacketOutcome::MarkedLater);
            progress.packets += u64::from(received);
            progress.marked_packets += u64::from(marked);
            progress.marked_bytes += if marked { size } else { 0.0 };
            // Reports are in the order of numbers, newest first.
            newest = newest.or(update.arrived.map(|arrived| (arrived, update.sent)));
        });
        progress.qdelay_s = newest.map(|(arrived, sent)| {
            let delay = arrived.as_nanos().wrapping_sub(sent.as_nanos()).cast_signed();
            self.floor.add(arrived, delay) / 1e9
        });
        progress.bytes = self.acknowledge(feedback.acknowledged);
        self.timeout = (!self.unacknowledged.is_empty()).then(|| now + self.rto.timeout());
        let Some(srtt_s) = self.srtt_s else { return };
        let reduction = self.window.on_report(now, srtt_s, &progress);
        self.setbacks.loss_events += u64::from(matches!(reduction, Some(Reduction::Loss | Reduction::Mark)));
        self.turn_round(now, srtt_s);
    }

    /// Handles a time without reports, which the draft leaves undefined.
    fn handle_timeout(&mut self, now: Instant) {
        if self.timeout.is_none_or(|at| at > now) {
            return;
        }
        self.setbacks.timeouts += 1;
        self.silent_since = self.silent_since.or(Some(now));
        if let Some(srtt_s) = self.srtt_s {
            self.window.on_silence(now, srtt_s);
        }
        self.flight.clear();
        self.unacknowledged.clear();
        (self.in_flight, self.peaks) = (0.0, [0.0; 2]);
        self.rto.back_off();
        self.timeout = None;
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.timeout
    }

    fn measures_silence(&self, _: Instant, _: u64) -> bool {
        self.silent_since.is_some()
    }

    fn setbacks(&self) -> Setbacks {
        self.setbacks
    }

    fn status(&self) -> Status {
        let mut status = Status::default();
        if self.srtt_s.is_some() {
            let rate = |bps: f64| Rate::from_bits_per_second(bps as u64);
            let data_share = (self.mss - self.header) / self.mss;
            status.target_rate = Some(rate(self.window.target_bps() * data_share));
            status.pacing_rate = Some(rate(self.window.pace_bps() * data_share));
        }
        status.window = Some(Bytes::new(self.window.bytes() as u64));
        status.rtt = self.srtt_s.map(Duration::from_secs_f64);
        status
    }
}
