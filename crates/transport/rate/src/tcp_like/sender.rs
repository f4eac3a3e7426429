//! Sender half of `tcp-like`.

use super::ack_ratio::AckRatio;
use super::options::{MAX_WINDOW, TcpLikeOptions, UnusedWindow};
use super::window::Window;
use crate::contract::{CongestionEvents, Next, Permit, SenderContext, SenderHalf, Sending, Stamp, Status};
use crate::report::{Feedback, Report};
use crate::toolbox::{Flight, HEALTHY_LOSS, MIN_UNACKNOWLEDGED, PacketOutcome, PacketUpdate, Rto, Silence};
use headway_units::{Bytes, Duration, Instant, Rate};

/// Round-trip time before a measurement (RFC 4340 section 3.4).
pub(super) const DEFAULT_RTT: Duration = Duration::from_millis(200);

/// Maximum number of recorded packets: the data packets of the largest window, and as many packets without data.
const CAPACITY: usize = 2 * MAX_WINDOW as usize;

/// Minimum number of consecutive packets received on a healthy path without any congestion event so far. At a loss rate
/// of 0.3, one in 100,000 packets begins such a run.
const HEALTHY_RUN: u64 = 32;
/// Minimum number of data packets in flight at a timeout that indicates an outage. At a loss rate of 1/3 all are lost
/// once in 60,000.
const OUTAGE_WINDOW: u64 = 10;
/// Gain of the mean number of packets between two congestion events.
const EVENT_GAIN: f64 = 0.125;

/// Sender half of the controller `tcp-like`: permits a data packet while fewer data packets are in flight than the
/// congestion window allows.
#[derive(Debug)]
pub struct TcpLikeSender {
    pub(super) options: TcpLikeOptions,
    packet_size: Bytes,
    flight: Flight,
    pub(super) window: Window,
    /// Estimated number of data packets in flight.
    pub(super) pipe: u64,
    rto: Rto,
    pub(super) ack_ratio: AckRatio,
    /// Time at which all data in flight counts as lost.
    timer: Option<Instant>,
    /// Time at which data was last sent.
    sent: Option<Instant>,
    /// Lowest number in the pipe; earlier packets were removed by a timeout.
    pub(super) pipe_start: u64,
    /// Lowest number whose loss does not belong to the last congestion event.
    event_end: u64,
    /// Next packet number at the time at which the window was last full.
    filled: u64,
    /// Lowest number whose acknowledgement is sampled for the round trip.
    sample_from: u64,
    /// Time before which the window does not grow (Slow Receiver).
    held_until: Instant,
    silence: Silence,
    /// Data packets received since the last congestion event, and the smoothed number between two events.
    since_event: u64,
    between_events: Option<f64>,
    /// Whether no congestion event has begun since the last silence.
    lossless: bool,
    /// Whether no round trip has been measured since a restart of the flow.
    unmeasured: bool,
    /// Data packets sent since the last report.
    unacknowledged: usize,
    /// Pacing after a silence, until the window is full.
    pace: Option<Pace>,
    congestion_events: CongestionEvents,
}

/// Pacing of the window over a round trip after a silence: in slow start at the rate of the old window, then a tenth
/// faster, so that the window fills within some round trips. Bursts at twice the path's rate would overflow a queue
/// shorter than half a round trip long before the window reaches its old size.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Round-trip time before the silence, including queueing.
    rtt: Duration,
    next: Instant,
}

impl TcpLikeSender {
    pub(crate) fn new(options: &TcpLikeOptions, context: SenderContext) -> Self {
        let window = Window::new(options, context.packet_size, context.now);
        let mut rto = Rto::new(options.expert.rto());
        if let Some(rtt) = context.rtt {
            rto.sample(rtt);
        }
        Self {
            options: options.clone(),
            packet_size: context.packet_size,
            flight: Flight::new(CAPACITY),
            pipe: 0,
            rto,
            ack_ratio: AckRatio::new(options, window.cwnd),
            window,
            timer: None,
            sent: None,
            pipe_start: 0,
            event_end: 0,
            filled: 0,
            sample_from: 0,
            held_until: context.now,
            silence: Silence::default(),
            since_event: 0,
            between_events: None,
            lossless: true,
            unmeasured: false,
            unacknowledged: 0,
            pace: None,
            congestion_events: CongestionEvents::default(),
        }
    }

    /// Reduces a window that was idle for more than a timeout (section 5.1).
    fn restart_after_idle(&mut self, now: Instant) {
        let Some(sent) = self.sent else { return };
        let (idle, rto) = (now.since(sent), self.rto.timeout());
        if self.pipe == 0 && idle > rto {
            self.window.on_idle(&self.options, now, idle, rto);
            self.ack_ratio.fit(&self.options, self.window.cwnd);
            self.sent = Some(now);
        }
    }

