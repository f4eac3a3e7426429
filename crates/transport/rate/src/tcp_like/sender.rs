//! The sender half.

use super::ack_ratio::AckRatio;
use super::options::{MAX_WINDOW, TcpLikeOptions, UnusedWindow};
use super::window::Window;
use crate::contract::{Next, Permit, SenderContext, SenderHalf, Sending, Setbacks, Stamp, Status};
use crate::report::{Feedback, Report};
use crate::toolbox::{Flight, HEALTHY_LOSS, News, Rto, Silence, Told, UNANSWERED};
use headway_units::{Bytes, Duration, Instant, Rate};

/// The round trip where none is known (RFC 4340 section 3.4).
pub(super) const DEFAULT_RTT: Duration = Duration::from_millis(200);

/// What is kept at most: every data packet of the largest window, and as many packets without data.
const CAPACITY: usize = 2 * MAX_WINDOW as usize;

/// Data packets in a row that have arrived on a healthy path without any congestion event so far. At a loss rate of 0.3 one in
/// 100,000 packets begins as many.
const UNDISTURBED: u64 = 32;
/// A timeout with so many data packets under way is an outage: at random, a path that loses one in three packets loses as many once in
/// 60,000 times.
const WHOLE_WINDOW: u64 = 10;
/// The weight of the newest number of packets between two congestion events.
const EVENT_SHARE: f64 = 0.125;

/// Lets data go as long as fewer packets than cwnd are under way.
#[derive(Debug)]
pub struct TcpLikeSender {
    pub(super) options: TcpLikeOptions,
    packet_size: Bytes,
    flight: Flight,
    pub(super) window: Window,
    /// Data packets under way, as far as is known.
    pub(super) pipe: u64,
    rto: Rto,
    pub(super) ack_ratio: AckRatio,
    /// When data under way counts as lost altogether.
    timer: Option<Instant>,
    /// When data last went.
    sent: Option<Instant>,
    /// Packets below this number are no longer in the pipe, because a timeout came after them.
    pub(super) pipe_start: u64,
    /// Losses of packets below this number belong to the last congestion event.
    event_end: u64,
    /// The window was last full when this was the next number.
    filled: u64,
    /// A round trip is measured again once this is acknowledged.
    sample_from: u64,
    /// The window does not grow before (Slow Receiver).
    held_until: Instant,
    silence: Silence,
    /// Data packets that have arrived since the last congestion event, and their smoothed number between two events.
    undisturbed: u64,
    between_events: Option<f64>,
    /// No congestion event has begun since the last silence.
    lossless: bool,
    /// No round trip has been measured since the flow was restarted.
    unmeasured: bool,
    /// Data packets sent since the last report.
    unanswered: usize,
    /// Until the window is full after a silence.
    pace: Option<Pace>,
    setbacks: Setbacks,
}