    /// Begins a congestion event. All packets sent up to now belong to it (section 5).
    fn on_congestion(&mut self) {
        self.pace = None;
        self.window.on_congestion();
        self.count_event();
        self.congestion_events.loss_events += 1;
        self.event_end = self.flight.next();
    }

    /// Removes packets from the pipe. The timer stops when none is in flight (RFC 6298 step 5.2).
    fn leave_pipe(&mut self, packets: u64) {
        self.pipe = self.pipe.saturating_sub(packets);
        if self.pipe == 0 {
            self.timer = None;
        }
    }

    /// Adds the number of packets received since the last congestion event to the mean.
    fn count_event(&mut self) {
        let packets = std::mem::take(&mut self.since_event) as f64;
        self.between_events = Some(self.between_events.map_or(packets, |mean| mean + (packets - mean) * EVENT_GAIN));
        self.lossless = false;
    }

    /// Returns whether at most one in ten packets begins a congestion event. A long open interval counts (RFC 5348
    /// section 5.4).
    fn is_healthy(&self) -> bool {
        let open = self.since_event as f64;
        self.between_events.map_or(self.since_event >= HEALTHY_RUN, |mean| {
            (mean + (open - mean).max(0.0) * EVENT_GAIN) * HEALTHY_LOSS >= 1.0
        })
    }

    /// Treats a timeout on a healthy path as an outage if [`MIN_UNACKNOWLEDGED`] packets follow the last report, or
    /// [`OUTAGE_WINDOW`] packets are in flight: a sender with a full window sends nothing after the last report.
    fn begin_silence(&mut self, now: Instant) {
        if self.is_healthy()
            && (self.unacknowledged >= MIN_UNACKNOWLEDGED || self.pipe >= OUTAGE_WINDOW)
            && self.silence.begin(now, self.lossless)
        {
            self.window.on_silence();
            let is_known = self.options.remembers_rate && self.window.remembered < MAX_WINDOW;
            self.pace = self.rto.current_rtt().filter(|_| is_known).map(|rtt| Pace { rtt, next: now });
        }
    }

    /// Returns when pacing after a silence permits the next packet, if not now. Pacing ends with a full window.
    fn paced(&mut self, now: Instant) -> Option<Instant> {
        self.pace.take_if(|_| self.pipe >= self.window.cwnd.max(self.window.ssthresh));
        self.pace.map(|pace| pace.next).filter(|next| *next > now)
    }

    fn on_sample(&mut self, acknowledged: u64, rtt: Duration) {
        if self.options.expert.sample_once_a_window {
            if acknowledged < self.sample_from {
                return;
            }
            self.sample_from = self.flight.next();
        }
        self.unmeasured = false;
        self.rto.sample(rtt);
    }
}

impl SenderHalf for TcpLikeSender {
    fn poll_send(&mut self, now: Instant, _: &Next) -> Permit {
        self.restart_after_idle(now);
        let paced = self.paced(now);
        if self.pipe < self.window.cwnd && paced.is_none() {
            return Permit::Now;
        }
        // The application would fill a window that pacing keeps from being full.
        self.filled = self.flight.next();
        paced.filter(|_| self.pipe < self.window.cwnd).map_or(Permit::Blocked, Permit::At)
    }