/// After a silence the window goes out evenly over a round trip: in slow start as if it had its old size, and then a tenth faster, so that the
/// window is full some round trips later. Bursts of twice the path's rate would overflow a queue that is shorter than half a round trip, long before the window is
/// as large as it was.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// As it was before the silence, its queue included.
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
            undisturbed: 0,
            between_events: None,
            lossless: true,
            unmeasured: false,
            unanswered: 0,
            pace: None,
            setbacks: Setbacks::default(),
        }
    }

    /// A window that lay idle is not what the network still bears (section 5.1).
    fn restart_after_idle(&mut self, now: Instant) {
        let Some(sent) = self.sent else { return };
        let (idle, rto) = (now.since(sent), self.rto.timeout());
        if self.pipe == 0 && idle > rto {
            self.window.on_idle(&self.options, now, idle, rto);
            self.ack_ratio.fit(&self.options, self.window.cwnd);
            self.sent = Some(now);
        }
    }

    /// What was sent up to now belongs to this event, as nobody could react to it before (section 5).
    fn on_congestion(&mut self) {
        self.pace = None;
        self.window.on_congestion();
        self.count_event();
        self.setbacks.loss_events += 1;
        self.event_end = self.flight.next();
    }

    /// Data packets have come or are lost; with none under way there is nothing to wait for (RFC 6298 step 5.2).
    fn leave_pipe(&mut self, packets: u64) {
        self.pipe = self.pipe.saturating_sub(packets);
        if self.pipe == 0 {
            self.timer = None;
        }
    }

    /// Counts a congestion event, before which so many packets have arrived.
    fn count_event(&mut self) {
        let packets = std::mem::take(&mut self.undisturbed) as f64;
        self.between_events = Some(self.between_events.map_or(packets, |mean| mean + (packets - mean) * EVENT_SHARE));
        self.lossless = false;
    }

    /// Returns whether at most one in ten packets begins a congestion event. The packets since the last event count if there are more of
    /// them than usual (RFC 5348 section 5.4 treats the open loss interval alike).
    fn is_healthy(&self) -> bool {
        let open = self.undisturbed as f64;
        self.between_events.map_or(self.undisturbed >= UNDISTURBED, |mean| {
            (mean + (open - mean).max(0.0) * EVENT_SHARE) * HEALTHY_LOSS >= 1.0
        })
    }

    /// Takes a timeout for an outage on a healthy path, if [`UNANSWERED`] packets have been sent since the last report or [`WHOLE_WINDOW`]
    /// packets are under way: a sender that fills its window sends nothing after the last report.
    fn begin_silence(&mut self, now: Instant) {
        if self.is_healthy()
            && (self.unanswered >= UNANSWERED || self.pipe >= WHOLE_WINDOW)
            && self.silence.begin(now, self.lossless)
        {
            self.window.on_silence();
            let is_known = self.options.remembers_rate && self.window.remembered < MAX_WINDOW;
            self.pace = self.rto.present_rtt().filter(|_| is_known).map(|rtt| Pace { rtt, next: now });
        }
    }

    /// When the next packet may go after a silence, if not now. The pace ends when the window is full at the rate from before.
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
        // A window that the pace keeps from being full is one that the application would fill.
        self.filled = self.flight.next();
        paced.filter(|_| self.pipe < self.window.cwnd).map_or(Permit::Blocked, Permit::At)
    }

    fn on_send(&mut self, now: Instant, sending: &Sending) -> Stamp {
        if sending.number != self.flight.next() {
            // The first packet; or a carrier that counts anew, of whose old numbers no report will speak.
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
            self.unanswered += 1;
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
            return; // it speaks of what was never sent
        }
        self.unanswered = 0;
        if self.silence.end(feedback.acknowledged, self.flight.next()) && self.options.silence_restarts {
            self.window.restart(&self.options, now);
            (self.lossless, self.unmeasured) = (true, true);
            // What is lost of earlier packets was lost in the silence.
            (self.pipe_start, self.event_end) = (self.flight.next(), self.flight.next());
            (self.pipe, self.timer) = (0, None);
            self.ack_ratio.fit(&self.options, self.window.cwnd);
        }
        if let Some(rtt) = feedback.rtt_sample.filter(|_| !self.measures_silence(now, feedback.acknowledged)) {
            self.on_sample(feedback.acknowledged, rtt);
        }
        let runs = if let Report::Arrivals(runs) = feedback.report { runs } else { &[] };

        let (mut come, mut left, mut growing, mut congestion) = (0, 0, 0, false);
        let grow_from = if self.options.expert.grow_in_recovery { 0 } else { self.event_end };
        let grow_to = if self.options.unused_window == UnusedWindow::Holds { self.filled } else { u64::MAX };
        self.flight.report(feedback.acknowledged, runs, |told| {
            let Told { number, news, .. } = told;
            left += u64::from(news != News::MarkedLater && number >= self.pipe_start);
            come += u64::from(matches!(news, News::Received | News::Marked));
            if news == News::Received {
                growing += u64::from(number >= grow_from && number < grow_to);
            } else {
                congestion |= number >= self.event_end;
            }
        });
        self.leave_pipe(left);
        self.undisturbed = self.undisturbed.saturating_add(come);
        if self.pipe > 0 && come > 0 {
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
            // Beside halving, as RFC 4340 section 11.7.1 allows, and instead of growing, as it demands.
            self.window.on_receive_buffer_drops(feedback.receive_buffer_drops);
        } else if !congestion && now >= self.held_until {
            self.window.grow(&self.options, growing, self.ack_ratio.get());
        }
        self.ack_ratio.on_report(&self.options, self.window.cwnd, come, feedback.lost_acks > 0);
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
        self.setbacks.timeouts += 1;
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

    fn setbacks(&self) -> Setbacks {
        self.setbacks
    }
}