    fn on_send(&mut self, now: Instant, sending: &Sending) -> Stamp {
        if sending.number != self.flight.next() {
            // First packet, or a carrier that restarts its numbers: no report will refer to the old ones.
            self.flight.clear();
            (self.pipe, self.timer) = (0, None);
            (self.pipe_start, self.event_end) = (sending.number, sending.number);
            (self.filled, self.sample_from) = (sending.number, sending.number);
        }
        if sending.data {
            self.restart_after_idle(now);
        }
        if let Some(oldest) = self.flight.send(now, sending.number, sending.data.then_some(sending.size))
            && oldest >= self.pipe_start
        {
            self.leave_pipe(1);
            if oldest >= self.event_end {
                self.on_congestion();
            }
        }
        if sending.data {
            self.pipe += 1;
            self.unacknowledged += 1;
            if let Some(pace) = &mut self.pace {
                let Window { cwnd, ssthresh, .. } = self.window;
                let gap = if cwnd < ssthresh { pace.rtt / ssthresh } else { pace.rtt * 10 / (cwnd * 11) };
                pace.next = pace.next.max(now) + gap;
            }
            self.sent = Some(now);
            if self.pipe >= self.window.cwnd {
                self.filled = self.flight.next();
            }
            let rto = self.rto.timeout();
            self.window.on_send(&self.options, now, self.pipe, rto);
            self.ack_ratio.fit(&self.options, self.window.cwnd);
            if self.timer.is_none() || self.options.expert.sending_restarts_timer {
                self.timer = Some(now + rto);
            }
        }
        Stamp::default()
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        if feedback.acknowledged >= self.flight.next() {
            return; // acknowledges packets that were not sent
        }
        self.unacknowledged = 0;
        if self.silence.end(feedback.acknowledged, self.flight.next()) && self.options.silence_restarts {
            self.window.restart(&self.options, now);
            (self.lossless, self.unmeasured) = (true, true);
            // Losses among earlier packets belong to the silence.
            (self.pipe_start, self.event_end) = (self.flight.next(), self.flight.next());
            (self.pipe, self.timer) = (0, None);
            self.ack_ratio.fit(&self.options, self.window.cwnd);
        }
        if let Some(rtt) = feedback.rtt_sample.filter(|_| !self.measures_silence(now, feedback.acknowledged)) {
            self.on_sample(feedback.acknowledged, rtt);
        }
        let runs = if let Report::Arrivals(runs) = feedback.report { runs } else { &[] };

        let (mut received, mut left, mut growing, mut congestion) = (0, 0, 0, false);
        let grow_from = if self.options.expert.grow_in_recovery { 0 } else { self.event_end };
        let grow_to = if self.options.unused_window == UnusedWindow::Holds { self.filled } else { u64::MAX };
        self.flight.report(feedback.acknowledged, runs, |update| {
            let PacketUpdate { number, outcome, .. } = update;
            left += u64::from(outcome != PacketOutcome::MarkedLater && number >= self.pipe_start);
            received += u64::from(matches!(outcome, PacketOutcome::Received | PacketOutcome::Marked));
            if outcome == PacketOutcome::Received {
                growing += u64::from(number >= grow_from && number < grow_to);
            } else {
                congestion |= number >= self.event_end;
            }
        });
        self.leave_pipe(left);
        self.since_event = self.since_event.saturating_add(received);
        if self.pipe > 0 && received > 0 {
            self.timer = Some(now + self.rto.timeout());
        }

        if congestion {
            self.on_congestion();
        }
        if feedback.slow_receiver {
            self.window.leave_slow_start();
            self.held_until = now + self.rto.srtt().unwrap_or(DEFAULT_RTT);
        }
        if feedback.receive_buffer_drops > 0 {
            // In addition to halving, as RFC 4340 section 11.7.1 allows, and instead of growth, as it requires.
            self.window.on_receive_buffer_drops(feedback.receive_buffer_drops);
        } else if !congestion && now >= self.held_until {
            self.window.grow(&self.options, growing, self.ack_ratio.get());
        }
        self.ack_ratio.on_report(&self.options, self.window.cwnd, received, feedback.lost_acks > 0);
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.timer.is_none_or(|timer| now < timer) {
            return;
        }
        self.begin_silence(now);
        if !self.silence.is_probed(now) {
            self.count_event();
        }
        self.timer = None;
        self.pipe = 0;
        if self.options.silence_backs_off || !self.silence.is_probed(now) {
            self.rto.back_off();
        }
        self.window.on_timeout(self.unmeasured);
        self.congestion_events.timeouts += 1;
        self.ack_ratio.fit(&self.options, self.window.cwnd);
        (self.pipe_start, self.event_end) = (self.flight.next(), self.flight.next());
        if self.options.expert.timeout_forgets {
            self.flight.clear();
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.timer
    }

    fn measures_silence(&self, _: Instant, number: u64) -> bool {
        !self.options.silent_samples && self.silence.covers(number)
    }

    fn status(&self) -> Status {
        let target_rate = self.rto.srtt().filter(|rtt| !rtt.is_zero()).map(|rtt| {
            let bits = u128::from(self.window.cwnd) * u128::from(self.packet_size.count()) * 8_000_000_000;
            Rate::from_bits_per_second((bits / u128::from(rtt.as_nanos())).try_into().unwrap_or(u64::MAX))
        });
        Status {
            target_rate,
            window: Some(Bytes::new(self.window.cwnd.saturating_mul(self.packet_size.count()))),
            window_packets: Some(self.window.cwnd as f64),
            ssthresh: (self.window.ssthresh != u64::MAX).then_some(self.window.ssthresh as f64),
            rtt: self.rto.srtt(),
            ack_ratio: Some(self.ack_ratio.get().try_into().unwrap_or(u16::MAX)),
            ..Status::default()
        }
    }

    fn congestion_events(&self) -> CongestionEvents {
        self.congestion_events
    }
}
